//! Plays migrations: the promises of the plan hold after every step, and on the way back. Plans with a step left out
//! fail, which shows that the other tests can fail.

use std::path::Path;

use model::facts::Facts;
use model::migrate::{Migration, MigrationSettings, StepKind, migrate};
use model::model::{EntityId, Projection};
use model::template::{Part, Template};
use model::{Model, Source, diagnostic, file};
use proof::{Rehearsal, rehearse};

const ORDERS: &str = r#"
model: orders
table: { name: app-main, partition: PK, sort: SK }
entities:
  Customer: { key: { PK: "CUST#{customerId}", SK: PROFILE }, attributes: { name: string }, count: 1K, size: 600 B }
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes:
      createdAt: timestamp
      status: { values: { OPEN: 10%, SHIPPED: 90% } }
      total: number
    count: 20 per Customer
    size: 1 KB
    indexes:
      GSI1: { GSI1PK: "CUST#{customerId}", GSI1SK: "{createdAt}#{orderId}" }
indexes:
  GSI1: { project: [status, total] }
patterns:
  A1: { get: Customer, by: customerId, rate: 800/s }
  A2: { query: Order, by: customerId, order: createdAt desc, limit: 20, rate: 400/s }
  A4: { query: Order, by: customerId, order: createdAt, read: [status], index: GSI1, rate: 50/s }
  A6: { create: Order, rate: 100/s }
  A7: { update: Order, by: [customerId, createdAt, orderId], set: [total], rate: 100/s }
"#;

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn example(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models").join(name);
    read(&std::fs::read_to_string(path).expect("the example is there"))
}

fn between(old: &Model, new: &Model) -> Migration {
    let migration =
        migrate(old, new, &Facts::embedded(), &MigrationSettings::default()).expect("a known Region");
    assert!(migration.obstacles.is_empty(), "{}", migration.text(false));
    migration
}

fn shown(migration: &Migration, rehearsal: &Rehearsal) -> String {
    let rows: Vec<String> = rehearsal.rows().iter().map(|row| row.join(" | ")).collect();
    format!("{}\n{}\n{}", migration.text(false), rows.join("\n"), rehearsal.text())
}

/// The migration succeeds; it has `steps` steps, and `ways_back` of them can be undone.
fn check(old: &Model, new: &Model, steps: usize, ways_back: usize) {
    let migration = between(old, new);
    let rehearsal = rehearse(&migration);
    assert!(rehearsal.succeeded(), "{}", shown(&migration, &rehearsal));
    assert_eq!(
        (rehearsal.steps.len(), rehearsal.rollbacks.len()),
        (steps, ways_back),
        "{}",
        migration.text(false)
    );
    assert!(rehearsal.unproven.is_empty(), "{:?}", rehearsal.unproven);
}

fn with_open_index(text: &str) -> String {
    let text = text.replace(
        "indexes:\n  GSI1:",
        "      GSI2: { when: status = OPEN, GSI2PK: \"OPEN#{shard(orderId, 3)}\", GSI2SK: \"{createdAt}#{orderId}\" }\nindexes:\n  GSI2: { project: keys }\n  GSI1:",
    );
    let text = text.replace("set: [total]", "set: [status, total]");
    text + "  A5: { query: Order, where: status = OPEN, order: createdAt, read: keys, fan-out: allowed, rate: 1/s }\n"
}

