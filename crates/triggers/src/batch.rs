//! Records that are delivered together, and what is done with them after each call.
//!
//! ```text
//! answer taken          delivered
//! item failures         records before the first of them are delivered; the rest is tried again
//! function error        halved, if the mapping bisects; else tried again until the retries are used up
//! not reached           tried again until the records are too old
//! ```

use std::collections::{HashMap, VecDeque};

use api::lambda::limits::STATE_BYTES_MAX;
use api::streams::limits::RECORD_LIFETIME;
use bytes::Bytes;
use serde_json::Value;

use crate::event::Entry;
use crate::mapping::Delivery;
use crate::time;

/// What a call of a function came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The function answered.
    Answer(Bytes),
    /// The function failed, timed out, or answered too much.
    FunctionError(String),
    /// The call did not get to the function; it does not count as a try.
    Unreachable {
        reason: String,
        /// Too many calls were under way.
        throttled: bool,
    },
}

/// Why records were given up.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    RetryAttemptsExhausted,
    MaximumRecordAgeExceeded,
}

/// Records that were given up: what is reported to the destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub condition: Condition,
    pub uuid: String,
    pub function_arn: String,
    pub stream_arn: String,
    pub shard_id: String,
    /// How often the function was called with them.
    pub invocations: u32,
    /// Whether the last of these calls reached the function.
    pub reached_function: bool,
    pub records: Vec<Entry>,
}

/// A record, and its place in the order in which the shard was read.
#[derive(Clone, Debug)]
pub struct Numbered {
    pub number: u64,
    pub entry: Entry,
}

/// Records that are delivered together.
#[derive(Debug, Default)]
pub struct Batch {
    pub records: VecDeque<Numbered>,
    /// The call that ends a tumbling window. It has no records.
    pub ending: Option<Ending>,
    /// Function errors that the first record met.
    failed_tries: u32,
    /// Failures of any kind in a row: the pause grows with them.
    failures: u32,
    invocations: u32,
    reached_function: bool,
    /// The next try comes no sooner.
    pub not_before_ms: u64,
}

/// How a tumbling window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its time is over, or the shard ends.
    OnTime,
    /// Its state is too large.
    Early,
}

/// What to do with a batch after a call.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    Delivered {
        state: Option<Value>,
    },
    /// The records before this index are delivered, the others are tried again.
    Partly {
        delivered: usize,
        state: Option<Value>,
    },
    /// The function failed. An answer that makes no sense does not halve the batch.
    Failed {
        may_split: bool,
    },
    Unreachable {
        throttled: bool,
    },
}

impl Batch {
    pub fn of(records: VecDeque<Numbered>) -> Batch {
        Batch { records, ..Batch::default() }
    }

    pub fn ending(ending: Ending) -> Batch {
        Batch { ending: Some(ending), ..Batch::default() }
    }

    pub fn note_invocation(&mut self) {
        self.invocations += 1;
    }

    /// Judges a call's outcome.
    pub fn judge(&self, outcome: &Outcome, delivery: &Delivery) -> Verdict {
        let body = match outcome {
            Outcome::Answer(body) => body,
            Outcome::FunctionError(_) => return Verdict::Failed { may_split: true },
            Outcome::Unreachable { throttled, .. } => return Verdict::Unreachable { throttled: *throttled },
        };
        let is_read = delivery.reports_item_failures || delivery.tumbling_window_ms.is_some();
        let Some(answer) = (if is_read { parse_answer(body) } else { Some(Value::Null) }) else {
            return Verdict::Failed { may_split: false };
        };
        let state = match delivery.tumbling_window_ms {
            None => None,
            // The call that ends a window hands no state on.
            Some(_) if self.ending.is_some() => None,
            Some(_) => match answer.get("state") {
                Some(state @ Value::Object(_)) => Some(state.clone()),
                _ => return Verdict::Failed { may_split: true },
            },
        };
        match self.first_failure(&answer, delivery) {
            Ok(None) => Verdict::Delivered { state },
            Ok(Some(index)) => Verdict::Partly { delivered: index, state },
            Err(()) => Verdict::Failed { may_split: false },
        }
    }

