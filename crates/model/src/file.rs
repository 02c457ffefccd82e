//! The model file: YAML text -> [`Model`], or every problem of the text at once.
//!
//! Each section of the file has a reader of the same name. A reader never stops at a problem: it reports it and goes
//! on with what it could read. At the end `resolve` links indexes and entities.

mod action;
mod attribute;
mod cursor;
mod entity;
mod fields;
mod index;
mod literal;
mod pattern;
mod predicate;
mod quantity;
mod reader;
mod relation;
mod resolve;
mod rules;
mod table;
mod template;
mod together;
mod write;
pub(crate) mod yaml;

use crate::diagnostic;
use crate::model::EntityId;
use crate::{Diagnostic, Model, Source, Span, Spanned};
use reader::Reader;
use yaml::Node;

pub use write::{Comments, Element, layout, members, write};

pub(crate) type Parsed<T> = Result<T, Box<Diagnostic>>;

/// The result of reading a file: a model unless there were errors, and the problems in any case.
pub struct Reading {
    pub model: Option<Model>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Longer than any model. A larger file is a mistake or an attack.
pub(crate) const TEXT_BYTES_MAX: usize = 4 << 20;

/// Reads a model file.
pub fn read(source: &Source) -> Reading {
    let mut reader = Reader::new(source);
    if source.text.len() > TEXT_BYTES_MAX {
        let message = format!("a model file has at most {} MB", TEXT_BYTES_MAX >> 20);
        return Reading { model: None, diagnostics: vec![Diagnostic::error(Span::default(), message)] };
    }
    let root = yaml::parse(source, &mut reader.diagnostics);
    complete(reader, root)
}

/// A model whose sections are given as JSON rather than as text.
pub fn read_json(sections: &serde_json::Value) -> Reading {
    let source = Source::new("", "");
    complete(Reader::new(&source), Some(yaml::from_json(sections)))
}

fn complete(mut reader: Reader<'_>, root: Option<Node>) -> Reading {
    let model = match root {
        Some(root) => model(&mut reader, &root),
        None => {
            if reader.diagnostics.is_empty() {
                let empty = Diagnostic::error(Span::default(), "the file is empty");
                reader.diagnostics.push(empty.help("`lodestone model init` writes one to start from"));
            }
            None
        }
    };
    let mut diagnostics = reader.diagnostics;
    diagnostic::sort(&mut diagnostics);
    let model = model.filter(|_| !diagnostic::has_errors(&diagnostics));
    Reading { model, diagnostics }
}

/// The text as JSON, as editors see it; `None` if it is not YAML.
pub fn to_json(source: &Source) -> Option<serde_json::Value> {
    yaml::parse(source, &mut Vec::new()).map(|root| literal::json(&root))
}

/// YAML or JSON of another tool; `tagged` says what a value behind a tag (`!Ref table`) stands for.
pub fn foreign_json(
    text: &str,
    tagged: impl Fn(&str, serde_json::Value) -> serde_json::Value,
) -> Result<serde_json::Value, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    match yaml::parse_foreign(&Source::new("", text), &mut diagnostics) {
        Some(root) if diagnostics.is_empty() => Ok(literal::tagged_json(&root, &tagged)),
        _ => Err(diagnostics),
    }
}

fn model(reader: &mut Reader<'_>, root: &Node) -> Option<Model> {
    let mut fields = reader.fields(root, "a model")?;
    let name = fields.take("model").and_then(|node| reader.text(node));
    let name = name.unwrap_or_else(|| {
        let first_line = Span::new(root.span.start, root.span.start);
        reader.error(first_line, "the model has no name").help = Some("begin with `model: NAME`".to_owned());
        Spanned::new(String::new(), first_line)
    });
    let description = fields.take("description").and_then(|node| reader.text(node));
    let region = fields.take("region").and_then(|node| reader.text(node));
    let stages = [("production", true), ("development", false)];
    let stage = fields.take("stage").and_then(|node| reader.choice(node, &stages));
    fields.take("curves").into_iter().for_each(|node| reader.curves(node));

    let tables = table::tables(reader, &mut fields, &name);
    let entity_nodes = fields.take("entities").map(|node| reader.named(node, "entities")).unwrap_or_default();
    reader.entities = entity_nodes.iter().map(|(name, _)| name.text.clone()).collect();
    let entities = entity_nodes.iter().map(|(name, node)| entity::entity(reader, name, node)).collect();
    let mut resolved = resolve::resolve(reader, tables, entities);

    let pattern_nodes =
        fields.take("patterns").map(|node| reader.named(node, "patterns")).unwrap_or_default();
    let patterns = pattern_nodes
        .iter()
        .filter_map(|(id, node)| pattern::pattern(reader, &mut resolved, id, node))
        .collect::<Vec<_>>();
    for (position, entity) in resolved.entities.iter_mut().enumerate() {
        entity.together = together::together(EntityId(position), entity, &patterns);
    }
    let relations =
        fields.take("relations").map(|node| relation::relations(reader, node)).unwrap_or_default();
    let rules = fields.take("rules").map(|node| rules::settings(reader, node)).unwrap_or_default();
    reader.allow(&mut fields, Span::new(0, reader.source.text.len()));
    let kept = fields.take("kept").map(|node| reader.named(node, "kept")).unwrap_or_default();
    fields.finish(reader);

    Some(Model {
        name,
        description: description.map(|text| text.value),
        region,
        production: stage.is_none_or(|stage| stage.value),
        tables: resolved.tables,
        entities: resolved.entities,
        patterns,
        relations,
        rules,
        allowances: std::mem::take(&mut reader.allowances),
        kept: kept.iter().map(|(format, node)| (format.text.clone(), literal::json(node))).collect(),
    })
}
