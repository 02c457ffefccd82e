//! Tumbling windows: spans of equal length, aligned to 1970, with a state that the function hands on from one
//! call to the next.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A window that is open, and its state. It is stored with the shard's position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The first millisecond of the window.
    pub start_ms: u64,
    /// The first millisecond after the window.
    pub end_ms: u64,
    /// A JSON object.
    pub state: Value,
}

impl Window {
    /// The window around a time, with an empty state.
    pub fn around(time_ms: u64, length_ms: u64) -> Window {
        let start_ms = time_ms / length_ms * length_ms;
        Window { start_ms, end_ms: start_ms + length_ms, state: Value::Object(Map::new()) }
    }

    /// Starts again with an empty state.
    pub fn clear(&mut self) {
        self.state = Value::Object(Map::new());
    }
}
