//! The metrics of the namespaces AWS/DynamoDB and AWS/DAX: their names, units and dimensions ([`Metric`]), the figures of a
//! minute ([`Cell`], [`Cells`]), how they are kept ([`Cells::encode`]) and how a question for a longer period is
//! answered from them ([`buckets`]). CloudWatch's API, Prometheus and the studio all read these cells.
//!
//! What keeping costs: a cell takes 5 to 39 bytes, most of them 8. A minute in which nothing happened takes
//! nothing. A busy table has some 6 cells a minute, 50 bytes, which makes 1 MB in 15 days. With every metric
//! of a table in every minute it is 17 MB. Where percentiles are asked for, a cell also has a [`Distribution`]:
//! some 3 bytes for each size of values that it saw, a few hundred for the latency of a busy operation.

mod bytes;
mod cell;
mod distribution;
mod time;

pub use bytes::{decode_sets, encode_sets};
pub use cell::{Cell, Cells};
pub use distribution::{Distribution, Ranks};
pub use time::{Point, buckets, kept_period_seconds};

use crate::throttle::{Access, Cause};

/// One metric. The order is part of what is stored: new ones come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The names are AWS's.
pub enum Metric {
    ConsumedReadCapacityUnits,
    ConsumedWriteCapacityUnits,
    ProvisionedReadCapacityUnits,
    ProvisionedWriteCapacityUnits,
    OnDemandMaxReadRequestUnits,
    OnDemandMaxWriteRequestUnits,
    ReadThrottleEvents,
    WriteThrottleEvents,
    ReadProvisionedThroughputThrottleEvents,
    WriteProvisionedThroughputThrottleEvents,
    ReadKeyRangeThroughputThrottleEvents,
    WriteKeyRangeThroughputThrottleEvents,
    ReadMaxOnDemandThroughputThrottleEvents,
    WriteMaxOnDemandThroughputThrottleEvents,
    ReadAccountLimitThrottleEvents,
    WriteAccountLimitThrottleEvents,
    ThrottledRequests,
    SuccessfulRequestLatency,
    ReturnedItemCount,
    SystemErrors,
    FaultInjectionServiceInducedErrors,
    ConditionalCheckFailedRequests,
    TransactionConflict,
    TimeToLiveDeletedItemCount,
    UserErrors,
    ReturnedBytes,
    ReturnedRecordsCount,
    OnlineIndexPercentageProgress,
    OnlineIndexConsumedWriteCapacity,
    OnlineIndexThrottleEvents,
    ReplicationLatency,
    AccountMaxReads,
    AccountMaxWrites,
    AccountMaxTableLevelReads,
    AccountMaxTableLevelWrites,
    AccountProvisionedReadCapacityUtilization,
    AccountProvisionedWriteCapacityUtilization,
    MaxProvisionedTableReadCapacityUtilization,
    MaxProvisionedTableWriteCapacityUtilization,
    ShadowReadThrottleEvents,
    ShadowWriteThrottleEvents,
    ShadowReadProvisionedThroughputThrottleEvents,
    ShadowWriteProvisionedThroughputThrottleEvents,
    ShadowReadKeyRangeThroughputThrottleEvents,
    ShadowWriteKeyRangeThroughputThrottleEvents,
    ShadowReadMaxOnDemandThroughputThrottleEvents,
    ShadowWriteMaxOnDemandThroughputThrottleEvents,
    ShadowReadAccountLimitThrottleEvents,
    ShadowWriteAccountLimitThrottleEvents,
    ItemCacheHits,
    ItemCacheMisses,
    QueryCacheHits,
    QueryCacheMisses,
    ScanCacheHits,
    ScanCacheMisses,
    TotalRequestCount,
    ErrorRequestCount,
    FaultRequestCount,
    FailedRequestCount,
    ThrottledRequestCount,
    GetItemRequestCount,
    BatchGetItemRequestCount,
    BatchWriteItemRequestCount,
    DeleteItemRequestCount,
    PutItemRequestCount,
    UpdateItemRequestCount,
    TransactGetItemsCount,
    TransactWriteItemsCount,
    QueryRequestCount,
    ScanRequestCount,
    EvictedSize,
    ClientConnections,
    ConsumedChangeDataCaptureUnits,
    FailedToReplicateRecordCount,
    ThrottledPutRecordCount,
    AgeOfOldestUnreplicatedRecord,
}

/// What a metric's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A time.
    Milliseconds,
    /// A size.
    Bytes,
    /// A share of 100.
    Percent,
}

impl Unit {
    /// As CloudWatch writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Count => "Count",
            Unit::Milliseconds => "Milliseconds",
            Unit::Bytes => "Bytes",
            Unit::Percent => "Percent",
        }
    }
}

