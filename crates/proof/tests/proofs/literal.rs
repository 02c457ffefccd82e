//! A pattern's own `request` is sent as it is.

use model::{Model, Source, file};
use proof::{Certificate, prove};

const MODEL: &str = "
model: orders
table: { name: app-main, partition: PK, sort: SK }
entities:
  Customer:
    key: { PK: 'CUST#{customerId}', SK: PROFILE }
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
