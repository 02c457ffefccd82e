//! How a read pattern accesses its items: what changes when it is switched over.

use std::fmt;

use serde::Serialize;

use crate::Model;
use crate::model::{Pattern, TableId};
use crate::plan::{ReadPlan, plan};

/// One read of a pattern: operation, source and key condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Access {
    pub operation: &'static str,
    pub table: String,
    pub index: Option<String>,
    /// `GSI2PK = OPEN#{shard(orderId, 3)}`, one condition for each key attribute that is given.
    pub key: Vec<String>,
    pub forward: bool,
    pub consistent: bool,
    pub requests: u64,
}

/// One for each read of the pattern; none for writes and for patterns that another system serves.
pub fn accesses(model: &Model, pattern: &Pattern) -> Vec<Access> {
    if pattern.external.is_some() {
        return Vec::new();
    }
    plan(model, pattern).reads().map(|read| access(model, read)).collect()
}

fn access(model: &Model, read: &ReadPlan) -> Access {
    let index = read.index.map(|index| model.table(read.table).index(index));
    Access {
        operation: read.operation.name(),
        table: model.table(read.table).name.value.clone(),
        index: index.map(|index| index.name.value.clone()),
        key: key(model, read.table, read),
        forward: read.forward,
        consistent: read.consistent,
        requests: read.fan_out,
    }
}

fn key(model: &Model, table: TableId, read: &ReadPlan) -> Vec<String> {
    let table = model.table(table);
    let schema = match read.index {
        Some(index) => Some(&table.index(index).key),
        None => table.key.as_ref(),
    };
    let Some(schema) = schema else { return Vec::new() };
    let partition = schema.partition.iter().zip(&read.partition);
    let partition = partition.map(|(key, template)| format!("{} = {template}", key.name));
    let sort = schema.sort.iter().zip(&read.sort).map(|(key, condition)| format!("{} {condition}", key.name));
    partition.chain(sort).collect()
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.operation)?;
        match &self.index {
            Some(index) => write!(formatter, "{index} of {}", self.table)?,
            None => formatter.write_str(&self.table)?,
        }
        if !self.key.is_empty() {
            write!(formatter, ", {}", self.key.join(" and "))?;
        }
        if self.requests > 1 {
            write!(formatter, ", {} requests", self.requests)?;
        }
        Ok(())
    }
}
