//! ElectroDB's entities, there and back.

use model::model::AttributeKind;
use model_format as format;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::{export_text, import, round_trip};

fn task() -> Value {
    json!({
        "model": { "entity": "task", "version": "1", "service": "Company" },
        "attributes": {
            "team": { "type": "string", "required": true },
            "number": { "type": "number", "required": true, "padding": { "length": 4, "char": "0" } },
            "state": { "type": ["open", "done"], "required": true },
            "assignee": { "type": "string", "label": "who" },
            "labels": { "type": "set", "items": "string" },
            "comments": { "type": "list", "items": { "type": "map", "properties": { "by": { "type": "string" } } } },
        },
        "indexes": {
            "byTeam": {
                "collection": "work",
                "pk": { "field": "pk", "composite": ["team"] },
                "sk": { "field": "sk", "composite": ["number"] },
            },
            "byAssignee": {
                "index": "gsi1",
                "pk": { "field": "gsi1pk", "composite": ["assignee"], "casing": "none" },
                "sk": { "field": "gsi1sk", "template": "STATE#${state}#${number}", "casing": "none" },
            },
        },
    })
}

fn member() -> Value {
    json!({
        "model": { "entity": "member", "version": "1", "service": "Company" },
        "attributes": { "team": { "type": "string" }, "login": { "type": "string" } },
        "indexes": { "byTeam": {
            "collection": "work",
            "pk": { "field": "pk", "composite": ["team"] },
            "sk": { "field": "sk", "composite": ["login"] },
        } },
    })
}

fn company() -> Value {
    json!({ "entities": { "task": task(), "member": member() } })
}

fn templates(model: &model::Model, entity: usize) -> Vec<String> {
    let entity = &model.entities[entity];
    let entries = entity.entries.iter().flat_map(|entry| entry.templates());
    entity.key_templates().chain(entries).map(ToString::to_string).collect()
}

#[test]
fn keys_are_those_the_library_makes() {
    let model = import("electrodb", &company()).model;
    assert_eq!(
        templates(&model, 0),
        [
            "$company#team_{lower(team)}",
            "$work#task_1#number_{number:04}",
            "$Company#who_{assignee}",
            "STATE#{state}#{number:04}",
        ]
    );
    assert_eq!(templates(&model, 1), ["$company#team_{lower(team)}", "$work#member_1#login_{lower(login)}"]);
    let task = &model.entities[0];
    assert_eq!(task.attributes["state"].values, ["open", "done"]);
    assert_eq!(task.attributes["labels"].kind, AttributeKind::StringSet);
    assert!(task.attributes["assignee"].optional && !task.attributes["team"].optional);
}

#[test]
fn clustered_scoped_and_lone_keys_have_their_own_forms() {
    let mut document = company();
    document["entities"]["task"]["indexes"]["byTeam"]["type"] = "clustered".into();
    document["entities"]["task"]["indexes"]["byAssignee"] = json!({
        "index": "gsi1", "scope": "S", "pk": { "field": "gsi1pk", "composite": ["assignee"], "casing": "none" },
    });
    let model = round_trip("electrodb", &document).model;
    assert_eq!(
        templates(&model, 0)[1..],
        ["$work#number_{number:04}#task_1", "$Company$task_1_S#who_{assignee}"]
    );
}

#[test]
fn a_collection_is_a_pattern_that_reads_its_entities() {
    let model = import("electrodb", &company()).model;
    let pattern = model.pattern_named("work").unwrap();
    let (_, read) = pattern.reads().next().unwrap();
    assert_eq!(read.entities.len(), 2);
    assert_eq!(read.by.iter().map(|name| name.value.as_str()).collect::<Vec<_>>(), ["team"]);
}

#[test]
fn entities_come_back_as_they_were() {
    round_trip("electrodb", &company());
}

#[test]
fn entities_are_found_in_json_lists_and_modules() {
    let both = format!(
        "import {{ Entity }} from 'electrodb';\nconst table = 'x';\n\
         export const Task = new Entity({}, {{ client, table }});\nexport const Member = new Entity({});",
        task(),
        member()
    );
    for text in [json!([task(), member()]).to_string(), both] {
        let format = format::detect(&text).unwrap();
        assert_eq!(format.name, "electrodb");
        let company = (format.syntax.parse)(&company().to_string()).unwrap();
        assert_eq!((format.syntax.parse)(&text).unwrap(), company);
    }
    assert_eq!(format::detect(&task().to_string()).map(|found| found.name), Some("electrodb"));
}

