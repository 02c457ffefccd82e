//! Which tables a request names.
//!
//! The body is walked once and nothing of it is kept but names. A name is a string behind one of the members in
//! [`MEMBERS`], or a member of `RequestItems`. An attribute can't be mistaken for one of them, because the value of
//! an attribute is always an object.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Members that name a table, or something that belongs to one.
const MEMBERS: [&str; 10] = [
    "TableName",
    "SourceTableName",
    "TargetTableName",
    "TableArn",
    "SourceTableArn",
    "ResourceArn",
    "BackupArn",
    "ExportArn",
    "StreamArn",
    "EventSourceArn",
];
/// Members that hold items, which are not looked into.
const ITEMS: [&str; 4] = ["Item", "Key", "ExpressionAttributeValues", "ExclusiveStartKey"];
/// A request can name no more tables than a transaction has actions.
const TABLES_MAX: usize = 100;
/// Names are no longer than an ARN.
const NAME_BYTES_MAX: usize = 1024;
/// `TransactItems`, its elements, an action, its members.
const DEPTH_MAX: usize = 5;

/// Without repetition, in the order of the request. Empty if there are none, or if the body is no JSON.
pub(crate) fn tables(body: &[u8]) -> Vec<String> {
    let mut names = Names(Vec::new());
    let mut json = serde_json::Deserializer::from_slice(body);
    let walk = Walk { names: &mut names, depth: 0, is_map_of_tables: false };
    // What was found before an error stays.
    let _ = walk.deserialize(&mut json);
    names.0
}

struct Names(Vec<String>);

impl Names {
    fn add(&mut self, name: &str) {
        let is_known = self.0.iter().any(|known| known == name);
        if !is_known && self.0.len() < TABLES_MAX && name.len() <= NAME_BYTES_MAX {
            self.0.push(name.to_owned());
        }
    }
}

/// Looks for names in a value.
struct Walk<'a> {
    names: &'a mut Names,
    depth: usize,
    /// The members themselves are names.
    is_map_of_tables: bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(member) = map.next_key::<String>()? {
            if self.is_map_of_tables {
                self.names.add(&member);
                map.next_value::<IgnoredAny>()?;
            } else if MEMBERS.contains(&member.as_str()) {
                map.next_value_seed(Name { names: &mut *self.names, is_statement: false })?;
            } else if member == "Statement" {
                map.next_value_seed(Name { names: &mut *self.names, is_statement: true })?;
            } else if ITEMS.contains(&member.as_str()) || self.depth == DEPTH_MAX {
                map.next_value::<IgnoredAny>()?;
            } else {
                let is_map_of_tables = member == "RequestItems" && self.depth == 0;
                let depth = self.depth + 1;
                map.next_value_seed(Walk { names: &mut *self.names, depth, is_map_of_tables })?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let depth = self.depth + 1;
        if depth > DEPTH_MAX {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        loop {
            let element = Walk { names: &mut *self.names, depth, is_map_of_tables: false };
            if list.next_element_seed(element)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A name, or a statement that has one.
struct Name<'a> {
    names: &'a mut Names,
    is_statement: bool,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        match text {
            Some(statement) if self.is_statement => {
                if let Some(table) = table_of(&statement) {
                    self.names.add(&table);
                }
            }
            Some(name) => self.names.add(&name),
            None => {}
        }
        Ok(())
    }
}

/// The table of a PartiQL statement: what is named behind the first FROM, INTO or UPDATE outside of strings.
fn table_of(statement: &str) -> Option<String> {
    let mut rest = statement;
    let mut is_next = false;
    while let Some(start) = rest.find(|c: char| c == '\'' || c == '"' || is_word(c)) {
        rest = &rest[start..];
        let quote = rest.chars().next().filter(|c| !is_word(*c));
        let token = match quote {
            Some(quote) => rest[1..].split(quote).next().unwrap_or_default(),
            None => rest.split(|c: char| !is_word(c)).next().unwrap_or_default(),
        };
        if is_next && quote != Some('\'') {
            return Some(token.to_owned());
        }
        is_next =
            quote.is_none() && ["FROM", "INTO", "UPDATE"].iter().any(|word| token.eq_ignore_ascii_case(word));
        let length = token.len() + if quote.is_some() { 2 } else { 0 };
        rest = rest.get(length..).unwrap_or_default();
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &[&str]) {
        assert_eq!(tables(body.as_bytes()), expected, "{body}");
    }

    #[test]
    fn the_tables_of_a_request_are_found() {
        check(r#"{"TableName": "Songs", "Key": {"TableName": {"S": "x"}}}"#, &["Songs"]);
        check(r#"{"Item": {"a": {"M": {"TableName": {"S": "x"}}}}, "TableName": "Songs"}"#, &["Songs"]);
        check(r#"{"SourceTableName": "A", "TargetTableName": "B"}"#, &["A", "B"]);
        check(r#"{"ResourceArn": "arn:aws:dynamodb:r:1:table/T"}"#, &["arn:aws:dynamodb:r:1:table/T"]);
        check(r#"{"RequestItems": {"A": [{"PutRequest": {"Item": {}}}], "B": []}}"#, &["A", "B"]);
        let puts = r#"{"TransactItems": [{"Put": {"TableName": "A", "Item": {}}}, {"Delete": {"TableName": "B"}},
                       {"Put": {"TableName": "A"}}]}"#;
        check(puts, &["A", "B"]);
        check(r#"{"TableCreationParameters": {"TableName": "New"}}"#, &["New"]);
    }

    #[test]
    fn the_table_of_a_statement_is_found_and_nothing_else_of_it() {
        for (statement, table) in [
            ("SELECT * FROM Songs WHERE a = 'FROM x'", "Songs"),
            ("select a from \"My.Table\".\"index\" where b = 1", "My.Table"),
            ("INSERT INTO \"Songs\" VALUE {'a': 'secret'}", "Songs"),
            ("UPDATE Songs SET a = 'INTO x'", "Songs"),
            ("EXISTS(SELECT * FROM Songs WHERE a = 1)", "Songs"),
            ("DELETE FROM Songs-2 WHERE a = 'from y'", "Songs-2"),
        ] {
            let statement = serde_json::to_string(statement).unwrap();
            check(&format!(r#"{{"Statements": [{{"Statement": {statement}}}]}}"#), &[table]);
        }
        check(r#"{"Statement": "SELECT 'FROM x"}"#, &[]);
        check(r#"{"Statement": "FROM 'secret'"}"#, &[]);
    }

    #[test]
    fn what_is_no_request_names_nothing_more_than_it_has() {
        for body in ["", "[", "1", "null", "[[[[[[[[[[]]]]]]]]]]", r#"{"TableName": 1}"#] {
            check(body, &[]);
        }
        check(r#"{"TableName": "Songs", "#, &["Songs"]);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, &[]);
        let many: Vec<String> = (0..1000).map(|n| format!("\"t{n}\": []")).collect();
        let body = format!(r#"{{"RequestItems": {{{}}}}}"#, many.join(","));
        assert_eq!(tables(body.as_bytes()).len(), TABLES_MAX);
    }
}
