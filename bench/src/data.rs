//! The data that every contender gets: orders of about 500 bytes, 20 per customer, and an index that
//! finds 20 orders by their product.
//!
//! Everything about an order follows from its number, so that any of them can be generated at any time and all
//! contenders hold the same. Its text does not compress, which is the hard case for a store.

use std::fmt::Write;
use std::sync::LazyLock;

use serde_json::{Value, json};

pub const TABLE: &str = "Orders";
pub const INDEX: &str = "by-product";
/// The orders of a customer, and also those of a product.
pub const QUERY_ITEMS: u64 = 20;
const NOTE_BYTES: usize = 300;

/// How many orders there are; numbers start at 0. A multiple of 100, so that they divide into customers of 20,
/// batches of 25 and transactions of 4 without a remainder.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    items: u64,
}

impl Data {
    /// At least as many orders as asked for.
    pub fn new(items: u64) -> Data {
        Data { items: items.max(1).next_multiple_of(100) }
    }

    pub fn items(self) -> u64 {
        self.items
    }

    /// As many as there are products.
    pub fn customers(self) -> u64 {
        self.items / QUERY_ITEMS
    }

    pub fn customer(self, number: u64) -> String {
        format!("CUSTOMER#{:08}", number / QUERY_ITEMS)
    }

    /// The orders of a product belong to customers far apart.
    pub fn product(self, number: u64) -> String {
        format!("PRODUCT#{:08}", number % self.customers())
    }

    pub fn key(self, number: u64) -> String {
        key(&self.customer(number), &sort_key(number))
    }

    /// Editions of an order differ in an attribute that is no key, so that writing another edition changes the order and
    /// its index row in place.
    pub fn order(self, number: u64, edition: u64) -> Order {
        Order {
            customer: self.customer(number),
            order: sort_key(number),
            product: self.product(number),
            placed: (1_767_225_600 + number).to_string(),
            amount: format!("{}.{}", 100 + edition % 100, 10 + number % 90),
            street: format!("{:06} Long Street", number % 1_000_000),
            note: note(number),
        }
    }

    /// An order as DynamoDB JSON.
    pub fn item(self, number: u64, edition: u64) -> String {
        let Order { customer, order, product, placed, amount, street, note } = self.order(number, edition);
        let mut item = key(&customer, &order);
        item.pop();
        // Writing to a String cannot fail.
        let _ = write!(
            item,
            r#","product":{{"S":"{product}"}},"placed":{{"N":"{placed}"}},"state":{{"S":"SHIPPED"}},"amount":{{"N":"{amount}"}},"gift":{{"BOOL":true}},"tags":{{"SS":["fragile","priority"]}},"address":{{"M":{{"street":{{"S":"{street}"}},"city":{{"S":"Harbour Town"}}}}}},"note":{{"S":"{note}"}}}}"#
        );
        item
    }
}

/// What differs between orders.
pub struct Order {
    pub customer: String,
    pub order: String,
    pub product: String,
    pub placed: String,
    pub amount: String,
    pub street: String,
    pub note: &'static str,
}

impl Order {
    /// As an application writes it that has no DynamoDB.
    pub fn json(&self) -> String {
        let Order { customer, order, product, placed, amount, street, note } = self;
        format!(
            r#"{{"customer":"{customer}","order":"{order}","product":"{product}","placed":{placed},"state":"SHIPPED","amount":{amount},"gift":true,"tags":["fragile","priority"],"address":{{"street":"{street}","city":"Harbour Town"}},"note":"{note}"}}"#
        )
    }
}

fn sort_key(number: u64) -> String {
    format!("ORDER#{:04}", number % QUERY_ITEMS)
}

fn key(customer: &str, order: &str) -> String {
    format!(r#"{{"customer":{{"S":"{customer}"}},"order":{{"S":"{order}"}}}}"#)
}

/// The table, as input of `CreateTable`.
pub fn table() -> Value {
    let (string, number) = ("S", "N");
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    json!({
        "TableName": TABLE,
        "AttributeDefinitions": [
            attribute("customer", string),
            attribute("order", string),
            attribute("product", string),
            attribute("placed", number),
        ],
        "KeySchema": key_schema("customer", "order"),
        "GlobalSecondaryIndexes": [index()],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

/// The index, as `CreateTable` and `UpdateTable` take it.
pub fn index() -> Value {
    json!({
        "IndexName": INDEX,
        "KeySchema": key_schema("product", "placed"),
        "Projection": {"ProjectionType": "ALL"},
    })
}

fn key_schema(partition: &str, sort: &str) -> Value {
    json!([
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ])
}

/// A slice of a pool of random letters: each order gets another slice, at no cost worth measuring.
fn note(number: u64) -> &'static str {
    static POOL: LazyLock<String> = LazyLock::new(|| {
        let mut random = fastrand::Rng::with_seed(4);
        (0..1 << 16).map(|_| random.alphanumeric()).collect()
    });
    // An odd multiplier spreads neighbouring orders over the pool.
    let start = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % (POOL.len() - NOTE_BYTES);
    &POOL[start..start + NOTE_BYTES]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_customer_and_every_product_has_twenty_orders() {
        let data = Data::new(101);
        assert_eq!((data.items(), data.customers()), (200, 10));
        for name in [Data::customer, Data::product] {
            let mut orders: HashMap<String, u64> = HashMap::new();
            (0..data.items()).for_each(|number| *orders.entry(name(data, number)).or_default() += 1);
            assert_eq!(orders.len(), 10);
            assert!(orders.values().all(|&orders| orders == QUERY_ITEMS));
        }
    }

    #[test]
    fn an_order_is_json_of_one_length_whatever_its_number_and_edition() {
        let data = Data::new(10_000_000);
        let length = data.item(0, 0).len();
        for (number, edition) in [(1, 1), (9_999_999, 99), (4_711, 3)] {
            let item = data.item(number, edition);
            assert_eq!(item.len(), length);
            let item: Value = serde_json::from_str(&item).unwrap();
            let key: Value = serde_json::from_str(&data.key(number)).unwrap();
            assert_eq!((&item["customer"], &item["order"]), (&key["customer"], &key["order"]));
        }
        assert_ne!(data.item(7, 0), data.item(7, 1));
    }
}
