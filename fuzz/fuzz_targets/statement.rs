//! One text as a PartiQL statement: what can be read can be bound, held against a key and applied to any item; what
//! is left of a WHERE clause holds of every item that the whole of it holds of.

#![no_main]

use std::sync::LazyLock;

use bytes::Bytes;
use expression::key_condition::KeyAttribute;
use expression::partiql::{Access, Keyed, Statement, StatementError};
use expression::{Condition, Updated};
use item::json::{Jiter, read_item};
use item::{Item, Type, ValueBuf};
use libfuzzer_sys::fuzz_target;

/// One attribute of each type; as an item, and as parameters in the order of their names.
const EXAMPLE: &[u8] = br#"{
    "pk": {"S": "a"}, "sk": {"N": "5"}, "s": {"S": "text"}, "n": {"N": "-1.5"}, "b": {"B": "AAH/"}, "t": {"BOOL": true},
    "z": {"NULL": true}, "ss": {"SS": ["text", "x"]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": ["AAH/"]},
    "l": {"L": [{"N": "1"}, {"L": [{"S": "deep"}]}, {"M": {"a": {"N": "2"}}}]},
    "m": {"M": {"a": {"M": {"b": {"L": [{"N": "3"}]}}}, "n": {"N": "4"}}}
}"#;

const HASH: &[KeyAttribute<'static>] = &[KeyAttribute { name: "pk", kind: Type::S }];
const RANGE: &[KeyAttribute<'static>] = &[KeyAttribute { name: "sk", kind: Type::N }];

static ITEM: LazyLock<Item> = LazyLock::new(|| {
    read_item(&mut Jiter::new(EXAMPLE)).expect("the example has the shape").expect("the example is an item")
});
static PARAMETERS: LazyLock<Vec<ValueBuf>> =
    LazyLock::new(|| ITEM.as_ref().iter().map(|(_, value)| ValueBuf::from(value)).collect());

fuzz_target!(|text: &str| {
    let Ok(statement) = Statement::parse(text, &PARAMETERS) else { return };
    let item = ITEM.as_ref();
    match statement {
        Statement::Select(select) | Statement::Exists(select) => {
            is_canonical(select.list.apply(item));
            for range in [RANGE, &[]] {
                if let Ok(Access::Query { filter, .. } | Access::Scan { filter }) = select.access(HASH, range)
                {
                    is_implied(&filter, &select.condition);
                }
                check_keyed(select.keyed(HASH, range), &select.condition);
                check_keyed(select.existence(HASH, range), &select.condition);
            }
        }
        Statement::Insert(insert) => is_canonical(insert.item),
        Statement::Update(update) => {
            check_keyed(update.keyed(HASH, RANGE), &update.condition);
            update.changes.charge_bytes();
            for (old, existed) in [(item, true), (Item::default().as_ref(), false)] {
                if let Ok(Updated::Item(new)) = update.changes.apply(old, existed) {
                    update.changes.updated_old(old);
                    update.changes.updated_new(new.as_ref());
                    is_canonical(new);
                }
            }
        }
        Statement::Delete(delete) => check_keyed(delete.keyed(HASH, RANGE), &delete.condition),
    }
});

fn check_keyed(keyed: Result<Keyed, StatementError>, whole: &Option<Condition>) {
    if let Ok(keyed) = keyed {
        is_implied(&keyed.condition, whole);
        is_canonical(keyed.key);
    }
}

fn is_implied(rest: &Option<Condition>, whole: &Option<Condition>) {
    let holds = |condition: &Option<Condition>| {
        condition.as_ref().is_none_or(|condition| condition.evaluate(Some(ITEM.as_ref())))
    };
    assert!(holds(rest) || !holds(whole), "{rest:?} is not part of {whole:?}");
}

/// What the engine would store must be readable.
fn is_canonical(item: Item) {
    let stored: Bytes = item.clone().into_stored();
    assert_eq!(Item::from_stored(stored).expect("a made item can be stored"), item);
}
