//! What cures a finding, as edits of the text. A fix says what to change ([`crate::diagnostic::Change`]); here it is
//! laid out as the file is: in braces or in lines, with the indentation of its neighbours.

use super::Document;
use super::outline::{entries, member};
use super::place::members;
use crate::diagnostic::{Change, Fix};
use crate::file::yaml::{Node, NodeValue, Scalar};
use crate::{Diagnostic, Source, Span};

/// The text of a span becomes another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

/// A change that an editor can offer.
#[derive(Clone, Debug, PartialEq)]
pub struct QuickFix {
    pub title: String,
    pub edits: Vec<Edit>,
    /// Whether it cures the finding, rather than accepting it.
    pub cures: bool,
}

impl Document {
    /// What can be done about a finding: the fixes of its rule; or to allow it, with a reason to be filled in.
    pub fn quick_fixes(&self, diagnostic: &Diagnostic) -> Vec<QuickFix> {
        let Some(root) = self.root.as_ref() else { return Vec::new() };
        let tree = Tree { text: &self.source.text, root };
        let cures = diagnostic.fixes.iter().filter_map(|fix| tree.fix(diagnostic, fix));
        cures.filter(|fix| self.is_cured(diagnostic, fix)).chain(tree.allow(diagnostic)).collect()
    }

    /// Whether the text is a model after the fix, the finding is gone, and there is no new one as serious.
    fn is_cured(&self, diagnostic: &Diagnostic, fix: &QuickFix) -> bool {
        // What is no model yet is cured step by step.
        if self.model.is_none() {
            return true;
        }
        let after =
            Document::new(Source::new(self.source.path.clone(), applied(&self.source.text, &fix.edits)));
        let like = |document: &Document, one: &Diagnostic| {
            let same = |other: &&Diagnostic| other.rule == one.rule && other.message == one.message;
            document.diagnostics.iter().filter(|other| other.allowed.is_none()).filter(same).count()
        };
        let new = |one: &&Diagnostic| {
            one.allowed.is_none() && one.level >= diagnostic.level && like(&after, one) > like(self, one)
        };
        let is_gone = like(&after, diagnostic) < like(self, diagnostic);
        after.model.is_some() && is_gone && !after.diagnostics.iter().any(|one| new(&one))
    }
}

/// The text after edits that do not overlap.
pub fn applied(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    edits.into_iter().fold(text.to_owned(), |mut text, edit| {
        text.replace_range(edit.span.range(), &edit.text);
        text
    })
}

struct Tree<'d> {
    text: &'d str,
    root: &'d Node,
}

/// A mapping of the file.
struct Mapping<'n> {
    path: Vec<&'n str>,
    /// The span of its name, unless it is the whole file or an element of a list.
    name: Option<Span>,
    node: &'n Node,
    entries: &'n [(Scalar, Node)],
}

impl Mapping<'_> {
    /// Its span together with its name.
    fn whole(&self) -> Span {
        self.name.map_or(self.node.span, |name| name.to(self.node.span))
    }

    fn can_have(&self, member: &str) -> bool {
        members(&self.path).iter().any(|(known, _)| *known == member)
    }
}

