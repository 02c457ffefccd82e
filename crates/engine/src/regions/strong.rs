//! Which tables are strongly consistent between Regions. There is nothing to do for them here: their replicas are views of
//! the same rows (`base/strong.rs`).

use super::Regions;
use crate::Namespace;
use crate::base::table::Table;

/// A table that is strongly consistent between Regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrongTable {
    pub account: String,
    pub table: String,
    /// The Regions that have it, in the order of their names.
    pub regions: Vec<String>,
    /// The Region that is its witness.
    pub witness: Option<String>,
}

impl Regions {
    /// The strongly consistent tables, in the order of accounts and names.
    pub fn strong_tables(&self) -> Vec<StrongTable> {
        let strong = self.catalog.tables_with(|table| table.strong.is_some() && table.stands_for_rows());
        let mut found: Vec<StrongTable> = strong.iter().map(|table| shown(table)).collect();
        found.sort_by(|one, other| (&one.account, &one.table).cmp(&(&other.account, &other.table)));
        found
    }
}

fn shown(table: &Table) -> StrongTable {
    let Namespace { account, region } = &table.namespace;
    let mut regions: Vec<String> = table.strong_regions().chain([&**region]).map(str::to_owned).collect();
    regions.sort();
    let witness = table.strong.as_ref().and_then(|strong| strong.witness.clone());
    StrongTable { account: account.to_string(), table: table.name.clone(), regions, witness }
}
