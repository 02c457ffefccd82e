//! Small models of every kind, through every format that is both written and read: what a format says it
//! holds comes back, a document that was written stays as it is, and its unknown members are kept.

use model::model::{Billing, Capacity, Encryption, Index, IndexKind, KeySchema, Model, Table, Throughput};
use model::{Source, diagnostic, file};
use model_format::{self as format, Aspect, FORMATS, Format};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

use super::support::with_unknown_members;

/// What keys are made of: a name has one type wherever it is used.
const ATTRIBUTES: [(&str, &str); 7] = [
    ("PK", "string"),
    ("SK", "string"),
    ("at", "number"),
    ("raw", "binary"),
    ("tenant", "string"),
    ("on", "string"),
    ("total", "number"),
];

fn key(attributes: &[(&str, &str)]) -> Value {
    attributes.iter().map(|(name, kind)| ((*name).to_owned(), Value::from(*kind))).collect()
}

fn text() -> impl Strategy<Value = String> {
    let odd =
        select(vec!["yes", "1", "2026-01-01", "a: b", "${x}", "%{x}", "$${", "it's \"so\"", "a\nb", "#é"]);
    prop_oneof![odd.prop_map(str::to_owned), "[a-zA-Z][a-zA-Z0-9 _-]{0,8}[a-z]".prop_map(String::from)]
}

/// Units, or how they scale.
fn capacity() -> impl Strategy<Value = Value> {
    let seconds = || proptest::option::of(0u64..900);
    let scaled = (1u64..50, 1u64..500, proptest::option::of(1u64..60), proptest::option::of(40u64..180));
    let scaled =
        (scaled, seconds(), seconds()).prop_map(|((min, more, units, target), scale_in, scale_out)| {
            let mut capacity = json!({ "min": min, "max": min + more });
            let members = [
                ("units", units.map(Value::from)),
                ("target", target.map(|half| format!("{}%", half as f64 / 2.0).into())),
                ("scale-in", scale_in.map(|seconds| format!("{seconds} s").into())),
                ("scale-out", scale_out.map(|seconds| format!("{seconds} s").into())),
            ];
            for (name, value) in members {
                value.into_iter().for_each(|value| capacity[name] = value);
            }
            capacity
        });
    prop_oneof![(1u64..1000).prop_map(Value::from), scaled]
}

/// `read` and `write`; with on-demand billing only limits.
fn throughput(billing: &'static str) -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let limit = (1u64..10_000).prop_map(|max| json!({ "max": max }));
    let side = if billing == "provisioned" { capacity().boxed() } else { limit.boxed() };
    let sides = (proptest::option::of(side.clone()), proptest::option::of(side));
    sides.prop_map(|(read, write)| {
        let sides = [("read", read), ("write", write)];
        sides.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    })
}

fn index(billing: &'static str) -> impl Strategy<Value = (String, Value)> {
    let sides = (subsequence(ATTRIBUTES.to_vec(), 1..=3), subsequence(ATTRIBUTES.to_vec(), 0..=2));
    let project = select(vec![json!("all"), json!("keys"), json!(["extra"]), json!(["extra", "more"])]);
    let name = select(vec!["byTime", "GSI1", "by-status", "a.b"]);
    (name, sides, project, throughput(billing), any::<bool>()).prop_map(
        |(name, (partition, sort), project, throughput, local)| {
            let sort: Vec<_> = sort.into_iter().filter(|one| !partition.contains(one)).collect();
            if local {
                let index = json!({ "type": "local", "sort": key(&partition[..1]), "project": project });
                return (name.to_owned(), index);
            }
            let mut index = json!({ "partition": key(&partition), "project": project });
            if !sort.is_empty() {
                index["sort"] = key(&sort);
            }
            throughput.into_iter().for_each(|(name, value)| index[name] = value);
            (name.to_owned(), index)
        },
    )
}

