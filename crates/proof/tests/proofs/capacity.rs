//! Predicted and consumed capacity agree, part by part, for every kind of request.

use model::{Source, file};
use proof::prove;

const MODEL: &str = "
model: orders
table: { name: app, partition: PK, sort: SK }
entities:
  Customer: { key: { PK: 'CUST#{customerId}', SK: PROFILE }, attributes: { email: string }, count: 1K, size: 5 KB }
  Order:
    key: { PK: 'CUST#{customerId}', SK: 'ORDER#{createdAt}#{orderId}' }
    attributes: { createdAt: timestamp, status: [OPEN, SHIPPED], total: { type: number, max: 5000 }, note: { size: 20 B }, version: number }
    count: 20 per Customer
    size: 1.5 KB
    indexes:
      GSI1: { GSI1PK: 'CUST#{customerId}#{status}', GSI1SK: '{createdAt}#{orderId}' }
      GSI2: { when: status = OPEN, GSI2PK: 'OPEN#{shard(orderId, 3)}', GSI2SK: '{createdAt}#{orderId}' }
  Line: { key: { PK: 'ORDER#{orderId}', SK: 'ITEM#{line:03}' }, attributes: { line: { type: number, max: 999 } }, count: 3 per Order, size: 200 B }
indexes: { GSI1: { project: all }, GSI2: { project: keys }, byVersion: { type: local, sort: { version: number }, project: [total] } }
patterns:
  P: ";

/// The units of the most expensive try: `app 4, GSI1 2`. A proof fails unless they were predicted.
fn check(pattern: &str, expected: &str) {
    let source = Source::new("model.yaml", format!("{MODEL}{pattern}\n"));
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    let certificate = prove(&reading.model.unwrap_or_else(|| panic!("{shown}")));
    assert!(certificate.is_proven(), "{pattern}: {}{}", certificate.summary(), certificate.failures());
    let parts = certificate.patterns[0].capacity.iter();
    let parts: Vec<String> = parts.map(|part| format!("{} {}", part.part, part.consumed)).collect();
    assert_eq!(parts.join(", "), expected, "{pattern}");
}

#[test]
fn reads() {
    check("{ get: Customer, by: customerId }", "app 1");
    check("{ get: Customer, by: customerId, consistency: strong }", "app 2");
    check("{ query: Order, by: customerId, limit: 3 }", "app 1");
    check("{ query: Order, by: [customerId, status] }", "GSI1 1.5");
    check("{ query: Order, where: status = OPEN, read: keys, fan-out: allowed, paged: true }", "GSI2 1.5");
    check("{ query: Order, by: customerId, order: version }", "byVersion 0.5");
    check("{ query: Order, by: customerId, order: version, consistency: strong }", "byVersion 1");
    check("{ query: Order, by: customerId, read: count }", "app 2");
    check("{ batch: [get Customer × 4] }", "app 4");
    check("{ transact: [get Customer × 2] }", "app 8");
}

#[test]
fn creates_enter_every_index_that_takes_them() {
    check("{ create: Order, set: { status: OPEN } }", "app 2, GSI1 2, GSI2 1, byVersion 1");
    check("{ create: Order, set: { status: SHIPPED } }", "app 2, GSI1 2, byVersion 1");
    check("{ batch: [create Line × 3] }", "app 3");
    check(
        "{ transact: [{ create: Order, set: { status: OPEN } }, create Line × 3] }",
        "app 10, GSI1 2, GSI2 1, byVersion 1",
    );
}

#[test]
fn updates_enter_leave_and_move() {
    check("{ update: Order, set: [note] }", "app 2, GSI1 2");
    check(
        "{ update: Order, set: { status: OPEN -> SHIPPED }, knows: [customerId] }",
        "app 2, GSI1 4, GSI2 1",
    );
    check(
        "{ update: Order, set: { status: SHIPPED -> OPEN }, knows: [customerId] }",
        "app 2, GSI1 4, GSI2 1",
    );
    check("{ update: Order, version: version, set: [total] }", "app 2, GSI1 2, byVersion 2");
    check("{ update: Order, add: { version: 1 }, if: status = OPEN }", "app 2, GSI1 2, byVersion 2");
    check(
        "{ transact: [{ update: Order, set: [note], if: total >= :least }, check Customer] }",
        "app 14, GSI1 2",
    );
}

#[test]
fn puts_and_deletes() {
    check("{ delete: Order, if: status = OPEN }", "app 2, GSI1 2, GSI2 1, byVersion 1");
    check("{ put: Line }", "app 1");
    check("{ transact: [delete Line × 2] }", "app 4");
}
