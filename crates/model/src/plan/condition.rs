//! The key condition of a read, in the model's own words.

use super::ReadPlan;
use crate::Model;

impl ReadPlan {
    /// `PK` and `= CUST#{customerId}`, `SK` and `begins_with ORDER#`.
    pub fn key_condition<'m>(&self, model: &'m Model) -> Vec<(&'m str, String)> {
        let table = model.table(self.table);
        let key = match self.index {
            Some(index) => Some(&table.index(index).key),
            None => table.key.as_ref(),
        };
        let Some(key) = key else { return Vec::new() };
        let partition = key.partition.iter().zip(&self.partition);
        let partition = partition.map(|(key, template)| (key.name.as_str(), format!("= {template}")));
        let sort = key.sort.iter().zip(&self.sort);
        let sort = sort.map(|(key, condition)| (key.name.as_str(), condition.to_string()));
        partition.chain(sort).collect()
    }
}
