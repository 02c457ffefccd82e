//! What a `TableName` parameter may hold: the table's name, or its ARN.

use super::limits::{TABLE_ARN_LENGTH_MAX, TABLE_NAME_LENGTH_MAX, TABLE_NAME_LENGTH_MIN};
use crate::pattern;
use crate::violation::Constraint;

/// A table as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableName<'a> {
    /// The table's name within its account and Region.
    pub name: &'a str,
    /// The table's account and Region, if the request gave an ARN.
    pub home: Option<TableHome<'a>>,
}

/// The account and Region of a table.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableHome<'a> {
    pub region: &'a str,
    pub account: &'a str,
}

impl<'a> TableName<'a> {
    /// Parses `Name` or `arn:aws:dynamodb:region:account:table/Name`. The error is every constraint that the
    /// text breaks. Text that only resembles an ARN is a name with characters that are not allowed.
    pub fn parse(text: &'a str) -> Result<TableName<'a>, Vec<Constraint>> {
        if text.is_empty() {
            return Err(vec![Constraint::LengthMin(1)]);
        }
        if let Some(arn) = TableName::parse_arn(text) {
            let fits = text.len() <= TABLE_ARN_LENGTH_MAX;
            return if fits { Ok(arn) } else { Err(vec![Constraint::LengthMax(TABLE_ARN_LENGTH_MAX)]) };
        }
        let broken = constraints(text);
        if broken.is_empty() { Ok(TableName { name: text, home: None }) } else { Err(broken) }
    }

    /// Parses the ARN of a table and nothing else.
    pub fn parse_arn(text: &'a str) -> Option<TableName<'a>> {
        parse_arn(text).filter(|arn| constraints(arn.name).is_empty())
    }
}

/// The constraints that a table's name breaks.
fn constraints(name: &str) -> Vec<Constraint> {
    let mut broken = Vec::new();
    if !(pattern::NAME.matches)(name) {
        broken.push(Constraint::Pattern(pattern::NAME.text));
    }
    if name.len() < TABLE_NAME_LENGTH_MIN {
        broken.push(Constraint::LengthMin(TABLE_NAME_LENGTH_MIN));
    }
    if name.len() > TABLE_NAME_LENGTH_MAX {
        broken.push(Constraint::LengthMax(TABLE_NAME_LENGTH_MAX));
    }
    broken
}

fn parse_arn(text: &str) -> Option<TableName<'_>> {
    let mut parts = text.splitn(6, ':');
    let (arn, partition, service) = (parts.next()?, parts.next()?, parts.next()?);
    let (region, account) = (parts.next()?, parts.next()?);
    let name = parts.next()?.strip_prefix("table/")?;
    let is_table = arn == "arn" && partition.starts_with("aws") && service == "dynamodb";
    (is_table && !region.is_empty() && !account.is_empty())
        .then_some(TableName { name, home: Some(TableHome { region, account }) })
}
