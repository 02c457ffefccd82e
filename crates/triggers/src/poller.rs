//! Delivers the records of one shard: decides which batch goes to the function when, and how far delivery got.
//!
//! It does nothing by itself. The driver hands in the records that it read ([`Poller::offer`]), asks what to
//! do ([`Poller::step`]), calls the function, and hands the outcome back ([`Poller::finish`]).
//!
//! Records are spread over lanes by their partition key. A lane delivers one batch at a time: it gathers records,
//! calls, and repeats or splits the batch until it is delivered or given up. Only then comes the next batch,
//! so records of one key stay in order. Lanes don't wait for each other.
//!
//! The position is the last sequence number before the first record that is neither delivered, filtered out nor
//! given up. What is read and not yet passed by the position is bounded ([`Poller::has_room`]).

use std::collections::VecDeque;
use std::sync::Arc;

use api::lambda::limits::PAYLOAD_BYTES_MAX;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::batch::{Batch, Condition, Ending, Failure, Numbered, Outcome, Verdict, is_state_too_large};
use crate::event::{self, ENVELOPE_BYTES, Entry};
use crate::mapping::Delivery;
use crate::metrics::Metrics;
use crate::window::Window;

/// Bytes of events that are read ahead of delivery: two full batches, and a page of records.
const BUFFERED_BYTES_MAX: usize = 2 * PAYLOAD_BYTES_MAX;
/// Records that are read ahead, beyond a full batch for each lane.
const BUFFERED_RECORDS_MORE: usize = 1000;

/// How far the delivery of a shard got. It is stored, and delivery goes on from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// Everything up to this record is done.
    pub sequence_number: Option<String>,
    /// The tumbling window that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// The shard is closed, and all of it is done.
    #[serde(default)]
    pub is_finished: bool,
}

/// A call of the function that is due.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// To be handed back with the outcome.
    pub lane: usize,
    pub event: Bytes,
    /// How many records the event has.
    pub records: usize,
}

/// What the driver does next.
#[derive(Debug, Default, PartialEq)]
pub struct Step {
    pub invocations: Vec<Invocation>,
    /// To be reported before a position is stored.
    pub failures: Vec<Failure>,
    /// When to ask again if nothing else happens before.
    pub wake_at_ms: Option<u64>,
}

/// The delivery of one shard.
#[derive(Debug)]
pub struct Poller {
    delivery: Arc<Delivery>,
    shard_id: String,
    lanes: Vec<Lane>,
    order: Order,
    buffered_bytes: usize,
    /// The end of the shard was read.
    is_closed: bool,
    /// No more calls are started.
    is_stopped: bool,
    failures: Vec<Failure>,
    metrics: Metrics,
    position_moved: bool,
    last_result: Option<&'static str>,
}

/// A queue of its own: its records are delivered one batch after the other.
#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Numbered>,
    /// When the batching window began.
    gathering_since_ms: u64,
    /// The last is delivered next. There is more than one after a batch was split.
    work: Vec<Batch>,
    is_running: bool,
    window: Option<Window>,
    /// The window's state is too large to hand on.
    window_is_full: bool,
}

/// The records that the position has not passed, in the order of the shard.
#[derive(Debug, Default)]
struct Order {
    /// The number of the first of them.
    first: u64,
    records: VecDeque<Tracked>,
    passed: Option<String>,
}

#[derive(Debug)]
struct Tracked {
    sequence_number: String,
    is_done: bool,
}

/// What a lane does next.
enum Next {
    Call(Invocation),
    /// Nothing before this time.
    Wait(Option<u64>),
}

impl Poller {
    /// Goes on from a position.
    pub fn new(delivery: Arc<Delivery>, shard_id: &str, position: Position, now_ms: u64) -> Poller {
        let mut lanes: Vec<Lane> = (0..delivery.lanes.max(1))
            .map(|_| Lane { gathering_since_ms: now_ms, ..Lane::default() })
            .collect();
        if delivery.tumbling_window_ms.is_some() {
            lanes[0].set_window(position.window);
        }
        Poller {
            delivery,
            shard_id: shard_id.to_owned(),
            lanes,
            order: Order { passed: position.sequence_number, ..Order::default() },
            buffered_bytes: 0,
            is_closed: false,
            is_stopped: false,
            failures: Vec::new(),
            metrics: Metrics::default(),
            position_moved: false,
            last_result: None,
        }
    }

    /// Whether more records may be read.
    pub fn has_room(&self) -> bool {
        let records_max = self.delivery.batch_size * self.lanes.len() + BUFFERED_RECORDS_MORE;
        let is_full = self.order.records.len() >= records_max || self.buffered_bytes >= BUFFERED_BYTES_MAX;
        !self.is_closed && !self.is_stopped && !is_full
    }