/// The dimensions that a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `TableName`, or `TableName` and `GlobalSecondaryIndexName`. The table's figures never include its
    /// indexes'.
    Resource,
    /// `TableName`.
    Table,
    /// `TableName` and `GlobalSecondaryIndexName`.
    Index,
    /// `TableName` and `Operation`.
    Operation,
    /// `TableName`, `StreamLabel` and `Operation`.
    Stream,
    /// `TableName` and `ReceivingRegion`.
    Replica,
    /// `TableName` and `DelegatedOperation`: what is done for a table on its own, delivering to Kinesis.
    Delegated,
    /// None: the account and Region.
    Account,
    /// `ClusterId`, or `ClusterId` and `NodeId`: the cache in front of the tables.
    Cluster,
}

use Metric::*;

/// All metrics in the order of their numbers.
const FACTS: [(Metric, &str, Unit, Scope); 76] = [
    (ConsumedReadCapacityUnits, "ConsumedReadCapacityUnits", Unit::Count, Scope::Resource),
    (ConsumedWriteCapacityUnits, "ConsumedWriteCapacityUnits", Unit::Count, Scope::Resource),
    (ProvisionedReadCapacityUnits, "ProvisionedReadCapacityUnits", Unit::Count, Scope::Resource),
    (ProvisionedWriteCapacityUnits, "ProvisionedWriteCapacityUnits", Unit::Count, Scope::Resource),
    (OnDemandMaxReadRequestUnits, "OnDemandMaxReadRequestUnits", Unit::Count, Scope::Resource),
    (OnDemandMaxWriteRequestUnits, "OnDemandMaxWriteRequestUnits", Unit::Count, Scope::Resource),
    (ReadThrottleEvents, "ReadThrottleEvents", Unit::Count, Scope::Resource),
    (WriteThrottleEvents, "WriteThrottleEvents", Unit::Count, Scope::Resource),
    (
        ReadProvisionedThroughputThrottleEvents,
        "ReadProvisionedThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        WriteProvisionedThroughputThrottleEvents,
        "WriteProvisionedThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ReadKeyRangeThroughputThrottleEvents,
        "ReadKeyRangeThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        WriteKeyRangeThroughputThrottleEvents,
        "WriteKeyRangeThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ReadMaxOnDemandThroughputThrottleEvents,
        "ReadMaxOnDemandThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        WriteMaxOnDemandThroughputThrottleEvents,
        "WriteMaxOnDemandThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (ReadAccountLimitThrottleEvents, "ReadAccountLimitThrottleEvents", Unit::Count, Scope::Resource),
    (WriteAccountLimitThrottleEvents, "WriteAccountLimitThrottleEvents", Unit::Count, Scope::Resource),
    (ThrottledRequests, "ThrottledRequests", Unit::Count, Scope::Operation),
    (SuccessfulRequestLatency, "SuccessfulRequestLatency", Unit::Milliseconds, Scope::Operation),
    (ReturnedItemCount, "ReturnedItemCount", Unit::Count, Scope::Operation),
    (SystemErrors, "SystemErrors", Unit::Count, Scope::Operation),
    (FaultInjectionServiceInducedErrors, "FaultInjectionServiceInducedErrors", Unit::Count, Scope::Operation),
    (ConditionalCheckFailedRequests, "ConditionalCheckFailedRequests", Unit::Count, Scope::Table),
    (TransactionConflict, "TransactionConflict", Unit::Count, Scope::Table),
    (TimeToLiveDeletedItemCount, "TimeToLiveDeletedItemCount", Unit::Count, Scope::Table),
    (UserErrors, "UserErrors", Unit::Count, Scope::Account),
    (ReturnedBytes, "ReturnedBytes", Unit::Bytes, Scope::Stream),
    (ReturnedRecordsCount, "ReturnedRecordsCount", Unit::Count, Scope::Stream),
    (OnlineIndexPercentageProgress, "OnlineIndexPercentageProgress", Unit::Count, Scope::Index),
    (OnlineIndexConsumedWriteCapacity, "OnlineIndexConsumedWriteCapacity", Unit::Count, Scope::Index),
    (OnlineIndexThrottleEvents, "OnlineIndexThrottleEvents", Unit::Count, Scope::Index),
    (ReplicationLatency, "ReplicationLatency", Unit::Milliseconds, Scope::Replica),
    (AccountMaxReads, "AccountMaxReads", Unit::Count, Scope::Account),
    (AccountMaxWrites, "AccountMaxWrites", Unit::Count, Scope::Account),
    (AccountMaxTableLevelReads, "AccountMaxTableLevelReads", Unit::Count, Scope::Account),
    (AccountMaxTableLevelWrites, "AccountMaxTableLevelWrites", Unit::Count, Scope::Account),
    (
        AccountProvisionedReadCapacityUtilization,
        "AccountProvisionedReadCapacityUtilization",
        Unit::Percent,
        Scope::Account,
    ),
    (
        AccountProvisionedWriteCapacityUtilization,
        "AccountProvisionedWriteCapacityUtilization",
        Unit::Percent,
        Scope::Account,
    ),
    (
        MaxProvisionedTableReadCapacityUtilization,
        "MaxProvisionedTableReadCapacityUtilization",
        Unit::Percent,
        Scope::Account,
    ),
    (
        MaxProvisionedTableWriteCapacityUtilization,
        "MaxProvisionedTableWriteCapacityUtilization",
        Unit::Percent,
        Scope::Account,
    ),
    (ShadowReadThrottleEvents, "ShadowReadThrottleEvents", Unit::Count, Scope::Resource),
    (ShadowWriteThrottleEvents, "ShadowWriteThrottleEvents", Unit::Count, Scope::Resource),
    (
        ShadowReadProvisionedThroughputThrottleEvents,
        "ShadowReadProvisionedThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ShadowWriteProvisionedThroughputThrottleEvents,
        "ShadowWriteProvisionedThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ShadowReadKeyRangeThroughputThrottleEvents,
        "ShadowReadKeyRangeThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ShadowWriteKeyRangeThroughputThrottleEvents,
        "ShadowWriteKeyRangeThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ShadowReadMaxOnDemandThroughputThrottleEvents,
        "ShadowReadMaxOnDemandThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ShadowWriteMaxOnDemandThroughputThrottleEvents,
        "ShadowWriteMaxOnDemandThroughputThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ShadowReadAccountLimitThrottleEvents,
        "ShadowReadAccountLimitThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (
        ShadowWriteAccountLimitThrottleEvents,
        "ShadowWriteAccountLimitThrottleEvents",
        Unit::Count,
        Scope::Resource,
    ),
    (ItemCacheHits, "ItemCacheHits", Unit::Count, Scope::Cluster),
    (ItemCacheMisses, "ItemCacheMisses", Unit::Count, Scope::Cluster),
    (QueryCacheHits, "QueryCacheHits", Unit::Count, Scope::Cluster),
    (QueryCacheMisses, "QueryCacheMisses", Unit::Count, Scope::Cluster),
    (ScanCacheHits, "ScanCacheHits", Unit::Count, Scope::Cluster),
    (ScanCacheMisses, "ScanCacheMisses", Unit::Count, Scope::Cluster),
    (TotalRequestCount, "TotalRequestCount", Unit::Count, Scope::Cluster),
    (ErrorRequestCount, "ErrorRequestCount", Unit::Count, Scope::Cluster),
    (FaultRequestCount, "FaultRequestCount", Unit::Count, Scope::Cluster),
    (FailedRequestCount, "FailedRequestCount", Unit::Count, Scope::Cluster),
    (ThrottledRequestCount, "ThrottledRequestCount", Unit::Count, Scope::Cluster),
    (GetItemRequestCount, "GetItemRequestCount", Unit::Count, Scope::Cluster),
    (BatchGetItemRequestCount, "BatchGetItemRequestCount", Unit::Count, Scope::Cluster),
    (BatchWriteItemRequestCount, "BatchWriteItemRequestCount", Unit::Count, Scope::Cluster),
    (DeleteItemRequestCount, "DeleteItemRequestCount", Unit::Count, Scope::Cluster),
    (PutItemRequestCount, "PutItemRequestCount", Unit::Count, Scope::Cluster),
    (UpdateItemRequestCount, "UpdateItemRequestCount", Unit::Count, Scope::Cluster),
    (TransactGetItemsCount, "TransactGetItemsCount", Unit::Count, Scope::Cluster),
    (TransactWriteItemsCount, "TransactWriteItemsCount", Unit::Count, Scope::Cluster),
    (QueryRequestCount, "QueryRequestCount", Unit::Count, Scope::Cluster),
    (ScanRequestCount, "ScanRequestCount", Unit::Count, Scope::Cluster),
    (EvictedSize, "EvictedSize", Unit::Bytes, Scope::Cluster),
    (ClientConnections, "ClientConnections", Unit::Count, Scope::Cluster),
    (ConsumedChangeDataCaptureUnits, "ConsumedChangeDataCaptureUnits", Unit::Count, Scope::Delegated),
    (FailedToReplicateRecordCount, "FailedToReplicateRecordCount", Unit::Count, Scope::Delegated),
    (ThrottledPutRecordCount, "ThrottledPutRecordCount", Unit::Count, Scope::Delegated),
    (AgeOfOldestUnreplicatedRecord, "AgeOfOldestUnreplicatedRecord", Unit::Milliseconds, Scope::Delegated),
];

impl Metric {
    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Metric> {
        FACTS.iter().map(|(metric, ..)| *metric)
    }

    /// The metric of this name.
    pub fn named(name: &str) -> Option<Metric> {
        FACTS.iter().find(|(_, known, ..)| *known == name).map(|(metric, ..)| *metric)
    }

    /// `MetricName`.
    pub fn name(self) -> &'static str {
        FACTS[self as usize].1
    }

    /// What its values are.
    pub fn unit(self) -> Unit {
        FACTS[self as usize].2
    }

    /// The dimensions that it has. `ThrottledRequests` also has `TableName` alone.
    pub fn scope(self) -> Scope {
        FACTS[self as usize].3
    }

    /// `Namespace`.
    pub fn namespace(self) -> &'static str {
        if self.scope() == Scope::Cluster { "AWS/DAX" } else { "AWS/DynamoDB" }
    }

    /// The units that a request used.
    pub fn consumed(access: Access) -> Metric {
        match access {
            Access::Read => ConsumedReadCapacityUnits,
            Access::Write => ConsumedWriteCapacityUnits,
        }
    }

    /// Every throttled part of a request.
    pub fn throttle_events(access: Access) -> Metric {
        match access {
            Access::Read => ReadThrottleEvents,
            Access::Write => WriteThrottleEvents,
        }
    }

    /// Every part of a request that was throttled for this cause. It counts beside [`Metric::throttle_events`].
    pub fn throttle_events_for(access: Access, cause: Cause) -> Metric {
        match (access, cause) {
            (Access::Read, Cause::ProvisionedThroughputExceeded) => ReadProvisionedThroughputThrottleEvents,
            (Access::Write, Cause::ProvisionedThroughputExceeded) => WriteProvisionedThroughputThrottleEvents,
            (Access::Read, Cause::KeyRangeThroughputExceeded) => ReadKeyRangeThroughputThrottleEvents,
            (Access::Write, Cause::KeyRangeThroughputExceeded) => WriteKeyRangeThroughputThrottleEvents,
            (Access::Read, Cause::MaxOnDemandThroughputExceeded) => ReadMaxOnDemandThroughputThrottleEvents,
            (Access::Write, Cause::MaxOnDemandThroughputExceeded) => WriteMaxOnDemandThroughputThrottleEvents,
            (Access::Read, Cause::AccountLimitExceeded) => ReadAccountLimitThrottleEvents,
            (Access::Write, Cause::AccountLimitExceeded) => WriteAccountLimitThrottleEvents,
        }
    }

    /// What counts in place of [`Metric::throttle_events`] where a request is served that AWS would have
    /// throttled.
    pub fn shadow_events(access: Access) -> Metric {
        match access {
            Access::Read => ShadowReadThrottleEvents,
            Access::Write => ShadowWriteThrottleEvents,
        }
    }

    /// What counts in place of [`Metric::throttle_events_for`] where a request is served that AWS would have
    /// throttled.
    pub fn shadow_events_for(access: Access, cause: Cause) -> Metric {
        match (access, cause) {
            (Access::Read, Cause::ProvisionedThroughputExceeded) => {
                ShadowReadProvisionedThroughputThrottleEvents
            }
            (Access::Write, Cause::ProvisionedThroughputExceeded) => {
                ShadowWriteProvisionedThroughputThrottleEvents
            }
            (Access::Read, Cause::KeyRangeThroughputExceeded) => ShadowReadKeyRangeThroughputThrottleEvents,
            (Access::Write, Cause::KeyRangeThroughputExceeded) => ShadowWriteKeyRangeThroughputThrottleEvents,
            (Access::Read, Cause::MaxOnDemandThroughputExceeded) => {
                ShadowReadMaxOnDemandThroughputThrottleEvents
            }
            (Access::Write, Cause::MaxOnDemandThroughputExceeded) => {
                ShadowWriteMaxOnDemandThroughputThrottleEvents
            }
            (Access::Read, Cause::AccountLimitExceeded) => ShadowReadAccountLimitThrottleEvents,
            (Access::Write, Cause::AccountLimitExceeded) => ShadowWriteAccountLimitThrottleEvents,
        }
    }

    /// Whether its values are measured request by request, so that percentiles say something. Units and events are
    /// counted, and what is declared is the same for a while: their minutes have no distribution.
    pub fn has_percentiles(self) -> bool {
        matches!(
            self,
            SuccessfulRequestLatency
                | ReturnedItemCount
                | ReturnedBytes
                | ReturnedRecordsCount
                | ReplicationLatency
                | AgeOfOldestUnreplicatedRecord
        )
    }

    fn from_number(number: u8) -> Option<Metric> {
        FACTS.get(usize::from(number)).map(|(metric, ..)| *metric)
    }
}
