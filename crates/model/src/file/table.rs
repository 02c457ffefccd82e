//! `table` or `tables`: keys and settings.

use item::Type;

use super::fields::Fields;
use super::index::{RawIndex, indexes};
use super::literal;
use super::quantity;
use super::reader::Reader;
use super::yaml::{Node, NodeValue, Scalar};
use crate::model::{
    Billing, Capacity, Encryption, KeyAttribute, KeySchema, SampleRow, StreamView, Table, TableClass,
    Throughput,
};
use crate::{Span, Spanned};

/// A table and its indexes as declared; `resolve` completes them.
pub struct RawTable {
    pub table: Table,
    pub indexes: Vec<RawIndex>,
}

const NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=255;

pub const BILLING: [(&str, Billing); 2] =
    [("on-demand", Billing::OnDemand), ("provisioned", Billing::Provisioned)];
pub const CLASSES: [(&str, TableClass); 2] =
    [("standard", TableClass::Standard), ("infrequent-access", TableClass::InfrequentAccess)];
pub const STREAMS: [(&str, StreamView); 4] = [
    ("keys", StreamView::Keys),
    ("new", StreamView::New),
    ("old", StreamView::Old),
    ("new-and-old", StreamView::NewAndOld),
];
pub const ENCRYPTION: [(&str, Encryption); 3] = [
    ("aws-owned", Encryption::AwsOwned),
    ("aws-managed", Encryption::AwsManaged),
    ("customer-managed", Encryption::CustomerManaged),
];
pub const KEY_TYPES: [(&str, Type); 3] = [("string", Type::S), ("number", Type::N), ("binary", Type::B)];

/// `table:` beside top-level `indexes:` and `samples:`, or `tables:` with their own. A model without
/// either has one table without keys, for `design` to fill.
pub fn tables(reader: &mut Reader<'_>, fields: &mut Fields<'_>, model: &Spanned<String>) -> Vec<RawTable> {
    let single = fields.take_entry("table");
    let several = fields.take_entry("tables");
    if let Some((key, node)) = several {
        if let Some((single, _)) = single {
            reader.error(single.span, "`table` and `tables` exclude each other").related =
                vec![(key.span, "here are several tables".to_owned())];
        }
        let entries = reader.named(node, "tables");
        reader.tables = entries.iter().map(|(name, _)| name.text.clone()).collect();
        return entries.iter().map(|(name, node)| named_table(reader, name, node)).collect();
    }
    let mut raw = match single {
        Some((_, node)) => single_table(reader, node, name_for(model)),
        None => RawTable { table: empty(name_for(model), model.span), indexes: Vec::new() },
    };
    raw.indexes.extend(indexes(reader, fields));
    raw.table.samples.extend(samples(reader, fields, raw.table.key.as_ref()));
    reader.tables = vec![raw.table.name.value.clone()];
    vec![raw]
}

fn single_table(reader: &mut Reader<'_>, node: &Node, default: Spanned<String>) -> RawTable {
    if let Some(scalar) = node.scalar() {
        let name = Spanned::new(scalar.text.clone(), scalar.span);
        check_name(reader, &name, "a table");
        return RawTable { table: empty(name, scalar.span), indexes: Vec::new() };
    }
    let Some(mut fields) = reader.fields(node, "a table") else {
        return RawTable { table: empty(default, node.span), indexes: Vec::new() };
    };
    let name = fields.take("name").and_then(|node| reader.text(node)).unwrap_or(default);
    table(reader, fields, name, node.span)
}

/// One table for each name, even if the rest can't be read: ids are positions among the names.
fn named_table(reader: &mut Reader<'_>, name: &Scalar, node: &Node) -> RawTable {
    let fields = reader.fields(node, "a table").unwrap_or_else(|| Fields::new("a table", &[]));
    let name = Spanned::new(name.text.clone(), name.span);
    let span = name.span.to(node.span);
    table(reader, fields, name, span)
}

fn table(reader: &mut Reader<'_>, mut fields: Fields<'_>, name: Spanned<String>, span: Span) -> RawTable {
    check_name(reader, &name, "a table");
    let mut table = empty(name, span);
    table.key = key_schema(reader, &mut fields);
    if let Some(billing) = fields.take("billing").and_then(|node| reader.choice(node, &BILLING)) {
        table.billing = billing;
    }
    table.throughput = throughput(reader, &mut fields);
    if let Some(class) = fields.take("class").and_then(|node| reader.choice(node, &CLASSES)) {
        table.class = class.value;
    }
    table.ttl = fields.take("ttl").and_then(|node| reader.text(node));
    table.stream = fields.take("stream").and_then(|node| reader.choice(node, &STREAMS));
    table.pitr = fields.take("pitr").and_then(|node| reader.boolean(node));
    table.deletion_protection = fields.take("deletion-protection").and_then(|node| reader.boolean(node));
    if let Some(encryption) = fields.take("encryption").and_then(|node| reader.choice(node, &ENCRYPTION)) {
        table.encryption = encryption.value;
    }
    table.replicas = fields.take("replicas").map(|node| reader.names(node)).unwrap_or_default();
    table.owner = fields.take("owner").and_then(|node| reader.text(node));
    table.tags = fields.take("tags").map(|node| tags(reader, node)).unwrap_or_default();
    let indexes = indexes(reader, &mut fields);
    table.samples = samples(reader, &mut fields, table.key.as_ref());
    reader.allow(&mut fields, span);
    fields.finish(reader);
    RawTable { table, indexes }
}

