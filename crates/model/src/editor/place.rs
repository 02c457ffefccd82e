//! Where a position is in a file's tree, and what the schema says about that place.
//!
//! A path has the names of members from the top: `patterns`, `A1`, `by`. Elements of lists have no names, so
//! `transact: [{ update: Order }]` has the path `patterns`, `A6`, `transact`, `update`.

use std::sync::LazyLock;

use serde_json::Value;

use crate::Span;
use crate::file::yaml::{Node, NodeValue, Scalar};
use crate::schema::schema;

/// A scalar of the tree.
pub struct ScalarPlace<'n> {
    /// Its own name included if it is one.
    pub path: Vec<&'n str>,
    pub scalar: &'n Scalar,
    pub is_name: bool,
    /// The mappings around it, the innermost last.
    pub mappings: Vec<&'n [(Scalar, Node)]>,
}

impl<'n> ScalarPlace<'n> {
    /// The first scalar that `accept` takes.
    pub fn find(root: &'n Node, accept: &dyn Fn(&Scalar) -> bool) -> Option<ScalarPlace<'n>> {
        find(root, &mut Vec::new(), &mut Vec::new(), accept)
    }

    /// The scalar at a position; at its end counts too.
    pub fn at(root: &'n Node, byte: usize) -> Option<ScalarPlace<'n>> {
        ScalarPlace::find(root, &|scalar| scalar.span.start <= byte && byte <= scalar.span.end)
    }

    /// Of the parent if this is a name.
    pub fn parent_path(&self) -> &[&'n str] {
        &self.path[..self.path.len() - usize::from(self.is_name)]
    }
}

fn find<'n>(
    node: &'n Node,
    path: &mut Vec<&'n str>,
    mappings: &mut Vec<&'n [(Scalar, Node)]>,
    accept: &dyn Fn(&Scalar) -> bool,
) -> Option<ScalarPlace<'n>> {
    let place = |path: &[&'n str], scalar, is_name, mappings: &[&'n [(Scalar, Node)]]| ScalarPlace {
        path: path.to_vec(),
        scalar,
        is_name,
        mappings: mappings.to_vec(),
    };
    match &node.value {
        NodeValue::Scalar(scalar) => accept(scalar).then(|| place(path, scalar, false, mappings)),
        NodeValue::List(elements) => elements.iter().find_map(|node| find(node, path, mappings, accept)),
        NodeValue::Map(entries) => {
            mappings.push(entries);
            for (name, node) in entries {
                path.push(&name.text);
                let found = match accept(name) {
                    true => Some(place(path, name, true, mappings)),
                    false => find(node, path, mappings, accept),
                };
                if found.is_some() {
                    return found;
                }
                path.pop();
            }
            mappings.pop();
            None
        }
    }
}

/// All scalars of a tree, names included.
pub fn scalars(node: &Node) -> Vec<&Scalar> {
    match &node.value {
        NodeValue::Scalar(scalar) => vec![scalar],
        NodeValue::List(elements) => elements.iter().flat_map(scalars).collect(),
        NodeValue::Map(entries) => {
            entries.iter().flat_map(|(name, node)| std::iter::once(name).chain(scalars(node))).collect()
        }
    }
}

/// The word at a position of a scalar, and its span. A scalar with escapes is one word.
pub fn word_at(scalar: &Scalar, byte: usize) -> (&str, Span) {
    let text = scalar.part(0, scalar.text.len());
    let literal = text.end - text.start == scalar.text.len();
    let offset = byte.saturating_sub(text.start).min(scalar.text.len());
    if !literal || !scalar.text.is_char_boundary(offset) {
        return (&scalar.text, scalar.span);
    }
    let (before, after) = scalar.text.split_at(offset);
    let start = before.rfind(|c| !is_word(c)).map_or(0, |at| at + width_at(before, at));
    let end = offset + after.find(|c| !is_word(c)).unwrap_or(after.len());
    (&scalar.text[start..end], scalar.part(start, end))
}

fn width_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// Names of entities, attributes and indexes. A dot separates an entity from its attribute.
pub fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

/// The schemas of a path, with references and alternatives followed.
pub fn schemas(path: &[&str]) -> Vec<&'static Value> {
    let mut here = Vec::new();
    alternatives(&SCHEMA, &mut here);
    for name in path {
        let mut next = Vec::new();
        for schema in here {
            let member = schema["properties"].get(*name);
            let other = schema.get("additionalProperties").filter(|other| other.is_object());
            if let Some(member) = member.or(other) {
                alternatives(member, &mut next);
            }
        }
        here = next;
    }
    here
}

/// A schema, and what it refers to, is one of, or is a list of. The schema has no cycles.
fn alternatives(schema: &'static Value, found: &mut Vec<&'static Value>) {
    found.push(schema);
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        alternatives(&SCHEMA["$defs"][name], found);
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        alternatives(choice, found);
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        alternatives(items, found);
    }
}

/// What the schema says about a place, in words.
pub fn description(path: &[&str]) -> Option<&'static str> {
    schemas(path).into_iter().find_map(|schema| schema["description"].as_str())
}

/// The members that a mapping at this path can have, and what each means.
pub fn members(path: &[&str]) -> Vec<(&'static str, &'static str)> {
    let mut members: Vec<(&str, &str)> = Vec::new();
    for (name, _) in schemas(path).into_iter().filter_map(|schema| schema["properties"].as_object()).flatten()
    {
        if !members.iter().any(|(known, _)| known == name) {
            let inner: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
            members.push((name, description(&inner).unwrap_or_default()));
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::file::yaml::parse;

    #[test]
    fn a_path_names_members_and_leaves_out_lists() {
        let source = Source::new(
            "",
            "patterns:\n  A6: { transact: [create Order, { update: Order, set: [status] }] }\n",
        );
        let root = parse(&source, &mut Vec::new()).expect("it is YAML");
        let place = ScalarPlace::find(&root, &|scalar| scalar.text == "status").expect("it is there");
        assert_eq!(place.path, ["patterns", "A6", "transact", "set"]);
        assert!(!place.is_name);
        let name = ScalarPlace::find(&root, &|scalar| scalar.text == "update").expect("it is there");
        assert_eq!(name.parent_path(), ["patterns", "A6", "transact"]);
    }

    #[test]
    fn the_schema_is_followed_through_references_and_lists() {
        assert_eq!(description(&["patterns", "A1", "limit"]), Some("How many items at most"));
        assert!(members(&["patterns", "A1", "transact"]).iter().any(|(name, _)| *name == "times"));
        assert!(members(&["entities", "E", "attributes", "a"]).iter().any(|(name, _)| *name == "copy-of"));
        assert!(members(&["nowhere"]).is_empty());
    }

    #[test]
    fn a_word_is_found_inside_a_template() {
        let source = Source::new("", "PK: \"ORDER#{orderId}#x\"");
        let root = parse(&source, &mut Vec::new()).expect("it is YAML");
        let byte = source.text.find("derId").expect("it is there");
        let place = ScalarPlace::at(&root, byte).expect("it is there");
        let (word, span) = word_at(place.scalar, byte);
        assert_eq!((word, source.slice(span)), ("orderId", "orderId"));
    }
}
