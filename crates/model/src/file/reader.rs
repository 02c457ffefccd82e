//! What the readers of all sections share: the problems found, the names declared, and the common shapes
//! of values.

use super::Parsed;
use super::fields::{Fields, similar};
use super::yaml::{Node, NodeValue, Scalar};
use super::{quantity, rules};
use crate::diagnostic::{Fix, listed};
use crate::model::{Allowance, Curve, EntityId, Returns, Size, TableId};
use crate::{Diagnostic, Source, Span, Spanned};

/// More entities, patterns, attributes or steps than any model has, and few enough to be compared in pairs
/// within a second.
const ELEMENTS_MAX: usize = 2_000;

/// Collects problems while a file is read.
pub struct Reader<'s> {
    pub source: &'s Source,
    pub diagnostics: Vec<Diagnostic>,
    pub allowances: Vec<Allowance>,
    pub tables: Vec<String>,
    pub entities: Vec<String>,
    pub curves: Vec<(String, Curve)>,
}

impl<'s> Reader<'s> {
    pub fn new(source: &'s Source) -> Reader<'s> {
        Reader {
            source,
            diagnostics: Vec::new(),
            allowances: Vec::new(),
            tables: Vec::new(),
            entities: Vec::new(),
            curves: Vec::new(),
        }
    }

    /// Reports an error; the caller may add to it.
    pub fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        let position = self.diagnostics.len();
        self.diagnostics.push(Diagnostic::error(span, message));
        &mut self.diagnostics[position]
    }

    pub fn error_with_help(&mut self, span: Span, message: impl Into<String>, help: impl Into<Advice>) {
        let Advice { help, fix } = help.into();
        let error = self.error(span, message);
        error.help = Some(help);
        error.fixes.extend(fix);
    }

    /// The fields of a mapping, or an error if it is not a mapping.
    pub fn fields<'n>(&mut self, node: &'n Node, what: &'static str) -> Option<Fields<'n>> {
        match &node.value {
            NodeValue::Map(entries) => Some(Fields::new(what, entries)),
            _ => {
                let message = format!("{what} is a mapping of fields, not {}", node.kind());
                self.error(node.span, message);
                None
            }
        }
    }

