//! The capacity units of a request, by what they were used of.

use std::collections::BTreeMap;

/// Units of a table and of its indexes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    pub table: f64,
    /// By index name; an index that was not used is not here.
    pub indexes: BTreeMap<String, f64>,
    /// The bytes that writes to vector indexes are metered as, by index name. They are no units.
    pub vectors: BTreeMap<String, f64>,
}

impl Units {
    /// Units of a table alone.
    pub fn of_table(table: f64) -> Units {
        Units { table, ..Units::default() }
    }

    /// Units of an index alone.
    pub fn of_index(name: &str, units: f64) -> Units {
        Units { indexes: BTreeMap::from([(name.to_owned(), units)]), ..Units::default() }
    }

    /// Adds the units of another request on the same table.
    pub fn add(&mut self, other: Units) {
        self.table += other.table;
        for (name, units) in other.indexes {
            *self.indexes.entry(name).or_default() += units;
        }
        for (name, bytes) in other.vectors {
            *self.vectors.entry(name).or_default() += bytes;
        }
    }

    /// The sum over the table and its indexes.
    pub fn total(&self) -> f64 {
        self.table + self.indexes.values().sum::<f64>()
    }
}
