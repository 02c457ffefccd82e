//! What patterns cost in capacity units, before anything runs.

use capacity::ReadMode;
use model::model::{EntityId, IndexId, TableId};
use model::plan::plan;
use model::predict::found;
use model::predict::item::{self, Values};
use model::predict::typical::{self, Assumption, Footprints, Prediction};
use model::predict::{RowChange, query};
use model::{Model, Source, file};

const MODEL: &str = r#"
model: orders
table: { name: app-main, partition: PK, sort: SK }
entities:
  Customer: { key: { PK: "CUST#{customerId}", SK: PROFILE }, count: 1M, size: 600 B }
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes:
      createdAt: timestamp
      status: { values: [OPEN, SHIPPED, CANCELLED] }
      total: number
      note: string
    count: 20 per Customer
    size: 1.5 KB
    indexes:
      GSI1: { GSI1PK: "CUST#{customerId}#{status}", GSI1SK: "{createdAt}#{orderId}" }
      GSI2: { when: status = OPEN, GSI2PK: "OPEN#{shard(orderId, 3)}", GSI2SK: "{createdAt}#{orderId}" }
  LineItem:
    key: { PK: "ORDER#{orderId}", SK: "ITEM#{line:03}" }
    attributes: { line: number }
    count: 5 per Order
    size: 300 B
indexes: { GSI1: { project: all }, GSI2: { project: keys } }
patterns:
  P: "#;

const TABLE: TableId = TableId(0);
const GSI1: IndexId = IndexId(0);
const GSI2: IndexId = IndexId(1);