#[test]
fn a_part_that_no_template_can_make_becomes_an_attribute_that_watches() {
    let model = "model: m\ntable: { name: abc, partition: PK, sort: SK }\nentities:\n  Job:\n    \
        key: { PK: \"JOB#{id}\", SK: \"{line:03}#{id}\" }\n    attributes: { status: [OPEN, DONE], line: number }\n    \
        indexes:\n      open: { when: status = OPEN, openPK: \"OPEN#{shard(id, 3)}\", openSK: \"{line:05}\" }\n";
    let (text, notes) = export_text("electrodb", model);
    for part in [
        r#"padding: { length: 3, char: "0" }"#,
        r#"watch: ["id"]"#,
        r#"template: "OPEN#${idShard}""#,
        r#"template: "${linePart}""#,
        r#"condition: (item) => item.status === "OPEN""#,
        // `id` is in the partition key already, and the sort key has other parts.
        r#"template: "${line}#${idPart}""#,
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(notes.iter().any(|note| note.contains("composite({…})")), "{notes:?}");
}

#[test]
fn a_key_changed_in_the_model_is_the_models_alone() {
    let import = import("electrodb", &company());
    let changed = import.text.replace("$work#member_1#login_{lower(login)}", "MEMBER#{login}");
    assert_ne!(changed, import.text);
    let (text, _) = export_text("electrodb", &changed);
    let key = r#"sk: { field: "sk", composite: ["login"], template: "MEMBER#${login}", casing: "none" }"#;
    assert!(text.contains(key), "{text}");
    // The rest is as it was, under the names it had.
    assert!(text.contains(r#"sk: { field: "sk", composite: ["number"] }"#), "{text}");
    assert_eq!(text.matches("byTeam: {").count(), 2, "{text}");
}

fn attributes() -> impl Strategy<Value = Map<String, Value>> {
    let kind = prop_oneof![
        Just(json!("string")),
        Just(json!("number")),
        Just(json!("boolean")),
        Just(json!("any")),
        Just(json!(["x", "y"])),
        Just(json!({ "$code": "CustomAttributeType(\"string\")" })),
    ];
    let extra = prop_oneof![
        Just(json!({})),
        Just(json!({ "required": true })),
        Just(json!({ "default": "x" })),
        Just(json!({ "padding": { "length": 3, "char": "0" } })),
        Just(json!({ "padding": { "length": 3, "char": "x" } })),
        Just(json!({ "field": "stored" })),
        Just(json!({ "label": "l" })),
        Just(json!({ "x-unknown": [1] })),
        Just(json!({ "set": { "$code": "() => 1" } })),
    ];
    let attribute = (kind, extra).prop_map(|(kind, extra)| {
        let mut attribute = json!({ "type": kind });
        extra.as_object().unwrap().iter().for_each(|(name, value)| attribute[name] = value.clone());
        attribute
    });
    proptest::collection::vec(attribute, 3)
        .prop_map(|all| ["a", "b", "c"].into_iter().map(str::to_owned).zip(all).collect())
}

fn key(field: &'static str) -> impl Strategy<Value = Value> {
    let made = prop_oneof![
        Just(json!({ "composite": [] })),
        Just(json!({ "composite": ["a"] })),
        Just(json!({ "composite": ["b", "c"] })),
        Just(json!({ "template": "X#${a}" })),
        Just(json!({ "template": "${b}" })),
        Just(json!({ "template": "Fixed" })),
        Just(json!({ "composite": ["c"], "template": "{${c}}" })),
    ];
    let casing =
        prop_oneof![Just(json!({})), Just(json!({ "casing": "none" })), Just(json!({ "casing": "upper" }))];
    (made, casing).prop_map(move |(made, casing)| {
        let members = made.as_object().unwrap().iter().chain(casing.as_object().unwrap());
        let members = members.map(|(name, value)| (name.clone(), value.clone()));
        std::iter::once(("field".to_owned(), field.into())).chain(members).collect()
    })
}

fn entities() -> impl Strategy<Value = Value> {
    let about = prop_oneof![
        Just(json!({})),
        Just(json!({ "collection": "both" })),
        Just(json!({ "collection": ["both", "sub"] })),
        Just(json!({ "type": "clustered", "collection": "both" })),
        Just(json!({ "projection": "keys_only" })),
        Just(json!({ "projection": ["a", "b"] })),
        Just(json!({ "condition": { "$code": "() => true" } })),
    ];
    let index = |about: Value, mut keys: Vec<(&'static str, Value)>| {
        let mut index: Map<String, Value> = about.as_object().unwrap().clone();
        keys.drain(..).for_each(|(side, key)| {
            index.insert(side.to_owned(), key);
        });
        Value::Object(index)
    };
    let one = (attributes(), key("pk"), key("sk"), key("gpk"), key("gsk"), about).prop_map(
        move |(attributes, pk, sk, gpk, gsk, about)| {
            let mut indexes = json!({ "own": index(json!({}), vec![("pk", pk), ("sk", sk)]) });
            let mut other = index(about, vec![("pk", gpk), ("sk", gsk)]);
            other["index"] = "gsi".into();
            indexes["other"] = other;
            json!({ "attributes": attributes, "indexes": indexes })
        },
    );
    proptest::collection::btree_map("[A-C]", one, 1..3).prop_map(|entities| {
        let named = entities.into_iter().map(|(name, mut entity)| {
            entity["model"] = json!({ "entity": name, "version": "1", "service": "s" });
            (name, entity)
        });
        json!({ "entities": named.collect::<Map<String, Value>>() })
    })
}

proptest! {
    #[test]
    fn any_entities_come_back_as_they_were(document in entities()) {
        round_trip("electrodb", &document);
    }
}
