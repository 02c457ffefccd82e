//! Walks through the table or an index, some items at a time, while everything happens.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use simulation::{Content, Key};

use crate::requests::{TABLE, content, key_of};
use crate::run::{WAIT, World};

/// How often a page is asked for until it is there.
const TRIES_MAX: usize = 30;

/// A walk to its end.
pub struct Walk {
    pub name: String,
    pub pages: Vec<Page>,
    is_index: bool,
}

/// What a page showed, and when it was asked for and answered by the clock of the history.
pub struct Page {
    pub time: RangeInclusive<u64>,
    pub items: Vec<(Key, Content)>,
}

impl Walk {
    /// What the walk shows of an item: the rows of the index have keys alone.
    pub fn shows(&self, item: Content) -> Content {
        if self.is_index { Content::default() } else { item }
    }

    /// From the first page to the last.
    pub fn time(&self) -> Option<RangeInclusive<u64>> {
        Some(*self.pages.first()?.time.start()..=*self.pages.last()?.time.end())
    }
}

impl World {
    /// Walks at some time. Items keep their place in the table and in this index, so they are met once.
    pub(crate) async fn walk_some_time(self: Arc<World>, number: u32) -> Result<(), String> {
        self.some_time("walk", number).await;
        let mut chance = self.executor.chance(&format!("pages of walk {number}"));
        // An index may be read from a replica that is behind.
        let is_index = self.plan.features.stale_ms.is_none() && chance.bool();
        self.walk(&format!("walk {number}"), is_index, chance).await
    }

    async fn walk(&self, name: &str, is_index: bool, mut chance: fastrand::Rng) -> Result<(), String> {
        let mut walk = Walk { name: name.to_owned(), pages: Vec::new(), is_index };
        let mut next = Value::Null;
        loop {
            let mut input = json!({"TableName": TABLE, "Limit": chance.u64(1..6)});
            match is_index {
                true => input["IndexName"] = json!("by-sort"),
                false => input["ConsistentRead"] = json!(true),
            }
            if !next.is_null() {
                input["ExclusiveStartKey"] = next;
            }
            let began = self.clock.tick();
            let Some(mut page) = self.page(input, &mut chance).await? else { return Ok(()) };
            let time = began..=self.clock.tick();
            let rows = page["Items"].as_array().cloned().unwrap_or_default();
            let read = |row: &Value| Some((key_of(row)?, content_of(row, is_index)?));
            walk.pages.push(Page { time, items: rows.iter().filter_map(read).collect() });
            next = page["LastEvaluatedKey"].take();
            if next.is_null() {
                self.say(&format!("{name}: {} pages", walk.pages.len()));
                self.walks.lock().push(walk);
                return Ok(());
            }
            let pause_ms = chance.u64(0..300);
            self.executor.sleep(Duration::from_millis(pause_ms)).await;
        }
    }

    /// A page from any server; none if no server answers for long.
    async fn page(&self, input: Value, chance: &mut fastrand::Rng) -> Result<Option<Value>, String> {
        for _ in 0..TRIES_MAX {
            let server = chance.usize(0..self.servers.count());
            match self.servers.call(server, 0, "Scan", input.clone(), WAIT).await {
                Ok(page) => return Ok(Some(page)),
                Err(failure) if !failure.is_in_doubt() => return Err(format!("Scan: {failure:?}")),
                Err(_) => self.executor.sleep(Duration::from_millis(300)).await,
            }
        }
        Ok(None)
    }
}

fn content_of(row: &Value, is_index: bool) -> Option<Content> {
    if is_index { Some(Content::default()) } else { content(Some(row)) }
}
