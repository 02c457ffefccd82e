//! One text as an expression of every kind: what parses must print to a text that parses to the same tree,
//! and what binds must apply to any item.

#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use expression::{Condition, KeyCondition, Kind, Placeholders, Projection, Update, Updated, parser};
use item::json::{Jiter, read_item};
use item::{Item, ValueBuf};
use libfuzzer_sys::fuzz_target;

/// One attribute of each type; as an item, and as the values `:s`, `:n`, …
const EXAMPLE: &[u8] = br#"{
    "pk": {"S": "a"}, "sk": {"N": "5"}, "s": {"S": "text"}, "n": {"N": "-1.5"}, "b": {"B": "AAH/"}, "t": {"BOOL": true},
    "z": {"NULL": true}, "ss": {"SS": ["text", "x"]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": ["AAH/"]},
    "l": {"L": [{"N": "1"}, {"L": [{"S": "deep"}]}, {"M": {"a": {"N": "2"}}}]},
    "m": {"M": {"a": {"M": {"b": {"L": [{"N": "3"}]}}}, "n": {"N": "4"}}}
}"#;

static ITEM: LazyLock<Item> = LazyLock::new(|| {
    read_item(&mut Jiter::new(EXAMPLE)).expect("the example has the shape").expect("the example is an item")
});
static NAMES: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| ITEM.as_ref().iter().map(|(name, _)| (format!("#{name}"), name.to_owned())).collect());
static VALUES: LazyLock<BTreeMap<String, ValueBuf>> = LazyLock::new(|| {
    ITEM.as_ref().iter().map(|(name, value)| (format!(":{name}"), ValueBuf::from(value))).collect()
});

/// Printing sets blanks, so a text just below the limit may be printed beyond it.
const TEXT_BYTES_MAX: usize = 4096;

fuzz_target!(|text: &str| {
    let placeholders = || Placeholders::new(Some(&NAMES), Some(&VALUES));
    let item = ITEM.as_ref();

    if let Ok(tree) = parser::condition(Kind::Condition, text) {
        let printed = tree.to_string();
        if printed.len() <= TEXT_BYTES_MAX {
            let again = parser::condition(Kind::Condition, &printed);
            assert_eq!(again.expect("a printed condition parses").to_string(), printed);
        }
    }
    for kind in [Kind::Condition, Kind::Filter] {
        if let Ok(condition) = Condition::parse(kind, text, &mut placeholders()) {
            condition.evaluate(None);
            condition.evaluate(Some(item));
        }
    }
    let _ = KeyCondition::parse(text, &mut placeholders());

    if let Ok(tree) = parser::update(text) {
        let printed = tree.to_string();
        if printed.len() <= TEXT_BYTES_MAX {
            assert_eq!(parser::update(&printed).expect("a printed update parses").to_string(), printed);
        }
    }
    if let Ok(update) = Update::parse(text, &mut placeholders()) {
        update.charge_bytes();
        for (old, existed) in [(item, true), (Item::default().as_ref(), false)] {
            if let Ok(Updated::Item(new)) = update.apply(old, existed) {
                update.updated_old(old);
                update.updated_new(new.as_ref());
                is_canonical(new);
            }
        }
    }
    if let Ok(projection) = Projection::parse(text, &mut placeholders()) {
        is_canonical(projection.apply(item));
    }
});

/// What the engine would store must be readable.
fn is_canonical(item: Item) {
    let stored: Bytes = item.clone().into_stored();
    assert_eq!(Item::from_stored(stored).expect("a made item can be stored"), item);
}