fn settings() -> impl Strategy<Value = Map<String, Value>> {
    let flag = || proptest::option::of(any::<bool>().prop_map(Value::from));
    let one = |values: &[&'static str]| {
        proptest::option::of(select(values.iter().map(|value| Value::from(*value)).collect::<Vec<_>>()))
    };
    let replicas = subsequence(vec!["us-east-1", "eu-west-1"], 0..=2).prop_map(Value::from);
    let tags = proptest::collection::btree_map(text(), text(), 0..3);
    let tags = tags.prop_map(|tags| json!(tags));
    let values = (
        one(&["infrequent-access"]),
        one(&["expiresAt"]),
        one(&["keys", "new", "old", "new-and-old"]),
        one(&["aws-managed", "customer-managed"]),
        flag(),
        flag(),
        replicas,
        tags,
    );
    values.prop_map(|(class, ttl, stream, encryption, pitr, protection, replicas, tags)| {
        let members = [
            ("class", class),
            ("ttl", ttl),
            ("stream", stream),
            ("encryption", encryption),
            ("pitr", pitr),
            ("deletion-protection", protection),
            ("replicas", Some(replicas).filter(|all| *all != json!([]))),
            ("tags", Some(tags).filter(|all| *all != json!({}))),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    })
}

fn table() -> impl Strategy<Value = Map<String, Value>> {
    select(vec!["on-demand", "provisioned"]).prop_flat_map(|billing| {
        let keys = subsequence(ATTRIBUTES.to_vec(), 1..=2).prop_shuffle();
        let indexes = proptest::collection::vec(index(billing), 0..3);
        (keys, throughput(billing), indexes, settings()).prop_map(
            move |(keys, throughput, indexes, mut table)| {
                table.insert("billing".to_owned(), billing.into());
                for (side, attribute) in ["partition", "sort"].into_iter().zip(keys.chunks(1)) {
                    table.insert(side.to_owned(), key(attribute));
                }
                for (name, value) in throughput {
                    table.insert(name.to_owned(), value);
                }
                // A local index has another sort key than its table.
                let differs = |index: &Value| keys.iter().all(|(name, _)| index["sort"].get(name).is_none());
                let fits = |index: &Value| index.get("type").is_none() || (keys.len() == 2 && differs(index));
                let indexes: Map<String, Value> =
                    indexes.into_iter().filter(|(_, index)| fits(index)).collect();
                if !indexes.is_empty() {
                    table.insert("indexes".to_owned(), Value::Object(indexes));
                }
                table
            },
        )
    })
}

fn entity(table: &str) -> Value {
    let mut attributes = json!({ "extra": "string", "more": "list", "expiresAt": "epoch" });
    ATTRIBUTES.iter().for_each(|(name, kind)| attributes[*name] = (*kind).into());
    json!({ "table": table, "attributes": attributes })
}

/// A second entity, whose keys are made from templates.
fn templated(name: &str, table: &Map<String, Value>) -> Option<Value> {
    let sides = ["partition", "sort"].map(|side| table.get(side).and_then(Value::as_object));
    let keys: Vec<(&String, &Value)> = sides.into_iter().flatten().flatten().collect();
    let templates = ["THING#{thingId}", "AT#{madeAt}"];
    let key: Map<String, Value> =
        keys.iter().zip(templates).map(|((name, _), template)| ((*name).clone(), template.into())).collect();
    let attributes = json!({ "thingId": "uuid", "madeAt": "timestamp" });
    keys.iter()
        .all(|(_, kind)| **kind == "string")
        .then(|| json!({ "table": name, "key": key, "attributes": attributes, "count": 100, "size": "1 KB" }))
}

fn any_model() -> impl Strategy<Value = Model> {
    let tables = proptest::collection::btree_map("[a-z]{3,6}(-[a-z0-9]{1,3})?", table(), 1..=2);
    let region = proptest::option::of(select(vec!["eu-central-1", "us-west-2"]));
    (tables, region, proptest::option::of(text())).prop_map(|(tables, region, description)| {
        let mut sections = json!({ "model": "any" });
        region.into_iter().for_each(|region| sections["region"] = region.into());
        description.into_iter().for_each(|text| sections["description"] = text.into());
        for (position, (name, table)) in tables.into_iter().enumerate() {
            sections["entities"][format!("Plain{position}")] = entity(&name);
            if let Some(templated) = templated(&name, &table) {
                sections["entities"][format!("Made{position}")] = templated;
            }
            sections["tables"][name] = Value::Object(table);
        }
        let reading = file::read_json(&sections);
        let shown = diagnostic::text(&Source::new("", ""), &reading.diagnostics, false);
        reading.model.unwrap_or_else(|| panic!("{shown}\n{sections:#}"))
    })
}

/// What a model says in the words of the aspects that a format holds.
fn held(model: &Model, format: &Format) -> Value {
    let holds = |aspect: Aspect| format.can_hold(aspect);
    let mut held =
        json!({ "tables": model.tables.iter().map(|one| table_held(one, format)).collect::<Value>() });
    if holds(Aspect::Description) {
        held["description"] = json!(model.description);
    }
    if holds(Aspect::Region) {
        held["region"] = json!(model.region.as_ref().map(|region| &region.value));
    }
    if holds(Aspect::Entities) {
        let mut names: Vec<&str> = model.entities.iter().map(|entity| entity.name.value.as_str()).collect();
        names.sort_unstable();
        held["entities"] = json!(names);
    }
    if holds(Aspect::Templates) {
        let templates = |entity: &model::model::Entity| {
            let templates: Vec<String> = entity.key_templates().map(ToString::to_string).collect();
            (entity.name.value.clone(), json!(templates))
        };
        held["templates"] = Value::Object(model.entities.iter().map(templates).collect());
    }
    held
}

fn table_held(table: &Table, format: &Format) -> Value {
    let holds = |aspect: Aspect| format.can_hold(aspect);
    let wide = |key: &KeySchema| key.partition.len() > 1 || key.sort.len() > 1;
    let is_held = |index: &&Index| {
        (index.kind == IndexKind::Global || holds(Aspect::LocalIndexes))
            && (holds(Aspect::WideKeys) || !wide(&index.key))
    };
    let mut indexes: Vec<&Index> = table.indexes.iter().filter(is_held).collect();
    indexes.sort_by_key(|index| &index.name.value);
    let mut held = json!({
        "name": table.name.value,
        "key": table.key.as_ref().map(|key| schema(key, format)),
        "indexes": indexes.iter().map(|index| index_held(table, index, format)).collect::<Value>(),
    });
    if holds(Aspect::Throughput) {
        held["billing"] = table.billing.value.name().into();
        held["throughput"] = throughput_held(table, &table.throughput, format);
    }
    let settings = [
        (Aspect::Class, json!(format!("{:?}", table.class))),
        (Aspect::Ttl, json!(table.ttl.as_ref().map(|ttl| &ttl.value))),
        (Aspect::Stream, json!(stream(table, holds(Aspect::Replicas)))),
        (Aspect::Pitr, json!(table.pitr.as_ref().map(|pitr| pitr.value))),
        (Aspect::DeletionProtection, json!(table.deletion_protection.as_ref().map(|one| one.value))),
        (Aspect::Replicas, json!(table.replicas.iter().map(|one| &one.value).collect::<Vec<_>>())),
        (Aspect::Tags, json!(table.tags.iter().cloned().collect::<std::collections::BTreeMap<_, _>>())),
        // Only templates can ask for the key that a model does not name.
        (Aspect::Encryption, json!(encryption(table, holds(Aspect::Scaling)))),
    ];
    for (aspect, value) in settings.into_iter().filter(|(aspect, _)| holds(*aspect)) {
        held[format!("{aspect:?}")] = value;
    }
    held
}

/// A table with replicas has a stream in any case.
fn stream(table: &Table, replicated: bool) -> Option<&'static str> {
    let forced = (replicated && !table.replicas.is_empty()).then_some("NEW_AND_OLD_IMAGES");
    table.stream.as_ref().map(|view| view.value.api_name()).or(forced)
}

