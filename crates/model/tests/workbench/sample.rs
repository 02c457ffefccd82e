//! Example data made from a model.

use item::Value;
use model::sample::{Sample, SampleItem, Scale, sample};
use model::{Model, Source, file};

const MODEL: &str = r#"
model: orders
table: { name: app-main, partition: PK, sort: SK, ttl: expiresAt }
entities:
  Customer: { key: { PK: "CUST#{customerId}", SK: PROFILE }, attributes: { name: string }, count: 1M, size: 600 B }
  Product: { key: { PK: "PROD#{sku}", SK: DETAILS }, count: 2 }
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes:
      createdAt: timestamp
      status: [OPEN, SHIPPED]
      total: { type: number, max: 5000 }
      customerName: { copy-of: Customer.name, sync: stream }
      expiresAt: epoch
      flag: { optional: true }
    count: 20 per Customer
    size: 1 KB
    expires: 7 days
    indexes:
      GSI2: { when: status = OPEN, GSI2PK: "OPEN#{shard(orderId, 3)}", GSI2SK: "{createdAt}#{orderId}" }
      byFlag: { flag: "{flag}" }
  LineItem:
    key: { PK: "ORDER#{orderId}", SK: "ITEM#{line:03}" }
    attributes: { line: number, sku: string }
    count: 3 per Order
samples:
  stray: { PK: CUST#customer-0001, SK: PROFILE }
"#;

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn items<'s>(model: &Model, sample: &'s Sample, entity: &str) -> Vec<&'s SampleItem> {
    sample.of(model.entity_named(entity).unwrap()).collect()
}

fn text(item: &SampleItem, attribute: &str) -> String {
    match item.get(attribute) {
        Some(Value::S(text)) => text,
        other => panic!("{attribute}: {other:?}"),
    }
}

#[test]
fn the_same_model_gives_the_same_data() {
    let model = read(MODEL);
    assert_eq!(sample(&model, Scale::default()).items, sample(&model, Scale::default()).items);
}

#[test]
fn counts_are_kept_in_small() {
    let model = read(MODEL);
    let sample = sample(&model, Scale { roots: 3, children: 4 });
    assert_eq!(items(&model, &sample, "Customer").len(), 3);
    assert_eq!(items(&model, &sample, "Product").len(), 2, "there are no more");
    assert_eq!(items(&model, &sample, "Order").len(), 4 + 3 + 2);
}

#[test]
fn children_are_stored_with_their_parents() {
    let model = read(MODEL);
    let sample = sample(&model, Scale::default());
    for order in items(&model, &sample, "Order") {
        let parent = &sample.items[order.parent.unwrap()];
        assert_eq!(text(order, "PK"), text(parent, "PK"));
        assert_eq!(text(order, "customerName"), text(parent, "name"), "copies are copies");
    }
    let orders = items(&model, &sample, "Order");
    for line in items(&model, &sample, "LineItem") {
        assert!(orders.iter().any(|order| text(order, "orderId") == text(line, "orderId")));
        assert!(["sku-0001", "sku-0002"].contains(&text(line, "sku").as_str()), "products that exist");
    }
}

#[test]
fn keys_are_unique_and_literal_rows_may_collide() {
    let model = read(MODEL);
    let sample = sample(&model, Scale::default());
    let collisions = sample.collisions(&model);
    assert_eq!(collisions.len(), 1, "{collisions:?}");
    assert_eq!(sample.items[collisions[0].1].name.as_deref(), Some("stray"));
}

#[test]
fn only_items_for_which_it_holds_are_in_a_sparse_index() {
    let model = read(MODEL);
    let sample = sample(&model, Scale::default());
    let orders = items(&model, &sample, "Order");
    for order in &orders {
        assert_eq!(order.get("GSI2PK").is_some(), text(order, "status") == "OPEN");
    }
    assert!(
        orders.iter().any(|order| order.get("flag").is_none()),
        "optional attributes are missing at times"
    );
}

#[test]
fn items_are_as_large_as_the_file_says() {
    let model = read(MODEL);
    let sample = sample(&model, Scale::default());
    for order in items(&model, &sample, "Order") {
        assert_eq!(order.item().size_bytes(), 1024);
    }
}

#[test]
fn numbers_have_all_lengths_within_their_bounds() {
    let model = read(MODEL);
    let sample = sample(&model, Scale { roots: 8, children: 8 });
    let totals: Vec<String> = items(&model, &sample, "Order")
        .iter()
        .map(|order| model::template::plain_text(&order.get("total").unwrap()))
        .collect();
    assert!(
        totals.iter().any(|total| total.len() == 1) && totals.iter().any(|total| total.len() == 4),
        "{totals:?}"
    );
    assert!(totals.iter().all(|total| total.parse::<f64>().unwrap() <= 5000.0));
}

#[test]
fn every_pair_of_a_many_to_many_relation_is_different() {
    let model = read(
        "
model: groups
table: { name: groups, partition: PK, sort: SK }
entities:
  User: { key: { PK: 'USER#{userId}', SK: PROFILE }, count: 1M }
  Group: { key: { PK: 'GROUP#{groupId}', SK: META }, count: 10K }
  Membership: { key: { PK: 'USER#{userId}', SK: 'GROUP#{groupId}' }, count: 3 per User }
relations: [User M:N Group via Membership]
",
    );
    let sample = sample(&model, Scale::default());
    assert_eq!(sample.collisions(&model), []);
    let first = items(&model, &sample, "Membership")[0];
    assert_eq!(text(first, "SK"), "GROUP#group-0001");
}

#[test]
fn ids_and_times_have_their_shapes() {
    let model = read(
        "
model: events
table: { name: events, partition: id, sort: { at: number } }
entities:
  Event:
    attributes: { id: uuid, at: epoch, seen: ulid, day: date, raw: { type: binary, size: 3 B }, tags: string-set }
",
    );
    let sample = sample(&model, Scale::default());
    let event = &sample.items[0];
    assert_eq!(text(event, "id").len(), 36);
    assert_eq!(text(event, "seen").len(), 26);
    assert!(text(event, "seen") < text(&sample.items[1], "seen"));
    assert_eq!(text(event, "day"), "2026-01-01");
    assert!(matches!(event.get("raw"), Some(Value::B(bytes)) if bytes.len() == 3));
}
