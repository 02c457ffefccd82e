//! What a `TableName` parameter may hold: the table's name, or its ARN.

use std::ops::RangeInclusive;

use crate::pattern;
use crate::violation::Constraint;

const NAME_LENGTH: RangeInclusive<usize> = 3..=255;
const ARN_LENGTH_MAX: usize = 1024;

/// A table as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableName<'a> {
    pub name: &'a str,
    /// Where the table lies, if the request gave an ARN.
    pub home: Option<TableHome<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableHome<'a> {
    pub region: &'a str,
    pub account: &'a str,
}

impl<'a> TableName<'a> {
    /// Takes `Name` or `arn:aws:dynamodb:region:account:table/Name`; answers with all the constraints
    /// that anything else breaks. Text that only resembles an ARN is a name with the wrong letters.
    pub fn parse(text: &'a str) -> Result<TableName<'a>, Vec<Constraint>> {
        if text.is_empty() {
            return Err(vec![Constraint::LengthMin(1)]);
        }
        if let Some(arn) = TableName::parse_arn(text) {
            let fits = text.len() <= ARN_LENGTH_MAX;
            return if fits { Ok(arn) } else { Err(vec![Constraint::LengthMax(ARN_LENGTH_MAX)]) };
        }
        let broken = constraints(text);
        if broken.is_empty() { Ok(TableName { name: text, home: None }) } else { Err(broken) }
    }

    /// Takes the ARN of a table and nothing else.
    pub fn parse_arn(text: &'a str) -> Option<TableName<'a>> {
        parse_arn(text).filter(|arn| constraints(arn.name).is_empty())
    }
}

fn constraints(name: &str) -> Vec<Constraint> {
    let mut broken = Vec::new();
    if !(pattern::NAME.matches)(name) {
        broken.push(Constraint::Pattern(pattern::NAME.text));
    }
    if name.len() < *NAME_LENGTH.start() {
        broken.push(Constraint::LengthMin(*NAME_LENGTH.start()));
    }
    if name.len() > *NAME_LENGTH.end() {
        broken.push(Constraint::LengthMax(*NAME_LENGTH.end()));
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
