//! What an application sends for a pattern: complete API requests, with keys, expressions, names and values filled
//! in. Proofs send them and code shows them, so what is shown is what was proven.
//!
//! A plan says which operation serves a pattern; a request needs values too. For reads they are [`Given`]:
//! what the application knows. For writes they are [`Touch`]es: an item before and after.

pub mod expression;
pub mod given;
pub mod group;
pub mod literal;
pub mod read;
pub mod write;
pub mod write_case;
pub mod write_example;

use std::fmt;

pub use given::Given;
pub use read::PlannedRead;
pub use write_case::Touch;

/// Why there is no request.
#[derive(Clone, Debug, PartialEq)]
pub enum Unsendable {
    /// The API has no request for it.
    Impossible(String),
    /// The sender does not know a value of the request.
    Unknown(String),
    /// The example data has no item that the request could be about.
    NoData(String),
}

impl Unsendable {
    fn unknown(what: impl fmt::Display) -> Unsendable {
        Unsendable::Unknown(format!("`{what}`"))
    }

    /// For a check outside a transaction.
    pub fn lone_check() -> Unsendable {
        Unsendable::Impossible("a check must be in a transaction: `transact: [check …]`".to_owned())
    }

    /// For a transaction or batch that both reads and writes.
    pub fn mixed() -> Unsendable {
        Unsendable::Impossible("one request either reads or writes".to_owned())
    }
}

impl fmt::Display for Unsendable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsendable::Impossible(why) => formatter.write_str(why),
            Unsendable::Unknown(what) => {
                write!(formatter, "the sender of the request does not know {what}")
            }
            Unsendable::NoData(what) => write!(formatter, "there is no {what} to try it on"),
        }
    }
}
