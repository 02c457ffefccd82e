//! Any bytes, first as a stored item and then as JSON: what is accepted is canonical and survives the way
//! to JSON and back; what is not is an error.

#![no_main]

use bytes::Bytes;
use item::json::{Jiter, read_item, write_item};
use item::{Item, ValueBuf, key};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(item) = Item::from_stored(Bytes::copy_from_slice(data)) {
        assert_eq!(item.clone().into_stored(), data);
        survives_json(&item);
    }
    if let Ok(Ok(item)) = read_item(&mut Jiter::new(data)) {
        let stored = item.clone().into_stored();
        assert_eq!(Item::from_stored(stored).as_ref(), Ok(&item));
        survives_json(&item);
    }
});

fn survives_json(item: &Item) {
    let mut json = Vec::new();
    write_item(item.as_ref(), &mut json);
    let again =
        read_item(&mut Jiter::new(&json)).expect("printed JSON has the shape").expect("and is an item");
    assert_eq!(again, *item);
    assert_eq!(again.size_bytes(), item.size_bytes());
    for (name, value) in item.as_ref().iter() {
        assert_eq!(item.get(name), Some(value));
        assert_eq!(ValueBuf::from(&value.to_value()).as_ref(), value);
        if value.kind().is_ordered() {
            key::encode(value, &mut Vec::new());
        }
    }
}
