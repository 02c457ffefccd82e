//! `indexes`: what an index projects, and its key attributes unless the entities' templates imply them.

use super::fields::Fields;
use super::reader::Reader;
use super::table;
use super::yaml::{Node, Scalar};
use crate::model::{IndexKind, KeyAttribute, Projection, Size, Throughput};
use crate::{Span, Spanned};

/// An index as declared; `resolve` completes it.
pub struct RawIndex {
    pub name: Spanned<String>,
    pub span: Span,
    pub kind: IndexKind,
    pub partition: Vec<KeyAttribute>,
    pub sort: Vec<KeyAttribute>,
    pub projection: Spanned<Projection>,
    pub throughput: Throughput,
    pub size: Option<Spanned<Size>>,
}

pub fn indexes(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<RawIndex> {
    let Some(node) = fields.take("indexes") else { return Vec::new() };
    let entries = reader.named(node, "indexes");
    entries.iter().filter_map(|(name, node)| index(reader, name, node)).collect()
}

fn index(reader: &mut Reader<'_>, name: &Scalar, node: &Node) -> Option<RawIndex> {
    let span = name.span.to(node.span);
    let mut fields = reader.fields(node, "an index")?;
    let kinds = [("global", IndexKind::Global), ("local", IndexKind::Local)];
    let kind = fields.take("type").and_then(|node| reader.choice(node, &kinds));
    let partition = fields.take("partition").map(|node| table::key(reader, node)).unwrap_or_default();
    let sort = fields.take("sort").map(|node| table::key(reader, node)).unwrap_or_default();
    let projection = fields.take("project").and_then(|node| projection(reader, node));
    let throughput = table::throughput(reader, &mut fields);
    let size = fields.take("size").and_then(|node| reader.size(node));
    reader.allow(&mut fields, span);
    fields.finish(reader);
    for attributes in [&partition, &sort] {
        at_most_four(reader, attributes);
    }
    Some(RawIndex {
        name: Spanned::new(name.text.clone(), name.span),
        span,
        kind: kind.map_or(IndexKind::Global, |kind| kind.value),
        partition,
        sort,
        projection: projection.unwrap_or(Spanned::new(Projection::All, name.span)),
        throughput,
        size,
    })
}

fn at_most_four(reader: &mut Reader<'_>, attributes: &[KeyAttribute]) {
    if let Some(fifth) = attributes.get(4) {
        reader.error(fifth.span, "an index key has at most four attributes on each side");
    }
}

/// `all`, `keys`, or a list of attributes.
fn projection(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<Projection>> {
    let projection = match node.scalar().map(|scalar| scalar.text.as_str()) {
        Some("all") => Projection::All,
        Some("keys") => Projection::Keys,
        _ => Projection::Include(reader.names(node)),
    };
    Some(Spanned::new(projection, node.span))
}
