//! Two answers to the same request: whether they say the same, and what they used.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::log::Recorded;

/// An answer of a server; or what the log has of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// `ok`, or the name of the error.
    pub outcome: String,
    pub took: Duration,
    /// Absent for an error, and in the log.
    pub answer: Option<Value>,
    /// How many items a Query or Scan returned.
    pub items: Option<u64>,
    pub units: Option<f64>,
}

impl Answered {
    /// What the log says of a request.
    pub fn recorded(recorded: &Recorded) -> Answered {
        Answered {
            outcome: recorded.outcome.clone(),
            took: recorded.took,
            answer: None,
            items: recorded.items,
            units: None,
        }
    }

    /// What a server answered.
    pub fn by_server(recorded: &Recorded, answer: Result<Vec<u8>, api::Error>, took: Duration) -> Answered {
        let (outcome, answer) = match answer {
            Ok(bytes) => ("ok".to_owned(), serde_json::from_slice::<Value>(&bytes).ok()),
            Err(error) => (error.kind.name().to_owned(), None),
        };
        let units = answer.as_ref().map(|answer| units(&answer["ConsumedCapacity"]));
        let is_list = ["Query", "Scan"].contains(&recorded.operation.as_str());
        let items = answer.as_ref().filter(|_| is_list).and_then(|answer| answer["Count"].as_u64());
        let answer =
            answer.filter(|_| recorded.is_on_items()).map(|answer| comparable(&recorded.operation, answer));
        Answered { outcome, took, answer, items, units }
    }

    /// In what it differs from another answer, in words.
    pub fn difference(&self, other: &Answered) -> Option<String> {
        if self.outcome != other.outcome {
            return Some(format!("{} and {}", self.outcome, other.outcome));
        }
        if let (Some(one), Some(two)) = (&self.answer, &other.answer)
            && one != two
        {
            return Some(first_difference("", one, two).unwrap_or_else(|| "the answers differ".to_owned()));
        }
        match (self.items, other.items) {
            (Some(one), Some(two)) if one != two => Some(format!("{one} and {two} items")),
            _ => None,
        }
    }
}

/// The units of one ConsumedCapacity, or of a list of them.
fn units(capacity: &Value) -> f64 {
    match capacity {
        Value::Array(all) => all.iter().map(units).sum(),
        one => one["CapacityUnits"].as_f64().unwrap_or(0.0),
    }
}

/// Without what is counted apart, and with everything that has no order sorted.
fn comparable(operation: &str, mut answer: Value) -> Value {
    if let Some(members) = answer.as_object_mut() {
        members.remove("ConsumedCapacity");
        members.remove("ItemCollectionMetrics");
        if let Some(token) = members.get_mut("NextToken") {
            *token = Value::Bool(true);
        }
    }
    sort_sets(&mut answer);
    match operation {
        "Scan" | "ExecuteStatement" => sort(&mut answer["Items"]),
        "BatchGetItem" => {
            answer["Responses"]
                .as_object_mut()
                .into_iter()
                .flat_map(|tables| tables.values_mut())
                .for_each(sort);
        }
        _ => {}
    }
    answer
}

fn sort(list: &mut Value) {
    if let Value::Array(all) = list {
        all.sort_by_cached_key(Value::to_string);
    }
}

fn sort_sets(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_value = members.len() == 1;
            for (name, member) in members.iter_mut() {
                if is_value && ["SS", "NS", "BS"].contains(&name.as_str()) {
                    sort(member);
                } else {
                    sort_sets(member);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(sort_sets),
        _ => {}
    }
}

/// The path of the first member in which two answers differ.
fn first_difference(path: &str, one: &Value, two: &Value) -> Option<String> {
    match (one, two) {
        (Value::Object(left), Value::Object(right)) => {
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            names.into_iter().find_map(|name| {
                let none = Value::Null;
                let (left, right) = (left.get(name).unwrap_or(&none), right.get(name).unwrap_or(&none));
                first_difference(&format!("{path}.{name}"), left, right)
            })
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(at, (left, right))| first_difference(&format!("{path}[{at}]"), left, right))
        }
        (Value::Array(left), Value::Array(right)) => {
            Some(format!("{} has {} and {} elements", &path[1.min(path.len())..], left.len(), right.len()))
        }
        _ if one == two => None,
        _ => Some(format!("{} is {} and {}", &path[1.min(path.len())..], brief(one), brief(two))),
    }
}

/// A value on one line, cut off.
fn brief(value: &Value) -> String {
    const CHARACTERS_MAX: usize = 80;
    let text = if value.is_null() { "absent".to_owned() } else { value.to_string() };
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answered(operation: &str, answer: Value) -> Answered {
        let recorded = Recorded {
            line: 1,
            time: Duration::ZERO,
            account: String::new(),
            region: String::new(),
            operation: operation.to_owned(),
            outcome: "ok".to_owned(),
            took: Duration::ZERO,
            items: None,
            body: json!({}),
        };
        Answered::by_server(&recorded, Ok(answer.to_string().into_bytes()), Duration::ZERO)
    }

    #[test]
    fn what_has_no_order_is_compared_without_one_and_units_are_apart() {
        let one = answered(
            "Scan",
            json!({
                "Items": [{ "id": { "S": "1" } }, { "id": { "S": "2" }, "tags": { "SS": ["a", "b"] } }],
                "ConsumedCapacity": { "CapacityUnits": 1.5 },
            }),
        );
        let two = answered(
            "Scan",
            json!({
                "Items": [{ "id": { "S": "2" }, "tags": { "SS": ["b", "a"] } }, { "id": { "S": "1" } }],
                "ConsumedCapacity": { "CapacityUnits": 2.0 },
            }),
        );
        assert_eq!(one.difference(&two), None);
        assert_eq!((one.units, two.units), (Some(1.5), Some(2.0)));
    }

    #[test]
    fn the_order_of_a_query_counts_and_the_first_difference_is_named() {
        let item = |id: &str| json!({ "id": { "S": id } });
        let one = answered("Query", json!({ "Count": 2, "Items": [item("1"), item("2")] }));
        let two = answered("Query", json!({ "Count": 2, "Items": [item("2"), item("1")] }));
        assert_eq!(one.difference(&two).as_deref(), Some(r#"Items[0].id.S is "1" and "2""#));
        let three = answered("Query", json!({ "Count": 1, "Items": [item("1")] }));
        assert_eq!(one.difference(&three).as_deref(), Some("Count is 2 and 1"));
    }
}
