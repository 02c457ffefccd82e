//! The form in which DynamoDB gives a resource policy back: without blanks, members in a fixed order, lists of one as
//! that one, an account id as the ARN of its root. Two documents mean the same change exactly if their forms agree.

use serde_json::{Map, Value};

use crate::policy::{Document, Members, OneOrMany, Scalar, Written, WrittenPrincipal};
use crate::principal::is_account;

/// Prints a document.
pub fn print(document: Document) -> String {
    let mut members = vec![("Version", Value::from(document.version.as_deref().unwrap_or("2008-10-17")))];
    members.extend(document.id.map(|id| ("Id", Value::from(id))));
    let statements = document.statement.values.into_iter().map(statement).collect::<Vec<_>>();
    // The values of one object in order; serde_json's own order depends on a feature.
    let mut out = object(&members);
    out.pop();
    out.push_str(&format!(",\"Statement\":[{}]}}", statements.join(",")));
    out
}

fn statement(written: Written) -> String {
    let effect = match written.effect.as_str() {
        "allow" => "Allow".to_owned(),
        "deny" => "Deny".to_owned(),
        _ => written.effect,
    };
    let mut members = Vec::new();
    members.extend(written.sid.map(|sid| ("Sid", Value::from(sid))));
    members.push(("Effect", Value::from(effect)));
    members.extend(written.principal.map(|it| ("Principal", principal(it))));
    members.extend(written.not_principal.map(|it| ("NotPrincipal", principal(it))));
    members.extend(written.action.map(|it| ("Action", texts(it))));
    members.extend(written.not_action.map(|it| ("NotAction", texts(it))));
    members.extend(written.resource.map(|it| ("Resource", texts(it))));
    members.extend(written.not_resource.map(|it| ("NotResource", texts(it))));
    members.extend(written.condition.map(|it| ("Condition", conditions(it))));
    object(&members)
}

fn object(members: &[(&str, Value)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name))).collect();
    format!("{{{}}}", members.join(","))
}

fn one_or_list(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { Value::from(values) }
}

fn texts(written: OneOrMany<String>) -> Value {
    one_or_list(written.values.into_iter().map(Value::from).collect())
}

fn principal(written: WrittenPrincipal) -> Value {
    let WrittenPrincipal::Named(Members(kinds)) = written else { return Value::from("*") };
    let kinds = kinds.into_iter().map(|(kind, names)| {
        let mut found: Vec<Value> = Vec::new();
        for name in names.values {
            let name = if is_account(&name) { format!("arn:aws:iam::{name}:root") } else { name };
            if !found.contains(&Value::from(name.as_str())) {
                found.push(Value::from(name));
            }
        }
        (kind, one_or_list(found))
    });
    Value::Object(kinds.collect::<Map<_, _>>())
}

fn conditions(written: Members<Members<OneOrMany<Scalar>>>) -> Value {
    let operators = written.0.into_iter().map(|(operator, keys)| {
        let keys = keys.0.into_iter().map(|(key, values)| {
            (key, one_or_list(values.values.into_iter().map(|value| Value::from(value.0)).collect()))
        });
        (operator, Value::Object(keys.collect()))
    });
    Value::Object(operators.collect())
}
