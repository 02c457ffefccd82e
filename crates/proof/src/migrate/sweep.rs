//! A job on a real table: in parallel segments, page by page, until a pass finds nothing to do.
//!
//! That last pass is the reconciliation: it reads every item consistently and finds it right, or the job fails.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use api::{
    BatchGetItemInput, Error, ErrorKind, Get, KeysAndAttributes, ReturnConsumedCapacity, TransactGetItem,
    TransactGetItemsInput,
};
use futures_util::future::join_all;
use item::Item;
use item::json::{Jiter, read_item, write_item};
use model::diagnostic::counted;
use model::predict::item::Values;
use model::sample::item;
use serde_json::Value;
use tokio::time::Instant;

use super::Watcher;
use super::form::Form;
use super::job::{Job, JobDecision};
use super::rate_limit::RateLimit;
use super::record::{FinishedJob, Record, Segment, Tally};
use super::request::{Page, PageOf, page, send};
use super::run::Stop;
use crate::database::values;
use crate::endpoint::{Endpoint, call};

/// Items per page: what is read again at most, for each segment, if the process is killed.
const PAGE_ITEMS: i32 = 100;
/// Passes in a row that write nothing although something is left: others write the same items all the time.
const FRUITLESS_MAX: u32 = 10;
/// How often a throttled request is sent again, beyond what the client does by itself, with a pause between.
const THROTTLED_MAX: u32 = 60;
const THROTTLED_PAUSE: Duration = Duration::from_secs(1);
/// A first pause for keys of a batch that were not processed.
const UNPROCESSED_PAUSE: Duration = Duration::from_millis(50);

pub struct Sweep<'a> {
    pub endpoint: &'a dyn Endpoint,
    pub watcher: &'a dyn Watcher,
    pub rate_limit: RateLimit,
    pub job: &'a Job<'a>,
    /// All forms that items of the table may have.
    pub known: Vec<Form<'a>>,
    /// About how many items the table has, for the progress bar.
    pub items: u64,
    /// Items that look like the entity, and of which nothing is known, don't matter.
    pub ignore_unknown: bool,
    pub record: &'a RefCell<Record>,
    /// A segment has ended before its end.
    pub ending: Cell<bool>,
}

