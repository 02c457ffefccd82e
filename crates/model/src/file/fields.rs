//! The fields of a mapping: each is taken by name; fields that are never taken are unknown.

use super::reader::{Reader, meant};
use super::yaml::{Node, Scalar};
use crate::diagnostic::listed;

/// The fields of one mapping that have not been taken yet.
pub struct Fields<'n> {
    /// `a pattern`, for messages.
    what: &'static str,
    entries: &'n [(Scalar, Node)],
    taken: Vec<bool>,
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    pub fn new(what: &'static str, entries: &'n [(Scalar, Node)]) -> Fields<'n> {
        Fields { what, entries, taken: vec![false; entries.len()], asked: Vec::new() }
    }

    /// The value of a field; `None` if it is absent or null.
    pub fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.take_entry(name).map(|(_, node)| node)
    }

    pub fn take_entry(&mut self, name: &'static str) -> Option<(&'n Scalar, &'n Node)> {
        self.asked.push(name);
        let position = self.entries.iter().position(|(key, _)| key.text == name)?;
        self.taken[position] = true;
        let (key, node) = &self.entries[position];
        let null = node.scalar().is_some_and(Scalar::is_null);
        (!null).then_some((key, node))
    }

    /// All fields not taken so far, for mappings whose other names are the user's own.
    pub fn take_rest(&mut self) -> Vec<(&'n Scalar, &'n Node)> {
        let rest = self.entries.iter().zip(&mut self.taken).filter_map(|((key, node), taken)| {
            let was_taken = std::mem::replace(taken, true);
            (!was_taken).then_some((key, node))
        });
        rest.collect()
    }

    /// Reports every field that was never asked for.
    pub fn finish(self, reader: &mut Reader<'_>) {
        for ((key, _), _) in self.entries.iter().zip(&self.taken).filter(|(_, taken)| !**taken) {
            let message = format!("{} has no field `{}`", self.what, key.text);
            let help = meant(&key.text, self.asked.iter().copied())
                .unwrap_or_else(|| format!("its fields are {}", listed(&self.asked)).into());
            reader.error_with_help(key.span, message, help);
        }
    }
}

/// The name that was probably meant.
pub fn similar<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .filter(|name| *name != written)
        .map(|name| (strsim::jaro_winkler(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness > 0.82)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, name)| name)
}
