//! One pattern, tried once.

use model::Model;
use model::model::TableId;
use model::predict::item::Values;
use model::template::plain_text;

use crate::bill::Bill;
use crate::fault::Fault;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    pub requests: u64,
    pub pages: u64,
    /// Items read by the database, and items that came back.
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

/// An item by its primary key, for people: `CUST#a1b2 PROFILE`.
pub fn name_of(model: &Model, table: TableId, item: &Values) -> String {
    let schema = model.table(table).key.iter();
    let parts = schema.flat_map(|schema| schema.attributes()).filter_map(|key| item.get(&key.name));
    parts.map(plain_text).collect::<Vec<_>>().join(" ")
}
