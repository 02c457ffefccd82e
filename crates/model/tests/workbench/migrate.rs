//! From one model to the next: which steps there are, in which order, and what they take.

use model::facts::Facts;
use model::migrate::{Migration, MigrationSettings, StepKind, migrate};
use model::{Model, Source, diagnostic, file};

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
  A7: { update: Order, by: [customerId, createdAt, orderId], set: [status], rate: 100/s }
"#;

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn diff(old: &str, new: &str) -> Migration {
    migrate(&read(old), &read(new), &Facts::embedded(), &MigrationSettings::default())
        .expect("a known Region")
}

fn steps(migration: &Migration) -> Vec<String> {
    migration.steps.iter().map(|step| step.kind.name()).collect()
}

fn check(old: &str, new: &str, expected: &[&str]) -> Migration {
    let migration = diff(old, new);
    assert_eq!(steps(&migration), expected, "{}", migration.text(true));
    migration
}

fn with_open_index() -> String {
    let text = ORDERS.replace(
        "indexes:\n  GSI1:",
        "      GSI2: { when: status = OPEN, GSI2PK: \"OPEN#{shard(orderId, 3)}\", GSI2SK: \"{createdAt}#{orderId}\" }\nindexes:\n  GSI2: { project: keys }\n  GSI1:",
    );
    text + "  A5: { query: Order, where: status = OPEN, order: createdAt, fan-out: allowed, rate: 1/s }\n"
}

#[test]
fn the_same_model_needs_nothing() {
    let migration = check(ORDERS, ORDERS, &[]);
    assert!(migration.changes.is_empty() && migration.is_empty());
    assert_eq!(migration.text(false), "The two models are the same.\n");
}

#[test]
fn what_is_only_said_otherwise_is_no_change() {
    let other = ORDERS.replace("rate: 800/s", "rate: { average: 48000/min }");
    assert!(diff(ORDERS, &other).changes.is_empty());
}

#[test]
fn a_new_rate_is_a_change_without_steps() {
    let migration = check(ORDERS, &ORDERS.replace("rate: 800/s", "rate: 900/s"), &[]);
    let lines: Vec<String> = migration.changes.iter().map(|change| change.line()).collect();
    assert_eq!(lines, ["~ pattern A1, rate: 800/s -> 900/s"]);
}

/// 20,000 orders of which a tenth is open; each is 1 WRU in the table and 1 in the index, at $0.625.
#[test]
fn a_sparse_index_is_made_written_filled_and_asked() {
    let migration =
        check(ORDERS, &with_open_index(), &["create GSI2", "write both", "back-fill Order", "start A5"]);
    let StepKind::BackFill(job) = &migration.steps[2].kind else { panic!("a back-fill") };
    assert_eq!(
        job.condition(),
        "attribute_exists(PK) AND attribute_not_exists(GSI2PK) AND #status = :status"
    );
    let estimate = &migration.steps[2].estimate;
    assert_eq!(estimate.items, Some(2_000.0));
    assert_eq!(estimate.seconds, Some(4.0));
    assert_eq!(estimate.lines[0].amount(), 2_000.0 * 2.0 * 0.625 / 1e6);
    // A thousand customers of 600 B and 20,000 orders of 1 KB, at 8 KB for an RRU.
    let bytes = 1_000.0 * 600.0 + 20_000.0 * 1_024.0;
    assert!((estimate.lines[1].amount() - bytes / 8_192.0 * 0.125 / 1e6).abs() < 1e-12);
    assert!(migration.renames.is_empty());
}

#[test]
fn a_back_fill_spares_an_index_of_few_keys() {
    let new = with_open_index().replace("OPEN#{shard(orderId, 3)}", "OPEN");
    let old = read(ORDERS);
    let settings = MigrationSettings { rate: 2_000.0, ..MigrationSettings::default() };
    let migration = migrate(&old, &read(&new), &Facts::embedded(), &settings).expect("a known Region");
    let estimate = &migration.steps[2].estimate;
    assert_eq!(estimate.rate, Some(500.0), "half of what one key takes");
    assert!(estimate.slowed.as_ref().is_some_and(|why| why.contains("GSI2")));
}

