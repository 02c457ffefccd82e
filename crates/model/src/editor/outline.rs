//! The names that a file declares, from its tree alone: tables, indexes, entities with their attributes, patterns,
//! sample rows. What is only mentioned, as an attribute in a template, is declared where it is first mentioned.

use super::Document;
use crate::Span;
use crate::file::yaml::{Node, NodeValue, Scalar};

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    Table,
    Index,
    Entity,
    Attribute,
    Pattern,
    Sample,
    Curve,
}

/// A declared name.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    pub kind: NameKind,
    pub name: String,
    pub name_span: Span,
    /// With everything that belongs to it.
    pub span: Span,
    /// The attributes of an entity, the indexes of a table.
    pub children: Vec<Symbol>,
}

impl Document {
    /// What the file declares, in its order; empty while the text is not YAML.
    pub fn symbols(&self) -> Vec<Symbol> {
        self.root.as_ref().map(symbols).unwrap_or_default()
    }
}

/// What the tree declares.
pub fn symbols(root: &Node) -> Vec<Symbol> {
    let mut found = Vec::new();
    for (name, node) in entries(root) {
        match name.text.as_str() {
            "curves" => {
                found.extend(entries(node).iter().map(|(name, node)| symbol(NameKind::Curve, name, node)))
            }
            "table" => found.extend(table(name, node)),
            "tables" => found.extend(entries(node).iter().map(|(name, node)| with_indexes(name, node))),
            "entities" => found.extend(entries(node).iter().map(|(name, node)| entity(name, node))),
            "indexes" => {
                found.extend(entries(node).iter().map(|(name, node)| symbol(NameKind::Index, name, node)))
            }
            "patterns" => {
                found.extend(entries(node).iter().map(|(name, node)| symbol(NameKind::Pattern, name, node)))
            }
            "samples" => {
                found.extend(entries(node).iter().map(|(name, node)| symbol(NameKind::Sample, name, node)))
            }
            _ => {}
        }
    }
    found.extend(mentioned_indexes(root, &found));
    found
}

/// All symbols of a kind, nested ones too.
pub fn of_kind(symbols: &[Symbol], kind: NameKind) -> Vec<&Symbol> {
    let nested = symbols.iter().flat_map(|symbol| &symbol.children);
    symbols.iter().chain(nested).filter(|symbol| symbol.kind == kind).collect()
}

pub fn entries(node: &Node) -> &[(Scalar, Node)] {
    match &node.value {
        NodeValue::Map(entries) => entries,
        _ => &[],
    }
}

pub fn member<'n>(entries: &'n [(Scalar, Node)], name: &str) -> Option<&'n Node> {
    entries.iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
}

fn symbol(kind: NameKind, name: &Scalar, node: &Node) -> Symbol {
    Symbol {
        kind,
        name: name.text.clone(),
        name_span: name.span,
        span: name.span.to(node.span),
        children: Vec::new(),
    }
}

/// `table: name`, or a mapping that may hold the name.
fn table(key: &Scalar, node: &Node) -> Option<Symbol> {
    let name = node.scalar().or_else(|| member(entries(node), "name")?.scalar())?;
    let children = with_indexes(key, node).children;
    let span = key.span.to(node.span);
    Some(Symbol { kind: NameKind::Table, name: name.text.clone(), name_span: name.span, span, children })
}

fn with_indexes(name: &Scalar, node: &Node) -> Symbol {
    let indexes = member(entries(node), "indexes").map(entries).unwrap_or_default();
    let children = indexes.iter().map(|(name, node)| symbol(NameKind::Index, name, node)).collect();
    Symbol { children, ..symbol(NameKind::Table, name, node) }
}

