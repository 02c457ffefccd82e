//! The certificate as JSON.

use item::json::write_item;
use model::Source;
use model::predict::item::Values;
use model::sample::item;
use serde_json::{Value, json};

use super::{Certificate, Finding, PatternProof};

impl Certificate {
    /// Positions are lines of the file.
    pub fn json(&self, source: &Source) -> Value {
        let patterns: Vec<Value> = self.patterns.iter().map(|pattern| pattern.json(source)).collect();
        json!({
            "model": self.model,
            "proven": self.is_proven(),
            "items": self.items,
            "findings": self.findings.iter().map(Finding::json).collect::<Vec<_>>(),
            "patterns": patterns,
        })
    }
}

impl PatternProof {
    fn json(&self, source: &Source) -> Value {
        let parts = self
            .capacity
            .iter()
            .map(|part| json!({ "part": part.part, "predicted": part.predicted, "consumed": part.consumed }));
        json!({
            "pattern": self.pattern,
            "line": source.position(self.span.start).0,
            "operation": self.operation,
            "source": self.source,
            "verdict": self.verdict.name(),
            "tries": self.tries,
            "requests": self.requests,
            "pages": self.pages,
            "returned": self.returned,
            "examined": self.examined,
            "capacity": {
                "predicted": self.predicted(),
                "consumed": self.consumed(),
                "parts": parts.collect::<Vec<_>>(),
            },
            "findings": self.findings.iter().map(Finding::json).collect::<Vec<_>>(),
        })
    }
}

impl Finding {
    fn json(&self) -> Value {
        let given: serde_json::Map<String, Value> =
            self.given.iter().map(|(name, value)| (name.to_owned(), dynamodb(name, value))).collect();
        let data =
            self.data.iter().map(|(table, values)| json!({ "table": table, "item": item_json(values) }));
        json!({
            "kind": self.fault.name(),
            "message": self.fault.to_string(),
            "given": given,
            "data": data.collect::<Vec<_>>(),
            "more": self.more,
        })
    }
}

fn dynamodb(name: &str, value: &item::Value) -> Value {
    let one: Values = [(name.to_owned(), value.clone())].into();
    item_json(&one)[name].take()
}

fn item_json(values: &Values) -> Value {
    let mut out = Vec::new();
    write_item(item(values).as_ref(), &mut out);
    serde_json::from_slice(&out).unwrap_or(Value::Null)
}