#[test]
fn status_in_an_index_key_is_another_index_under_another_name() {
    let new = ORDERS
        .replace(r##"GSI1PK: "CUST#{customerId}""##, r##"GSI1PK: "CUST#{customerId}#{status}""##)
        .replace(
            "by: customerId, order: createdAt, read",
            "by: [customerId, status], order: createdAt, read",
        );
    let migration = check(
        ORDERS,
        &new,
        &[
            "create GSI1v2",
            "write both",
            "back-fill Order",
            "change A4",
            "delete GSI1",
            "write new",
            "remove GSI1PK",
        ],
    );
    let renames: Vec<&str> = migration.renames.iter().map(|rename| rename.to.as_str()).collect();
    assert_eq!(renames, ["GSI1PKv2", "GSI1v2"], "the sort key stays what it is");
    let dual = &migration.steps[1].estimate;
    assert!(dual.cost() > 0.0, "two indexes are written as long as the back-fill takes");
}

/// GSI2 shares a key attribute with GSI1, which has to be made again.
#[test]
fn an_index_that_shares_a_changed_key_is_made_again_too() {
    let shared = ORDERS
        .replace("indexes:\n  GSI1:", "      GSI2: { GSI2PK: \"DAY#{day(createdAt)}\", GSI1SK: \"{createdAt}#{orderId}\" }\nindexes:\n  GSI2: { partition: GSI2PK, sort: GSI1SK }\n  GSI1:")
        + "  A9: { query: Order, by: day, index: GSI2, rate: 1/s }\n";
    let shared = shared.replace("by: day,", "where: createdAt = :at,");
    let new = shared.replace("GSI1SK: \"{createdAt}#{orderId}\"", "GSI1SK: \"AT#{createdAt}#{orderId}\"");
    let list = steps(&diff(&shared, &new));
    assert_eq!(list[..2], ["create GSI2v2", "create GSI1v2"], "{list:?}");
}

/// `tag` is data of a customer, and composed for an order.
#[test]
fn a_key_that_is_data_elsewhere_can_not_change() {
    let shared = ORDERS
        .replace("attributes: { name: string }", "attributes: { name: string, tag: string }")
        .replace("indexes:\n  GSI1:", "      byTag: { tag: \"ORDER#{status}\", SK: \"ORDER#{createdAt}#{orderId}\" }\nindexes:\n  byTag: { partition: tag, sort: SK }\n  GSI1:");
    let new = shared.replace("tag: \"ORDER#{status}\"", "tag: \"ORDERS#{status}\"");
    check_obstacle(&shared, &new, "would have to hold two keys at once");
}

#[test]
fn another_projection_takes_a_new_index_and_no_back_fill() {
    let new = ORDERS.replace("project: [status, total]", "project: [status]");
    let migration = check(ORDERS, &new, &["create GSI1v2", "change A4", "delete GSI1"]);
    let estimate = &migration.steps[0].estimate;
    assert_eq!(estimate.items, Some(20_000.0), "DynamoDB fills it from keys that are there");
    assert_eq!(estimate.seconds, None, "DynamoDB decides how fast it is");
}

#[test]
fn attributes_of_a_projection_in_another_order_are_no_change_of_it() {
    check(ORDERS, &ORDERS.replace("[status, total]", "[total, status]"), &[]);
}

#[test]
fn an_index_that_goes_goes_last() {
    let open = with_open_index();
    check(&open, ORDERS, &["stop A5", "delete GSI2", "write new", "remove GSI2PK, GSI2SK"]);
}

#[test]
fn indexes_are_made_one_by_one() {
    let new = with_open_index().replace("project: [status, total]", "project: all");
    let migration = diff(ORDERS, &new);
    let made: Vec<String> = steps(&migration).into_iter().filter(|step| step.starts_with("create")).collect();
    assert_eq!(made, ["create GSI2", "create GSI1v2"]);
}

/// New orders are in other partitions, where no old pattern looks.
#[test]
fn items_get_another_key_beside_the_old_one() {
    let new = ORDERS
        .replace(
            r##"key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }"##,
            r##"key: { PK: "ORDERS#{customerId}", SK: "{createdAt}#{orderId}" }"##,
        )
        .replace("GSI1: { GSI1PK: \"CUST#{customerId}\"", "GSI1: { GSI1PK: \"BUYER#{customerId}\"");
    let migration = check(
        ORDERS,
        &new,
        &[
            "write both",
            "copy Order to app-main",
            "change A2",
            "change A4",
            "write new",
            "delete items of Order",
        ],
    );
    assert!(
        migration.text(false).contains("the plan has a way back up to step 5."),
        "{}",
        migration.text(false)
    );
    assert!(!migration.steps[5].rollback.reversible);
}

/// The copies would stand in the collection that A2 reads.
#[test]
fn copies_that_an_old_pattern_would_find_need_a_table_of_their_own() {
    let new = ORDERS.replace("ORDER#{createdAt}#{orderId}", "ORDER#{orderId}#{createdAt}");
    let migration = diff(ORDERS, &new);
    let list = steps(&migration);
    assert_eq!(list[0], "create table app-mainv2", "{list:?}");
    assert!(list.contains(&"copy Customer to app-mainv2".to_owned()), "{list:?}");
    assert_eq!(list.last().map(String::as_str), Some("delete table app-main"));
}

#[test]
fn another_table_key_takes_another_table() {
    let new = ORDERS.replace("partition: PK", "partition: owner").replace("{ PK:", "{ owner:");
    let migration = check(
        ORDERS,
        &new,
        &[
            "create table app-mainv2",
            "write both",
            "copy Customer to app-mainv2",
            "copy Order to app-mainv2",
            "change A1",
            "change A2",
            "change A4",
            "write new",
            "delete table app-main",
        ],
    );
    // A put and a look in a transaction, and a row of GSI1: 2 + 2 + 1.
    assert_eq!(migration.steps[3].estimate.lines[0].amount(), 20_000.0 * 5.0 * 0.625 / 1e6);
    assert_eq!(migration.steps[3].estimate.seconds, Some(20_000.0 * 2.0 / 500.0));
}

#[test]
fn a_local_index_is_only_to_be_had_with_a_new_table() {
    let new = ORDERS.replace(
        "indexes:\n  GSI1:",
        "indexes:\n  byTotal: { type: local, sort: { total: number } }\n  GSI1:",
    );
    assert_eq!(steps(&diff(ORDERS, &new))[0], "create table app-mainv2");
}

#[test]
fn an_entity_that_moves_to_another_table_is_copied_there() {
    let new = ORDERS
        .replace("table: { name: app-main, partition: PK, sort: SK }", "tables:\n  app-main: { partition: PK, sort: SK, indexes: { GSI1: { project: [status, total] } } }\n  customers: { partition: PK, sort: SK }")
        .replace("indexes:\n  GSI1: { project: [status, total] }\n", "")
        .replace("Customer: { key", "Customer: { table: customers, key")
        .replace("Order:\n    key", "Order:\n    table: app-main\n    key");
    check(
        ORDERS,
        &new,
        &[
            "create table customers",
            "write both",
            "copy Customer to customers",
            "change A1",
            "write new",
            "delete items of Customer",
        ],
    );
}

#[test]
fn entities_come_without_steps_and_go_last() {
    let with_notes = ORDERS.replace(
        "  Order:\n",
        "  Note: { key: { PK: \"CUST#{customerId}\", SK: \"NOTE#{noteId}\" }, count: 3 per Customer, size: 1 KB }\n  Order:\n",
    );
    check(ORDERS, &with_notes, &[]);
    let migration = check(&with_notes, ORDERS, &["delete items of Note"]);
    assert!(migration.steps[0].optional && !migration.steps[0].rollback.reversible);
    assert!(migration.cautions[0].contains("another name"), "{:?}", migration.cautions);
}

/// A whole partition is read as customers and orders: notes must be gone before.
#[test]
fn entities_that_a_new_pattern_would_find_go_before_it_comes() {
    let all = "  A8: { query: [Customer, Order], by: customerId, rate: 1/s }\n";
    let note = "  Note: { key: { PK: \"CUST#{customerId}\", SK: \"NOTE#{noteId}\" } }\n  Order:\n";
    let old = ORDERS.replace("  Order:\n", note);
    let migration = check(&old, &(ORDERS.to_owned() + all), &["delete items of Note", "start A8"]);
    assert!(!migration.steps[0].optional);
}

/// The old reader of a whole partition would stumble over notes.
#[test]
fn new_entities_that_an_old_pattern_finds_come_last() {
    let all = "  A8: { query: [Customer, Order], by: customerId, rate: 1/s }\n";
    let note = "  Note: { key: { PK: \"CUST#{customerId}\", SK: \"NOTE#{noteId}\" } }\n  Order:\n";
    let new = ORDERS.replace("  Order:\n", note) + &all.replace("Order]", "Order, Note]");
    let migration = check(&(ORDERS.to_owned() + all), &new, &[]);
    assert!(migration.cautions[0].contains("A8 would find it"), "{:?}", migration.cautions);
}

#[test]
fn names_with_the_largest_numbers_get_another() {
    let old = ORDERS.replace("GSI1", "Iv18446744073709551615");
    let migration = diff(&old, &old.replace("project: [status, total]", "project: all"));
    assert_eq!(migration.renames[0].to, "Iv18446744073709551615v2");
}

#[test]
fn protection_comes_first_and_goes_last() {
    let protected = ORDERS
        .replace("sort: SK }", "sort: SK, pitr: true, deletion-protection: true, class: infrequent-access }");
    let migration = check(
        ORDERS,
        &protected.replace("project: [status, total]", "project: all"),
        &[
            "set pitr of app-main",
            "set deletion-protection of app-main",
            "create GSI1v2",
            "change A4",
            "delete GSI1",
            "set class of app-main",
        ],
    );
    assert!(migration.steps.iter().all(|step| step.rollback.reversible));
    check(
        &protected,
        ORDERS,
        &["set pitr of app-main", "set deletion-protection of app-main", "set class of app-main"],
    );
}

#[test]
fn provisioned_tables_pay_for_the_capacity_of_a_job() {
    let provisioned = |text: &str| text.replace("sort: SK }", "sort: SK, billing: provisioned, write: 50 }");
    let migration = diff(&provisioned(ORDERS), &provisioned(&with_open_index()));
    let estimate = &migration.steps[2].estimate;
    // 500 WCU of the table and as many of the index, for four seconds.
    assert!((estimate.cost() - 1_000.0 * 4.0 / 3_600.0 * 0.00065).abs() < 1e-12, "{}", migration.text(true));
}

fn check_obstacle(old: &str, new: &str, problem: &str) {
    let migration = diff(old, new);
    assert!(migration.steps.is_empty() && !migration.is_empty(), "{}", migration.text(true));
    let text = migration.text(false);
    assert!(
        text.contains("This can't be done while the application runs") && text.contains(problem),
        "{text}"
    );
}

#[test]
fn a_key_of_an_attribute_that_no_item_has_can_not_be_back_filled() {
    let new = with_open_index()
        .replace("total: number", "total: number\n      region: string")
        .replace("OPEN#{shard(orderId, 3)}", "OPEN#{region}")
        .replace("fan-out: allowed", "by: region");
    check_obstacle(ORDERS, &new, "`region`, which existing items don't have");
}

/// Nothing is composed, so nothing would be back-filled, and the index would stay empty.
#[test]
fn an_index_on_an_attribute_that_no_item_has_would_stay_empty() {
    let index = "indexes:\n  byRegion: { partition: region, sort: createdAt, project: keys }\n  GSI1:";
    let new = |region: &str| {
        ORDERS
            .replace("indexes:\n  GSI1:", index)
            .replace("total: number", &format!("total: number\n      region: {region}"))
    };
    check_obstacle(ORDERS, &new("string"), "`region`, which existing items don't have");
    check(ORDERS, &new("{ optional: true }"), &["create byRegion"]);
}

#[test]
fn an_attribute_can_not_change_its_stored_type() {
    check_obstacle(ORDERS, &ORDERS.replace("total: number", "total: string"), "`total` of `Order`");
}

#[test]
fn a_key_drawn_by_chance_can_not_be_copied_to() {
    let new = ORDERS
        .replace(r##"SK: "ORDER#{createdAt}#{orderId}""##, r##"SK: "O#{createdAt}#{orderId}#{random(4)}""##);
    check_obstacle(ORDERS, &new, "drawn by chance");
}

#[test]
fn status_can_not_be_in_a_table_key_if_it_changes() {
    let new = ORDERS
        .replace("ORDER#{createdAt}#{orderId}", "ORDER#{status}#{createdAt}#{orderId}")
        .replace("by: [customerId, createdAt, orderId]", "by: [customerId, status, createdAt, orderId]");
    check_obstacle(ORDERS, &new, "`A7` changes `status`, which the new key of `Order` is made of");
}

#[test]
fn a_model_without_keys_has_to_be_designed_first() {
    let bare = "model: orders\nentities:\n  Customer: { attributes: { name: string } }\n";
    check_obstacle(bare, ORDERS, "no keys yet");
}

#[test]
fn twenty_indexes_leave_no_room_for_another() {
    let index = |number: usize, project: &str| {
        format!("  IX{number}: {{ partition: total, sort: SK, project: {project} }}\n")
    };
    let base = ORDERS.replace("total: number", "total: { type: number }");
    let model = |project: &str| {
        let indexes: String = (0..19).map(|number| index(number, project)).collect();
        base.replace("indexes:\n  GSI1:", &format!("indexes:\n{indexes}  GSI1:"))
            .replace("partition: total", "partition: { total: number }")
    };
    check_obstacle(&model("keys"), &model("all"), "global indexes at once");
}

#[test]
fn a_coarser_key_is_reported_to_merge_items() {
    let new = ORDERS.replace(
        r##"key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }"##,
        r##"key: { PK: "ORDERS#{customerId}", SK: "{createdAt}" }"##,
    );
    let migration = diff(ORDERS, &new);
    assert!(
        migration.cautions.iter().any(|one| one.contains("differ in `orderId` alone")),
        "{:?}",
        migration.cautions
    );
}

fn check_caution(old: &str, new: &str, caution: &str) {
    let migration = diff(old, new);
    assert!(migration.cautions.iter().any(|one| one.contains(caution)), "{:#?}", migration.cautions);
}

#[test]
fn what_old_readers_need_is_written_until_they_are_gone() {
    let new = ORDERS
        .replace("      total: number\n", "")
        .replace("[status, total]", "[status]")
        .replace("read: [status], index", "read: [status], limit: 9, index");
    let old = ORDERS.replace("read: [status]", "read: [total]");
    check_caution(&old, &new, "`total` of `Order` is gone from the model");
    check_caution(&old, &new, "`A4` needs it");
}

#[test]
fn what_new_readers_need_is_reported_as_missing() {
    let new = ORDERS
        .replace("      total: number\n", "      total: number\n      lane: string\n")
        .replace("limit: 20,", "limit: 20, read: [lane],");
    check_caution(ORDERS, &new, "Existing items of `Order` have no `lane`, which `A2` needs");
}

#[test]
fn the_plan_is_there_as_json() {
    let json = serde_json::json!(diff(ORDERS, &with_open_index()));
    assert_eq!(json["steps"][2]["step"], "back-fill");
    assert_eq!(json["steps"][2]["attributes"]["GSI2PK"], "OPEN#{shard(orderId, 3)} when status = OPEN");
    assert_eq!(json["steps"][0]["rollback"]["reversible"], true);
    assert_eq!(json["changes"][0]["section"], "index");
    assert!(json["steps"][2]["estimate"]["lines"][0]["amount"].is_number());
}