    /// The entries of a mapping whose names are the user's own.
    pub fn named<'n>(&mut self, node: &'n Node, what: &str) -> &'n [(Scalar, Node)] {
        match &node.value {
            NodeValue::Map(entries) => match entries.get(ELEMENTS_MAX) {
                Some((name, _)) => {
                    self.error(name.span, format!("`{what}` has more than {ELEMENTS_MAX} elements"));
                    &entries[..ELEMENTS_MAX]
                }
                None => entries,
            },
            _ => {
                let message = format!("`{what}` is a mapping from names, not {}", node.kind());
                self.error(node.span, message);
                &[]
            }
        }
    }

    pub fn scalar<'n>(&mut self, node: &'n Node) -> Option<&'n Scalar> {
        let scalar = node.scalar();
        if scalar.is_none() {
            self.error(node.span, format!("expected a single value, not {}", node.kind()));
        }
        scalar
    }

    pub fn text(&mut self, node: &Node) -> Option<Spanned<String>> {
        let scalar = self.scalar(node)?;
        Some(Spanned::new(scalar.text.clone(), scalar.span))
    }

    /// A scalar in one of the small languages.
    pub fn parse<T>(&mut self, node: &Node, parse: impl Fn(&Scalar) -> Parsed<T>) -> Option<Spanned<T>> {
        let scalar = self.scalar(node)?;
        let parsed = self.note(parse(scalar))?;
        Some(Spanned::new(parsed, scalar.span))
    }

    /// Reports the problem if there is one.
    pub fn note<T>(&mut self, parsed: Parsed<T>) -> Option<T> {
        parsed.map_err(|diagnostic| self.diagnostics.push(*diagnostic)).ok()
    }

    pub fn choice<T: Copy>(&mut self, node: &Node, choices: &[(&str, T)]) -> Option<Spanned<T>> {
        let scalar = self.scalar(node)?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == scalar.text) {
            return Some(Spanned::new(*choice, scalar.span));
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let help = meant(&scalar.text, names.iter().copied())
            .unwrap_or_else(|| format!("it can be {}", listed(&names)).into());
        self.error_with_help(scalar.span, format!("`{}` is not known here", scalar.text), help);
        None
    }

    pub fn boolean(&mut self, node: &Node) -> Option<Spanned<bool>> {
        let words =
            [("true", true), ("false", false), ("yes", true), ("no", false), ("on", true), ("off", false)];
        self.choice(node, &words)
    }

    /// One name, or a list of names.
    pub fn names(&mut self, node: &Node) -> Vec<Spanned<String>> {
        self.list(node).iter().filter_map(|node| self.text(node)).collect()
    }

    /// The elements of a list; a single value is a list of one.
    pub fn list<'n>(&mut self, node: &'n Node) -> &'n [Node] {
        match &node.value {
            NodeValue::List(elements) => match elements.get(ELEMENTS_MAX) {
                Some(node) => {
                    self.error(node.span, format!("a list has at most {ELEMENTS_MAX} elements"));
                    &elements[..ELEMENTS_MAX]
                }
                None => elements,
            },
            _ => std::slice::from_ref(node),
        }
    }

    pub fn entity_id(&mut self, name: &str, span: Span) -> Option<EntityId> {
        let known = self.entities.iter().position(|entity| entity == name).map(EntityId);
        if known.is_none() {
            let help = unknown_help(name, &self.entities, "declare it under `entities`");
            self.error_with_help(span, format!("there is no entity `{name}`"), help);
        }
        known
    }

    pub fn table_id(&mut self, name: &str, span: Span) -> Option<TableId> {
        let known = self.tables.iter().position(|table| table == name).map(TableId);
        if known.is_none() {
            let help = unknown_help(name, &self.tables, "declare it under `tables`");
            self.error_with_help(span, format!("there is no table `{name}`"), help);
        }
        known
    }

    /// `1 KB` or `{ typical: 1 KB, max: 300 KB }`.
    pub fn size(&mut self, node: &Node) -> Option<Spanned<Size>> {
        if node.scalar().is_some() {
            let typical = self.parse(node, quantity::size)?;
            return Some(typical.map(|typical| Size { typical, max: None }));
        }
        let mut fields = self.fields(node, "a size")?;
        let typical = fields.take("typical").and_then(|node| self.parse(node, quantity::size));
        let max = fields.take("max").and_then(|node| self.parse(node, quantity::size));
        fields.finish(self);
        let typical = typical.as_ref().or(max.as_ref())?.value;
        Some(Spanned::new(Size { typical, max: max.map(|max| max.value) }, node.span))
    }

    /// `20` or `{ typical: 20, max: 500 }`.
    pub fn returns(&mut self, node: &Node) -> Option<Spanned<Returns>> {
        if node.scalar().is_some() {
            let typical = self.parse(node, quantity::number)?;
            return Some(typical.map(|typical| Returns { typical, max: None }));
        }
        let mut fields = self.fields(node, "a number of items")?;
        let typical = fields.take("typical").and_then(|node| self.parse(node, quantity::number));
        let max = fields.take("max").and_then(|node| self.parse(node, quantity::number));
        fields.finish(self);
        let typical = typical.as_ref().or(max.as_ref())?.value;
        Some(Spanned::new(Returns { typical, max: max.map(|max| max.value) }, node.span))
    }

    /// `curves: { office: [24 weights] }`.
    pub fn curves(&mut self, node: &Node) {
        for (name, node) in self.named(node, "curves") {
            if let Some(curve) = self.curve(node) {
                self.curves.push((name.text.clone(), curve));
            }
        }
    }

    /// A curve by name, or its 24 weights.
    pub fn curve(&mut self, node: &Node) -> Option<Curve> {
        if let Some(scalar) = node.scalar() {
            let known =
                self.curves.iter().find(|(name, _)| *name == scalar.text).map(|(_, curve)| curve.clone());
            if known.is_none() {
                let names: Vec<String> = self.curves.iter().map(|(name, _)| name.clone()).collect();
                let help = unknown_help(&scalar.text, &names, "declare it under `curves`");
                self.error_with_help(scalar.span, format!("there is no curve `{}`", scalar.text), help);
            }
            return known;
        }
        let weights: Vec<f64> = self
            .list(node)
            .iter()
            .filter_map(|node| self.parse(node, quantity::number).map(|weight| weight.value))
            .collect();
        match <[f64; 24]>::try_from(weights) {
            Ok(weights) => Some(Curve(weights)),
            Err(weights) => {
                let message = format!("a curve has 24 weights, one an hour; this has {}", weights.len());
                self.error(node.span, message);
                None
            }
        }
    }

    /// The `allow` field of an element.
    pub fn allow(&mut self, fields: &mut Fields<'_>, scope: Span) {
        if let Some(node) = fields.take("allow") {
            let allowances = rules::allowances(self, node, scope);
            self.allowances.extend(allowances);
        }
    }
}

/// What to do about a problem: in words and, if it is simple, as a change of the file.
pub struct Advice {
    pub help: String,
    pub fix: Option<Fix>,
}

impl<S: Into<String>> From<S> for Advice {
    fn from(help: S) -> Advice {
        Advice { help: help.into(), fix: None }
    }
}

/// The advice for an unknown name: a similar one, or what to do otherwise.
pub fn unknown_help<S: AsRef<str>>(name: &str, names: &[S], otherwise: &str) -> Advice {
    meant(name, names.iter().map(AsRef::as_ref)).unwrap_or_else(|| match names.is_empty() {
        true => otherwise.into(),
        false => format!("{otherwise}; there are {}", listed(names)).into(),
    })
}

/// The advice to write the name that was probably meant.
pub fn meant<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<Advice> {
    let name = similar(written, names)?;
    Some(Advice { help: format!("did you mean `{name}`?"), fix: Some(Fix::rename(written, name)) })
}
