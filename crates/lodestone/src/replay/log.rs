//! The requests of an audit log with bodies, line by line.

use std::io::{self, BufRead, Read};
use std::time::{Duration, UNIX_EPOCH};

use model::demand::UnitKind;
use serde_json::Value;

/// A longer line is skipped: the log leaves out bodies far below this.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// A request as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its line in the log, from 1.
    pub line: u64,
    /// Since 1970.
    pub time: Duration,
    pub account: String,
    pub region: String,
    pub operation: String,
    /// `ok`, or the name of the error.
    pub outcome: String,
    pub took: Duration,
    /// How many items a Query or Scan returned.
    pub items: Option<u64>,
    pub body: Value,
}

/// What a line of the log is.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    Request(Box<Recorded>),
    /// A request whose body is not there: too large, or not recorded.
    WithoutBody,
    /// Another service, or no request at all.
    Other,
}

/// The lines of a log.
pub struct Log<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> Log<R> {
    pub fn new(input: R) -> Log<R> {
        Log { input, line: 0 }
    }

    /// The next line; `None` at the end.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        let is_cut_off = bytes.last() != Some(&b'\n') && bytes.len() as u64 == LINE_BYTES_MAX;
        if is_cut_off {
            self.input.skip_until(b'\n')?;
        }
        Ok(Some(serde_json::from_slice(&bytes).map_or(Line::Other, |json| read_line(self.line, json))))
    }
}

fn read_line(line: u64, mut json: Value) -> Line {
    if json["service"] != "dynamodb" {
        return Line::Other;
    }
    let body = json["body"].take();
    let text = |member: &str| json[member].as_str().map(str::to_owned);
    let time = json["time"].as_str().and_then(|time| humantime::parse_rfc3339(time).ok());
    let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    match (time, text("operation"), text("outcome")) {
        (Some(time), Some(operation), Some(outcome)) if body.is_object() => {
            Line::Request(Box::new(Recorded {
                line,
                time,
                account: text("account").unwrap_or_default(),
                region: text("region").unwrap_or_default(),
                operation,
                outcome,
                took: Duration::from_micros(json["us"].as_u64().unwrap_or(0)),
                items: json["items"].as_u64(),
                body,
            }))
        }
        (_, Some(_), _) => Line::WithoutBody,
        _ => Line::Other,
    }
}

impl Recorded {
    /// Whether it changes nothing.
    pub fn is_read(&self) -> bool {
        let reads = ["GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems", "SearchVectors"];
        reads.contains(&self.operation.as_str())
            || self.operation.starts_with("Describe")
            || self.operation.starts_with("List")
    }

    /// Whether it is about items, so that its answer can be compared member by member.
    pub fn is_on_items(&self) -> bool {
        let writes = ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"];
        let statements = ["ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"];
        let is_named = |names: &[&str]| names.contains(&self.operation.as_str());
        is_named(&writes)
            || is_named(&statements)
            || self.is_read()
                && !self.operation.starts_with("Describe")
                && !self.operation.starts_with("List")
    }

    pub fn is_statement(&self) -> bool {
        self.operation.contains("Execute")
    }

    /// Which units it uses. All statements of a batch or transaction read, or all write.
    pub fn unit_kind(&self) -> UnitKind {
        if self.is_read() || self.is_select() { UnitKind::Read } else { UnitKind::Write }
    }

    fn is_select(&self) -> bool {
        let first = |list: &str| self.body[list][0]["Statement"].as_str();
        let statement = self.body["Statement"].as_str();
        let statement = statement.or_else(|| first("Statements")).or_else(|| first("TransactStatements"));
        let word = statement.and_then(|text| text.split_whitespace().next());
        word.is_some_and(|word| word.eq_ignore_ascii_case("select"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn statements_use_read_units_or_write_units_by_their_first_word() {
        let kind = |operation: &str, body: Value| {
            let time = "2026-11-17T04:00:00Z";
            let json = json!({ "time": time, "service": "dynamodb", "operation": operation, "outcome": "ok", "body": body });
            let Line::Request(recorded) = read_line(1, json) else { panic!("a request") };
            recorded.unit_kind()
        };
        assert_eq!(kind("ExecuteStatement", json!({ "Statement": " select * from t" })), UnitKind::Read);
        assert_eq!(kind("ExecuteStatement", json!({ "Statement": "DELETE FROM t" })), UnitKind::Write);
        let statements = json!([{ "Statement": "SELECT * FROM t" }]);
        assert_eq!(kind("BatchExecuteStatement", json!({ "Statements": statements })), UnitKind::Read);
        assert_eq!(kind("ExecuteTransaction", json!({ "TransactStatements": statements })), UnitKind::Read);
        assert_eq!(kind("TransactGetItems", json!({})), UnitKind::Read);
        assert_eq!(kind("BatchWriteItem", json!({})), UnitKind::Write);
    }

    #[test]
    fn requests_are_told_apart_from_what_can_not_be_sent_again() {
        let log = concat!(
            r#"{"time":"2026-11-17T04:00:00.123Z","account":"1","region":"r","service":"dynamodb","operation":"Query","outcome":"ok","us":412,"items":2,"body":{"TableName":"t"}}"#,
            "\n",
            r#"{"time":"2026-11-17T04:00:01Z","service":"dynamodb","operation":"PutItem","outcome":"ok","us":1}"#,
            "\n",
            r#"{"time":"2026-11-17T04:00:01Z","service":"monitoring","operation":"POST /","outcome":"ok","us":1,"body":{}}"#,
            "\nnot JSON\n",
        );
        let mut log = Log::new(log.as_bytes());
        let mut next = || log.next_line().expect("a line");
        let Some(Line::Request(first)) = next() else { panic!("a request") };
        assert_eq!((first.line, first.items, first.took), (1, Some(2), Duration::from_micros(412)));
        assert_eq!(next(), Some(Line::WithoutBody));
        assert_eq!(next(), Some(Line::Other));
        assert_eq!(next(), Some(Line::Other));
        assert_eq!(next(), None);
    }
}
