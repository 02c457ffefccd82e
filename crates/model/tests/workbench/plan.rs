//! From patterns to requests: which operation, on what, and what is wrong with it.

use model::plan::{ActionPlan, Plan, plan};
use model::{Model, Source, file};

const MODEL: &str = r#"
model: orders
table: { name: app-main, partition: PK, sort: SK, ttl: expiresAt }
entities:
  Customer: { key: { PK: "CUST#{customerId}", SK: PROFILE } }
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes:
      createdAt: timestamp
      status: [OPEN, SHIPPED]
      total: number
      note: string
      expiresAt: epoch
    indexes:
      GSI1: { GSI1PK: "CUST#{customerId}#{status}", GSI1SK: "{createdAt}#{orderId}" }
      GSI2: { when: status = OPEN, GSI2PK: "OPEN#{shard(orderId, 3)}", GSI2SK: "{createdAt}#{orderId}" }
  LineItem: { key: { PK: "ORDER#{orderId}", SK: "ITEM#{line:03}" }, attributes: { line: number } }
indexes: { GSI1: { project: [status, total] }, GSI2: { project: keys } }
patterns:
  P: "#;

fn model(pattern: &str) -> Model {
    let source = Source::new("model.yaml", format!("{MODEL}{pattern}\n"));
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

/// `Query GSI1 begins_with X backward ×3; gaps`.
fn describe(model: &Model, plan: &Plan) -> String {
    let mut words = vec![plan.operation().to_owned()];
    for step in &plan.steps {
        if let ActionPlan::Read(read) = &step.kind {
            let table = model.table(read.table);
            words.extend(read.index.map(|index| table.index(index).name.value.clone()));
            words.extend(read.sort.iter().map(ToString::to_string));
            words.extend((!read.forward).then(|| "backward".to_owned()));
            words.extend((read.fan_out > 1).then(|| format!("×{}", read.fan_out)));
        }
    }
    let gaps: Vec<String> = plan.gaps().map(|gap| gap.describe(model)).collect();
    if gaps.is_empty() { words.join(" ") } else { format!("{}; {}", words.join(" "), gaps.join("; ")) }
}

fn check(pattern: &str, expected: &str) {
    let model = model(pattern);
    assert_eq!(describe(&model, &plan(&model, &model.patterns[0])), expected, "{pattern}");
}

#[test]
fn a_known_key_is_one_get() {
    check("{ get: Customer, by: customerId }", "GetItem = PROFILE");
    check("{ get: Order, by: [customerId, createdAt, orderId] }", "GetItem = ORDER#{createdAt}#{orderId}");
    check("{ batch: [get Customer × 20] }", "BatchGetItem = PROFILE");
}

#[test]
fn a_left_prefix_is_one_query_in_the_order_of_the_key() {
    check("{ query: Order, by: customerId }", "Query begins_with ORDER#");
    check("{ query: Order, by: customerId, order: createdAt desc }", "Query begins_with ORDER# backward");
    check("{ query: LineItem, by: orderId, order: line }", "Query begins_with ITEM#");
}

#[test]
fn one_range_may_follow_the_prefix() {
    check(
        "{ query: Order, by: customerId, where: createdAt between :from and :to }",
        "Query ORDER# with createdAt between :from and :to",
    );
    check(
        "{ query: Order, by: customerId, where: orderId > :last }",
        "Query begins_with ORDER#; `orderId` can only be filtered after reading",
    );
}

#[test]
fn a_mixed_collection_is_asked_for_as_such() {
    check("{ query: [Customer, Order], by: customerId }", "Query");
    check(
        "{ query: [Order, LineItem], by: orderId }",
        "Scan; no partition key is known to the reader: `customerId` missing; the entities are not in one \
         partition",
    );
}

#[test]
fn an_index_serves_what_the_table_does_not() {
    check("{ query: Order, by: [customerId, status] }", "Query GSI1");
    check("{ query: Order, by: [customerId, status], order: createdAt desc }", "Query GSI1 backward");
    check("{ query: Order, by: customerId, where: status = OPEN }", "Query GSI1");
}

#[test]
fn an_index_gives_neither_strong_reads_nor_what_it_does_not_hold() {
    check(
        "{ query: Order, by: [customerId, status], index: GSI1, consistency: strong }",
        "Query GSI1; a global index gives no strong reads",
    );
    check(
        "{ query: Order, by: [customerId, status], index: GSI1, read: [total, note] }",
        "Query GSI1; the index does not hold `note`",
    );
}

#[test]
fn a_sharded_index_takes_a_request_for_each_shard() {
    check("{ query: Order, where: status = OPEN, read: keys, fan-out: allowed }", "Query GSI2 ×3");
    check(
        "{ query: Order, where: status = OPEN, read: keys, fan-out: 2 }",
        "Query GSI2 ×3; it takes 3 requests",
    );
    check("{ query: Order, where: status = OPEN, read: keys }", "Query GSI2 ×3; it takes 3 requests");
}

#[test]
fn a_sparse_index_serves_only_its_own() {
    check(
        "{ query: Order, where: status = SHIPPED, read: keys, fan-out: allowed, index: GSI2 }",
        "Query GSI2 ×3; the index holds only items with status = OPEN; `status` can only be filtered after \
         reading",
    );
}

#[test]
fn without_a_partition_key_it_is_a_scan() {
    check(
        "{ query: Customer, by: email }",
        "Scan; no partition key is known to the reader: `customerId` missing",
    );
    check("{ scan: Order }", "Scan; it reads the whole table");
}

#[test]
fn dropping_expired_items_selects_nothing() {
    check("{ query: Order, by: customerId, filter: expiresAt > :now }", "Query begins_with ORDER#");
    check(
        "{ query: Order, by: customerId, filter: total > 100 }",
        "Query begins_with ORDER#; `total` can only be filtered after reading",
    );
}

#[test]
fn an_order_the_key_does_not_have_is_unserved() {
    check(
        "{ query: Order, by: customerId, order: total }",
        "Query begins_with ORDER#; the sort key does not order by `total`",
    );
}

#[test]
fn a_writer_must_know_the_keys() {
    check("{ update: Order, set: [note] }", "UpdateItem");
    check(
        "{ update: Order, by: orderId, set: [note] }",
        "UpdateItem; the writer does not know `customerId`, `createdAt`",
    );
    check(
        "{ update: Order, set: [createdAt] }",
        "UpdateItem; `createdAt` is part of the key, which can't change",
    );
}

#[test]
fn a_write_tells_what_it_does_to_each_index() {
    let effects = |pattern: &str| {
        let model = model(pattern);
        let plan = plan(&model, &model.patterns[0]);
        let (write, _) = plan.writes().next().unwrap();
        write.effects.iter().map(|effect| effect.writes_at_most()).collect::<Vec<u64>>()
    };
    assert_eq!(effects("{ update: Order, set: [note] }"), [0, 1], "perhaps it is in GSI2");
    assert_eq!(effects("{ update: Order, set: [total] }"), [1, 1]);
    assert_eq!(effects("{ update: Order, set: { status: OPEN -> SHIPPED } }"), [2, 1]);
    assert_eq!(effects("{ update: Order, set: { status: SHIPPED }, if: status = OPEN }"), [2, 1]);
    assert_eq!(effects("{ create: Order, set: { status: SHIPPED } }"), [1, 0]);
    assert_eq!(effects("{ create: Order }"), [1, 1]);
    assert_eq!(effects("{ delete: Order }"), [1, 1]);
}