    /// Takes the next records of the shard, in order.
    pub fn offer(&mut self, entries: impl IntoIterator<Item = Entry>, now_ms: u64) {
        for entry in entries {
            self.metrics.polled_event_count += 1;
            let number = self.order.push(&entry.sequence_number);
            if self.passes(&entry) {
                self.buffered_bytes += entry.json.len();
                let lane = (entry.key_hash % self.lanes.len() as u64) as usize;
                self.lanes[lane].push(Numbered { number, entry }, now_ms, &self.delivery);
            } else {
                self.metrics.filtered_out_event_count += 1;
                self.position_moved |= self.order.finish(number);
            }
        }
    }

    /// The shard has ended: no more records will come.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Starts no more calls and takes no more records. Outcomes of calls under way are still taken.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Whether the shard has ended and all of it is done.
    pub fn is_finished(&self) -> bool {
        let is_idle = |lane: &Lane| lane.work.is_empty() && lane.queue.is_empty() && lane.window.is_none();
        self.is_closed && self.order.records.is_empty() && self.lanes.iter().all(is_idle)
    }

    /// What is to be done at this time.
    pub fn step(&mut self, now_ms: u64) -> Step {
        let mut step = Step::default();
        for lane in 0..self.lanes.len() {
            match self.next(lane, now_ms) {
                Next::Call(invocation) => step.invocations.push(invocation),
                Next::Wait(Some(time)) => {
                    step.wake_at_ms = Some(step.wake_at_ms.map_or(time, |earlier| earlier.min(time)));
                }
                Next::Wait(None) => {}
            }
        }
        step.failures = std::mem::take(&mut self.failures);
        step
    }

    /// The position, if it moved since it was last asked for.
    pub fn take_position(&mut self) -> Option<Position> {
        let is_finished = self.is_finished();
        (std::mem::take(&mut self.position_moved) || is_finished).then(|| Position {
            sequence_number: self.order.passed.clone(),
            window: self.lanes[0].window.clone(),
            is_finished,
        })
    }

    /// The counters since they were last asked for.
    pub fn take_metrics(&mut self) -> Metrics {
        std::mem::take(&mut self.metrics)
    }

