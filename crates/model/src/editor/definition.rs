//! Where a name is declared.

use super::Document;
use super::outline::{Symbol, symbols};
use super::place::{Place, word_at};
use super::reference::referable;
use crate::Span;

impl Document {
    /// The declaration of the name at a position.
    pub fn definition(&self, byte: usize) -> Option<Symbol> {
        self.referred(byte).map(|(symbol, _)| symbol)
    }

    /// What the name at a position refers to, and the span of the name there.
    pub(super) fn referred(&self, byte: usize) -> Option<(Symbol, Span)> {
        let root = self.root.as_ref()?;
        let place = Place::at(root, byte)?;
        let symbols = symbols(root);
        let known = referable(&place, &symbols);
        let (word, span) = word_at(place.scalar, byte);
        let names = [(place.scalar.text.as_str(), place.scalar.span), (word, span)];
        names.into_iter().find_map(|(name, span)| {
            let symbol = known.iter().find(|symbol| symbol.name == name)?;
            Some(((*symbol).clone(), span))
        })
    }
}
