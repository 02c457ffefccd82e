//! Items made from a model, as BatchWriteItem takes them.

use serde_json::Value;

use super::support::export_text;

#[test]
fn every_batch_is_one_request_and_every_item_has_its_keys() {
    let (text, notes) = export_text("sample-data", model::STARTER);
    assert!(notes.is_empty(), "it is no model, so nothing is missing: {notes:?}");
    let batches: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(!batches.is_empty());
    for batch in batches {
        let puts = batch["RequestItems"]["notes"].as_array().unwrap();
        assert!(puts.len() <= 25);
        for put in puts {
            let item = &put["PutRequest"]["Item"];
            let partition = format!("USER#{}", item["userId"]["S"].as_str().unwrap());
            assert_eq!(item["PK"]["S"], partition);
            assert_eq!(item["SK"]["S"] == "PROFILE", item["emailPK"].is_object());
        }
    }
}
