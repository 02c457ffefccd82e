//! `entities`.

use indexmap::IndexMap;

use super::fields::Fields;
use super::reader::Reader;
use super::yaml::{Node, NodeValue, Scalar};
use super::{attribute, literal, predicate, quantity, template};
use crate::model::{Attribute, Count, Growth, SampleRow, Size, TableId};
use crate::predicate::Predicate;
use crate::template::Template;
use crate::{Span, Spanned};

/// An entity as declared; `resolve` completes it.
pub struct RawEntity {
    pub name: Spanned<String>,
    pub span: Span,
    pub description: Option<String>,
    pub table: TableId,
    pub identity: Vec<Spanned<String>>,
    pub key: Option<RawKey>,
    pub attributes: IndexMap<String, Attribute>,
    pub entries: Vec<RawEntry>,
    pub count: Option<Spanned<Count>>,
    pub size: Option<Spanned<Size>>,
    pub growth: Option<Spanned<Growth>>,
    pub expires: Option<Spanned<u64>>,
    pub owner: Option<Spanned<String>>,
    pub samples: Vec<SampleRow>,
}

/// Templates by key attribute; `None` for one that could not be read.
pub struct RawKey {
    pub templates: Vec<(Spanned<String>, Option<Template>)>,
    pub span: Span,
}

/// An entity's entry in an index, as declared.
pub struct RawEntry {
    pub index: Spanned<String>,
    pub when: Option<Predicate>,
    pub templates: Vec<(Spanned<String>, Option<Template>)>,
    pub span: Span,
}

/// One entity for each name, even if the rest can't be read: ids are positions among the names.
pub fn entity(reader: &mut Reader<'_>, name: &Scalar, node: &Node) -> RawEntity {
    let span = name.span.to(node.span);
    let nothing = node.scalar().is_some_and(Scalar::is_null);
    let fields = if nothing { None } else { reader.fields(node, "an entity") };
    let mut fields = fields.unwrap_or_else(|| Fields::new("an entity", &[]));
    let table = table_of(reader, &mut fields, name);
    let attributes = fields.take("attributes").map(|node| attributes(reader, node)).unwrap_or_default();
    let kind = |name: &str| attributes.get(name).map(|attribute: &Attribute| attribute.kind.stored());
    let entity = RawEntity {
        name: Spanned::new(name.text.clone(), name.span),
        span,
        description: fields.take("description").and_then(|node| reader.text(node)).map(|text| text.value),
        table,
        identity: fields.take("id").map(|node| reader.names(node)).unwrap_or_default(),
        key: fields.take("key").and_then(|node| key(reader, node)),
        entries: fields.take("indexes").map(|node| entries(reader, node)).unwrap_or_default(),
        count: fields.take("count").and_then(|node| count(reader, node)),
        size: fields.take("size").and_then(|node| reader.size(node)),
        growth: fields.take("growth").and_then(|node| reader.parse(node, quantity::growth_of_items)),
        expires: fields.take("expires").and_then(|node| reader.parse(node, quantity::duration)),
        owner: fields.take("owner").and_then(|node| reader.text(node)),
        samples: fields.take("samples").map(|node| literal::rows(reader, node, kind)).unwrap_or_default(),
        attributes,
    };
    reader.allow(&mut fields, span);
    fields.finish(reader);
    entity
}

fn table_of(reader: &mut Reader<'_>, fields: &mut Fields<'_>, entity: &Scalar) -> TableId {
    let named = fields.take("table").and_then(|node| reader.text(node));
    match named {
        Some(name) => reader.table_id(&name, name.span).unwrap_or(TableId(0)),
        None => {
            if reader.tables.len() > 1 {
                let help = format!("add `table: {}` or another", reader.tables[0]);
                let message = format!("say which table holds `{}`", entity.text);
                reader.error_with_help(entity.span, message, help);
            }
            TableId(0)
        }
    }
}

/// A list of names, or a mapping from names to descriptions.
fn attributes(reader: &mut Reader<'_>, node: &Node) -> IndexMap<String, Attribute> {
    if let NodeValue::List(_) = &node.value {
        let declared = |name: Spanned<String>| {
            let attribute = Attribute { declared: true, ..Attribute::implied(&name, name.span) };
            (name.value, attribute)
        };
        return reader.names(node).into_iter().map(declared).collect();
    }
    let entries = reader.named(node, "attributes");
    entries.iter().map(|(name, node)| (name.text.clone(), attribute::attribute(reader, name, node))).collect()
}

/// `{ PK: "CUST#{customerId}", SK: PROFILE }`.
fn key(reader: &mut Reader<'_>, node: &Node) -> Option<RawKey> {
    let mut fields = reader.fields(node, "a key")?;
    let templates = templates(reader, &mut fields);
    Some(RawKey { templates, span: node.span })
}

fn templates(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<(Spanned<String>, Option<Template>)> {
    let rest = fields.take_rest();
    rest.into_iter()
        .map(|(name, node)| {
            let template = reader.parse(node, template::template).map(|template| template.value);
            (Spanned::new(name.text.clone(), name.span), template)
        })
        .collect()
}

/// `{ GSI2: { when: status = OPEN, GSI2PK: "…", GSI2SK: "…" } }`.
fn entries(reader: &mut Reader<'_>, node: &Node) -> Vec<RawEntry> {
    let indexes = reader.named(node, "indexes");
    indexes.iter().filter_map(|(name, node)| entry(reader, name, node)).collect()
}

fn entry(reader: &mut Reader<'_>, name: &Scalar, node: &Node) -> Option<RawEntry> {
    let span = name.span.to(node.span);
    let mut fields = reader.fields(node, "an entity's place in an index")?;
    let when = fields.take("when").and_then(|node| reader.parse(node, predicate::predicate));
    reader.allow(&mut fields, span);
    let templates = templates(reader, &mut fields);
    let index = Spanned::new(name.text.clone(), name.span);
    Some(RawEntry { index, when: when.map(|when| when.value), templates, span })
}

/// `1M`, `20 per Customer`, `{ typical: 20, max: 50K, per: Customer }`.
fn count(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<Count>> {
    if node.scalar().is_some() {
        let parsed = reader.parse(node, quantity::count)?;
        let (typical, parent) = parsed.value;
        let per = parent.and_then(|(name, span)| reader.entity_id(&name, span));
        return Some(Spanned::new(Count { typical, max: None, per }, node.span));
    }
    let mut fields = reader.fields(node, "a count")?;
    let typical = fields.take("typical").and_then(|node| reader.parse(node, quantity::number));
    let max = fields.take("max").and_then(|node| reader.parse(node, quantity::number));
    let per = fields.take("per").and_then(|node| reader.text(node));
    let per = per.and_then(|name| reader.entity_id(&name, name.span));
    fields.finish(reader);
    let typical = typical.as_ref().or(max.as_ref())?.value;
    Some(Spanned::new(Count { typical, max: max.map(|max| max.value), per }, node.span))
}
