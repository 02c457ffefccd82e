//! What can be wrong with a pattern that was tried.

use std::fmt;

use api::Error;
use model::diagnostic::counted;
use model::request::Unsendable;

/// One way in which the database did not do what the model says.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A gap of the plan, known before anything runs.
    Gap(String),
    /// The sender does not know a value of the request.
    Unknown(String),
    /// DynamoDB refuses the request.
    Refused(String),
    /// Items that should have been returned or stored and were not.
    Missing {
        items: Vec<String>,
    },
    /// Items that were returned and are not wanted.
    Unwanted {
        items: Vec<String>,
    },
    /// Items that were returned with missing or different attributes.
    Attributes {
        item: String,
        attributes: Vec<String>,
    },
    /// The result has another order: this item before that one.
    Order {
        earlier: String,
        later: String,
    },
    Requests {
        planned: u64,
        sent: u64,
    },
    /// More pages than the reader asks for, or than predicted.
    Pages {
        expected: u64,
        read: u64,
    },
    /// Items were read and dropped by the filter.
    Examined {
        examined: u64,
        returned: u64,
    },
    Capacity {
        part: String,
        predicted: f64,
        consumed: f64,
    },
    /// Items that have expired and not yet been removed come back.
    Expired {
        items: Vec<String>,
    },
    /// Two items with the same primary key: the second overwrites the first.
    Collision {
        key: String,
    },
    /// Two items with the same `id` were created.
    Twice {
        entity: String,
        id: String,
    },
    /// A key gets more in its busiest second than the database serves.
    Throttled {
        key: String,
        units: u64,
        /// Which units: `read` or `write`.
        kind: &'static str,
        served: u64,
        refusal: String,
    },
    /// A row of an index is not what the model says.
    IndexRows {
        index: String,
        missing: Vec<String>,
        unwanted: Vec<String>,
    },
    /// The plan says whether an item is in an index, and the index disagrees.
    Membership {
        index: String,
        planned: String,
        found: String,
    },
    /// The stored item is not what was written.
    Stored {
        item: String,
    },
    /// The file's own request does something else than the pattern says.
    Request(String),
    /// After the request, an index has the item under a key that its attributes do not give.
    StaleKey {
        index: String,
        item: String,
        /// The key, or `None` if the item is not in the index.
        found: Option<String>,
        meant: Option<String>,
    },
    /// With as many items as the file declares, the limit leaves no place for an entity.
    Lost {
        entity: String,
        limit: u64,
        items: usize,
    },
    /// There is nothing to try the pattern on.
    NoData(String),
}

impl Fault {
    /// Whether it is the same kind of failure, whatever the items are.
    pub fn is_like(&self, other: &Fault) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Fault::Gap(_) => "plan",
            Fault::Unknown(_) => "unknown-value",
            Fault::Refused(_) => "refused",
            Fault::Missing { .. } => "missing-items",
            Fault::Unwanted { .. } => "unwanted-items",
            Fault::Attributes { .. } => "attributes",
            Fault::Order { .. } => "order",
            Fault::Requests { .. } => "requests",
            Fault::Pages { .. } => "pages",
            Fault::Examined { .. } => "filter-selects",
            Fault::Capacity { .. } => "capacity",
            Fault::Expired { .. } => "expired-items",
            Fault::Collision { .. } => "key-collision",
            Fault::Twice { .. } => "created-twice",
            Fault::Throttled { .. } => "throttled",
            Fault::IndexRows { .. } => "index-rows",
            Fault::Membership { .. } => "index-membership",
            Fault::Stored { .. } => "stored-item",
            Fault::Request(_) => "request",
            Fault::StaleKey { .. } => "stale-index-key",
            Fault::Lost { .. } => "entity-lost",
            Fault::NoData(_) => "no-data",
        }
    }
}

impl From<Unsendable> for Fault {
    fn from(unsendable: Unsendable) -> Fault {
        match unsendable {
            Unsendable::Impossible(why) => Fault::Gap(why),
            Unsendable::Unknown(what) => Fault::Unknown(what),
            Unsendable::NoData(what) => Fault::NoData(what),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Refused(error.message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Gap(gap) => formatter.write_str(gap),
            Fault::Unknown(what) => write!(formatter, "the sender of the request does not know {what}"),
            Fault::Refused(message) => write!(formatter, "DynamoDB refuses it: {message}"),
            Fault::Missing { items } => write!(formatter, "does not come back: {}", items.join(", ")),
            Fault::Unwanted { items } => {
                write!(formatter, "comes back and is not wanted: {}", items.join(", "))
            }
            Fault::Attributes { item, attributes } => {
                write!(formatter, "{item} comes back with other attributes: {}", attributes.join(", "))
            }
            Fault::Order { earlier, later } => {
                write!(formatter, "comes back in another order than asked for: {earlier} before {later}")
            }
            Fault::Requests { planned, sent } => {
                let sent = counted(*sent, "request");
                write!(formatter, "takes {sent}, planned {planned}")
            }
            Fault::Pages { expected: 1, read } => write!(
                formatter,
                "takes {read} pages, since one page holds 1 MB; the reader asks for one (say `paged: true` or `limit`)"
            ),
            Fault::Pages { expected, read } => {
                write!(formatter, "takes {}, not {expected}", counted(*read, "page"))
            }
            Fault::Examined { examined, returned } => {
                write!(formatter, "a filter selects: of {examined} examined {returned} came back")
            }
            Fault::Capacity { part, predicted, consumed } => {
                write!(formatter, "consumes {consumed} units of {part}, predicted were {predicted}")
            }
            Fault::Expired { items } => write!(
                formatter,
                "has expired and still comes back, for up to two days: {}",
                items.join(", ")
            ),
            Fault::Collision { key } => {
                write!(formatter, "two items have the key {key}: the second overwrites the first")
            }
            Fault::Twice { entity, id } => {
                write!(formatter, "two `{entity}` items with the id {id} can be created: their keys differ")
            }
            Fault::Throttled { key, units, kind, served, refusal } => write!(
                formatter,
                "the key {key} gets {units} {kind} units a second; after {} it was refused: {refusal}",
                counted(*served, "request")
            ),
            Fault::IndexRows { index, missing, unwanted } => {
                let list =
                    |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
                write!(formatter, "index `{index}` lacks {}, and also has {}", list(missing), list(unwanted))
            }
            Fault::Membership { index, planned, found } => {
                write!(
                    formatter,
                    "the item is {found} index `{index}` where it is planned to be {planned} it"
                )
            }
            Fault::Stored { item } => write!(formatter, "{item} is not stored as it was written"),
            Fault::Request(what) => write!(formatter, "the file's own request {what}"),
            Fault::StaleKey { index, item, found, meant } => {
                let under = |key: &Option<String>| match key {
                    Some(key) => format!("under {key}"),
                    None => "not in it".to_owned(),
                };
                write!(
                    formatter,
                    "after the file's own request, index `{index}` has {item} {}; by its attributes it is {}",
                    if found.is_some() { under(found) } else { "nowhere".to_owned() },
                    under(meant)
                )
            }
            Fault::Lost { entity, limit, items } => write!(
                formatter,
                "no `{entity}` comes back: of {items} items the limit takes the first {limit}, and it is behind them"
            ),
            Fault::NoData(what) => write!(formatter, "there is no {what} to try it on"),
        }
    }
}