impl Tree<'_> {
    fn fix(&self, diagnostic: &Diagnostic, fix: &Fix) -> Option<QuickFix> {
        let edit = match &fix.change {
            Change::Rename { old, new } => self.rename(diagnostic.span, old, new)?,
            Change::Replace { span, text } => Edit { span: *span, text: text.clone() },
            Change::Put { element, name, value } => self.put(*element, name, value)?,
            Change::Remove { member } => self.remove(*member)?,
        };
        Some(QuickFix { title: fix.title.clone(), edits: vec![edit], cures: true })
    }

    /// In the innermost element around the finding that can allow something.
    fn allow(&self, diagnostic: &Diagnostic) -> Option<QuickFix> {
        let rule = diagnostic.rule.filter(|_| diagnostic.allowed.is_none())?;
        let mappings = self.mappings();
        let around = mappings
            .iter()
            .filter(|mapping| mapping.whole().contains(diagnostic.span) && mapping.can_have("allow"));
        let element = around.max_by_key(|mapping| mapping.path.len())?;
        let reason = "\"say why it is right here\"";
        let allowed = member(element.entries, "allow").filter(|node| matches!(node.value, NodeValue::Map(_)));
        let edit = match allowed {
            Some(node) => self.insert(node, entries(node), &format!("{rule}: {reason}")),
            None => self.insert(element.node, element.entries, &format!("allow: {{ {rule}: {reason} }}")),
        }?;
        Some(QuickFix { title: format!("allow {rule} here, with a reason"), edits: vec![edit], cures: false })
    }

    /// The one place in the span where `old` is written.
    fn rename(&self, span: Span, old: &str, new: &str) -> Option<Edit> {
        let text = self.text.get(span.range())?;
        let mut found = text.match_indices(old);
        let (at, _) = found.next().filter(|_| !old.is_empty())?;
        let start = span.start + at;
        found
            .next()
            .is_none()
            .then(|| Edit { span: Span::new(start, start + old.len()), text: new.to_owned() })
    }

    fn put(&self, element: Span, name: &str, value: &str) -> Option<Edit> {
        let mapping = self.mapping_of(element)?;
        if !mapping.can_have(name) {
            return None;
        }
        match member(mapping.entries, name) {
            Some(node) => Some(Edit { span: node.span, text: value.to_owned() }),
            None => self.insert(mapping.node, mapping.entries, &format!("{name}: {value}")),
        }
    }

    /// The mapping of an element, found by the span of its value, of its name, or of both; else the innermost mapping
    /// around the span.
    fn mapping_of(&self, element: Span) -> Option<Mapping<'_>> {
        let mut mappings = self.mappings();
        // The last one: a mapping with a single member has the span of that member.
        let exact = mappings.iter().rposition(|mapping| {
            [Some(mapping.node.span), mapping.name, Some(mapping.whole())].contains(&Some(element))
        });
        let around = || {
            let around =
                mappings.iter().enumerate().filter(|(_, mapping)| mapping.node.span.contains(element));
            around.max_by_key(|(_, mapping)| mapping.path.len()).map(|(at, _)| at)
        };
        let at = exact.or_else(around)?;
        Some(mappings.swap_remove(at))
    }

    /// All mappings, outer ones first.
    fn mappings(&self) -> Vec<Mapping<'_>> {
        let mut found = Vec::new();
        mappings(self.root, None, &mut Vec::new(), &mut found);
        found
    }

    /// A further member at the end of a mapping.
    fn insert(&self, node: &Node, entries: &[(Scalar, Node)], member: &str) -> Option<Edit> {
        let last = entries.last().map(|(name, node)| name.span.to(node.span));
        let in_braces = self.text[node.span.start..].starts_with('{');
        Some(match (in_braces, last) {
            (true, Some(last)) => Edit { span: at(last.end), text: format!(", {member}") },
            (true, None) => Edit { span: at(node.span.start + 1), text: format!(" {member} ") },
            (false, last) => {
                let first = entries.first()?.0.span.start;
                let indent = first - self.text[..first].rfind('\n').map_or(0, |newline| newline + 1);
                let end = last?.end;
                let end = self.text[end..].find('\n').map_or(self.text.len(), |newline| end + newline);
                Edit { span: at(end), text: format!("\n{:indent$}{member}", "") }
            }
        })
    }

    /// A member goes with its comma or its line; an `allow` that becomes empty goes, too.
    fn remove(&self, name: Span) -> Option<Edit> {
        let mappings = self.mappings();
        let mapping =
            mappings.iter().find(|mapping| mapping.entries.iter().any(|(key, _)| key.span == name))?;
        let position = mapping.entries.iter().position(|(key, _)| key.span == name)?;
        if mapping.entries.len() == 1 {
            return self.remove(mapping.name?);
        }
        let (key, node) = &mapping.entries[position];
        let whole = key.span.to(node.span);
        let in_braces = self.text[mapping.node.span.start..].starts_with('{');
        let span = match (in_braces, position) {
            (true, 0) => Span::new(whole.start, mapping.entries[1].0.span.start),
            (true, _) => {
                let (key, node) = &mapping.entries[position - 1];
                Span::new(key.span.to(node.span).end, whole.end)
            }
            (false, _) => {
                let start = self.text[..whole.start].rfind('\n').map_or(0, |newline| newline + 1);
                let end = self.text[whole.end..].find('\n');
                Span::new(start, end.map_or(self.text.len(), |newline| whole.end + newline + 1))
            }
        };
        Some(Edit { span, text: String::new() })
    }
}

fn mappings<'n>(node: &'n Node, name: Option<Span>, path: &mut Vec<&'n str>, found: &mut Vec<Mapping<'n>>) {
    match &node.value {
        NodeValue::Scalar(_) => {}
        NodeValue::List(elements) => elements.iter().for_each(|node| mappings(node, None, path, found)),
        NodeValue::Map(entries) => {
            found.push(Mapping { path: path.clone(), name, node, entries });
            for (name, node) in entries {
                path.push(&name.text);
                mappings(node, Some(name.span), path, found);
                path.pop();
            }
        }
    }
}

fn at(byte: usize) -> Span {
    Span::new(byte, byte)
}
