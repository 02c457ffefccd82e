//! Which names can be written at a place: those of entities after `get`, of attributes in a template. Completion
//! offers them, and a definition is looked up among them.

use super::outline::{self, NameKind, Symbol, entries, member, of_kind};
use super::place::ScalarPlace;
use crate::file::yaml::{Node, NodeValue, Scalar};

const VERBS: [&str; 8] = ["get", "query", "scan", "create", "put", "update", "delete", "check"];

/// The declared names that a place can refer to.
pub fn referable<'s>(place: &ScalarPlace<'_>, symbols: &'s [Symbol]) -> Vec<&'s Symbol> {
    let all = |kind| of_kind(symbols, kind);
    let attributes_of = |names: &[&str]| attributes(symbols, names);
    match place.path.as_slice() {
        ["entities", _] if place.is_name => all(NameKind::Entity),
        ["patterns", _] if place.is_name => all(NameKind::Pattern),
        ["entities", _, "attributes", _, "copy-of"] if !place.is_name => {
            let origin = place.scalar.text.split_once('.').map(|(entity, _)| entity);
            let of_origin = origin.map(|entity| attributes_of(&[entity])).unwrap_or_default();
            all(NameKind::Entity).into_iter().chain(of_origin).collect()
        }
        ["entities", entity, "key" | "id", ..] | ["entities", entity, "attributes"] => {
            attributes_of(&[entity])
        }
        ["entities", entity, "attributes", _] if place.is_name => attributes_of(&[entity]),
        ["entities", _, "indexes", _] if place.is_name => all(NameKind::Index),
        ["entities", entity, "indexes", _, ..] => attributes_of(&[entity]),
        ["entities", _, "table"] => all(NameKind::Table),
        ["entities", _, "count", ..] | ["relations"] => all(NameKind::Entity),
        ["indexes" | "table" | "tables", ..] => in_table(place, symbols),
        ["patterns", _, "index"] => all(NameKind::Index),
        ["patterns", _, "rate", "curve"] => all(NameKind::Curve),
        ["patterns", _, "expect", "rows"] => all(NameKind::Sample),
        ["patterns", _, .., last] if !place.is_name && (VERBS.contains(last) || is_step(last)) => {
            all(NameKind::Entity)
        }
        ["patterns", _, .., field, _] if place.is_name && matches!(*field, "set" | "add" | "given") => {
            attributes_of(&entities_around(place))
        }
        [
            "patterns",
            _,
            ..,
            "by" | "where" | "filter" | "order" | "read" | "knows" | "set" | "add" | "remove" | "if"
            | "version",
        ] if !place.is_name => attributes_of(&entities_around(place)),
        _ => Vec::new(),
    }
}

fn is_step(field: &str) -> bool {
    matches!(field, "transact" | "batch")
}

/// Of these entities; of all if none is known.
fn attributes<'s>(symbols: &'s [Symbol], names: &[&str]) -> Vec<&'s Symbol> {
    let entities = of_kind(symbols, NameKind::Entity);
    let known: Vec<&Symbol> =
        entities.iter().copied().filter(|entity| names.contains(&entity.name.as_str())).collect();
    let of = if known.is_empty() { entities } else { known };
    let mut found: Vec<&Symbol> = Vec::new();
    for attribute in of.into_iter().flat_map(|entity| &entity.children) {
        if !found.iter().any(|known| known.name == attribute.name) {
            found.push(attribute);
        }
    }
    found
}

/// Keys, projections and `ttl` name attributes of any entity.
fn in_table<'s>(place: &ScalarPlace<'_>, symbols: &'s [Symbol]) -> Vec<&'s Symbol> {
    let fields = ["partition", "sort", "project", "ttl"];
    match place.path.iter().any(|name| fields.contains(name)) {
        true => attributes(symbols, &[]),
        false if place.is_name && place.path.contains(&"indexes") => of_kind(symbols, NameKind::Index),
        false if place.is_name => of_kind(symbols, NameKind::Table),
        false => Vec::new(),
    }
}

/// The entities that the innermost read or write around a place is about.
fn entities_around<'n>(place: &ScalarPlace<'n>) -> Vec<&'n str> {
    for mapping in place.mappings.iter().rev() {
        let found: Vec<&str> =
            VERBS.iter().filter_map(|verb| member(mapping, verb)).flat_map(words).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn words(node: &Node) -> Vec<&str> {
    match &node.value {
        NodeValue::Scalar(scalar) => vec![scalar.text.as_str()],
        NodeValue::List(nodes) => {
            nodes.iter().filter_map(Node::scalar).map(|scalar| scalar.text.as_str()).collect()
        }
        NodeValue::Map(_) => Vec::new(),
    }
}

/// The names of the key attributes that a place asks a template for: of the table in `key`, of the index in an entry.
pub fn key_attributes<'n>(root: &'n Node, path: &[&str]) -> Vec<&'n str> {
    let top = entries(root);
    let Some(entity) = path.get(1).and_then(|name| member(entries(member(top, "entities")?), name)) else {
        return Vec::new();
    };
    let table = member(entries(entity), "table").and_then(Node::scalar);
    let tables = member(top, "tables").map(entries).unwrap_or_default();
    let table = table.and_then(|name| member(tables, &name.text)).or_else(|| member(top, "table"));
    let holder = match path {
        ["entities", _, "key", ..] => table,
        ["entities", _, "indexes", index, ..] => {
            let own = table.and_then(|table| member(entries(table), "indexes"));
            let declared = own.or_else(|| member(top, "indexes")).map(entries).unwrap_or_default();
            member(declared, index)
        }
        _ => None,
    };
    let fields: &'n [(Scalar, Node)] = holder.map(outline::entries).unwrap_or_default();
    let keys = ["partition", "sort"].into_iter().filter_map(|side| member(fields, side));
    keys.flat_map(|node| match &node.value {
        NodeValue::Map(typed) => typed.iter().map(|(name, _)| name.text.as_str()).collect(),
        _ => words(node),
    })
    .collect()
}
