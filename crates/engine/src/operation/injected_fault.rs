//! Faults that an operator asked for: decided before an operation is carried out, with DynamoDB's own errors.
//!
//! The rule of a fault says which requests meet it (`rule.rs`; `faults.rs` has the rules that are on). A batch is
//! throttled item by item: those that meet the fault come back as unprocessed, and only a batch that has no other items
//! fails. A transaction is cancelled, with a reason for each action that meets the fault.

pub mod faults;
pub mod rule;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Error, ErrorKind, KeysAndAttributes, Operation, Request, Response, TableName, WriteRequest};
use capacity::{Access, Cause, Place, Reason};
use item::Item;

use super::authorization::access::{self, Resource};
use super::authorization::keys::{RequestKeys, agrees};
use super::{batch_execute_statement, cancellation, list};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::BillingMode;
use crate::operation::Engine;
use crate::operation::injected_fault::rule::{DELAY_MAX, FaultKind, FaultRule, Touch};
use crate::tables::catalog::LiveTable;
use crate::throughput::admission::Throttled;
use crate::throughput::usage::Ending;

/// How a fault ends a request.
enum Fate {
    Refused(Error),
    Late(Duration),
    /// The client gets no answer.
    Unanswered,
    /// These items of a batch are left over, the others are carried out.
    Partial(Vec<bool>),
}

/// One action of a request on one table.
struct Part<'r> {
    access: access::Access<'r>,
    namespace: Namespace,
    table: Option<Arc<LiveTable>>,
}

impl Engine {
    /// Carries out a request, unless a fault keeps it from that.
    pub(crate) async fn carry_out_with_faults(
        &self,
        caller: &Caller,
        mut request: Request,
    ) -> Result<Response, Error> {
        match self.fate(caller, &request) {
            None => list::dynamodb::run(self, caller, request).await,
            Some(Fate::Refused(error)) => Err(error),
            Some(Fate::Late(delay)) => {
                self.environment.sleep(delay).await;
                list::dynamodb::run(self, caller, request).await
            }
            Some(Fate::Unanswered) => {
                // The client can't know whether its request was carried out, so both happen.
                if self.environment.random() & 1 == 0 {
                    let _ = list::dynamodb::run(self, caller, request).await;
                }
                self.environment.sleep(DELAY_MAX).await;
                Err(Error::internal())
            }
            Some(Fate::Partial(is_left)) => {
                let left = take_items(&mut request, &is_left);
                list::dynamodb::run(self, caller, request)
                    .await
                    .map(|response| with_unprocessed(response, left))
            }
        }
    }

    fn fate(&self, caller: &Caller, request: &Request) -> Option<Fate> {
        let accesses = match request {
            Request::BatchExecuteStatement(input) => batch_execute_statement::accesses(input),
            request => list::dynamodb::access(request, &caller.namespace),
        };
        let parts: Vec<Part<'_>> = accesses.into_iter().map(|access| self.part(caller, access)).collect();
        let operation = request.operation();
        self.faults.first(self.environment.now_ms(), |rule| {
            let met: Vec<bool> = parts.iter().map(|part| self.concerns(rule, part, operation)).collect();
            if !met.contains(&true) {
                return None;
            }
            match batch_items(request).filter(|_| rule.kind == FaultKind::Throttle) {
                Some(items) => self.batch_fate(rule, operation, &parts, &items),
                None => self.strikes(rule).then(|| self.whole_fate(rule, operation, &parts, &met)),
            }
        })
    }

