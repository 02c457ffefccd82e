//! OneTable's schemas, there and back.

use model::model::{AttributeKind, IndexKind};
use model_format as format;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::{export_text, import, round_trip};

fn blog() -> Value {
    json!({ "schemas": { "table": {
        "format": "onetable:1.1.0",
        "version": "0.1.0",
        "description": "a blog",
        "indexes": {
            "primary": { "hash": "pk", "sort": "sk" },
            "gs1": { "hash": "gs1pk", "sort": "gs1sk", "project": ["title", "state"], "follow": true },
            "ls1": { "type": "local", "sort": "rank", "project": "keys" },
        },
        "models": {
            "Author": {
                "pk": { "type": "string", "value": "author#${id}" },
                "sk": { "type": "string", "value": "author#" },
                "id": { "type": "string", "generate": "ulid" },
                "email": { "type": "string", "required": true, "unique": true, "validate": "/@/" },
                "address": { "type": "object", "schema": { "zip": { "type": "string" } } },
                "joined": { "type": "date", "required": true },
            },
            "Post": {
                "pk": { "type": "string", "value": "author#${author}" },
                "sk": { "type": "string", "value": "post#${number:6:0}" },
                "author": { "type": "string", "required": true },
                "number": { "type": "number", "required": true },
                "title": { "type": "string" },
                "state": { "type": "string", "enum": ["draft", "public"], "default": "draft" },
                "rank": { "type": "number" },
                "expires": { "type": "date", "ttl": true },
                "gs1pk": { "type": "string", "value": "state#${state}" },
                "gs1sk": { "type": "string", "value": "${title}" },
            },
        },
        "params": { "isoDates": true, "timestamps": "create", "typeField": "_kind" },
        "queries": { "all": {} },
    } } })
}

#[test]
fn templates_types_and_indexes_are_taken_over() {
    let import = import("onetable", &blog());
    let table = &import.model.tables[0];
    assert_eq!(table.ttl.as_ref().map(|ttl| ttl.value.as_str()), Some("expires"));
    assert_eq!(table.indexes[1].kind, IndexKind::Local);
    let post = &import.model.entities[1];
    let keys: Vec<String> = post.key_templates().map(ToString::to_string).collect();
    assert_eq!(keys, ["author#{author}", "post#{number:06}"]);
    let entry: Vec<String> = post.entries[0].templates().map(ToString::to_string).collect();
    assert_eq!(entry, ["state#{state}", "{title}"]);
    assert_eq!(post.attributes["state"].values, ["draft", "public"]);
    assert!(post.attributes["title"].optional && !post.attributes["state"].optional);
    assert_eq!(post.attributes["expires"].kind, AttributeKind::Epoch);
    let author = &import.model.entities[0];
    assert_eq!(author.attributes["id"].kind, AttributeKind::Ulid);
    assert_eq!(author.attributes["joined"].kind, AttributeKind::Timestamp);
    assert_eq!(author.attributes["created"].kind, AttributeKind::Timestamp);
    assert!(
        import.notes.0.iter().any(|note| note.contains("email: that it is unique")),
        "{:?}",
        import.notes
    );
}

#[test]
fn a_schema_comes_back_as_it_was() {
    round_trip("onetable", &blog());
}

#[test]
fn a_schema_alone_is_recognised_as_json_and_as_a_module() {
    let schema = &blog()["schemas"]["table"];
    for text in [schema.to_string(), format!("export default {schema:#};")] {
        assert_eq!(format::detect(&text).map(|found| found.name), Some("onetable"));
    }
}

#[test]
fn functions_are_kept_and_said() {
    let text = "export const schema = { version: '1', indexes: { primary: { hash: 'pk' } }, models: { User: {\n\
        pk: { type: String, value: 'user#${id}' }, id: { type: String, required: true, generate: () => nanoid() },\n\
        tags: { type: Set }, email: { type: String, validate: /@/ } } } };";
    let format = format::format("onetable").unwrap();
    let import = format::import(format, text).unwrap();
    let notes = import.notes.0.join("\n");
    assert!(notes.contains("User.id.generate is code") && notes.contains("User.email.validate"), "{notes}");
    assert_eq!(import.model.entities[0].attributes["tags"].kind, AttributeKind::StringSet);
    let again = format::export(format, &import.model).unwrap().text;
    assert!(again.contains("generate: () => nanoid()") && again.contains("validate: /@/"), "{again}");
    assert!(again.contains("type: String"), "{again}");
}

