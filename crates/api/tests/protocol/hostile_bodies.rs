//! Whatever a client sends, decoding returns a request or one of DynamoDB's errors, printable as JSON.

use api::{ErrorKind, Operation, Request};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{BODIES, error_body, operation};

/// The body may be anything. It is admitted, or refused with an error of the right kind.
fn survives(operation: Operation, body: &[u8]) {
    let outcome = Request::decode(operation, body).and_then(|request| request.check());
    if let Err(error) = outcome {
        let expected = [ErrorKind::Validation, ErrorKind::Serialization, ErrorKind::LimitExceeded];
        assert!(expected.contains(&error.kind), "{error}");
        // The error for text that is not JSON is the only one without a message. (Decoding does not see bytes
        // that are not UTF-8 if they are inside ignored members.)
        if std::str::from_utf8(body).is_ok() {
            assert_eq!(error.message.is_empty(), !is_json(body), "{error}");
        }
        let printed: Value = serde_json::from_str(&error_body(&error)).expect("an error prints as JSON");
        assert!(printed["__type"].as_str().is_some_and(|name| name.contains('#')));
    }
}

/// serde_json stops at a depth of 128; the bodies here stay below it.
fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        prop_oneof!["S", "N", "SS", "HASH", "ALL_OLD", "#a", ":a"].prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[A-Za-z#:]{0,6}", inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// The path to every value in the document.
fn places(value: &Value, at: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    found.push(at.clone());
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, child) in children {
        at.push(step);
        places(child, at, found);
        at.pop();
    }
}

fn replace(document: &mut Value, place: &[String], new: Value) {
    let place = place.iter().fold(document, |value, step| match value {
        Value::Array(elements) => &mut elements[step.parse::<usize>().expect("a position")],
        other => &mut other[step.as_str()],
    });
    *place = new;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes(which in 0..BODIES.len(), body in prop::collection::vec(any::<u8>(), 0..64)) {
        survives(operation(BODIES[which].0), &body);
    }

    #[test]
    fn correct_bodies_with_damaged_bytes(
        which in 0..BODIES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let (name, body) = BODIES[which];
        let mut body = body.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if !whole {
            body.truncate(cut.index(body.len()));
        }
        survives(operation(name), &body);
    }

    #[test]
    fn correct_bodies_with_any_json_in_one_place(
        which in 0..BODIES.len(),
        place in any::<prop::sample::Index>(),
        new in any_json(),
    ) {
        let (name, body) = BODIES[which];
        let mut document: Value = serde_json::from_str(body).expect("correct");
        let mut found = Vec::new();
        places(&document, &mut Vec::new(), &mut found);
        replace(&mut document, &found[place.index(found.len())], new);
        survives(operation(name), document.to_string().as_bytes());
    }
}
