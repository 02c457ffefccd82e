//! How much something holds.

use std::ops::{Add, Sub};

use item::ItemRef;
use serde::{Deserialize, Serialize};

/// A number of items and their bytes, or a difference of two such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub items: i64,
    pub bytes: i64,
}

impl Size {
    /// The size of one item.
    pub fn of(item: ItemRef<'_>) -> Size {
        Size { items: 1, bytes: item.size_bytes() as i64 }
    }
}

impl Add for Size {
    type Output = Size;

    fn add(self, other: Size) -> Size {
        Size { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }
}

impl Sub for Size {
    type Output = Size;

    fn sub(self, other: Size) -> Size {
        Size { items: self.items - other.items, bytes: self.bytes - other.bytes }
    }
}