#[test]
fn a_key_that_a_value_template_cannot_make_is_made_by_a_function() {
    let model = "model: m\ntable: { name: abc, partition: PK }\nentities:\n  Job:\n    \
        key: { PK: \"JOB#{id}\" }\n    attributes: { status: [OPEN, DONE], at: timestamp, points: { type: number, min: -9 } }\n    \
        indexes:\n      open: { when: status = OPEN, openPK: \"OPEN#{shard(id, 3)}\", openSK: \"{day(at)}#{points:02}\" }\n";
    let (text, notes) = export_text("onetable", model);
    for part in [
        r#"PK: { type: "string", value: "JOB#${id}" }"#,
        r#"needs: ["id", "status"]"#,
        r#"make: (item) => item.status === "OPEN" ? `OPEN#${crc32(String(item.id)) % 3}` : null"#,
        r#"template: "{day(at)}#{points:02}""#,
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(notes.iter().any(|note| note.contains("`_type`")), "{notes:?}");
}

#[test]
fn a_key_changed_in_the_model_is_the_models_alone() {
    let import = import("onetable", &blog());
    let changed = import.text.replace("post#{number:06}", "post#{lower(title)}");
    assert_ne!(changed, import.text);
    let (text, notes) = export_text("onetable", &changed);
    assert!(!text.contains("${number:6:0}") && text.contains("String(item.title).toLowerCase()"), "{text}");
    assert!(text.contains("validate: \"/@/\""), "{text}");
    assert!(notes.iter().all(|note| !note.contains("no place any more")), "{notes:?}");
}

fn fields() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        Just("a#${id}"),
        Just("${id}"),
        Just("fixed"),
        Just("b#${name}#${n:4:0}"),
        Just("${n:3}"),
        Just("${n:3:x}"),
        Just("{${id}}"),
        Just("${a.b}"),
        Just("${"),
    ];
    let kind = prop_oneof![
        Just(json!("string")),
        Just(json!("number")),
        Just(json!("date")),
        Just(json!("set")),
        Just(json!("array")),
        Just(json!("object")),
        Just(json!("boolean")),
        Just(json!("binary")),
        Just(json!({ "$code": "String" })),
    ];
    let extra = prop_oneof![
        Just(json!({})),
        Just(json!({ "required": true })),
        Just(json!({ "enum": ["x", "y"] })),
        Just(json!({ "default": "x", "enum": ["x"] })),
        Just(json!({ "generate": "uuid" })),
        Just(json!({ "unique": true, "scope": "${id}" })),
        Just(json!({ "map": "other" })),
        Just(json!({ "ttl": true })),
        Just(json!({ "x-unknown": [1, null] })),
        Just(json!({ "hidden": false })),
    ];
    let attribute = (kind, extra).prop_map(|(kind, extra)| {
        let mut field = json!({ "type": kind });
        extra.as_object().unwrap().iter().for_each(|(name, value)| field[name] = value.clone());
        field
    });
    let key = value.prop_map(|value| json!({ "type": "string", "value": value }));
    let any = prop_oneof![key.clone(), attribute.clone()];
    let optional = |strategy: BoxedStrategy<Value>| proptest::option::of(strategy);
    (
        (key.boxed(), optional(any.clone().boxed()), optional(any.clone().boxed()), optional(any.boxed())),
        (
            optional(attribute.clone().boxed()),
            optional(attribute.clone().boxed()),
            optional(attribute.boxed()),
        ),
    )
        .prop_map(|((pk, sk, gs1pk, gs1sk), (id, name, n))| {
            let all = [
                ("pk", Some(pk)),
                ("sk", sk),
                ("gs1pk", gs1pk),
                ("gs1sk", gs1sk),
                ("id", id),
                ("name", name),
                ("n", n),
            ];
            all.into_iter().filter_map(|(name, field)| Some((name.to_owned(), field?))).collect()
        })
}

fn schemas() -> impl Strategy<Value = Value> {
    let project = prop_oneof![
        Just(json!("all")),
        Just(json!("keys")),
        Just(json!(["name"])),
        Just(json!(["pk", "odd"])),
        Just(Value::Null)
    ];
    let params =
        prop_oneof![Just(json!({})), Just(json!({ "isoDates": true })), Just(json!({ "timestamps": true }))];
    let models = proptest::collection::btree_map("[A-C]", fields(), 0..3);
    (project, params, models, any::<bool>()).prop_map(|(project, params, models, sort)| {
        let mut primary = json!({ "hash": "pk" });
        if sort {
            primary["sort"] = "sk".into();
        }
        let mut gs1 = json!({ "hash": "gs1pk", "sort": "gs1sk" });
        if !project.is_null() {
            gs1["project"] = project;
        }
        let models: Map<String, Value> = models.into_iter().map(|(name, one)| (name, Value::Object(one))).collect();
        json!({ "schemas": { "table": {
            "version": "0.0.1", "indexes": { "primary": primary, "gs1": gs1 }, "models": models, "params": params,
        } } })
    })
}

proptest! {
    #[test]
    fn any_schema_comes_back_as_it_was(document in schemas()) {
        round_trip("onetable", &document);
    }
}
