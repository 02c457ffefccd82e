//! `attributes` of an entity: `total: number`, `status: [OPEN, SHIPPED]`, or a mapping with details.

use super::literal;
use super::quantity;
use super::reader::Reader;
use super::yaml::{Node, NodeValue, Scalar};
use crate::model::{Attribute, AttributeKind, CopyOf, SyncOwner};
use crate::{Span, Spanned};

pub const SYNC: [(&str, SyncOwner); 4] = [
    ("stream", SyncOwner::Stream),
    ("transaction", SyncOwner::Transaction),
    ("application", SyncOwner::Application),
    ("never", SyncOwner::Never),
];

/// Shares are whole per cents, and their sum may differ from 100 by rounding.
const SHARES_TOLERANCE: f64 = 0.02;

pub fn attribute(reader: &mut Reader<'_>, name: &Scalar, node: &Node) -> Attribute {
    let span = name.span.to(node.span);
    let mut attribute = Attribute { declared: true, ..Attribute::implied(&name.text, span) };
    match &node.value {
        NodeValue::Scalar(scalar) if scalar.is_null() => {}
        NodeValue::Scalar(_) => attribute.kind = kind(reader, node).unwrap_or(attribute.kind),
        NodeValue::List(_) => values(reader, node, &mut attribute),
        NodeValue::Map(_) => details(reader, node, &mut attribute),
    }
    attribute
}

fn kind(reader: &mut Reader<'_>, node: &Node) -> Option<AttributeKind> {
    let kinds: Vec<(&str, AttributeKind)> =
        AttributeKind::ALL.into_iter().map(|kind| (kind.name(), kind)).collect();
    reader.choice(node, &kinds).map(|kind| kind.value)
}

/// `[OPEN, SHIPPED]`, or `{ OPEN: 10%, SHIPPED: 90% }` with the share of each.
fn values(reader: &mut Reader<'_>, node: &Node, attribute: &mut Attribute) {
    let NodeValue::Map(entries) = &node.value else {
        attribute.values = reader.names(node).into_iter().map(|name| name.value).collect();
        return;
    };
    for (value, share) in entries {
        let share = reader.parse(share, quantity::percent);
        attribute.values.push(value.text.clone());
        attribute.shares.push(share.map_or(0.0, |share| share.value));
    }
    let sum: f64 = attribute.shares.iter().sum();
    if (sum - 1.0).abs() > SHARES_TOLERANCE {
        reader.error(node.span, format!("the shares add up to {:.0}%, not 100%", sum * 100.0));
    }
}

fn details(reader: &mut Reader<'_>, node: &Node, attribute: &mut Attribute) {
    let Some(mut fields) = reader.fields(node, "an attribute") else { return };
    if let Some(node) = fields.take("type") {
        attribute.kind = kind(reader, node).unwrap_or(attribute.kind);
    }
    if let Some(node) = fields.take("values") {
        values(reader, node, attribute);
    }
    let stored = Some(attribute.kind.stored());
    attribute.constant = fields.take("value").and_then(|node| literal::value(reader, node, stored));
    attribute.optional =
        fields.take("optional").and_then(|node| reader.boolean(node)).is_some_and(|optional| optional.value);
    let present = fields.take("present").and_then(|node| reader.parse(node, quantity::percent));
    attribute.present = present.map(|present| present.value);
    attribute.optional |= attribute.present.is_some();
    attribute.min =
        fields.take("min").and_then(|node| reader.parse(node, quantity::number)).map(|min| min.value);
    attribute.max =
        fields.take("max").and_then(|node| reader.parse(node, quantity::number)).map(|max| max.value);
    attribute.size = fields.take("size").and_then(|node| reader.size(node)).map(|size| size.value);
    attribute.distinct = fields.take("distinct").and_then(|node| reader.parse(node, quantity::number));
    attribute.skew = fields.take("skew").and_then(|node| reader.parse(node, quantity::skew));
    attribute.growth = fields.take("growth").and_then(|node| reader.parse(node, quantity::growth_of_size));
    attribute.copy_of = fields.take("copy-of").and_then(|node| copy_of(reader, node));
    attribute.sync = fields.take("sync").and_then(|node| reader.choice(node, &SYNC));
    reader.allow(&mut fields, attribute.span);
    fields.finish(reader);
}

/// `Customer.name`. Whether the entity has the attribute is checked when all entities are read.
fn copy_of(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<CopyOf>> {
    let scalar = reader.scalar(node)?;
    let Some((entity, attribute)) = scalar.text.split_once('.') else {
        reader.error(scalar.span, "expected `Entity.attribute`");
        return None;
    };
    let span: Span = scalar.part(0, entity.len());
    let entity = reader.entity_id(entity, span)?;
    Some(Spanned::new(CopyOf { entity, attribute: attribute.to_owned() }, scalar.span))
}
