//! What the writers of all languages share.

use super::call::Call;
use super::{
    Body, EntityItem, Found, Function, ItemAttribute, Library, Part, Read, ReadOperation, Record, Request,
    Value, Verb, WrittenFunction,
};
use crate::layout::Doc;

/// The name of the variable or constant that holds a table.
pub fn table_variable(library: &Library, table: &str) -> String {
    match library.tables.as_slice() {
        [_] => "table".to_owned(),
        _ => format!("{}_table", super::case::identifier(table, "table")),
    }
}

/// The parts of a prelude whose names are used in the text, in their order; a part may use one before it.
pub fn used_of(text: &str, all: &[(&str, &str)]) -> String {
    let mut used: Vec<&str> = Vec::new();
    let mut seen = text.to_owned();
    for (name, source) in all.iter().rev() {
        if seen.contains(name) {
            used.push(source);
            seen.push_str(source);
        }
    }
    used.into_iter().rev().collect()
}

/// A name that is no reserved word of the language.
pub fn unreserved(name: String, reserved: &[&str]) -> String {
    if reserved.contains(&name.as_str()) { name + "_" } else { name }
}

/// A record's name that is none of the language's own types.
pub fn type_name(record: &str, reserved: &[&str]) -> String {
    if reserved.contains(&record) { format!("{record}Record") } else { record.to_owned() }
}

pub fn list(open: &str, items: Vec<Doc>, close: &str) -> Doc {
    Doc::Group { open: open.to_owned(), items, close: close.to_owned(), space: false, comma: true }
}

/// The same without a comma behind the last of several lines.
pub fn tight(open: &str, items: Vec<Doc>, close: &str) -> Doc {
    Doc::Group { open: open.to_owned(), items, close: close.to_owned(), space: false, comma: false }
}

pub fn atom(text: impl Into<String>) -> Doc {
    Doc::Atom(text.into())
}

/// The lines of a text, further in.
pub fn indented(text: &str, spaces: usize) -> String {
    let indent = " ".repeat(spaces);
    let lines = text.split_inclusive('\n');
    lines.map(|line| if line == "\n" { line.to_owned() } else { format!("{indent}{line}") }).collect()
}

/// A statement on lines of its own.
pub fn line(doc: &Doc, depth: usize, step: usize) -> String {
    let indent = depth * step;
    format!("{}{}\n", " ".repeat(indent), doc.text(indent, indent, step))
}

impl Library {
    /// The types of results with items of several entities.
    pub fn mixed(&self) -> impl Iterator<Item = (&str, &[Part])> {
        let written = self.functions.iter().filter_map(|function| function.written.as_ref().ok());
        written.filter_map(|written| match &written.body {
            Body::Read(Read { found: Found::Mixed { record, parts }, .. })
            | Body::BatchGet { found: Found::Mixed { record, parts }, .. }
            | Body::TransactionGet { found: Found::Mixed { record, parts }, .. } => {
                Some((record.as_str(), parts.as_slice()))
            }
            _ => None,
        })
    }

    /// Each call with its function, and the function's position among all.
    pub fn called<'l>(
        &'l self,
        calls: &'l [Call],
    ) -> impl Iterator<Item = (&'l Call, usize, &'l Function, &'l WrittenFunction)> {
        calls.iter().filter_map(|call| {
            let position = self.functions.iter().position(|function| function.pattern == call.pattern)?;
            let function = &self.functions[position];
            Some((call, position, function, function.written.as_ref().ok()?))
        })
    }

    pub fn record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }
}

/// The value of a request's member; `I` is the language's expression for an item.
pub enum Member<'l, I> {
    Text(&'l str),
    Flag(bool),
    Item(I),
    /// Attributes or placeholders with their values.
    Values(&'l [(String, Value)]),
    /// Placeholders with the names that they stand for.
    Names(&'l [(String, String)]),
    /// Only the number of items is selected.
    Count,
    /// The parameter `limit`.
    Limit,
}

impl Request {
    /// Its members apart from the table, by their names in the API, in the order in which people read them.
    pub fn members<'l, I>(&'l self, item: Option<I>) -> Vec<(&'static str, Member<'l, I>)> {
        let text = |text: &'l Option<String>| text.as_deref().map(Member::Text);
        let values = |all: &'l [(String, Value)]| (!all.is_empty()).then_some(Member::Values(all));
        let names = (!self.names.is_empty()).then_some(Member::Names(&self.names));
        let all = [
            ("IndexName", text(&self.index)),
            ("Key", values(&self.key)),
            ("Item", item.map(Member::Item)),
            ("KeyConditionExpression", text(&self.key_condition)),
            ("FilterExpression", text(&self.filter)),
            ("UpdateExpression", text(&self.update)),
            ("ConditionExpression", text(&self.condition)),
            ("ProjectionExpression", text(&self.projection)),
            ("ExpressionAttributeNames", names),
            ("ExpressionAttributeValues", values(&self.values)),
            ("Select", self.counts.then_some(Member::Count)),
            ("ScanIndexForward", self.backward.then_some(Member::Flag(false))),
            ("ConsistentRead", self.consistent.then_some(Member::Flag(true))),
            ("Limit", self.limited.then_some(Member::Limit)),
        ];
        all.into_iter().filter_map(|(name, member)| Some((name, member?))).collect()
    }
}

impl EntityItem {
    /// The attributes that every item has, and the others: those with the same tests are together.
    pub fn divided(&self) -> (Vec<&ItemAttribute>, Vec<Vec<&ItemAttribute>>) {
        let (always, tested): (Vec<_>, Vec<_>) = self.attributes.iter().partition(|one| one.when.is_empty());
        let runs = tested.chunk_by(|one, other| one.when == other.when);
        (always, runs.map(<[_]>::to_vec).collect())
    }
}

impl ReadOperation {
    /// The API's name of the operation; each language has its own form of it.
    pub fn name(self) -> &'static str {
        match self {
            ReadOperation::Get => "GetItem",
            ReadOperation::Query => "Query",
            ReadOperation::Scan => "Scan",
        }
    }
}

impl Verb {
    /// The API's name of the operation that does it alone.
    pub fn operation(&self) -> &'static str {
        match self {
            Verb::Put { .. } => "PutItem",
            Verb::Update => "UpdateItem",
            Verb::Delete | Verb::Check => "DeleteItem",
        }
    }

    /// The API's name of what does it in a transaction.
    pub fn action(&self) -> &'static str {
        match self {
            Verb::Put { .. } => "Put",
            Verb::Update => "Update",
            Verb::Delete => "Delete",
            Verb::Check => "ConditionCheck",
        }
    }
}
