//! One try of one pattern.

use model::Model;
use model::model::TableId;
use model::predict::item::Values;
use model::template::plain_text;

use crate::bill::Bill;
use crate::fault::Fault;

/// The result of a try.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    pub requests: u64,
    pub pages: u64,
    /// Items that the database read, and items that it returned.
    pub examined: u64,
    pub returned: u64,
    pub predicted: Bill,
    pub consumed: Bill,
    pub faults: Vec<Fault>,
}

impl Trial {
    pub fn failed(fault: Fault) -> Trial {
        Trial { faults: vec![fault], ..Trial::default() }
    }
}

/// An item by its primary key, for display: `CUST#a1b2 PROFILE`.
pub fn name_of(model: &Model, table: TableId, item: &Values) -> String {
    let schema = model.table(table).key.iter();
    let parts = schema.flat_map(|schema| schema.attributes()).filter_map(|key| item.get(&key.name));
    parts.map(plain_text).collect::<Vec<_>>().join(" ")
}