    /// What the last call came to, in Lambda's words.
    pub fn last_result(&self) -> Option<&'static str> {
        self.last_result
    }

    fn passes(&self, entry: &Entry) -> bool {
        if self.delivery.filters.is_empty() {
            return true;
        }
        // The entry was printed by this crate.
        let record: Value = serde_json::from_slice(&entry.json).expect("a printed record is JSON");
        self.delivery.filters.pass(&record)
    }

    fn next(&mut self, index: usize, now_ms: u64) -> Next {
        // With no room for more records a batch gets no fuller by waiting.
        let is_flushed = self.is_closed || !self.has_room();
        loop {
            let lane = &mut self.lanes[index];
            if lane.is_running || self.is_stopped {
                return Next::Wait(None);
            }
            if lane.work.is_empty() {
                match lane.gather(now_ms, &self.delivery, &self.shard_id, is_flushed, self.is_closed) {
                    Some(batch) => lane.work.push(batch),
                    None => return Next::Wait(lane.wake_at_ms(now_ms, &self.delivery)),
                }
            }
            self.drop_expired(index, now_ms);
            let lane = &mut self.lanes[index];
            let Some(batch) = lane.work.last_mut() else { continue };
            if batch.not_before_ms > now_ms {
                return Next::Wait(Some(batch.not_before_ms));
            }
            batch.note_invocation();
            lane.is_running = true;
            self.metrics.invoked_event_count +=
                lane.work.last().map_or(0, |batch| batch.records.len() as u64);
            return Next::Call(self.invocation(index));
        }
    }

    fn invocation(&self, index: usize) -> Invocation {
        let lane = &self.lanes[index];
        let batch = lane.work.last().expect("a lane calls with a batch");
        let tail = match &lane.window {
            Some(window) => event::window_members(
                window,
                &self.shard_id,
                &self.delivery.stream_arn,
                batch.ending.is_some(),
                batch.ending == Some(Ending::Early),
            ),
            None => Vec::new(),
        };
        let event = event::batch_event(batch.records.iter().map(|record| &record.entry.json), &tail);
        Invocation { lane: index, event, records: batch.records.len() }
    }

    /// Gives up the records of the current batch that are too old. A batch that is empty then is taken away.
    fn drop_expired(&mut self, index: usize, now_ms: u64) {
        let lane = &mut self.lanes[index];
        let window_end_ms = lane.window.as_ref().map_or(now_ms, |window| window.end_ms);
        let Some(mut batch) = lane.work.pop() else { return };
        if batch.is_ending_expired(now_ms, window_end_ms) {
            tracing::error!(shard = self.shard_id, "the end of a tumbling window was not delivered in a day");
            lane.set_window(None);
            self.position_moved = true;
            return;
        }
        let expired = batch.take_expired(now_ms, &self.delivery);
        self.give_up(&batch, expired, Condition::MaximumRecordAgeExceeded);
        if !batch.records.is_empty() || batch.ending.is_some() {
            self.lanes[index].work.push(batch);
        }
    }

    fn give_up(&mut self, batch: &Batch, records: Vec<Numbered>, condition: Condition) {
        if records.is_empty() {
            return;
        }
        self.metrics.dropped_event_count += records.len() as u64;
        self.failures.push(batch.failure(condition, &records, &self.delivery, &self.shard_id));
        self.finish_records(records);
    }

    fn finish_records(&mut self, records: impl IntoIterator<Item = Numbered>) {
        for record in records {
            self.buffered_bytes -= record.entry.json.len();
            self.position_moved |= self.order.finish(record.number);
        }
    }

    /// Takes the outcome of a lane's call.
    pub fn finish(&mut self, index: usize, outcome: &Outcome, now_ms: u64) {
        let lane = &mut self.lanes[index];
        let Some(batch) = lane.work.pop().filter(|_| lane.is_running) else { return };
        lane.is_running = false;
        lane.gathering_since_ms = now_ms;
        let verdict = batch.judge(outcome, &self.delivery);
        self.count(&batch, &verdict, now_ms);
        match verdict {
            Verdict::Delivered { state } => self.deliver(index, batch, state),
            Verdict::Partly { delivered, state } => {
                self.deliver_partly(index, batch, delivered, state, now_ms);
            }
            Verdict::Failed { may_split }
                if may_split && self.delivery.bisects && batch.records.len() > 1 =>
            {
                let [first, second] = batch.split();
                self.lanes[index].work.extend([second, first]);
            }
            Verdict::Failed { .. } => self.retry(index, batch, now_ms),
            Verdict::Unreachable { .. } => {
                let mut batch = batch;
                batch.note_unreachable(now_ms, &self.delivery);
                self.lanes[index].work.push(batch);
            }
        }
    }

    fn deliver(&mut self, index: usize, batch: Batch, state: Option<Value>) {
        let lane = &mut self.lanes[index];
        match batch.ending {
            Some(ending) => lane.end_window(ending),
            None => lane.set_state(state),
        }
        self.position_moved |= batch.ending.is_some();
        self.finish_records(batch.records);
    }

    /// With bisecting, a cut that gets further is a split: it is no failed try.
    fn deliver_partly(
        &mut self,
        index: usize,
        mut batch: Batch,
        delivered: usize,
        state: Option<Value>,
        now_ms: u64,
    ) {
        self.lanes[index].set_state(state);
        let done = batch.advance(delivered);
        self.finish_records(done);
        if self.delivery.bisects && delivered > 0 {
            self.lanes[index].work.push(batch);
        } else {
            self.retry(index, batch, now_ms);
        }
    }

    /// Keeps the batch for another try, or gives it up.
    fn retry(&mut self, index: usize, mut batch: Batch, now_ms: u64) {
        batch.note_failure(now_ms, &self.delivery);
        if !batch.is_exhausted(&self.delivery) {
            self.lanes[index].work.push(batch);
        } else if let Some(ending) = batch.ending {
            tracing::error!(shard = self.shard_id, "the end of a tumbling window was given up");
            self.lanes[index].end_window(ending);
            self.position_moved = true;
        } else {
            let records = std::mem::take(&mut batch.records).into();
            self.give_up(&batch, records, Condition::RetryAttemptsExhausted);
        }
    }

    fn count(&mut self, batch: &Batch, verdict: &Verdict, now_ms: u64) {
        let metrics = &mut self.metrics;
        self.last_result = Some("OK");
        match verdict {
            Verdict::Delivered { .. } | Verdict::Partly { .. } => {
                metrics.invocations += 1;
                let last = batch.records.back();
                let age_ms = last.map(|record| now_ms.saturating_sub(record.entry.created_ms));
                metrics.iterator_age_ms = age_ms.or(metrics.iterator_age_ms);
                return;
            }
            Verdict::Failed { .. } => {
                metrics.invocations += 1;
                metrics.errors += 1;
            }
            Verdict::Unreachable { throttled } => metrics.throttles += u64::from(*throttled),
        }
        metrics.failed_invoke_event_count += batch.records.len() as u64;
        self.last_result = Some("PROBLEM: Function call failed");
    }
}

