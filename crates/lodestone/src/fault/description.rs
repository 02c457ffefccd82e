//! A fault in words: what files, requests and flags say, and what it means.

use std::time::Duration;

use api::Operation;
use engine::{DELAY_MAX, FaultKind, FaultRule, Namespace};
use item::Item;
use item::json::{Jiter, read_item, write_item};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const DELAY_DEFAULT: Duration = Duration::from_secs(1);
/// A longer time is no test any more.
const LASTS_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

/// A fault as it is written.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    pub error: String,
    /// `10%`, or 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Value>,
    /// In DynamoDB JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<String>,
}

/// Reads a list of faults, in YAML or JSON.
pub fn parse_list(text: &str) -> Result<Vec<Description>, String> {
    let list: Vec<Value> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let read = |(number, fault): (usize, Value)| {
        serde_json::from_value(fault).map_err(|error| format!("fault {}: {error}", number + 1))
    };
    list.into_iter().enumerate().map(read).collect()
}

impl Description {
    /// What it means, and how long it lasts. A fault that names no account and Region is one of `home`.
    pub fn rule(&self, home: &Namespace) -> Result<(FaultRule, Option<Duration>), String> {
        let kind = self.kind()?;
        let operation = self.operation.as_deref().map(operation).transpose()?;
        if let Some(operation) = operation.filter(|operation| !kind.can_happen_to(*operation)) {
            let name = operation.name();
            return Err(format!("{name} never meets a conflict; writes and transactions do"));
        }
        let rule = FaultRule {
            namespace: Namespace::new(
                self.account.as_deref().unwrap_or(&home.account),
                self.region.as_deref().unwrap_or(&home.region),
            ),
            table: self.table.clone(),
            operation,
            key: self.key.as_ref().map(key).transpose()?,
            kind,
            share: self.share.as_ref().map_or(Ok(1.0), share)?,
            delay: self.delay(kind)?,
            ends_ms: None,
        };
        let lasts = self.lasts.as_deref().map(|text| duration("for", text, LASTS_MAX)).transpose()?;
        Ok((rule, lasts))
    }

    /// The words for a fault that is on.
    pub fn of(rule: &FaultRule, remaining: Option<Duration>) -> Description {
        let whole =
            |time: Duration| humantime::format_duration(Duration::from_secs(time.as_secs())).to_string();
        Description {
            account: Some(rule.namespace.account.to_string()),
            region: Some(rule.namespace.region.to_string()),
            table: rule.table.clone(),
            operation: rule.operation.map(|operation| operation.name().to_owned()),
            error: rule.kind.name().to_owned(),
            share: Some(Value::String(percentage(rule.share))),
            key: rule.key.as_ref().map(key_json),
            delay: (rule.kind == FaultKind::Slow).then(|| humantime::format_duration(rule.delay).to_string()),
            lasts: remaining.map(whole),
        }
    }

    fn kind(&self) -> Result<FaultKind, String> {
        FaultKind::from_name(&self.error).ok_or_else(|| {
            let names = FaultKind::ALL.map(FaultKind::name).join(", ");
            format!("there is no error {}; there are {names}", self.error)
        })
    }

    fn delay(&self, kind: FaultKind) -> Result<Duration, String> {
        match &self.delay {
            Some(text) if kind == FaultKind::Slow => duration("delay", text, DELAY_MAX),
            Some(_) => Err("a delay is for the error slow alone".to_owned()),
            None => Ok(DELAY_DEFAULT),
        }
    }
}

fn operation(name: &str) -> Result<Operation, String> {
    let found = Operation::from_target_name(name);
    found.ok_or_else(|| {
        format!("there is no operation {name} of DynamoDB here; its names are those like PutItem")
    })
}

fn duration(what: &str, text: &str, max: Duration) -> Result<Duration, String> {
    let time = humantime::parse_duration(text)
        .map_err(|_| format!("{what}: {text} is no time; times are those like 500ms, 30s, 5m"))?;
    match time <= max {
        true => Ok(time),
        false => Err(format!("{what}: {text} is more than {}", humantime::format_duration(max))),
    }
}

