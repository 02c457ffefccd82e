//! PostgreSQL's protocol, version 3, as far as a client with prepared statements needs it.
//!
//! An order is a row of a table with a primary key and an index: what someone would make who has PostgreSQL and no
//! DynamoDB. What a request binds and executes before its Sync is one transaction, as a transaction or a batch is there.

use super::Frame;
use crate::data::{Data, Order, QUERY_ITEMS};
use crate::workload::{Touched, Workload};

/// Of what the server was set up with, and asks no password for.
const USER: &str = "postgres";
const PROTOCOL_VERSION: i32 = 3 << 16;

/// `placed` and `amount` are exact, as DynamoDB's numbers are.
const CREATE: &str = r#"
CREATE TABLE orders (
    customer text, "order" text, product text NOT NULL, placed numeric NOT NULL, state text, amount numeric, gift boolean,
    tags text[], address jsonb, note text,
    PRIMARY KEY (customer, "order"));
CREATE INDEX by_product ON orders (product, placed);
"#;

/// The prepared statements by their names.
const STATEMENTS: [(&str, &str); 5] = [
    ("get", r#"SELECT * FROM orders WHERE customer = $1 AND "order" = $2"#),
    ("query", r#"SELECT * FROM orders WHERE customer = $1 ORDER BY "order""#),
    ("index-query", "SELECT * FROM orders WHERE product = $1 ORDER BY placed"),
    (
        "put",
        r#"INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (customer, "order") DO UPDATE SET product = EXCLUDED.product, placed = EXCLUDED.placed,
        state = EXCLUDED.state, amount = EXCLUDED.amount, gift = EXCLUDED.gift, tags = EXCLUDED.tags,
        address = EXCLUDED.address, note = EXCLUDED.note"#,
    ),
    ("update", r#"UPDATE orders SET amount = amount + 1 WHERE customer = $1 AND "order" = $2"#),
];

pub fn startup() -> Vec<u8> {
    let mut content = PROTOCOL_VERSION.to_be_bytes().to_vec();
    for word in ["user", USER, "database", USER, ""] {
        push_text(&mut content, word);
    }
    framed(&[], &content)
}

pub fn creation() -> Vec<u8> {
    let mut content = Vec::new();
    push_text(&mut content, CREATE);
    framed(b"Q", &content)
}

/// Parses all statements, which the connection keeps from then on.
pub fn preparation() -> Vec<u8> {
    let parse = |(name, statement): &(&str, &str)| {
        let mut content = Vec::new();
        push_text(&mut content, name);
        push_text(&mut content, statement);
        // The types of parameters follow from where they are used.
        content.extend(0_i16.to_be_bytes());
        framed(b"P", &content)
    };
    synced(STATEMENTS.iter().flat_map(parse).collect())
}

pub fn request(workload: Workload, data: Data, place: u64) -> Option<Vec<u8>> {
    let Touched { number, edition, numbers } = workload.touched(data, place);
    let puts = || numbers.iter().flat_map(|&number| put(&data.order(number, edition))).collect::<Vec<u8>>();
    let order = data.order(number, edition);
    let messages = match workload {
        Workload::Get => execution("get", &[&order.customer, &order.order]),
        Workload::Query => execution("query", &[&data.customer(number * QUERY_ITEMS)]),
        Workload::IndexQuery => execution("index-query", &[&data.product(number)]),
        Workload::Update => execution("update", &[&order.customer, &order.order]),
        Workload::Put => put(&order),
        Workload::Load | Workload::Transaction | Workload::Batch => puts(),
        Workload::ConsistentGet | Workload::ConditionalPut => return None,
    };
    Some(synced(messages))
}

fn put(order: &Order) -> Vec<u8> {
    let columns = [
        order.customer.as_str(),
        &order.order,
        &order.product,
        &order.placed,
        "SHIPPED",
        &order.amount,
        "t",
        "{fragile,priority}",
        &format!(r#"{{"street":"{}","city":"Harbour Town"}}"#, order.street),
        order.note,
    ];
    execution("put", &columns)
}

/// Binds a statement to texts, and executes it.
fn execution(statement: &str, parameters: &[&str]) -> Vec<u8> {
    let mut bind = Vec::new();
    push_text(&mut bind, "");
    push_text(&mut bind, statement);
    bind.extend(0_i16.to_be_bytes());
    bind.extend((parameters.len() as i16).to_be_bytes());
    for parameter in parameters {
        bind.extend((parameter.len() as i32).to_be_bytes());
        bind.extend(parameter.as_bytes());
    }
    bind.extend(0_i16.to_be_bytes());
    // The unnamed portal, and all of its rows.
    let execute = [&[0_u8][..], &0_i32.to_be_bytes()].concat();
    [framed(b"B", &bind), framed(b"E", &execute)].concat()
}

fn synced(messages: Vec<u8>) -> Vec<u8> {
    [messages, framed(b"S", &[])].concat()
}

/// A message: its kind, its length with the length itself, its content.
fn framed(kind: &[u8], content: &[u8]) -> Vec<u8> {
    let length = (content.len() + size_of::<i32>()) as i32;
    [kind, &length.to_be_bytes(), content].concat()
}

fn push_text(content: &mut Vec<u8>, text: &str) {
    content.extend(text.as_bytes());
    content.push(0);
}

/// A reply ends with ReadyForQuery.
pub fn frame(bytes: &[u8]) -> Option<Frame> {
    let has = |wanted: u8| messages(bytes).any(|kind| kind == wanted);
    has(b'Z').then(|| Frame {
        status: if has(b'E') { 500 } else { 200 },
        body_start: 0,
        body_length: bytes.len(),
    })
}

/// How many rows a reply has.
pub fn items(body: &[u8]) -> usize {
    messages(body).filter(|kind| *kind == b'D').count()
}

/// The kinds of the messages that have arrived whole.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let length: [u8; 4] = bytes.get(1..5)?.try_into().ok()?;
        let end = 1 + usize::try_from(i32::from_be_bytes(length)).ok()?;
        let kind = *bytes.first()?;
        bytes = bytes.get(end..)?;
        Some(kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_whole_when_the_server_is_ready_again() {
        let row = framed(b"D", b"values");
        let ready = framed(b"Z", b"I");
        let whole = [row.clone(), row, framed(b"C", b"SELECT 2\0"), ready.clone()].concat();
        assert!((0..whole.len()).all(|cut| frame(&whole[..cut]).is_none()));
        assert_eq!(frame(&whole).map(|frame| frame.status), Some(200));
        assert_eq!(items(&whole), 2);

        let failed = [framed(b"E", b"SERROR\0"), ready].concat();
        assert_eq!(frame(&failed).map(|frame| frame.status), Some(500));
    }

    #[test]
    fn a_batch_is_one_transaction() {
        let batch = request(Workload::Batch, Data::new(100), 0).unwrap();
        let kinds: Vec<u8> = messages(&batch).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == b'E').count(), 25);
        assert_eq!(kinds.iter().filter(|kind| **kind == b'S').count(), 1);
        assert_eq!(kinds.last(), Some(&b'S'));
    }
}
