//! A pattern's own `request` is sent as it is.

use model::{Model, Source, file};
use proof::{Certificate, prove};

const MODEL: &str = "
model: orders
table: { name: app-main, partition: PK, sort: SK }
entities:
  Customer:
    key: { PK: 'CUST#{customerId}', SK: PROFILE }
    attributes: { left: number, version: number, email: { optional: true } }
    samples: { ann: { customerId: a1 } }
  Order:
    key: { PK: 'CUST#{customerId}', SK: 'ORDER#{orderId}' }
    attributes: { status: [OPEN, DONE] }
    samples: { first: { customerId: a1, orderId: o1, status: OPEN }, second: { customerId: a1, orderId: o2, status: DONE } }
patterns:
  P: ";

fn read(pattern: &str) -> Model {
    let source = Source::new("model.yaml", format!("{MODEL}{pattern}\n"));
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn shown(certificate: &Certificate) -> String {
    format!("{}{}", certificate.summary(), certificate.failures())
}

#[track_caller]
fn proven(pattern: &str) {
    let certificate = prove(&read(pattern));
    assert!(certificate.is_proven(), "{}", shown(&certificate));
}

#[track_caller]
fn fails(pattern: &str, kind: &str) {
    let certificate = prove(&read(pattern));
    let kinds: Vec<&str> =
        certificate.patterns[0].findings.iter().map(|finding| finding.fault.name()).collect();
    assert_eq!(kinds, [kind], "{}", shown(&certificate));
}

const ORDERS: &str = "query: Order, by: customerId, request: { TableName: app-main, \
                      KeyConditionExpression: 'PK = :pk AND begins_with(SK, :sk)'";
const VALUES: &str = "ExpressionAttributeValues: { ':pk': { S: CUST#a1 }, ':sk': ORDER# }";

#[test]
fn a_request_that_asks_what_the_pattern_asks_is_proven() {
    proven(
        "{ get: Customer, by: customerId, request: { TableName: app-main, Key: { PK: CUST#a1, SK: PROFILE } } }",
    );
    proven(&format!(
        "{{ {ORDERS}, {VALUES} }}, expect: {{ given: {{ customerId: a1 }}, rows: [first, second] }} }}"
    ));
}

#[test]
fn a_part_of_a_request_is_not_sent() {
    proven("{ get: Customer, by: customerId, request: { Key: { PK: CUST#a1 } } }");
}

#[test]
fn a_request_that_dynamodb_refuses_fails() {
    fails(
        "{ get: Customer, by: customerId, request: { TableName: app-main, Key: { PK: CUST#a1 } } }",
        "refused",
    );
    fails(
        "{ update: Order, by: [customerId, orderId], set: [status], request: { TableName: app-main, \
         Key: { PK: CUST#a1, SK: ORDER#o1 }, UpdateExpression: 'SET status = :new', \
         ExpressionAttributeValues: { ':new': DONE } } }",
        "refused",
    );
}

#[test]
fn a_request_that_finds_other_entities_fails() {
    fails(
        "{ query: Order, by: customerId, request: { TableName: app-main, KeyConditionExpression: 'PK = :pk', \
         ExpressionAttributeValues: { ':pk': CUST#a1 } } }",
        "unwanted-items",
    );
}

#[test]
fn a_request_whose_filter_drops_items_fails() {
    let filter = "FilterExpression: '#s = :open', ExpressionAttributeNames: { '#s': status }";
    let values = VALUES.replace(":sk': ORDER#", ":sk': ORDER#, ':open': OPEN");
    fails(&format!("{{ {ORDERS}, {filter}, {values} }} }}"), "filter-selects");
}

#[test]
fn a_request_that_misses_an_expected_row_fails() {
    let expect = "expect: { given: { customerId: a1 }, rows: [first, second] }";
    let values = VALUES.replace("ORDER#", "ORDER#o2");
    fails(&format!("{{ {ORDERS}, {values} }}, {expect} }}"), "missing-items");
}

#[test]
fn a_condition_that_the_data_does_not_fulfil_is_no_fault_of_the_request() {
    proven(
        "{ create: Customer, request: { TableName: app-main, Item: { PK: CUST#a1, SK: PROFILE }, \
         ConditionExpression: attribute_not_exists(PK) } }",
    );
}

/// An order is shipped with this condition; the pattern says `means`.
fn shipping(means: &str, condition: &str, values: &str) -> String {
    format!(
        "{{ update: Order, by: [customerId, orderId], set: {{ status: DONE }}, {means}, request: {{ TableName: app-main, \
         Key: {{ PK: CUST#a1, SK: ORDER#o1 }}, UpdateExpression: 'SET #s = :done', \
         ConditionExpression: '{condition}', ExpressionAttributeNames: {{ '#s': status }}, \
         ExpressionAttributeValues: {{ ':done': DONE{values} }} }} }}"
    )
}

/// What the proof says about the request.
#[track_caller]
fn said(pattern: &str) -> String {
    fails(pattern, "request");
    prove(&read(pattern)).failures()
}

#[test]
fn a_condition_that_accepts_what_the_pattern_refuses_fails() {
    let means = "if: status = OPEN";
    proven(&shipping(means, "#s = :open", ", ':open': OPEN"));
    proven(&shipping(means, "attribute_exists(PK) AND #s <> :done", ""));
    let again = said(&shipping(means, "attribute_exists(PK)", ""));
    assert!(again.contains("accepts CUST#a1 ORDER#o1 where `status` is DONE"), "{again}");
    let nothing = said(&shipping(means, "attribute_not_exists(#s) OR #s = :open", ", ':open': OPEN"));
    assert!(nothing.contains("where there is no item"), "{nothing}");
}

#[test]
fn a_condition_that_refuses_what_the_pattern_accepts_fails() {
    let never =
        said(&shipping("if: status = OPEN", "#s = :open AND attribute_not_exists(#s)", ", ':open': OPEN"));
    assert!(never.contains("refuses CUST#a1 ORDER#o1, which is as the pattern says"), "{never}");
    let half = said(&shipping("if: 'status in (OPEN, DONE)'", "#s = :open", ", ':open': OPEN"));
    assert!(half.contains("refuses CUST#a1 ORDER#o1 where `status` is DONE"), "{half}");
}

/// Takes some of what is free, with this condition.
fn taking(means: &str, condition: &str, values: &str) -> String {
    format!(
        "{{ update: Customer, by: customerId, add: [left], {means}, request: {{ TableName: app-main, \
         Key: {{ PK: CUST#a1, SK: PROFILE }}, UpdateExpression: 'ADD #l :one', ConditionExpression: '{condition}', \
         ExpressionAttributeNames: {{ '#l': left }}, ExpressionAttributeValues: {{ ':one': 1{values} }} }} }}"
    )
}

#[test]
fn a_parameter_has_the_value_of_the_request() {
    proven(&taking("if: left >= :count", "#l >= :n", ", ':n': 3"));
    let there = said(&taking("if: left >= :count", "attribute_exists(#l)", ""));
    assert!(there.contains("accepts CUST#a1 PROFILE where `left` is -1"), "{there}");
    let turned = said(&taking("if: left >= :count", "#l <= :n", ", ':n': 3"));
    assert!(turned.contains("accepts CUST#a1 PROFILE where `left` is -1"), "{turned}");
}

#[test]
fn a_bound_of_the_file_is_the_bound_of_the_request() {
    proven(&taking("if: left > 0", "#l > :none", ", ':none': 0"));
    let one_more = said(&taking("if: left > 0", "#l >= :none", ", ':none': 0"));
    assert!(one_more.contains("accepts CUST#a1 PROFILE where `left` is 0"), "{one_more}");
    let fewer = said(&taking("if: left > 0", "#l > :one", ""));
    assert!(fewer.contains("refuses CUST#a1 PROFILE where `left` is 1"), "{fewer}");
}

#[test]
fn a_version_is_compared_with_the_one_that_was_read() {
    let set = |condition: &str| {
        format!(
            "{{ update: Customer, by: customerId, set: [left], version: version, request: {{ TableName: app-main, \
             Key: {{ PK: CUST#a1, SK: PROFILE }}, UpdateExpression: 'SET #l = :l, version = :next', \
             ConditionExpression: '{condition}', ExpressionAttributeNames: {{ '#l': left }}, \
             ExpressionAttributeValues: {{ ':l': 9, ':read': 11, ':next': 12 }} }} }}"
        )
    };
    proven(&set("version = :read"));
    let any = said(&set("version <> :read"));
    assert!(any.contains("and the pattern says `version: version`"), "{any}");
}

#[test]
fn each_condition_of_a_transaction_is_tried() {
    let shipped = |order: &str, customer: &str| {
        format!(
            "{{ transact: [{{ update: Order, by: [customerId, orderId], set: {{ status: DONE }}, if: status = OPEN }}, \
             {{ check: Customer, if: exists }}], request: {{ TransactItems: [{{ Update: {{ TableName: app-main, \
             Key: {{ PK: CUST#a1, SK: ORDER#o1 }}, UpdateExpression: 'SET #s = :done', \
             ConditionExpression: '{order}', ExpressionAttributeNames: {{ '#s': status }}, \
             ExpressionAttributeValues: {{ ':done': DONE, ':open': OPEN }} }} }}, {{ ConditionCheck: {{ \
             TableName: app-main, Key: {{ PK: CUST#a1, SK: PROFILE }}, ConditionExpression: {customer} }} }}] }} }}"
        )
    };
    proven(&shipped("#s = :open", "attribute_exists(PK)"));
    let order = said(&shipped("#s = :open OR #s = :done", "attribute_exists(PK)"));
    assert!(order.contains("accepts CUST#a1 ORDER#o1 where `status` is DONE"), "{order}");
    let customer = said(&shipped("#s = :open", "attribute_not_exists(gone)"));
    assert!(customer.contains("accepts CUST#a1 PROFILE where there is no item"), "{customer}");
}

#[test]
fn a_create_is_refused_for_an_item_without_its_optional_attributes() {
    let join = |condition: &str| {
        format!(
            "{{ create: Customer, request: {{ TableName: app-main, Item: {{ PK: CUST#a1, SK: PROFILE, left: 1, \
             version: 1 }}, ConditionExpression: attribute_not_exists({condition}) }} }}"
        )
    };
    proven(&join("PK"));
    let over = said(&join("email"));
    assert!(over.contains("overwrites CUST#a1 PROFILE, and the pattern says `create`"), "{over}");
}

#[test]
fn a_put_of_whatever_was_there_has_no_condition() {
    let put = |condition: &str| {
        format!(
            "{{ put: Customer, request: {{ TableName: app-main, Item: {{ PK: CUST#a1, SK: PROFILE, left: 1, \
             version: 1 }}{condition} }} }}"
        )
    };
    proven(&put(""));
    let once = said(&put(", ConditionExpression: attribute_not_exists(PK)"));
    assert!(once.contains("refuses CUST#a1 PROFILE, which is as the pattern says"), "{once}");
}
