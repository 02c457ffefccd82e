//! `relations`: `Customer 1:N Order`, `User M:N Group via Membership`.

use super::Parsed;
use super::cursor::Cursor;
use super::reader::Reader;
use super::yaml::{Node, Scalar};
use crate::Span;
use crate::model::Relation;

struct Written {
    from: (String, Span),
    to: (String, Span),
    many_to_many: bool,
    via: Option<(String, Span)>,
}

pub fn relations(reader: &mut Reader<'_>, node: &Node) -> Vec<Relation> {
    reader.list(node).iter().filter_map(|node| relation(reader, node)).collect()
}

fn relation(reader: &mut Reader<'_>, node: &Node) -> Option<Relation> {
    let written = reader.parse(node, written)?;
    let from = reader.entity_id(&written.from.0, written.from.1)?;
    let to = reader.entity_id(&written.to.0, written.to.1)?;
    let via = match &written.via {
        Some((name, span)) => Some(reader.entity_id(name, *span)?),
        None => None,
    };
    Some(Relation { from, to, many_to_many: written.many_to_many, via, span: written.span })
}

fn written(scalar: &Scalar) -> Parsed<Written> {
    let mut cursor = Cursor::new(scalar);
    let owned = |(name, span): (&str, Span)| (name.to_owned(), span);
    let from = owned(cursor.word("an entity")?);
    let many_to_many = if cursor.take("M:N") || cursor.take("N:M") {
        true
    } else if cursor.take("1:N") || cursor.take("1:1") {
        false
    } else {
        return Err(cursor.error("expected `1:N` or `M:N`"));
    };
    let to = owned(cursor.word("an entity")?);
    let via = if cursor.take_word("via") { Some(owned(cursor.word("an entity")?)) } else { None };
    cursor.end()?;
    Ok(Written { from, to, many_to_many, via })
}
