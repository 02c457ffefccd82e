//! What the store needs of FoundationDB, with two that offer it: the library, and the model that tests run on
//! everywhere.

use bytes::Bytes;

use crate::keys::KeyRange;
#[cfg(feature = "model")]
use crate::model;

/// A failure, as FoundationDB's library reports it.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) code: i32,
    pub(super) is_retryable: bool,
    pub(super) message: String,
}

/// Pairs of a key and its value.
pub(super) type Pairs = Vec<(Vec<u8>, Bytes)>;

/// Whether a read conflicts with commits that change what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Conflicts,
    Looks,
}

/// A side of a conflict that is added to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Reads,
    Writes,
}

/// Where transactions run.
pub(super) enum Database {
    #[cfg(feature = "client")]
    Cluster(foundationdb::Database),
    #[cfg(feature = "model")]
    Model(model::Model),
}

/// A transaction that reads one moment.
pub(super) enum Transaction {
    #[cfg(feature = "client")]
    Cluster(foundationdb::Transaction),
    #[cfg(feature = "model")]
    Model(Box<model::ModelTransaction>),
}

#[cfg(feature = "client")]
impl From<foundationdb::FdbError> for Refusal {
    fn from(error: foundationdb::FdbError) -> Refusal {
        Refusal {
            code: error.code(),
            is_retryable: error.is_retryable(),
            message: error.message().to_owned(),
        }
    }
}

#[cfg(feature = "model")]
impl From<model::Code> for Refusal {
    fn from(code: model::Code) -> Refusal {
        Refusal { code: code.0, is_retryable: code.is_retryable(), message: "the model refused".to_owned() }
    }
}

impl Database {
    /// A transaction that ends after this time.
    pub(super) fn begin(&self, limit: std::time::Duration) -> Result<Transaction, Refusal> {
        match self {
            #[cfg(feature = "client")]
            Database::Cluster(database) => {
                let transaction = database.create_trx()?;
                let limit_ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
                transaction.set_option(foundationdb::options::TransactionOption::Timeout(limit_ms))?;
                Ok(Transaction::Cluster(transaction))
            }
            #[cfg(feature = "model")]
            Database::Model(model) => {
                let _ = limit;
                Ok(Transaction::Model(Box::new(model.begin())))
            }
        }
    }

    /// The status of the cluster, as JSON.
    pub(super) async fn status(&self, limit: std::time::Duration) -> Option<Bytes> {
        const STATUS: &[u8] = b"\xff\xff/status/json";
        match self {
            #[cfg(feature = "client")]
            Database::Cluster(_) => self.begin(limit).ok()?.get(STATUS, Reading::Looks).await.ok()?,
            #[cfg(feature = "model")]
            Database::Model(_) => {
                let _ = (limit, STATUS);
                None
            }
        }
    }
}

impl Transaction {
    pub(super) async fn get(&self, key: &[u8], reading: Reading) -> Result<Option<Bytes>, Refusal> {
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => {
                let found = transaction.get(key, reading == Reading::Looks).await?;
                Ok(found.map(|value| Bytes::copy_from_slice(&value)))
            }
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => {
                Ok(transaction.get(key, reading == Reading::Conflicts).await?)
            }
        }
    }

    /// Some pairs of a range, in a direction, and whether there may be more. They conflict with nothing.
    pub(super) async fn some(
        &self,
        range: &KeyRange,
        is_backward: bool,
        limit: usize,
    ) -> Result<(Pairs, bool), Refusal> {
        if range.0 >= range.1 || limit == 0 {
            return Ok((Pairs::new(), false));
        }
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => {
                let mut option = foundationdb::RangeOption::from((&range.0[..], &range.1[..]));
                (option.reverse, option.limit) = (is_backward, Some(limit));
                option.mode = foundationdb::options::StreamingMode::WantAll;
                let pairs = transaction.get_range(&option, 1, true).await?;
                let owned = pairs.iter();
                let owned = owned.map(|pair| (pair.key().to_vec(), Bytes::copy_from_slice(pair.value())));
                Ok((owned.collect(), pairs.more() || pairs.len() == limit))
            }
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => Ok(transaction.some(range, is_backward, limit).await?),
        }
    }

    pub(super) fn set(&self, key: &[u8], value: &[u8]) {
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => transaction.set(key, value),
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => transaction.set(key, value),
        }
    }

    /// Raises a number that is stored in its order.
    pub(super) fn raise(&self, key: &[u8], number: u64) {
        let bytes = number.to_be_bytes();
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => {
                transaction.atomic_op(key, &bytes, foundationdb::options::MutationType::ByteMax);
            }
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => transaction.raise(key, &bytes),
        }
    }

    pub(super) fn clear(&self, key: &[u8]) {
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => transaction.clear(key),
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => {
                transaction.clear_range(key, &crate::keys::after(key.to_vec()))
            }
        }
    }

    pub(super) fn clear_range(&self, range: &KeyRange) {
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => transaction.clear_range(&range.0, &range.1),
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => transaction.clear_range(&range.0, &range.1),
        }
    }

    /// Makes the commit conflict where it would not by itself.
    pub(super) fn conflict(&self, range: &KeyRange, side: Side) -> Result<(), Refusal> {
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => {
                use foundationdb::options::ConflictRangeType;
                let kind = match side {
                    Side::Reads => ConflictRangeType::Read,
                    Side::Writes => ConflictRangeType::Write,
                };
                Ok(transaction.add_conflict_range(&range.0, &range.1, kind)?)
            }
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => {
                transaction.conflict(range, side == Side::Reads);
                Ok(())
            }
        }
    }

    pub(super) async fn commit(self) -> Result<(), Refusal> {
        match self {
            #[cfg(feature = "client")]
            Transaction::Cluster(transaction) => {
                transaction.commit().await.map_err(foundationdb::FdbError::from)?;
                Ok(())
            }
            #[cfg(feature = "model")]
            Transaction::Model(transaction) => Ok(transaction.commit().await?),
        }
    }
}
