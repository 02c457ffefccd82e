//! Transactions that meet on one item over the time that is played, minute by minute: [`crate::heat::conflicts`] says
//! which, and what share of them is cancelled.

use serde::Serialize;

use super::{DAY_MINUTES, MINUTE_SECONDS, Traffic};
use crate::Model;
use crate::facts::Limits;
use crate::heat::{cancelled, conflicts};
use crate::traffic::Day;

/// What happened to the busiest item of an entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConflictRun {
    pub table: String,
    pub key: String,
    pub patterns: Vec<String>,
    /// Transactions and other writes that asked for the item.
    pub requests: f64,
    /// Those that were cancelled because a transaction was under way.
    pub cancelled: f64,
    /// The share that is cancelled in the worst minute.
    pub worst_share: f64,
}

pub fn contention(model: &Model, traffic: &Traffic, limits: &Limits) -> Vec<ConflictRun> {
    let of_item = |one: crate::heat::WriteConflict| {
        let day = |day: Day| if traffic.is_flat() { Day::flat(day.average()) } else { day };
        let (transactions, others) = (day(one.transactions), day(one.other_writes));
        let mut run = ConflictRun {
            table: one.table,
            key: one.key,
            patterns: one.patterns,
            requests: 0.0,
            cancelled: 0.0,
            worst_share: 0.0,
        };
        for minute in 0..traffic.length_minutes() {
            let (of_day, factor) = (minute % DAY_MINUTES, traffic.factor(minute));
            let share = cancelled(transactions.at_minute(of_day) * factor, limits);
            let asked = (transactions.at_minute(of_day) + others.at_minute(of_day)) * factor;
            run.requests += asked * MINUTE_SECONDS as f64;
            run.cancelled += asked * share * MINUTE_SECONDS as f64;
            run.worst_share = run.worst_share.max(share);
        }
        run
    };
    conflicts(model, limits).into_iter().map(of_item).collect()
}