fn model(pattern: &str) -> Model {
    let source = Source::new("model.yaml", format!("{MODEL}{pattern}\n"));
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn predict(pattern: &str, doubt: Assumption) -> Prediction {
    let model = model(pattern);
    let pattern = &model.patterns[0];
    typical::pattern(&model, &Footprints::new(&model), pattern, &plan(&model, pattern), doubt)
}

/// Table, GSI1, GSI2.
fn reads(pattern: &str) -> [f64; 3] {
    let prediction = predict(pattern, Assumption::Worst);
    let units = &prediction.read[&TABLE];
    [units.table, units.index(GSI1), units.index(GSI2)]
}

fn writes(pattern: &str, doubt: Assumption) -> [f64; 3] {
    let prediction = predict(pattern, doubt);
    let units = &prediction.write[&TABLE];
    [units.table, units.index(GSI1), units.index(GSI2)]
}

#[test]
fn a_get_costs_by_the_size_of_its_item() {
    assert_eq!(reads("{ get: Customer, by: customerId }"), [0.5, 0.0, 0.0]);
    assert_eq!(reads("{ get: Customer, by: customerId, consistency: strong }"), [1.0, 0.0, 0.0]);
    assert_eq!(reads("{ transact: [get Customer × 3] }"), [6.0, 0.0, 0.0]);
    assert_eq!(reads("{ batch: [get Customer × 20] }"), [10.0, 0.0, 0.0]);
}

#[test]
fn a_query_costs_by_the_sum_of_what_it_finds() {
    assert_eq!(reads("{ query: Order, by: customerId }"), [4.0, 0.0, 0.0], "20 × 1.5 KB");
    assert_eq!(reads("{ query: Order, by: customerId, limit: 2 }"), [0.5, 0.0, 0.0]);
    assert_eq!(reads("{ query: LineItem, by: orderId }"), [0.5, 0.0, 0.0], "5 × 300 B");
    assert_eq!(reads("{ query: [Customer, Order], by: customerId }"), [4.0, 0.0, 0.0]);
    assert_eq!(reads("{ query: Order, by: [customerId, status] }"), [0.0, 1.5, 0.0], "a third of 20");
    assert_eq!(reads("{ query: Order, by: customerId, returns: 100 }"), [19.0, 0.0, 0.0]);
}

#[test]
fn a_reader_who_pages_goes_on_until_the_filter_has_let_enough_through() {
    let open = "query: Order, by: customerId, filter: status = OPEN, limit: 5";
    assert_eq!(reads(&format!("{{ {open} }}")), [1.0, 0.0, 0.0], "5 × 1.5 KB, a third of which is wanted");
    assert_eq!(reads(&format!("{{ {open}, paged: true }}")), [3.0, 0.0, 0.0], "15 × 1.5 KB");
}

#[test]
fn several_values_of_an_attribute_find_the_items_of_these_alone() {
    let two = "{ query: Order, by: customerId, where: 'status in (OPEN, SHIPPED)', fan-out: 2 }";
    assert_eq!(reads(two), [0.0, 3.0, 0.0], "twice a third of 20 × 1.5 KB");
}

#[test]
fn the_items_of_a_parent_whose_whole_key_is_known_are_those_that_it_has() {
    let text = "
model: enrolments
table: { name: school, partition: PK, sort: SK }
entities:
  Student: { key: { PK: 'S#{studentId}', SK: META }, count: 1000 }
  Course: { key: { PK: 'C#{courseId}', SK: META }, count: 50 }
  Enrolment: { key: { PK: 'S#{studentId}', SK: 'E#{courseId}' }, count: 5 per Student }
  Attendance:
    key: { PK: 'A#{studentId}#{courseId}', SK: '{day}' }
    attributes: { day: date }
    count: { typical: 30, max: 60, per: Enrolment }
patterns:
  P: { query: Attendance, by: [studentId, courseId] }
  Q: { query: Attendance, by: studentId }
";
    let model = file::read(&Source::new("model.yaml", text)).model.expect("a model");
    let found = |pattern: usize| {
        let (_, read) = model.patterns[pattern].reads().next().expect("a read");
        [found::examined(&model, read, EntityId(3), &[]), found::examined_at_most(&model, read, EntityId(3))]
    };
    assert_eq!(found(0), [Some(30.0), Some(60.0)]);
    assert_eq!(found(1), [Some(150.0), Some(300.0)], "of five courses");
}

#[test]
fn only_items_that_have_an_optional_attribute_are_found_by_it() {
    let text = "
model: tickets
table: { name: tickets, partition: PK }
entities:
  Ticket:
    key: { PK: 'TICKET#{ticketId}' }
    attributes: { escalatedTo: { present: 2%, distinct: 50 } }
    count: 100K
    indexes: { escalated: { ePK: '{escalatedTo}' } }
patterns:
  P: { query: Ticket, by: escalatedTo }
";
    let model = file::read(&Source::new("model.yaml", text)).model.expect("a model");
    let (_, read) = model.patterns[0].reads().next().expect("a read");
    let found = found::examined(&model, read, EntityId(0), &[]).expect("the file says how many");
    assert!((found - 40.0).abs() < 1e-6, "{found}");
}

#[test]
fn a_fan_out_rounds_each_request() {
    let [_, _, units] = reads("{ query: Order, where: status = OPEN, returns: 3, fan-out: allowed }");
    assert_eq!(units, 1.5);
    assert_eq!(
        predict("{ query: Order, where: status = OPEN, returns: 3, fan-out: allowed }", Assumption::Worst)
            .requests,
        3.0
    );
}

#[test]
fn a_write_pays_for_the_rows_it_changes() {
    let worst = |pattern| writes(pattern, Assumption::Worst);
    assert_eq!(worst("{ create: Order }"), [2.0, 2.0, 1.0]);
    assert_eq!(worst("{ create: Order, set: { status: SHIPPED } }"), [2.0, 2.0, 0.0]);
    assert_eq!(worst("{ update: Order, set: [note] }"), [2.0, 2.0, 0.0], "GSI2 holds keys alone");
    assert_eq!(
        worst("{ update: Order, set: { status: OPEN -> SHIPPED } }"),
        [2.0, 4.0, 1.0],
        "a move and an exit"
    );
    assert_eq!(worst("{ delete: Order }"), [2.0, 2.0, 1.0]);
    assert_eq!(worst("{ transact: [create Order, create LineItem × 5] }"), [14.0, 2.0, 1.0]);
    assert_eq!(worst("{ transact: [check Order] }"), [4.0, 0.0, 0.0]);
}

#[test]
fn doubt_is_weighed_by_shares() {
    let [_, _, gsi2] = writes("{ create: Order }", Assumption::Weighted);
    assert!((gsi2 - 1.0 / 3.0).abs() < 1e-9, "{gsi2}");
    let [_, gsi1, _] = writes("{ create: Order, fails: 50% }", Assumption::Weighted);
    assert_eq!(gsi1, 1.0, "half of them leave the index alone");
}

#[test]
fn a_page_ends_with_the_row_that_crosses_a_megabyte() {
    let rows = |count: usize| vec![400_000; count];
    assert_eq!(query(rows(2), None, ReadMode::Strong).count, 1);
    let pages = query(rows(4), None, ReadMode::Strong);
    assert_eq!((pages.count, pages.rows), (2, 4));
    assert_eq!(pages.units, 293.0 + 98.0);
    let limited = query(rows(9), Some(2), ReadMode::Strong);
    assert_eq!((limited.count, limited.rows), (1, 2));
    assert_eq!(query([], None, ReadMode::Eventual).units, 0.5);
}

#[test]
fn the_change_of_a_row_follows_from_the_items() {
    let model = model("{ get: Customer }");
    let table = &model.tables[0];
    let item = |pairs: &[(&str, &str)]| -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
    };
    let key = [("PK", "CUST#1"), ("SK", "ORDER#1")];
    let open = item(&[&key[..], &[("GSI2PK", "OPEN#1"), ("GSI2SK", "1"), ("note", "a")]].concat());
    let noted = item(&[&key[..], &[("GSI2PK", "OPEN#1"), ("GSI2SK", "1"), ("note", "b")]].concat());
    let moved = item(&[&key[..], &[("GSI2PK", "OPEN#2"), ("GSI2SK", "1"), ("note", "a")]].concat());
    let shipped = item(&[&key[..], &[("note", "a")]].concat());
    let change = |old, new| item::change(table, GSI2, old, new);
    let bytes = item::size_bytes(&item::row(table, GSI2, &open).expect("it has the keys"));
    assert_eq!(change(None, Some(&open)), RowChange::Enter(bytes));
    assert_eq!(change(Some(&open), Some(&noted)), RowChange::None, "notes are not projected");
    assert_eq!(change(Some(&open), Some(&moved)), RowChange::Move { old: bytes, new: bytes });
    assert_eq!(change(Some(&open), Some(&shipped)), RowChange::Leave(bytes));
    assert_eq!(change(Some(&shipped), None), RowChange::None);
}