fn entity(name: &Scalar, node: &Node) -> Symbol {
    let mut entity = symbol(NameKind::Entity, name, node);
    let fields = entries(node);
    match member(fields, "attributes").map(|node| &node.value) {
        Some(NodeValue::Map(attributes)) => {
            entity
                .children
                .extend(attributes.iter().map(|(name, node)| symbol(NameKind::Attribute, name, node)));
        }
        Some(NodeValue::List(names)) => {
            let names = names.iter().filter_map(Node::scalar);
            entity.children.extend(names.map(|name| attribute(&name.text, name.span)));
        }
        _ => {}
    }
    let keys = member(fields, "key").into_iter();
    let indexes = member(fields, "indexes").map(entries).unwrap_or_default().iter().map(|(_, node)| node);
    for template in keys.chain(indexes).flat_map(entries).filter_map(|(_, node)| node.scalar()) {
        for (name, span) in template_words(template) {
            if !entity.children.iter().any(|known| known.name == name) {
                entity.children.push(attribute(name, span));
            }
        }
    }
    entity
}

fn attribute(name: &str, span: Span) -> Symbol {
    Symbol { kind: NameKind::Attribute, name: name.to_owned(), name_span: span, span, children: Vec::new() }
}

/// The attributes that a template names: `orderId` of `{shard(orderId, 3):02}`.
fn template_words(scalar: &Scalar) -> Vec<(&str, Span)> {
    let text = &scalar.text;
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|found| at + found + 1) {
        let close = text[open..].find('}').map_or(text.len(), |found| open + found);
        let field = &text[open..close];
        let arguments = field.find('(').map_or(0, |found| found + 1);
        let stop = |c: char| matches!(c, ',' | ')' | ':');
        let end = field[arguments..].find(stop).map_or(field.len(), |found| arguments + found);
        let word = field[arguments..end].trim();
        if !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit() || c == '{') {
            let start = open + arguments + field[arguments..end].find(word).unwrap_or(0);
            words.push((word, scalar.part(start, start + word.len())));
        }
        at = close;
    }
    words
}

/// Indexes that only entities name.
fn mentioned_indexes(root: &Node, declared: &[Symbol]) -> Vec<Symbol> {
    let known: Vec<&str> =
        of_kind(declared, NameKind::Index).iter().map(|index| index.name.as_str()).collect();
    let mut found: Vec<Symbol> = Vec::new();
    let entities = member(entries(root), "entities").map(entries).unwrap_or_default();
    for (_, entity) in entities {
        for (name, node) in member(entries(entity), "indexes").map(entries).unwrap_or_default() {
            let is_new =
                !known.contains(&name.text.as_str()) && !found.iter().any(|one| one.name == name.text);
            if is_new {
                found.push(symbol(NameKind::Index, name, node));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    const TEXT: &str = "\
model: shop
table: { name: app, partition: PK, sort: SK }
entities:
  Order:
    key: { PK: \"ORDER#{orderId}\", SK: META }
    attributes: { status: [OPEN, DONE] }
    indexes: { byDay: { DPK: \"{day(createdAt)}#{shard(orderId, 3):02}\" } }
patterns:
  A1: { get: Order, by: orderId }
";

    #[test]
    fn everything_that_is_declared_or_mentioned_is_a_symbol() {
        let document = Document::new(Source::new("m.yaml", TEXT));
        let names = |symbols: &[Symbol]| symbols.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        let symbols = document.symbols();
        assert_eq!(names(&symbols), ["app", "Order", "A1", "byDay"]);
        assert_eq!(names(&symbols[1].children), ["status", "orderId", "createdAt"]);
        let created = &symbols[1].children[2];
        assert_eq!(document.source.slice(created.name_span), "createdAt");
    }

    #[test]
    fn odd_templates_end() {
        for text in ["{", "{}", "{{x}}", "{shard(", "a{b}{", "{é(ü,1)}"] {
            let source = Source::new("", format!("entities: {{ E: {{ key: {{ PK: '{text}' }} }} }}"));
            let _ = Document::new(source).symbols();
        }
    }
}
