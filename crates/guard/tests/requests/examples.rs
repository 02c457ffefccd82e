//! No false alarm: what the workbench writes for the patterns of a model is what the guard of that model lets pass.

use std::fs;
use std::path::Path;

use model::dynamodb_json::dynamodb_json;
use model::sample::{Scale, sample};
use model::{Model, Source, file};
use serde_json::{Map, Value, json};

use crate::support::{findings, guard, texts};

/// Every model of `examples` and of the acceptance tests that has keys.
fn models() -> Vec<(String, String, Model)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut models = Vec::new();
    for folder in ["examples/models", "examples/published", "acceptance/models"] {
        let mut paths: Vec<_> =
            fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let model = file::read(&Source::new(name.clone(), text.clone())).model.expect("a model");
            models.push((name, text, model));
        }
    }
    assert!(models.len() > 28);
    models
}

#[test]
fn the_requests_of_every_pattern_of_every_model_pass() {
    let (mut wrong, mut passed) = (String::new(), 0);
    for (name, text, model) in models() {
        let guard = guard(&name, &text);
        let examples = model_code::examples(&model, None);
        for example in model_code::json(&model, &examples)["patterns"].as_array().unwrap() {
            let (pattern, operation) =
                (example["pattern"].as_str().unwrap(), example["operation"].as_str().unwrap());
            for input in example["requests"].as_array().into_iter().flatten() {
                let found = findings(&guard, operation, input);
                match found.is_empty() {
                    true => passed += 1,
                    false => wrong += &format!("{name} {pattern}: {operation} {input}\n{}", texts(&found)),
                }
            }
        }
    }
    assert_eq!(wrong, "");
    assert!(passed > 200, "{passed} requests");
}

#[test]
fn the_sample_items_of_every_model_are_what_it_says() {
    let mut wrong = String::new();
    for (name, text, model) in models() {
        let guard = guard(&name, &text);
        for item in sample(&model, Scale::default()).items {
            let Some(entity) = item.entity.map(|id| model.entity(id)) else { continue };
            if entity.key.is_none() {
                continue;
            }
            let values = item.values.iter().map(|(name, value)| (name.clone(), dynamodb_json(value)));
            let input: Value = json!({ "TableName": model.table(item.table).name.value, "Item": values.collect::<Map<_, _>>() });
            let mut found = findings(&guard, "PutItem", &input);
            found.retain(|finding| ["item", "index-key"].contains(&finding.rule.id()));
            if !found.is_empty() {
                wrong += &format!("{name} {}: {input}\n{}", entity.name.value, texts(&found));
            }
        }
    }
    assert_eq!(wrong, "");
}
