//! The workbench through the door: what the commands print.

use http::StatusCode;
use serde_json::{Value, json};

use crate::support::desk;

const ORDERS: &str = include_str!("../../../../examples/models/m03-order-management.yaml");

#[tokio::test]
async fn a_model_is_checked_planned_priced_heated_and_proven() {
    let desk = desk().await;
    let text = json!({ "text": ORDERS });
    let checked = desk.ask("model/check", &text).await;
    assert_eq!(checked["readable"], true);
    let legend = desk.ask("model/plan", &text).await;
    assert_eq!(legend["entities"][1]["key"][1]["template"], "ORDER#{createdAt}#{orderId}");
    let pattern = |id: &str| {
        let patterns = legend["patterns"].as_array().expect("patterns");
        patterns.iter().find(|one| one["id"] == id).cloned().expect("the pattern")
    };
    assert_eq!(pattern("A2")["operation"], "Query");
    assert_eq!(
        pattern("A2")["condition"][0],
        json!({ "attribute": "PK", "condition": "= CUST#{customerId}" })
    );
    assert_eq!(pattern("A5")["index"], "GSI2");
    assert!(desk.ask("model/cost", &text).await["total"].as_f64().is_some_and(|total| total > 0.0));
    assert!(desk.ask("model/heat", &text).await["heat"].is_array());
    let certificate = desk.ask("model/prove", &text).await;
    assert_eq!(certificate["proven"], true, "{certificate}");
}

#[tokio::test]
async fn a_text_that_is_no_model_has_findings() {
    let desk = desk().await;
    let text = json!({ "text": "model: x\ntable: [" });
    let checked = desk.ask("model/check", &text).await;
    assert_eq!(checked["readable"], false);
    assert!(checked["findings"][0]["at"]["line"].is_number(), "{checked}");
    let (status, answer) = desk.post("model/plan", &text).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!answer["findings"].as_array().expect("findings").is_empty());
    let (status, _) = desk.post("model/plan", &json!({})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_model_is_designed_from_its_patterns_and_compared_with_its_next_version() {
    let desk = desk().await;
    let wishes = include_str!("../../../../examples/designs/support-desk.yaml");
    let designed = desk.ask("model/design", &json!({ "text": wishes })).await;
    assert!(designed["model"].as_str().is_some_and(|text| text.contains("key:")), "{designed}");
    assert!(designed["front"].as_array().is_some_and(|front| !front.is_empty()));
    let next = ORDERS.replace("GSI2: { project: keys }", "GSI2: { project: [status] }");
    let diff = desk.ask("model/diff", &json!({ "old": ORDERS, "new": next, "rehearse": true })).await;
    assert_eq!(diff["rehearsed"], true, "{diff}");
}

#[tokio::test]
async fn rules_are_explained_and_unknown_commands_refused() {
    let desk = desk().await;
    assert_eq!(desk.ask("model/explain", &json!({ "rule": "R10" })).await["rule"], "R10");
    assert!(desk.ask("model/schema", &json!({})).await["properties"].is_object());
    for path in ["model/nothing", "nothing", "request/nothing", "call/Nothing"] {
        let (status, _) = desk.post(path, &json!({ "text": ORDERS })).await;
        assert_ne!(status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn every_example_can_be_loaded() {
    let desk = desk().await;
    let examples: Value = desk.ask("examples", &json!({})).await;
    for example in examples["examples"].as_array().expect("examples") {
        let report = desk.ask("model/apply", &json!({ "text": example["text"], "samples": true })).await;
        assert!(report["samples"]["written"].as_u64().is_some_and(|written| written > 0), "{report}");
    }
}

#[tokio::test]
async fn prices_follow_rates_sizes_and_counts() {
    let desk = desk().await;
    let text = desk.example("leaderboard").await;
    let total = async |scale: serde_json::Value| {
        let priced = desk.ask("model/cost", &json!({ "text": text, "scale": scale })).await;
        priced["total"].as_f64().expect("a sum")
    };
    let declared = total(json!({})).await;
    assert!((total(json!({ "rate": 1.0, "size": 1.0, "count": 1.0 })).await - declared).abs() < 1e-9);
    for name in ["rate", "size", "count"] {
        assert!(total(json!({ name: 10.0 })).await > declared, "{name}");
    }
    let curve = desk.ask("model/curve", &json!({ "text": text, "factors": [0.1, 1.0, 10.0] })).await;
    let points = curve["points"].as_array().expect("points");
    let on_demand = points.iter().map(|point| point["ways"][0]["total"].as_f64().expect("a sum"));
    let on_demand: Vec<f64> = on_demand.collect();
    assert!(on_demand.len() == 3 && on_demand.is_sorted(), "{on_demand:?}");
}