fn empty(name: Spanned<String>, span: Span) -> Table {
    Table {
        billing: Spanned::new(Billing::OnDemand, name.span),
        name,
        span,
        key: None,
        throughput: Throughput::default(),
        class: TableClass::Standard,
        ttl: None,
        stream: None,
        pitr: None,
        deletion_protection: None,
        encryption: Encryption::AwsOwned,
        replicas: Vec::new(),
        owner: None,
        tags: Vec::new(),
        indexes: Vec::new(),
        samples: Vec::new(),
    }
}

/// The model's name, made valid for a table: a model may be called `The shop`.
fn name_for(model: &Spanned<String>) -> Spanned<String> {
    let fit = |c: char| if is_allowed(c) { c } else { '-' };
    let mut name: String = model.chars().map(fit).take(NAME_BYTES.end() - "-table".len()).collect();
    if name.len() < *NAME_BYTES.start() {
        name.push_str("-table");
    }
    Spanned::new(name, model.span)
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The same rule holds for tables and indexes.
pub fn check_name(reader: &mut Reader<'_>, name: &Spanned<String>, what: &str) {
    if !NAME_BYTES.contains(&name.len()) || !name.chars().all(is_allowed) {
        let help = "3 to 255 letters, digits, `_`, `-` or `.`";
        reader.error_with_help(name.span, format!("`{}` can't be the name of {what}", name.value), help);
    }
}

fn key_schema(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<KeySchema> {
    let partition = fields.take("partition").map(|node| key(reader, node));
    let sort = fields.take("sort").map(|node| key(reader, node)).unwrap_or_default();
    let partition = match partition {
        Some(partition) => partition,
        None => {
            if let Some(sort) = sort.first() {
                reader.error(sort.span, "a table with a sort key needs a partition key");
            }
            return None;
        }
    };
    for second in [partition.get(1), sort.get(1)].into_iter().flatten() {
        let help = "only global indexes have keys of several attributes: join them in a template";
        reader.error_with_help(second.span, "a table's key has one attribute on each side", help);
    }
    Some(KeySchema { partition, sort })
}

/// `PK`, `[customerId, status]`, `{ at: number }`.
pub fn key(reader: &mut Reader<'_>, node: &Node) -> Vec<KeyAttribute> {
    let NodeValue::Map(entries) = &node.value else {
        let attribute =
            |name: Spanned<String>| KeyAttribute { name: name.value, kind: Type::S, span: name.span };
        return reader.names(node).into_iter().map(attribute).collect();
    };
    let attribute = |(name, node): &(Scalar, Node)| {
        let kind = reader.choice(node, &KEY_TYPES)?.value;
        Some(KeyAttribute { name: name.text.clone(), kind, span: name.span })
    };
    entries.iter().filter_map(attribute).collect()
}

/// `read` and `write`: units, or how they scale.
pub fn throughput(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Throughput {
    Throughput {
        read: fields.take("read").and_then(|node| capacity(reader, node)),
        write: fields.take("write").and_then(|node| capacity(reader, node)),
    }
}

fn capacity(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<Capacity>> {
    if node.scalar().is_some() {
        let units = reader.parse(node, quantity::integer)?;
        return Some(units.map(|units| Capacity { units: Some(units), ..Capacity::default() }));
    }
    let mut fields = reader.fields(node, "a capacity")?;
    let mut integer = |reader: &mut Reader<'_>, name| {
        fields.take(name).and_then(|node| reader.parse(node, quantity::integer)).map(|units| units.value)
    };
    let (units, min, max) = (integer(reader, "units"), integer(reader, "min"), integer(reader, "max"));
    let target = fields.take("target").and_then(|node| reader.parse(node, quantity::percent));
    let mut seconds = |reader: &mut Reader<'_>, name| {
        fields.take(name).and_then(|node| reader.parse(node, quantity::duration)).map(|time| time.value)
    };
    let scale_in_seconds = seconds(reader, "scale-in");
    let scale_out_seconds = seconds(reader, "scale-out");
    fields.finish(reader);
    let target = target.map(|target| target.value);
    Some(Spanned::new(Capacity { units, min, max, target, scale_in_seconds, scale_out_seconds }, node.span))
}

fn tags(reader: &mut Reader<'_>, node: &Node) -> Vec<(String, String)> {
    let entries = reader.named(node, "tags");
    entries.iter().filter_map(|(name, node)| Some((name.text.clone(), reader.text(node)?.value))).collect()
}

fn samples(reader: &mut Reader<'_>, fields: &mut Fields<'_>, key: Option<&KeySchema>) -> Vec<SampleRow> {
    let Some(node) = fields.take("samples") else { return Vec::new() };
    let kind =
        |name: &str| key?.attributes().find(|attribute| attribute.name == name).map(|found| found.kind);
    literal::rows(reader, node, kind)
}