impl Sweep<'_> {
    /// Begins, or goes on, with the job of the record.
    pub async fn finish(&self) -> Result<FinishedJob, Stop> {
        loop {
            self.pass().await?;
            let job = self.record.borrow().job.clone().unwrap_or_default();
            let mut all = job.before.clone();
            all.add(&job.found);
            if job.found.written == 0 && job.found.refused == 0 {
                self.reconcile(&job.found)?;
                let entity = self.job.form.entity().name.value.clone();
                return Ok(FinishedJob {
                    entity,
                    passes: job.pass,
                    last: job.found,
                    all,
                    was_killed: job.was_killed,
                });
            }
            if job.fruitless >= FRUITLESS_MAX {
                return Err(Stop::Failed(format!(
                    "others change {} each time before the job can write; run the command again to go on from here",
                    counted(job.found.refused, "item")
                )));
            }
            self.change_record(|record| record.job.iter_mut().for_each(super::JobRecord::again))?;
        }
    }

    fn reconcile(&self, found: &Tally) -> Result<(), Stop> {
        let entity = &self.job.form.entity().name.value;
        let example = found.example.as_ref().map(|key| format!(", for example {key}")).unwrap_or_default();
        if found.differing > 0 {
            return Err(Stop::Failed(format!(
                "{} other keys than {} attributes say{example}: is there a writer that does not maintain both?",
                many(found.differing, &format!(" of {entity}")),
                if found.differing == 1 { "its" } else { "their" }
            )));
        }
        if found.unknown > 0 && !self.ignore_unknown {
            return Err(Stop::Failed(format!(
                "{} a key like {entity}'s, but not the attributes that it is made of{example}; nothing was done with that. To leave it so, give --ignore-unknown",
                many(found.unknown, "")
            )));
        }
        Ok(())
    }

    async fn pass(&self) -> Result<(), Stop> {
        let segments = self.record.borrow().job.as_ref().map_or(0, |job| job.segments.len());
        let ended = join_all((0..segments).map(|segment| self.segment_or_end(segment, segments))).await;
        // That others stopped because of it says less than why the first did.
        let (paused, others): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|ended| matches!(ended, Err(Stop::Paused)));
        others.into_iter().chain(paused).collect()
    }

    /// If one segment ends early, the others finish what they have begun, so that it is counted.
    async fn segment_or_end(&self, segment: usize, of: usize) -> Result<(), Stop> {
        let ended = self.segment(segment, of).await;
        self.ending.set(self.ending.get() || ended.is_err());
        ended
    }

    fn is_ending(&self) -> bool {
        self.ending.get() || self.watcher.is_pausing()
    }

    async fn segment(&self, segment: usize, of: usize) -> Result<(), Stop> {
        loop {
            let Segment { after, ended } = self.position(segment);
            if ended {
                return Ok(());
            }
            if self.is_ending() {
                return Err(Stop::Paused);
            }
            let began = Instant::now();
            let start = after.as_ref().map(key_item).transpose()?;
            let of = PageOf {
                table: self.job.form.table(),
                segment: Some((segment, of)),
                start,
                limit: Some(PAGE_ITEMS),
            };
            let mut tally = Tally::default();
            let turn = self.rate_limit.turn(true).await;
            let Page { items, next, used } = page(self.endpoint, of).await?;
            tally.read_units += self.rate_limit.settle(turn, &used).0;
            let ended = self.items(&items, &mut tally).await;
            tally.seconds = began.elapsed().as_secs_f64();
            if let Err(stop) = ended {
                // The page is read again, so what was found is not counted, but what was done is.
                self.change_record(|record| {
                    record.job.iter_mut().for_each(|job| job.found.add_effort(&tally));
                })?;
                return Err(stop);
            }
            let after = next.as_ref().map(key_json);
            self.change_record(|record| {
                let Some(job) = &mut record.job else { return };
                job.found.add(&tally);
                job.segments[segment] = Segment { ended: after.is_none(), after };
            })?;
            self.tell();
        }
    }

    fn position(&self, segment: usize) -> Segment {
        let record = self.record.borrow();
        record.job.as_ref().and_then(|job| job.segments.get(segment).cloned()).unwrap_or_default()
    }

    async fn items(&self, items: &[Values], tally: &mut Tally) -> Result<(), Stop> {
        let form = self.job.form;
        let (own, others): (Vec<&Values>, Vec<&Values>) =
            items.iter().partition(|item| form.recognises(item));
        let is_unknown =
            |item: &&&Values| form.resembles(item) && !self.known.iter().any(|form| form.recognises(item));
        for item in others.iter().filter(is_unknown) {
            tally.unknown += 1;
            self.remember(item, tally);
        }
        let counterparts = self.counterparts(&own, tally).await?;
        for (item, counterpart) in own.iter().zip(&counterparts) {
            let mut decision = self.job.decide(item, counterpart.as_ref());
            if matches!(decision, JobDecision::Differs) && counterpart.is_some() {
                decision = self.at_one_moment(item).await?;
            }
            match decision {
                JobDecision::Right => tally.right += 1,
                JobDecision::Differs => {
                    tally.differing += 1;
                    self.remember(item, tally);
                }
                JobDecision::Write(changes) => {
                    if self.is_ending() {
                        return Err(Stop::Paused);
                    }
                    let mut throttled = 0;
                    let sent = loop {
                        let turn = self.rate_limit.turn(false).await;
                        match send(self.endpoint, changes.clone()).await {
                            Err(error) if is_throttled(&error) && throttled < THROTTLED_MAX => {
                                throttled += 1;
                                tokio::time::sleep(THROTTLED_PAUSE).await;
                            }
                            Err(error) => return Err(error.into()),
                            Ok(sent) => {
                                let (read, write) = self.rate_limit.settle(turn, &sent.used);
                                tally.read_units += read;
                                tally.write_units += write;
                                break sent;
                            }
                        }
                    };
                    if sent.written { tally.written += 1 } else { tally.refused += 1 }
                }
            }
        }
        tally.read += items.len() as u64;
        Ok(())
    }

    fn remember(&self, item: &Values, tally: &mut Tally) {
        tally.example.get_or_insert_with(|| key_json(&model::sample::item(&self.job.form.key(item))));
    }

    /// For each item the other one that the job looks at, if there is one.
    async fn counterparts(&self, own: &[&Values], tally: &mut Tally) -> Result<Vec<Option<Values>>, Stop> {
        let wanted: Vec<Option<(&str, Values)>> = own.iter().map(|item| self.job.counterpart(item)).collect();
        let mut request_items: BTreeMap<String, KeysAndAttributes> = BTreeMap::new();
        for (table, key) in wanted.iter().flatten() {
            let request = request_items.entry((*table).to_owned()).or_default();
            request.consistent_read = Some(true);
            request.keys.push(item(key));
        }
        let mut found: Vec<Values> = Vec::new();
        let mut fruitless = 0;
        while !request_items.is_empty() {
            let before = found.len();
            let input = BatchGetItemInput {
                request_items,
                return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes),
                ..BatchGetItemInput::default()
            };
            let turn = self.rate_limit.turn(true).await;
            let output = call(self.endpoint, input).await?;
            tally.read_units += self.rate_limit.settle(turn, output.consumed_capacity.iter().flatten()).0;
            found.extend(output.responses.unwrap_or_default().values().flatten().map(values));
            request_items = output.unprocessed_keys.unwrap_or_default();
            fruitless = if found.len() > before { 0 } else { fruitless + 1 };
            if !request_items.is_empty() {
                if fruitless > THROTTLED_MAX {
                    return Err(Error::table_throughput_exceeded().into());
                }
                tokio::time::sleep(UNPROCESSED_PAUSE).await;
            }
        }
        let with_key = |key: &Values| {
            let is_it = |item: &&Values| key.iter().all(|(name, value)| item.get(name) == Some(value));
            found.iter().find(is_it).cloned()
        };
        Ok(wanted.iter().map(|one| one.as_ref().and_then(|(_, key)| with_key(key))).collect())
    }

    /// The two items were read one after the other: whether they differ is only known if they are read together.
    async fn at_one_moment(&self, own: &Values) -> Result<JobDecision, Stop> {
        let Some((table, key)) = self.job.counterpart(own) else { return Ok(JobDecision::Right) };
        let get = |table: &str, key: &Values| TransactGetItem {
            get: Get { table_name: table.to_owned(), key: item(key), ..Get::default() },
        };
        let form = self.job.form;
        let transact_items = vec![get(form.table(), &form.key(own)), get(table, &key)];
        let input = TransactGetItemsInput { transact_items, ..TransactGetItemsInput::default() };
        let output = match call(self.endpoint, input).await {
            // A write of one of them is under way, which has both in it.
            Err(error) if error.kind == ErrorKind::TransactionCanceled => return Ok(JobDecision::Right),
            output => output?,
        };
        let responses = output.responses.unwrap_or_default();
        let mut found = responses.iter().map(|one| one.item.as_ref().map(values));
        match (found.next().flatten(), found.next().flatten()) {
            (Some(own), counterpart) => Ok(self.job.decide(&own, counterpart.as_ref())),
            // It was deleted.
            (None, _) => Ok(JobDecision::Right),
        }
    }

    fn tell(&self) {
        let record = self.record.borrow();
        let Some(job) = &record.job else { return };
        let entity = &self.job.form.entity().name.value;
        let at_least = if job.was_killed { "at least " } else { "" };
        let written = job.before.written + job.found.written;
        let text = format!("{entity}, pass {}, {at_least}{written} written", job.pass);
        self.watcher.count(&text, job.found.read, self.items.max(job.found.read));
    }

    fn change_record(&self, change: impl FnOnce(&mut Record)) -> Result<(), Stop> {
        change(&mut self.record.borrow_mut());
        self.watcher.keep(&self.record.borrow()).map_err(Stop::Failed)
    }
}

fn many(items: u64, of: &str) -> String {
    format!("{}{of} {}", counted(items, "item"), if items == 1 { "has" } else { "have" })
}

fn is_throttled(error: &Error) -> bool {
    matches!(
        error.kind,
        ErrorKind::ProvisionedThroughputExceeded | ErrorKind::Throttling | ErrorKind::RequestLimitExceeded
    )
}

fn key_json(key: &Item) -> Value {
    let mut json = Vec::new();
    write_item(key.as_ref(), &mut json);
    serde_json::from_slice(&json).unwrap_or_default()
}

fn key_item(json: &Value) -> Result<Item, Stop> {
    let text = json.to_string();
    let item = read_item(&mut Jiter::new(text.as_bytes()));
    let unreadable = || Stop::Failed(format!("the record has no key, but {text}"));
    item.map_err(|_| unreadable())?.map_err(|_| unreadable())
}
