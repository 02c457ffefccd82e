//! Which requests a fault is for. Pure: time and chance are handed in.

use std::time::Duration;

use api::Operation;
use item::Item;

use crate::Namespace;

/// The longest that a request is delayed, or left without an answer.
pub const DELAY_MAX: Duration = Duration::from_secs(60);

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The table has no throughput left for it.
    Throttle,
    /// DynamoDB fails: InternalServerError.
    Internal,
    /// There is no answer until the client gives up. Half of these requests are carried out nevertheless.
    Timeout,
    /// A transaction is under way on its items.
    Conflict,
    /// It is carried out later.
    Slow,
}

impl FaultKind {
    /// Every kind there is.
    pub const ALL: [FaultKind; 5] =
        [FaultKind::Throttle, FaultKind::Internal, FaultKind::Timeout, FaultKind::Conflict, FaultKind::Slow];

    /// The word for it in commands and metrics.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Throttle => "throttle",
            FaultKind::Internal => "internal",
            FaultKind::Timeout => "timeout",
            FaultKind::Conflict => "conflict",
            FaultKind::Slow => "slow",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<FaultKind> {
        FaultKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether DynamoDB itself can answer an operation like this.
    pub fn can_happen_to(self, operation: Operation) -> bool {
        self != FaultKind::Conflict
            || matches!(
                operation,
                Operation::PutItem
                    | Operation::UpdateItem
                    | Operation::DeleteItem
                    | Operation::ExecuteStatement
                    | Operation::TransactWriteItems
                    | Operation::TransactGetItems
                    | Operation::ExecuteTransaction
            )
    }
}

/// A fault and the requests that meet it. What is not said does not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    pub namespace: Namespace,
    pub table: Option<String>,
    pub operation: Option<Operation>,
    /// Attributes of the key of an item that the request names.
    pub key: Option<Item>,
    pub kind: FaultKind,
    /// How many of the requests meet it: from 0 to 1.
    pub share: f64,
    /// How long a slow request waits.
    pub delay: Duration,
    /// When the fault ends by itself, in milliseconds since 1970.
    pub ends_ms: Option<u64>,
}

/// What a request does with one table.
pub struct Touch<'a> {
    pub operation: Operation,
    pub namespace: &'a Namespace,
    pub table: &'a str,
    /// Whether it names an item with these key attributes.
    pub names: &'a dyn Fn(&Item) -> bool,
}

impl FaultRule {
    /// Whether the fault is for requests that do this.
    pub fn concerns(&self, touch: &Touch<'_>) -> bool {
        self.namespace == *touch.namespace
            && self.table.as_deref().is_none_or(|table| table == touch.table)
            && self.operation.is_none_or(|operation| operation == touch.operation)
            && self.kind.can_happen_to(touch.operation)
            && self.key.as_ref().is_none_or(|key| (touch.names)(key))
    }

    /// Whether one of the requests that it is for meets it, given a random number.
    pub fn strikes(&self, random: u64) -> bool {
        (random as f64) < self.share * 2f64.powi(64)
    }

    /// Whether its time is over.
    pub fn is_over(&self, now_ms: u64) -> bool {
        self.ends_ms.is_some_and(|ends_ms| ends_ms <= now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use item::Value;

    fn rule(kind: FaultKind) -> FaultRule {
        FaultRule {
            namespace: Namespace::new("000000000000", "us-east-1"),
            table: None,
            operation: None,
            key: None,
            kind,
            share: 1.0,
            delay: Duration::ZERO,
            ends_ms: None,
        }
    }

    fn concerns(rule: &FaultRule, operation: Operation, table: &str, region: &str) -> bool {
        let namespace = Namespace::new("000000000000", region);
        rule.concerns(&Touch { operation, namespace: &namespace, table, names: &|_| false })
    }

    #[test]
    fn what_a_rule_does_not_say_does_not_matter() {
        let any = rule(FaultKind::Internal);
        assert!(concerns(&any, Operation::Scan, "a", "us-east-1"));
        assert!(!concerns(&any, Operation::Scan, "a", "eu-west-1"), "another Region has other tables");
        let of_table = FaultRule { table: Some("a".into()), ..any.clone() };
        assert!(concerns(&of_table, Operation::Scan, "a", "us-east-1"));
        assert!(!concerns(&of_table, Operation::Scan, "b", "us-east-1"));
        let of_operation = FaultRule { operation: Some(Operation::Query), ..any.clone() };
        assert!(!concerns(&of_operation, Operation::Scan, "a", "us-east-1"));
        let key: Item = [("p", Value::S("x".into()))].into_iter().collect();
        let of_key = FaultRule { key: Some(key), ..any };
        assert!(!concerns(&of_key, Operation::Scan, "a", "us-east-1"), "a Scan names no key");
    }

    #[test]
    fn only_writes_and_transactions_meet_conflicts() {
        let conflict = rule(FaultKind::Conflict);
        assert!(concerns(&conflict, Operation::PutItem, "a", "us-east-1"));
        assert!(concerns(&conflict, Operation::TransactGetItems, "a", "us-east-1"));
        assert!(!concerns(&conflict, Operation::GetItem, "a", "us-east-1"));
        assert!(!concerns(&conflict, Operation::CreateTable, "a", "us-east-1"));
    }

    #[test]
    fn a_share_of_the_random_numbers_strikes() {
        let tenth = FaultRule { share: 0.1, ..rule(FaultKind::Internal) };
        let step = u64::MAX / 1000;
        let struck = (0..1000).filter(|number| tenth.strikes(number * step)).count();
        assert!((100..=101).contains(&struck), "{struck}");
        let all = rule(FaultKind::Internal);
        assert!(all.strikes(0) && all.strikes(u64::MAX >> 11 << 11));
    }

    #[test]
    fn a_rule_ends_when_its_time_is_over() {
        let five = FaultRule { ends_ms: Some(5), ..rule(FaultKind::Slow) };
        assert!(!five.is_over(4) && five.is_over(5));
        assert!(!rule(FaultKind::Slow).is_over(u64::MAX));
    }
}