fn encryption(table: &Table, exact: bool) -> String {
    match table.encryption {
        Encryption::CustomerManaged if !exact => format!("{:?}", Encryption::AwsManaged),
        other => format!("{other:?}"),
    }
}

fn schema(key: &KeySchema, format: &Format) -> Value {
    let kind = |one: &model::model::KeyAttribute| match one.kind {
        // It has no word for bytes, and says so.
        item::Type::B if format.name == "mcp-schema" => "S",
        other => other.name(),
    };
    let side = |side: &[model::model::KeyAttribute]| -> Value {
        side.iter().map(|one| json!([one.name, kind(one)])).collect()
    };
    json!([side(&key.partition), side(&key.sort)])
}

fn index_held(table: &Table, index: &Index, format: &Format) -> Value {
    let mut held = json!({
        "name": index.name.value,
        "kind": format!("{:?}", index.kind),
        "key": schema(&index.key, format),
        "projection": model::table_shape::projection_shape(&index.projection),
    });
    let templates = format.can_hold(Aspect::Throughput) && format.can_hold(Aspect::LocalIndexes);
    if index.kind == IndexKind::Global && templates {
        let own = index.throughput != Throughput::default();
        let inherits = !own && table.billing.value == Billing::Provisioned;
        let throughput = if inherits { &table.throughput } else { &index.throughput };
        held["throughput"] = throughput_held(table, throughput, format);
    }
    held
}