    fn part<'r>(&self, caller: &Caller, access: access::Access<'r>) -> Part<'r> {
        let name = access.resource.table_name().and_then(|name| TableName::parse(name).ok());
        let home = name.as_ref().and_then(|name| name.home);
        let namespace =
            home.map_or_else(|| caller.namespace.clone(), |home| Namespace::new(home.account, home.region));
        let table = name.and_then(|name| self.catalog.find(&namespace, name.name));
        Part { access, namespace, table }
    }

    fn concerns(&self, rule: &FaultRule, part: &Part<'_>, operation: Operation) -> bool {
        let keys = RequestKeys { engine: self, access: &part.access, table: part.table.as_deref() };
        let names = |key: &Item| keys.name(key);
        let (namespace, table) = (&part.namespace, part.table_name());
        rule.concerns(&Touch { operation, namespace, table, names: &names })
            && (rule.kind != FaultKind::Conflict || !is_lone_select(operation, part))
    }

    fn strikes(&self, rule: &FaultRule) -> bool {
        rule.share >= 1.0 || rule.strikes(self.environment.random() as u64)
    }

    /// Throttles single items of a batch.
    fn batch_fate(
        &self,
        rule: &FaultRule,
        operation: Operation,
        parts: &[Part<'_>],
        items: &[(&str, Option<&Item>)],
    ) -> Option<Fate> {
        let is_met = |(name, item): &(&str, Option<&Item>)| {
            let of_table = parts.iter().any(|part| {
                part.access.resource.table_name() == Some(name) && self.concerns(rule, part, operation)
            });
            let has_key = |key: &Item| item.is_some_and(|item| agrees(item.as_ref(), key));
            of_table && rule.key.as_ref().is_none_or(has_key) && self.strikes(rule)
        };
        let is_left: Vec<bool> = items.iter().map(is_met).collect();
        match (is_left.contains(&true), is_left.contains(&false)) {
            (false, _) => None,
            (true, true) => Some(Fate::Partial(is_left)),
            (true, false) => Some(self.whole_fate(rule, operation, parts, &vec![true; parts.len()])),
        }
    }

    /// How a request ends as a whole. `met` says which of its parts meet the fault; at least one does.
    fn whole_fate(&self, rule: &FaultRule, operation: Operation, parts: &[Part<'_>], met: &[bool]) -> Fate {
        let ending = match rule.kind {
            FaultKind::Slow => return Fate::Late(rule.delay),
            FaultKind::Timeout => return Fate::Unanswered,
            FaultKind::Throttle => Ending::Throttled,
            FaultKind::Conflict => Ending::Conflict { items: 1 },
            FaultKind::Internal => Ending::Failed,
        };
        let met_parts = || parts.iter().zip(met).filter(|(_, met)| **met).map(|(part, _)| part);
        if is_of_items(operation) {
            let now = self.usage.moment();
            let mut tables: Vec<&LiveTable> = met_parts().filter_map(|part| part.table.as_deref()).collect();
            tables.dedup_by_key(|table| table.space());
            for table in tables {
                self.usage.request(table, operation, ending, None, (now, now));
            }
        }
        let error = |part: &Part<'_>| match rule.kind {
            FaultKind::Throttle if is_of_items(operation) => part.throttled(),
            FaultKind::Throttle => rate_exceeded(),
            FaultKind::Conflict => part.conflict(),
            FaultKind::Internal | FaultKind::Timeout | FaultKind::Slow => Error::internal(),
        };
        if is_transaction(operation) && rule.kind != FaultKind::Internal {
            let result = |(part, met): (&Part<'_>, &bool)| if *met { Err(error(part)) } else { Ok(()) };
            return Fate::Refused(cancellation::of_results(parts.iter().zip(met).map(result).collect()));
        }
        Fate::Refused(met_parts().next().map_or_else(Error::internal, error))
    }
}

impl Part<'_> {
    fn table_name(&self) -> &str {
        match &self.table {
            Some(table) => &table.name,
            // A table that is not there has its name alone; an ARN of one is no name.
            None => self.access.resource.table_name().unwrap_or_default(),
        }
    }

    /// As a write meets another one: a transaction, or in a strong table a write of another Region.
    fn conflict(&self) -> Error {
        match &self.table {
            Some(table) if table.strong.is_some() => Error::replicated_write_conflict(),
            _ => Error::transaction_conflict(),
        }
    }

    /// As a table throttles that has used up what it has.
    fn throttled(&self) -> Error {
        let Some(table) = &self.table else { return rate_exceeded() };
        let index = match &self.access.resource {
            Resource::Index { index, .. } => table.index(index).filter(|index| index.is_global()),
            _ => None,
        };
        let place = index.map_or(Place::Table, |index| Place::Index(index.space().0));
        let access = if is_read(self.access.action) { Access::Read } else { Access::Write };
        let cause = match table.billing.mode {
            BillingMode::Provisioned => Cause::ProvisionedThroughputExceeded,
            BillingMode::OnDemand => Cause::KeyRangeThroughputExceeded,
        };
        Throttled::of(table, &[Reason { place, access, cause }]).into()
    }
}

fn rate_exceeded() -> Error {
    Error::new(ErrorKind::Throttling, "Rate of requests exceeds the allowed throughput.")
}

