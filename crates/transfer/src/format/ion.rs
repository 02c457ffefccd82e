//! Records in Ion text: exactly what DynamoDB writes and accepts.
//!
//! | DynamoDB | Ion |
//! |---|---|
//! | S | string |
//! | N | decimal: `103.`, `6d2`, `1.5` |
//! | B | blob: `{{aGk=}}` |
//! | BOOL, NULL | `true`, `false`, `null` |
//! | SS, NS, BS | list with an annotation: `$dynamodb_SS::["a","b"]` |
//! | L, M | list, struct |

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::{write_change, write_item};

/// How a line begins. Readers accept lines without it.
pub(super) const VERSION_MARKER: &[u8] = b"$ion_1_0";

use item::Type;

/// The annotation of a set.
fn annotation(set: Type) -> &'static str {
    match set {
        Type::Ns => "$dynamodb_NS",
        Type::Bs => "$dynamodb_BS",
        _ => "$dynamodb_SS",
    }
}
