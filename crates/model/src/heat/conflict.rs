//! Transactions that meet on one item: how many are cancelled because another one is under way.
//!
//! A transaction holds its items for as long as it takes. Another write of one of them in that time is refused with
//! TransactionConflict, and nothing waits. So an item is a server without a queue: with λ transactions a second of T
//! seconds each, the share that finds it busy is λT / (1 + λT) (Erlang's loss formula for one server, which holds
//! whatever the distribution of T is). Retries come on top.

use serde::Serialize;

use super::key::{is_of_one_item, key_shares};
use crate::Model;
use crate::facts::Limits;
use crate::model::{ActionKind, EntityId, Grouping, Pattern, Place, Write, WriteVerb};
use crate::predict::found::items_per_key;
use crate::traffic::Day;

/// A smaller share is lost by retries without notice.
const SHARE_LEAST: f64 = 0.01;

/// What happens to the busiest item of an entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WriteConflict {
    #[serde(skip)]
    pub entity: EntityId,
    pub table: String,
    /// The partition key of the item, as its template renders it.
    pub key: String,
    /// Those that write the item, and those whose other writes meet them.
    pub patterns: Vec<String>,
    /// Transactions a second on the item in each hour, and other writes.
    pub transactions: Day,
    pub other_writes: Day,
    /// The share that is cancelled, in the busiest hour.
    pub cancelled: f64,
    /// The most transactions a second that one item takes, one after the other.
    pub most: f64,
}

/// Each entity whose busiest item is written by transactions so often that a noticeable share is cancelled, the worst
/// first.
pub fn conflicts(model: &Model, limits: &Limits) -> Vec<WriteConflict> {
    let mut found: Vec<WriteConflict> =
        model.entity_ids().filter_map(|id| conflict(model, id, limits)).collect();
    found.retain(|one| one.cancelled >= SHARE_LEAST);
    found.sort_by(|one, other| other.cancelled.total_cmp(&one.cancelled));
    found
}

/// The share of writes that find the item busy.
pub fn cancelled(transactions: f64, limits: &Limits) -> f64 {
    let offered = transactions * limits.transaction_seconds;
    offered / (1.0 + offered)
}

impl WriteConflict {
    /// Whether the item is asked for more transactions than it can take one after the other.
    pub fn is_beyond(&self) -> bool {
        self.transactions.peak() > self.most
    }
}

fn conflict(model: &Model, id: EntityId, limits: &Limits) -> Option<WriteConflict> {
    let place = model.places_of(id).into_iter().next()?;
    let (mut transactions, mut other_writes) = (Day::NOTHING, Day::NOTHING);
    let mut patterns: Vec<String> = Vec::new();
    let mut key = None;
    for pattern in model.patterns.iter().filter(|pattern| pattern.external.is_none()) {
        let Some(rate) = &pattern.rate else { continue };
        for action in &pattern.actions {
            let ActionKind::Write(write) = &action.kind else { continue };
            let Some(busiest) =
                busiest_item(model, place, pattern, write).filter(|_| write.entity.value == id)
            else {
                continue;
            };
            let on_item = Day::busiest(rate).times((busiest.share * action.times as f64).min(1.0));
            match pattern.grouping {
                Grouping::Transaction => transactions.add(&on_item),
                Grouping::Single | Grouping::Batch => other_writes.add(&on_item),
            }
            key.get_or_insert(busiest.key);
            if !patterns.contains(&pattern.id.value) {
                patterns.push(pattern.id.value.clone());
            }
        }
    }
    let cancelled = cancelled(transactions.peak(), limits);
    Some(WriteConflict {
        entity: id,
        table: place.table.name.value.clone(),
        key: key?,
        patterns,
        transactions,
        other_writes,
        cancelled,
        most: 1.0 / limits.transaction_seconds,
    })
}

/// An item, and the share of a pattern's requests that it gets.
struct BusiestItem {
    key: String,
    share: f64,
}

/// `None` for a new item: no other request has its key. Nor is anything known of an entity without a count.
fn busiest_item(model: &Model, place: Place<'_>, pattern: &Pattern, write: &Write) -> Option<BusiestItem> {
    model.items(place.entity_id)?;
    if write.verb == WriteVerb::Create {
        return None;
    }
    let skew = pattern.skew.as_ref().map(|skew| skew.value);
    let keys = key_shares(model, place, &|_| None, skew).into_iter();
    let busiest = keys.max_by(|one, other| one.share.total_cmp(&other.share))?;
    let items = if is_of_one_item(place) { 1.0 } else { items_per_key(model, place)?.max(1.0) };
    Some(BusiestItem { key: busiest.key, share: busiest.share / items })
}