fn with_status_in_index_key() -> String {
    ORDERS
        .replace(r##"GSI1PK: "CUST#{customerId}""##, r##"GSI1PK: "CUST#{customerId}#{status}""##)
        .replace("by: customerId, order: createdAt, read", "by: [customerId, status], order: createdAt, read")
}

#[test]
fn nothing_to_do_is_done_at_once() {
    check(&read(ORDERS), &read(ORDERS), 0, 0);
}

#[test]
fn a_sparse_index_comes_and_goes() {
    let open = with_open_index(ORDERS);
    check(&read(ORDERS), &read(&open), 4, 4);
    check(&read(&open), &read(ORDERS), 4, 4);
}

#[test]
fn status_comes_into_an_index_key() {
    check(&read(ORDERS), &read(&with_status_in_index_key()), 7, 7);
}

#[test]
fn a_projection_grows() {
    check(&read(ORDERS), &read(&ORDERS.replace("project: [status, total]", "project: all")), 3, 3);
}

#[test]
fn items_move_to_other_partitions_of_their_table() {
    let new = ORDERS
        .replace(
            r##"key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }"##,
            r##"key: { PK: "ORDERS#{customerId}", SK: "{createdAt}#{orderId}" }"##,
        )
        .replace("GSI1: { GSI1PK: \"CUST#{customerId}\"", "GSI1: { GSI1PK: \"BUYER#{customerId}\"");
    check(&read(ORDERS), &read(&new), 6, 5);
}

#[test]
fn a_table_gets_another_key() {
    let new = ORDERS.replace("partition: PK", "partition: owner").replace("{ PK:", "{ owner:");
    check(&read(ORDERS), &read(&new), 9, 8);
}

#[test]
fn a_table_gets_a_local_index() {
    let local = "indexes:\n  byTotal: { type: local, sort: { total: number } }\n  GSI1:";
    let new = ORDERS.replace("indexes:\n  GSI1:", local);
    check(&read(ORDERS), &read(&new), 9, 8);
}

#[test]
fn entities_come_and_go() {
    let note = "  Note: { key: { PK: \"CUST#{customerId}\", SK: \"NOTE#{noteId}\" }, count: 3 per Customer }\n  Order:\n";
    let pattern = "  A9: { query: Note, by: customerId, rate: 1/s }\n";
    let with_notes = ORDERS.replace("  Order:\n", note) + pattern;
    check(&read(ORDERS), &read(&with_notes), 1, 1);
    check(&read(&with_notes), &read(ORDERS), 2, 1);
}

/// The guide's own evolution: open orders get an index, and status comes into the key of another.
#[test]
fn the_order_management_example_grows_into_what_it_is() {
    let new = example("m03-order-management.yaml");
    let text = file::write(&new, &file::Comments::new());
    let from = text.find("  A5:").expect("A5 is there");
    let to = text.find("  A6:").expect("A6 is there");
    let mut old = read(&(text[..from].to_owned() + &text[to..]));
    let order = old.entity_named("Order").expect("it is there");
    old.entities[order.0].entries.truncate(1);
    old.entities[order.0].entries[0].partition[0].parts.truncate(2);
    old.tables[0].indexes.truncate(1);
    let pattern = old.patterns.iter_mut().find(|pattern| pattern.id.value == "A4").expect("it is there");
    if let model::model::ActionKind::Read(read) = &mut pattern.actions[0].kind {
        read.by.truncate(1);
    }
    pattern.index = Some(model::Spanned::new("GSI1".to_owned(), model::Span::default()));
    check(&old, &new, 9, 9);
}

/// Every index key of a model is composed otherwise.
fn with_other_index_keys(model: &Model) -> Model {
    let mut model = model.clone();
    for id in 0..model.entities.len() {
        let attributes = model.entity(EntityId(id)).attributes.clone();
        for entry in model.entities[id].entries.iter_mut().filter(|entry| entry.declared) {
            let composed = |template: &&mut Template| {
                template.bare().is_none_or(|name| !attributes.contains_key(name)) || template.parts.len() > 1
            };
            entry.partition.iter_mut().filter(composed).for_each(prefix);
        }
    }
    model
}

fn prefix(template: &mut Template) {
    template.parts.insert(0, Part::Literal("V2#".to_owned()));
}

fn with_other_projections(model: &Model) -> Model {
    let mut model = model.clone();
    for index in model.tables.iter_mut().flat_map(|table| &mut table.indexes) {
        index.projection.value = match index.projection.value {
            Projection::All => continue,
            Projection::Keys | Projection::Include(_) => Projection::All,
        };
    }
    model
}

fn check_example(name: &str, change: impl Fn(&Model) -> Model) {
    let old = example(name);
    let new = change(&old);
    let migration = between(&old, &new);
    assert!(!migration.steps.is_empty(), "{name}");
    let rehearsal = rehearse(&migration);
    assert!(rehearsal.succeeded(), "{name}: {}", shown(&migration, &rehearsal));
}

#[test]
fn examples_get_other_index_keys() {
    for name in ["m03-order-management.yaml", "m05-leaderboard.yaml", "m14-order-queues.yaml"] {
        check_example(name, with_other_index_keys);
    }
}

#[test]
fn examples_get_other_projections() {
    for name in ["m03-order-management.yaml", "m07-users-groups.yaml"] {
        check_example(name, with_other_projections);
    }
}

/// Every item of a model gets another partition key.
fn with_other_keys(model: &Model) -> Model {
    let mut model = model.clone();
    let keys = model.entities.iter_mut().filter_map(|entity| entity.key.as_mut());
    keys.for_each(|key| prefix(&mut key.partition));
    model
}

#[test]
fn examples_get_other_table_keys() {
    for name in ["m07-users-groups.yaml", "m11-sessions.yaml", "m16-comments.yaml"] {
        check_example(name, with_other_keys);
    }
}

/// The plan without what `drop` finds.
fn tampered(old: &str, new: &str, drop: impl Fn(&StepKind) -> bool) -> Rehearsal {
    let mut migration = between(&read(old), &read(new));
    let before = migration.steps.len();
    migration.steps.retain(|step| !drop(&step.kind));
    assert!(migration.steps.len() < before, "there was such a step");
    rehearse(&migration)
}

#[test]
fn without_dual_writes_new_items_are_missed() {
    let new = with_status_in_index_key();
    let rehearsal = tampered(ORDERS, &new, |kind| matches!(kind, StepKind::StartDualWrites(_)));
    assert!(!rehearsal.succeeded());
    assert!(rehearsal.problems()[0].contains("A4 as the new model has it"), "{:?}", rehearsal.problems());
}

#[test]
fn without_a_back_fill_old_items_are_missed() {
    let new = with_open_index(ORDERS);
    let rehearsal = tampered(ORDERS, &new, |kind| matches!(kind, StepKind::BackFill(_)));
    assert!(!rehearsal.succeeded());
    assert!(rehearsal.problems()[0].contains("does not come back"), "{:?}", rehearsal.problems());
}

#[test]
fn without_a_copy_items_are_lost() {
    let new = ORDERS.replace("partition: PK", "partition: owner").replace("{ PK:", "{ owner:");
    let rehearsal =
        tampered(ORDERS, &new, |kind| matches!(kind, StepKind::Copy(copy) if copy.entity == "Customer"));
    assert!(rehearsal.problems().iter().any(|one| one.contains("A1 as the new model has it")));
}

#[test]
fn an_index_that_is_deleted_too_early_breaks_an_old_pattern() {
    let mut migration = between(&read(ORDERS), &read(&with_status_in_index_key()));
    let delete = migration.steps.iter().position(|step| matches!(step.kind, StepKind::DeleteIndex { .. }));
    let delete = migration.steps.remove(delete.expect("it is there"));
    migration.steps.insert(0, delete);
    let rehearsal = rehearse(&migration);
    assert_eq!(rehearsal.steps.len(), 1, "it ends where it fails");
    assert!(rehearsal.problems()[0].contains("A4 as the old model has it"), "{:?}", rehearsal.problems());
}

#[test]
fn an_index_that_is_made_twice_is_refused_as_dynamodb_does() {
    let mut migration = between(&read(ORDERS), &read(&with_open_index(ORDERS)));
    let create = migration.steps[0].clone();
    migration.steps.insert(1, create);
    let rehearsal = rehearse(&migration);
    assert!(rehearsal.problems()[0].contains("already exists"), "{:?}", rehearsal.problems());
}

/// All orders of a customer would get one key.
#[test]
fn items_that_would_share_a_key_are_found() {
    let new = ORDERS.replace(
        r##"key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }"##,
        r##"key: { PK: "ORDERS#{customerId}", SK: LATEST }"##,
    );
    let new = new.replace("by: [customerId, createdAt, orderId]", "by: customerId");
    let rehearsal = rehearse(&between(&read(ORDERS), &read(&new)));
    assert!(!rehearsal.succeeded());
    assert!(!rehearsal.problems().is_empty());
}

#[test]
fn a_rehearsal_is_the_same_every_time_and_there_as_json() {
    let migration = between(&read(ORDERS), &read(&with_status_in_index_key()));
    let (one, other) = (rehearse(&migration).json(), rehearse(&migration).json());
    assert_eq!(one, other);
    assert_eq!(one["succeeded"], true);
    assert_eq!(one["steps"][2]["name"], "back-fill Order");
    assert!(one["steps"][2]["job"]["written"].as_u64().is_some_and(|written| written > 0));
    assert!(one["steps"][2]["job"]["refused"].as_u64().is_some_and(|refused| refused > 0), "{one:#}");
}
