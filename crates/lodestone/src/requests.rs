//! `POST /lodestone/requests`, for `lodestone model learn`, which the operator signs.
//!
//! `{"account", "region", "minutes", "keys"}` begins to watch, where `keys` has the key attributes of each table;
//! `{}` ends it and hands out what was seen. It ends by itself when the minutes are over.

use engine::Namespace;
use model::learn::shape::KeyNames;
use serde_json::{Value, json};
use studio::Watch;

pub const PATH: &str = "/lodestone/requests";

/// Begins, or hands out what was seen.
pub fn answer(watch: &Watch, body: &[u8]) -> Result<Value, String> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(minutes) = body["minutes"].as_f64() {
        let keys: KeyNames = serde_json::from_value(body["keys"].clone()).unwrap_or_default();
        let text = |member: &str| body[member].as_str().unwrap_or_default();
        watch.begin(Namespace::new(text("account"), text("region")), minutes, keys)?;
        return Ok(json!({}));
    }
    watch.end();
    let found = watch.seen().ok_or("Nothing was watched: begin with `minutes`.")?;
    let mut seen = found.shapes.to_json();
    seen["seconds"] = json!(found.seconds);
    Ok(seen)
}
