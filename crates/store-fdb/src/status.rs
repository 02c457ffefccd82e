//! Why a cluster does not answer, from the status that FoundationDB's library gives as JSON.

use serde_json::Value;

/// How a recovery is called once commits are taken again.
const TAKES_COMMITS: [&str; 4] =
    ["accepting_commits", "all_logs_recruited", "storage_recovered", "fully_recovered"];

/// What keeps the cluster from answering; none if its status shows nothing.
pub fn reason(status: &Value) -> Option<String> {
    coordinators(status).or_else(|| unavailable(status)).or_else(|| recovery(status)).or_else(|| data(status))
}

/// Coordinators elect the process that leads. Without most of them, nothing does.
fn coordinators(status: &Value) -> Option<String> {
    let known = status.pointer("/client/coordinators/coordinators")?.as_array()?;
    let is_away = |coordinator: &&Value| coordinator["reachable"] == false;
    let away: Vec<&str> = known.iter().filter(is_away).filter_map(|it| it["address"].as_str()).collect();
    if away.len() * 2 < known.len() || away.is_empty() {
        return None;
    }
    let (count, all, verb) = (away.len(), known.len(), if away.len() == 1 { "is" } else { "are" });
    let addresses = away.join(", ");
    Some(format!("the cluster can't commit: {count} of {all} coordinators {verb} away ({addresses})"))
}

fn recovery(status: &Value) -> Option<String> {
    let state = status.pointer("/cluster/recovery_state")?;
    let name = state["name"].as_str()?;
    if TAKES_COMMITS.contains(&name) {
        return None;
    }
    let what = match name {
        "configuration_missing" | "configuration_never_created" => {
            return Some(
                "the cluster has no database yet: make one with `fdbcli --exec 'configure new …'`".into(),
            );
        }
        _ => state["description"].as_str().unwrap_or(name).trim_end_matches('.'),
    };
    Some(format!("the cluster recovers and can't commit yet: {what}"))
}

fn data(status: &Value) -> Option<String> {
    let state = status.pointer("/cluster/data/state")?;
    (state["healthy"] == false && state["min_replicas_remaining"] == 0).then(|| {
        let what = state["description"].as_str().unwrap_or("no copy of some data is left");
        format!("some data can't be read: {}", what.trim_end_matches('.'))
    })
}

fn unavailable(status: &Value) -> Option<String> {
    let is_available = status.pointer("/client/database_status/available")?.as_bool()?;
    let recovery = status.pointer("/cluster/recovery_state");
    if is_available || recovery.is_some() {
        return None;
    }
    let messages = status.pointer("/client/messages").and_then(Value::as_array);
    let said: Vec<&str> = { messages.into_iter().flatten() }
        .filter_map(|message| message["description"].as_str())
        .map(|text| text.trim_end_matches('.'))
        .collect();
    let said = if said.is_empty() { "it does not say why".to_owned() } else { said.join("; ") };
    Some(format!("the cluster is not available: {said}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn coordinators(reachable: &[bool]) -> Value {
        let all: Vec<Value> = { reachable.iter().enumerate() }
            .map(|(index, reachable)| json!({"reachable": reachable, "address": format!("10.0.0.{index}:4500")}))
            .collect();
        json!({"client": {"coordinators": {"coordinators": all}, "database_status": {"available": true}}})
    }

    #[test]
    fn most_coordinators_away_are_named() {
        let expected =
            "the cluster can't commit: 2 of 3 coordinators are away (10.0.0.0:4500, 10.0.0.2:4500)";
        assert_eq!(reason(&coordinators(&[false, true, false])).as_deref(), Some(expected));
        let expected = "the cluster can't commit: 1 of 1 coordinators is away (10.0.0.0:4500)";
        assert_eq!(reason(&coordinators(&[false])).as_deref(), Some(expected));
        assert_eq!(reason(&coordinators(&[false, true, true])), None);
        assert_eq!(reason(&coordinators(&[true, true, true])), None);
    }

    #[test]
    fn a_recovery_that_goes_on_and_a_database_that_was_never_made_are_told_apart() {
        let recovery = |name: &str| {
            reason(
                &json!({"cluster": {"recovery_state": {"name": name, "description": "Waiting for logs."}}}),
            )
        };
        let expected = "the cluster recovers and can't commit yet: Waiting for logs";
        assert_eq!(recovery("recruiting_transaction_servers").as_deref(), Some(expected));
        assert!(recovery("configuration_never_created").unwrap().contains("configure new"));
        assert_eq!(recovery("fully_recovered"), None);
    }

    #[test]
    fn a_cluster_that_says_nothing_but_its_messages_is_quoted() {
        let messages = json!([{"name": "no_cluster_controller", "description": "No cluster controller."}]);
        let status = json!({"client": {"database_status": {"available": false}, "messages": messages}});
        assert_eq!(reason(&status).as_deref(), Some("the cluster is not available: No cluster controller"));
        assert_eq!(reason(&json!({})), None);
    }
}