    /// The index of the first record that the answer reports as failed. An identifier that is none of the
    /// batch's sequence numbers makes the whole batch fail.
    fn first_failure(&self, answer: &Value, delivery: &Delivery) -> Result<Option<usize>, ()> {
        if !delivery.reports_item_failures || self.records.is_empty() {
            return Ok(None);
        }
        let failures = match answer.get("batchItemFailures") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(failures)) => failures,
            Some(_) => return Err(()),
        };
        let numbers = self.records.iter().map(|record| record.entry.sequence_number.as_str());
        let indexes: HashMap<&str, usize> = numbers.zip(0..).collect();
        let failed = failures.iter().map(|failure| {
            let identifier = failure.get("itemIdentifier").and_then(Value::as_str).ok_or(())?;
            indexes.get(identifier).copied().ok_or(())
        });
        Ok(failed.collect::<Result<Vec<usize>, ()>>()?.into_iter().min())
    }

    /// Takes away the records before an index, which are delivered. Those that stay have failed once if the
    /// first of them is new, and once more otherwise.
    pub fn advance(&mut self, delivered: usize) -> Vec<Numbered> {
        if delivered > 0 {
            (self.failed_tries, self.failures) = (0, 0);
        }
        self.records.drain(..delivered).collect()
    }

    /// Notes a function error.
    pub fn note_failure(&mut self, now_ms: u64, delivery: &Delivery) {
        self.failed_tries += 1;
        self.failures += 1;
        self.reached_function = true;
        self.not_before_ms = now_ms + delivery.backoff.pause_ms(self.failures);
    }

    /// Notes a call that did not reach the function.
    pub fn note_unreachable(&mut self, now_ms: u64, delivery: &Delivery) {
        self.failures += 1;
        self.reached_function = false;
        self.not_before_ms = now_ms + delivery.backoff.pause_ms(self.failures);
    }

    /// Whether the call that ends a window has been failing for longer than a record lives.
    pub fn is_ending_expired(&self, now_ms: u64, window_end_ms: u64) -> bool {
        let lifetime_ms = RECORD_LIFETIME.as_millis() as u64;
        self.ending.is_some() && self.invocations > 0 && now_ms.saturating_sub(window_end_ms) > lifetime_ms
    }

    pub fn is_exhausted(&self, delivery: &Delivery) -> bool {
        delivery.retries_max.is_some_and(|retries| self.failed_tries > retries)
    }

    /// The two halves. Splitting is no retry: each half has all its retries again.
    pub fn split(mut self) -> [Batch; 2] {
        let second = self.records.split_off(self.records.len().div_ceil(2));
        [Batch::of(self.records), Batch::of(second)]
    }

    /// Takes away the records at the front that are too old.
    pub fn take_expired(&mut self, now_ms: u64, delivery: &Delivery) -> Vec<Numbered> {
        let is_expired =
            |record: &&Numbered| now_ms.saturating_sub(record.entry.created_ms) > delivery.record_age_ms_max;
        let count = self.records.iter().take_while(is_expired).count();
        self.records.drain(..count).collect()
    }

    /// The report on records of this batch that are given up.
    pub fn failure(
        &self,
        condition: Condition,
        records: &[Numbered],
        delivery: &Delivery,
        shard_id: &str,
    ) -> Failure {
        Failure {
            condition,
            uuid: delivery.uuid.clone(),
            function_arn: delivery.function_arn.clone(),
            stream_arn: delivery.stream_arn.clone(),
            shard_id: shard_id.to_owned(),
            invocations: self.invocations,
            reached_function: self.reached_function,
            records: records.iter().map(|record| record.entry.clone()).collect(),
        }
    }
}

/// The answer as JSON. An empty answer is `null`; `None` is text that is not JSON.
fn parse_answer(body: &[u8]) -> Option<Value> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Some(Value::Null);
    }
    serde_json::from_slice(body).ok()
}

/// Whether a window's state is too large to hand on.
pub fn is_state_too_large(state: &Value) -> bool {
    state.to_string().len() > STATE_BYTES_MAX
}

impl Condition {
    /// Lambda's name for the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Condition::RetryAttemptsExhausted => "RetryAttemptsExhausted",
            Condition::MaximumRecordAgeExceeded => "MaximumRecordAgeExceeded",
        }
    }
}

impl Failure {
    /// The report as Lambda writes it. It has no item data: the records can be read from the stream.
    pub fn to_json(&self, request_id: &str, now_ms: u64) -> Value {
        let arrival = |entry: Option<&Entry>| time::to_seconds(entry.map_or(0, |entry| entry.created_ms));
        let number = |entry: Option<&Entry>| entry.map(|entry| entry.sequence_number.clone());
        let (first, last) = (self.records.first(), self.records.last());
        let mut report = serde_json::json!({
            "requestContext": {
                "requestId": request_id,
                "functionArn": self.function_arn,
                "condition": self.condition.as_str(),
                "approximateInvokeCount": self.invocations,
            },
            "responseContext": {
                "statusCode": 200,
                "executedVersion": "$LATEST",
                "functionError": "Unhandled",
            },
            "version": "1.0",
            "timestamp": time::to_milliseconds(now_ms),
            "DDBStreamBatchInfo": {
                "shardId": self.shard_id,
                "startSequenceNumber": number(first),
                "endSequenceNumber": number(last),
                "approximateArrivalOfFirstRecord": arrival(first),
                "approximateArrivalOfLastRecord": arrival(last),
                "batchSize": self.records.len(),
                "streamArn": self.stream_arn,
            },
        });
        if !self.reached_function
            && let Some(object) = report.as_object_mut()
        {
            object.remove("responseContext");
        }
        report
    }
}