fn is_read(action: &str) -> bool {
    matches!(
        action.strip_prefix("dynamodb:"),
        Some("GetItem" | "BatchGetItem" | "Query" | "Scan" | "PartiQLSelect")
    )
}

/// A statement that reads by itself meets no transaction.
fn is_lone_select(operation: Operation, part: &Part<'_>) -> bool {
    operation == Operation::ExecuteStatement && is_read(part.access.action)
}

fn is_transaction(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::TransactGetItems | Operation::TransactWriteItems | Operation::ExecuteTransaction
    )
}

/// Whether it reads or writes items, and so uses the throughput of tables.
fn is_of_items(operation: Operation) -> bool {
    is_transaction(operation)
        || matches!(
            operation,
            Operation::PutItem
                | Operation::GetItem
                | Operation::UpdateItem
                | Operation::DeleteItem
                | Operation::Query
                | Operation::Scan
                | Operation::BatchGetItem
                | Operation::BatchWriteItem
                | Operation::ExecuteStatement
                | Operation::BatchExecuteStatement
        )
}

/// The items and keys of a batch with their tables, in the order of the request.
fn batch_items(request: &Request) -> Option<Vec<(&str, Option<&Item>)>> {
    match request {
        Request::BatchWriteItem(input) => {
            let writes = input.request_items.iter();
            let writes =
                writes.flat_map(|(name, writes)| writes.iter().map(|it| (name.as_str(), item_of(it))));
            Some(writes.collect())
        }
        Request::BatchGetItem(input) => {
            let reads = input.request_items.iter();
            let reads = reads.flat_map(|(name, read)| read.keys.iter().map(|key| (name.as_str(), Some(key))));
            Some(reads.collect())
        }
        _ => None,
    }
}

fn item_of(write: &WriteRequest) -> Option<&Item> {
    let put = write.put_request.as_ref().map(|put| &put.item);
    put.or_else(|| write.delete_request.as_ref().map(|delete| &delete.key))
}

/// What a batch leaves over.
enum Unprocessed {
    Writes(BTreeMap<String, Vec<WriteRequest>>),
    Keys(BTreeMap<String, KeysAndAttributes>),
}

/// Takes the items that are left over out of a batch; they are named in the order of [`batch_items`].
fn take_items(request: &mut Request, is_left: &[bool]) -> Option<Unprocessed> {
    let mut is_left = is_left.iter().copied();
    let mut next = || is_left.next().unwrap_or(false);
    match request {
        Request::BatchWriteItem(input) => {
            let mut left = BTreeMap::new();
            for (name, writes) in &mut input.request_items {
                let (taken, kept) = std::mem::take(writes).into_iter().partition(|_| next());
                *writes = kept;
                left.insert(name.clone(), taken);
            }
            input.request_items.retain(|_, writes| !writes.is_empty());
            Some(Unprocessed::Writes(left))
        }
        Request::BatchGetItem(input) => {
            let mut left = BTreeMap::new();
            for (name, read) in &mut input.request_items {
                let (taken, kept) = std::mem::take(&mut read.keys).into_iter().partition(|_| next());
                left.insert(name.clone(), KeysAndAttributes { keys: taken, ..read.clone() });
                read.keys = kept;
            }
            input.request_items.retain(|_, read| !read.keys.is_empty());
            Some(Unprocessed::Keys(left))
        }
        _ => None,
    }
}

/// The answer of a batch, with what was left over.
fn with_unprocessed(mut response: Response, left: Option<Unprocessed>) -> Response {
    match (&mut response, left) {
        (Response::BatchWriteItem(output), Some(Unprocessed::Writes(left))) => {
            let unprocessed = output.unprocessed_items.get_or_insert_default();
            for (name, writes) in left.into_iter().filter(|(_, writes)| !writes.is_empty()) {
                unprocessed.entry(name).or_default().extend(writes);
            }
        }
        (Response::BatchGetItem(output), Some(Unprocessed::Keys(left))) => {
            let unprocessed = output.unprocessed_keys.get_or_insert_default();
            for (name, read) in left.into_iter().filter(|(_, read)| !read.keys.is_empty()) {
                match unprocessed.get_mut(&name) {
                    Some(known) => known.keys.extend(read.keys),
                    None => drop(unprocessed.insert(name, read)),
                }
            }
        }
        _ => {}
    }
    response
}