impl Lane {
    fn push(&mut self, record: Numbered, now_ms: u64, delivery: &Delivery) {
        // The batching window of an idle lane begins with the next record.
        let window_is_over = now_ms >= self.gathering_since_ms + delivery.batching_window_ms;
        if self.queue.is_empty() && self.work.is_empty() && window_is_over {
            self.gathering_since_ms = now_ms;
        }
        self.queue.push_back(record);
    }

    /// The next batch, if it is time for it.
    fn gather(
        &mut self,
        now_ms: u64,
        delivery: &Delivery,
        shard_id: &str,
        is_flushed: bool,
        is_closed: bool,
    ) -> Option<Batch> {
        if let Some(ending) = self.window_ending(now_ms, is_closed) {
            return Some(Batch::ending(ending));
        }
        if let (None, Some(length_ms), Some(first)) =
            (&self.window, delivery.tumbling_window_ms, self.queue.front())
        {
            self.window = Some(Window::around(first.entry.created_ms, length_ms));
        }
        let (count, is_full) = self.available(now_ms, delivery, shard_id);
        let is_due = is_full || is_flushed || now_ms >= self.gathering_since_ms + delivery.batching_window_ms;
        (count > 0 && is_due).then(|| Batch::of(self.queue.drain(..count).collect()))
    }

    /// When [`Lane::gather`] may return a batch without a new record.
    fn wake_at_ms(&self, now_ms: u64, delivery: &Delivery) -> Option<u64> {
        let due = self.gathering_since_ms + delivery.batching_window_ms;
        let due = (!self.queue.is_empty()).then_some(due);
        let window_end = self.window.as_ref().map(|window| window.end_ms);
        due.into_iter().chain(window_end).filter(|time| *time > now_ms).min()
    }

    /// How many records fit into one batch, and whether a later record would not.
    fn available(&self, now_ms: u64, delivery: &Delivery, shard_id: &str) -> (usize, bool) {
        let tail_bytes = self.window.as_ref().map_or(0, |window| {
            event::window_members(window, shard_id, &delivery.stream_arn, false, false).len()
        });
        let window_end_ms = self.window.as_ref().map_or(u64::MAX, |window| window.end_ms);
        let mut bytes = ENVELOPE_BYTES + tail_bytes;
        for (count, record) in self.queue.iter().enumerate() {
            bytes += record.entry.json.len() + usize::from(count > 0);
            let is_next_window = record.entry.created_ms >= window_end_ms;
            // A record that is too large for an event is sent all the same: the function's host decides.
            if count == delivery.batch_size || is_next_window || (bytes > PAYLOAD_BYTES_MAX && count > 0) {
                return (count, true);
            }
        }
        let count = self.queue.len();
        (count, count >= delivery.batch_size || bytes >= PAYLOAD_BYTES_MAX || now_ms >= window_end_ms)
    }

    /// How the open window is to be ended now, if it is.
    fn window_ending(&self, now_ms: u64, is_closed: bool) -> Option<Ending> {
        let window = self.window.as_ref()?;
        if self.window_is_full {
            return Some(Ending::Early);
        }
        let is_over = match self.queue.front() {
            Some(next) => next.entry.created_ms >= window.end_ms,
            None => is_closed || now_ms >= window.end_ms,
        };
        is_over.then_some(Ending::OnTime)
    }

    fn end_window(&mut self, ending: Ending) {
        match ending {
            Ending::OnTime => self.set_window(None),
            Ending::Early => {
                self.window_is_full = false;
                if let Some(window) = &mut self.window {
                    window.clear();
                }
            }
        }
    }

    fn set_window(&mut self, window: Option<Window>) {
        self.window_is_full = window.as_ref().is_some_and(|window| is_state_too_large(&window.state));
        self.window = window;
    }

    fn set_state(&mut self, state: Option<Value>) {
        if let (Some(window), Some(state)) = (&mut self.window, state) {
            self.window_is_full = is_state_too_large(&state);
            window.state = state;
        }
    }
}

impl Order {
    /// Adds the next record of the shard.
    fn push(&mut self, sequence_number: &str) -> u64 {
        self.records.push_back(Tracked { sequence_number: sequence_number.to_owned(), is_done: false });
        self.first + self.records.len() as u64 - 1
    }

    /// Notes that a record is done. Returns whether the position moved.
    fn finish(&mut self, number: u64) -> bool {
        assert!(number >= self.first, "the position has not passed a record that is under way");
        let record = &mut self.records[(number - self.first) as usize];
        debug_assert!(!record.is_done, "a record is done once");
        record.is_done = true;
        let before = self.first;
        while self.records.front().is_some_and(|record| record.is_done) {
            self.passed = self.records.pop_front().map(|record| record.sequence_number);
            self.first += 1;
        }
        self.first > before
    }
}