/// What a throughput comes to: units that are not said are the least there is, or five.
fn throughput_held(table: &Table, throughput: &Throughput, format: &Format) -> Value {
    let side = |side: &Option<model::Spanned<Capacity>>| {
        let capacity = side.as_ref().map(|side| side.value.clone()).unwrap_or_default();
        if table.billing.value == Billing::OnDemand {
            // NoSQL Workbench has no limits, and says so.
            return json!(capacity.max.filter(|_| format.name != "nosql-workbench"));
        }
        let units = capacity.units.or(capacity.min).unwrap_or(5);
        let scales = format.can_hold(Aspect::Scaling).then_some(capacity.max).flatten();
        match scales {
            None => json!(units),
            // NoSQL Workbench has whole percents and no cooldowns.
            Some(max) if format.name == "nosql-workbench" => json!([units, capacity.min, max]),
            Some(max) => {
                let target = (capacity.target.unwrap_or(0.7) * 1000.0).round();
                json!([
                    units,
                    capacity.min,
                    max,
                    target,
                    capacity.scale_in_seconds,
                    capacity.scale_out_seconds
                ])
            }
        }
    };
    json!([side(&throughput.read), side(&throughput.write)])
}

fn read_back(format: &Format, text: &str) -> Model {
    format::import(format, text).unwrap_or_else(|error| panic!("{}: {}\n{text}", format.name, error.0)).model
}

fn written(format: &Format, model: &Model) -> String {
    format::export(format, model).unwrap().text
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() }
}

fn check_what_is_held(name: &str) {
    let format = format::format(name).unwrap();
    proptest!(config(), |(model in any_model())| {
        let text = written(format, &model);
        let again = read_back(format, &text);
        prop_assert_eq!(held(&again, format), held(&model, format), "{}", text);
        let parse = |text: &str| (format.syntax.parse)(text).unwrap();
        prop_assert_eq!(parse(&written(format, &again)), parse(&text));
    });
}

fn check_what_is_unknown(name: &str) {
    let format = format::format(name).unwrap();
    proptest!(config(), |(model in any_model())| {
        let strange = with_unknown_members(&(format.syntax.parse)(&written(format, &model)).unwrap());
        let model = read_back(format, &(format.syntax.print)(&strange));
        let again = (format.syntax.parse)(&written(format, &model)).unwrap();
        prop_assert_eq!(again, strange);
    });
}

/// A module a format, so that a failure says whose it is.
macro_rules! both_ways {
    ($($module:ident: $format:literal),* $(,)?) => {
        $(mod $module {
            #[test]
            fn what_it_holds_comes_back_and_is_written_the_same() {
                super::check_what_is_held($format);
            }

            #[test]
            fn unknown_members_of_a_document_come_back() {
                super::check_what_is_unknown($format);
            }
        })*

        const BOTH_WAYS: &[&str] = &[$($format),*];
    };
}

both_ways! {
    nosql_workbench: "nosql-workbench",
    mcp_schema: "mcp-schema",
    mcp_data_model: "mcp-data-model",
    skill: "skill",
    create_table: "create-table",
    cloudformation: "cloudformation",
    cloudformation_json: "cloudformation-json",
    terraform_json: "terraform-json",
}

/// HCL tells blocks by their names, so members of any kind in any place are none of its documents.
#[test]
fn what_terraform_holds_comes_back_and_is_written_the_same() {
    check_what_is_held("terraform");
}

#[test]
fn every_format_that_is_written_and_read_is_tried() {
    // What libraries read are modules with code in them; their own tests know which.
    let others = ["terraform", "onetable", "electrodb", "dynamodb-toolbox", "cdk"];
    let both = FORMATS.iter().filter(|format| format.read.is_some() && format.write.is_some());
    for format in both.filter(|format| !others.contains(&format.name)) {
        assert!(BOTH_WAYS.contains(&format.name), "{}", format.name);
    }
}

#[test]
fn a_stack_is_written_for_any_model() {
    let format = format::format("cdk").unwrap();
    proptest!(config(), |(model in any_model())| {
        let text = written(format, &model);
        prop_assert_eq!(text.matches("new dynamodb.TableV2(").count(), model.tables.len());
        let count = |bracket: char| text.matches(bracket).count();
        prop_assert_eq!(count('['), count(']'));
    });
}