fn share(value: &Value) -> Result<f64, String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    };
    let in_range = number.filter(|share| *share > 0.0 && *share <= 1.0);
    in_range.ok_or_else(|| format!("share: {text} is not between 0 and 1; it is like 10% or 0.1"))
}

fn percentage(share: f64) -> String {
    // Rounded, because 0.07 × 100 is not 7.
    format!("{}%", (share * 100.0 * 1e6).round() / 1e6)
}

fn key(json: &Value) -> Result<Item, String> {
    let text = json.to_string();
    let item = match read_item(&mut Jiter::new(text.as_bytes())) {
        Ok(Ok(item)) => item,
        Ok(Err(error)) => return Err(format!("key: {error}")),
        Err(_) => {
            return Err(r#"key: no DynamoDB JSON; a key is like {"pk": {"S": "CUSTOMER#7"}}"#.to_owned());
        }
    };
    if item.is_empty() { Err("key: it has no attributes".to_owned()) } else { Ok(item) }
}

fn key_json(key: &Item) -> Value {
    let mut json = Vec::new();
    write_item(key.as_ref(), &mut json);
    serde_json::from_slice(&json).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<(FaultRule, Option<Duration>), String> {
        let description: Description = serde_json::from_str(text).map_err(|error| error.to_string())?;
        description.rule(&Namespace::new("000000000000", "us-east-1"))
    }

    #[test]
    fn a_description_says_what_a_rule_means() {
        let (rule, lasts) = rule(
            r#"{"table": "orders", "operation": "PutItem", "error": "throttle", "share": "10%",
                "key": {"pk": {"S": "a"}}, "for": "5m"}"#,
        )
        .unwrap();
        assert_eq!((rule.table.as_deref(), rule.operation), (Some("orders"), Some(Operation::PutItem)));
        assert_eq!(
            (rule.kind, rule.share, lasts),
            (FaultKind::Throttle, 0.1, Some(Duration::from_secs(300)))
        );
        let shown = Description::of(&rule, lasts);
        assert_eq!(shown.share, Some(Value::from("10%")));
        assert_eq!(shown.lasts.as_deref(), Some("5m"));
        assert_eq!(
            shown.rule(&Namespace::new("1", "other")).unwrap().0,
            rule,
            "its words mean the same again"
        );
    }

    #[test]
    fn a_wrong_description_is_refused_with_what_is_right() {
        for (text, part) in [
            (r#"{"error": "slowly"}"#, "throttle, internal, timeout, conflict, slow"),
            (r#"{"error": "slow", "operation": "PutItems"}"#, "PutItem"),
            (r#"{"error": "slow", "share": "0%"}"#, "10%"),
            (r#"{"error": "slow", "share": 2}"#, "between 0 and 1"),
            (r#"{"error": "slow", "delay": "2m"}"#, "more than 1m"),
            (r#"{"error": "internal", "delay": "2s"}"#, "slow alone"),
            (r#"{"error": "conflict", "operation": "GetItem"}"#, "never meets a conflict"),
            (r#"{"error": "slow", "key": {"pk": "a"}}"#, "DynamoDB JSON"),
            (r#"{"error": "slow", "for": "soon"}"#, "5m"),
            (r#"{"error": "slow", "tabel": "a"}"#, "unknown field `tabel`"),
        ] {
            let refused = rule(text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    #[test]
    fn a_file_is_a_list_in_yaml_or_json() {
        let yaml =
            "- error: slow\n  delay: 20ms\n- {table: a, error: throttle, share: 5%, key: {pk: {S: x}}}\n";
        let json = r#"[{"error": "slow", "delay": "20ms"}, {"table": "a", "error": "throttle", "share": "5%", "key": {"pk": {"S": "x"}}}]"#;
        for text in [yaml, json] {
            let list = parse_list(text).unwrap();
            assert_eq!(list.len(), 2);
            assert_eq!(list[1].rule(&Namespace::new("1", "r")).unwrap().0.share, 0.05);
        }
        assert!(parse_list("- error: slow\n- tabel: a\n").unwrap_err().contains("fault 2"));
    }
}
