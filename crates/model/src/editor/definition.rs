//! Where a name is declared, and where it is used.

use super::Document;
use super::outline::{Symbol, symbols};
use super::place::{ScalarPlace, is_word, scalars, word_at};
use super::reference::referable;
use crate::Span;
use crate::file::yaml::Scalar;

impl Document {
    /// The declaration of the name at a position.
    pub fn definition(&self, byte: usize) -> Option<Symbol> {
        self.referred(byte).map(|(symbol, _)| symbol)
    }

    /// What the name at a position refers to, and the span of the name there.
    pub(super) fn referred(&self, byte: usize) -> Option<(Symbol, Span)> {
        let root = self.root.as_ref()?;
        let place = ScalarPlace::at(root, byte)?;
        let symbols = symbols(root);
        let known = referable(&place, &symbols);
        let (word, span) = word_at(place.scalar, byte);
        let names = [(place.scalar.text.as_str(), place.scalar.span), (word, span)];
        names.into_iter().find_map(|(name, span)| {
            let symbol = known.iter().find(|symbol| symbol.name == name)?;
            Some(((*symbol).clone(), span))
        })
    }
    /// Every place of the text that names what is named at a position, its declaration included.
    pub fn references(&self, byte: usize) -> Vec<Span> {
        let (Some(root), Some(symbol)) = (self.root.as_ref(), self.definition(byte)) else {
            return Vec::new();
        };
        let symbols = symbols(root);
        let mut found = vec![symbol.name_span];
        for scalar in scalars(root).into_iter().filter(|scalar| scalar.text.contains(&symbol.name)) {
            let Some(place) = ScalarPlace::at(root, scalar.span.start) else { continue };
            if referable(&place, &symbols).into_iter().any(|known| *known == symbol) {
                found.extend(occurrences(scalar, &symbol.name));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Where a name is written in a scalar, as a whole word.
fn occurrences(scalar: &Scalar, name: &str) -> Vec<Span> {
    let text = &scalar.text;
    let apart =
        |start: usize, end: usize| !text[..start].ends_with(is_word) && !text[end..].starts_with(is_word);
    let found = text.match_indices(name).map(|(start, _)| (start, start + name.len()));
    found.filter(|(start, end)| apart(*start, *end)).map(|(start, end)| scalar.part(start, end)).collect()
}
