//! Which Regions can reach each other. Links are cut on purpose, to rehearse what an application does then.

use std::collections::BTreeSet;

use parking_lot::RwLock;

/// The links that are cut. They are whole again when the database is next opened.
#[derive(Default)]
pub struct Links {
    cut: RwLock<BTreeSet<(String, String)>>,
}

impl Links {
    /// Cuts the link between two Regions, in both directions.
    pub fn cut(&self, one: &str, other: &str) {
        self.cut.write().insert(pair(one, other));
    }

    /// Heals it. False if it was not cut.
    pub fn heal(&self, one: &str, other: &str) -> bool {
        self.cut.write().remove(&pair(one, other))
    }

    /// Whether it is cut.
    pub fn is_cut(&self, one: &str, other: &str) -> bool {
        let cut = self.cut.read();
        !cut.is_empty() && cut.contains(&pair(one, other))
    }

    /// All that are cut.
    pub fn all(&self) -> Vec<(String, String)> {
        self.cut.read().iter().cloned().collect()
    }
}

fn pair(one: &str, other: &str) -> (String, String) {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    (first.to_owned(), second.to_owned())
}
