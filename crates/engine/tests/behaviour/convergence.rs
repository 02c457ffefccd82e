//! Random writes in three Regions of a global table, with cut links, delays and restarts, in simulated time. When all
//! links are healed, every Region has what last-writer-wins says: the checker here knows only what clients sent, when and
//! where, and what they were answered.
//!
//! `cargo xtask convergence` runs a thousand seeds.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{Caller, Enforcement, Options};
use serde_json::{Value, json};

use crate::database::Database;
use crate::support::pass;

const REGIONS: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];
const KEYS: u64 = 5;
const STEPS: u64 = 80;
/// A few: `cargo xtask simulate` plays worlds of several Regions with much more that goes wrong.
const SEEDS: u64 = 4;

/// SplitMix64: the same numbers for the same seed.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn region(&mut self) -> &'static str {
        REGIONS[self.below(3) as usize]
    }

    /// Two Regions that differ.
    fn link(&mut self) -> (&'static str, &'static str) {
        let first = self.below(3) as usize;
        (REGIONS[first], REGIONS[(first + 1) % 3])
    }
}

/// A write that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    /// Milliseconds by the clock of its Region, and how many writes it saw since that are as late.
    time: (i64, u64),
    region: &'static str,
    /// None for a deletion.
    value: Option<String>,
}

/// What last-writer-wins says of each key, from what clients know.
#[derive(Default)]
struct Checker {
    latest: BTreeMap<u64, Written>,
    /// The time of each value that was written.
    times: BTreeMap<String, (i64, u64)>,
}

impl Checker {
    /// Notes an acknowledged write. A client that saw a value with a later time wrote after it all the same.
    fn note(&mut self, key: u64, region: &'static str, now: i64, saw: Option<&str>, value: Option<String>) {
        let seen = saw.map(|saw| self.times[saw]);
        let time = match seen {
            Some((at, count)) if (at, count) >= (now, 0) => (at, count + 1),
            _ => (now, 0),
        };
        if let Some(value) = &value {
            self.times.insert(value.clone(), time);
        }
        let written = Written { time, region, value };
        let latest = self.latest.entry(key).or_insert_with(|| written.clone());
        if (written.time, written.region) > (latest.time, latest.region) {
            *latest = written;
        }
    }

    fn expected(&self, key: u64) -> Option<&str> {
        self.latest.get(&key)?.value.as_deref()
    }
}

struct Run {
    database: Database,
    options: Options,
    checker: Checker,
    chance: Chance,
    now_ms: i64,
}

impl Run {
    async fn call(&self, region: &str, operation: &str, input: Value) -> Value {
        let caller = Caller::new("123456789012", region);
        self.database.call_as(&caller, operation, input).await.unwrap()
    }

    /// Lets time pass, for the database and for its jobs.
    async fn pass(&mut self, ms: u64) {
        self.database.pass_ms(ms);
        self.now_ms += ms as i64;
        pass(Duration::from_millis(ms)).await;
    }

    async fn write(&mut self, step: u64, may_delete: bool) {
        let (key, region) = (self.chance.below(KEYS), self.chance.region());
        let now = self.now_ms + self.options.region_clocks.get(region).copied().unwrap_or(0);
        let name = json!({"p": {"S": key.to_string()}, "s": {"S": "s"}});
        let (old, value) = if may_delete && self.chance.below(3) == 0 {
            let input = json!({"TableName": "Table", "Key": name, "ReturnValues": "ALL_OLD"});
            let old = self.call(region, "DeleteItem", input).await["Attributes"].take();
            // The deletion of what is not there changes nothing.
            if old.is_null() {
                return;
            }
            (old, None)
        } else {
            let value = step.to_string();
            let mut item = name;
            item["v"] = json!({"S": value});
            let input = json!({"TableName": "Table", "Item": item, "ReturnValues": "ALL_OLD"});
            (self.call(region, "PutItem", input).await["Attributes"].take(), Some(value))
        };
        self.checker.note(key, region, now, old["v"]["S"].as_str(), value);
    }

    async fn value(&self, region: &str, key: u64) -> Option<String> {
        let key = json!({"p": {"S": key.to_string()}, "s": {"S": "s"}});
        let input = json!({"TableName": "Table", "Key": key, "ConsistentRead": true});
        self.call(region, "GetItem", input).await["Item"]["v"]["S"].as_str().map(str::to_owned)
    }

    async fn restart(&mut self) {
        let cut = self.database.engine.cut_links().await.unwrap();
        self.database = self.database.restarted_with(self.options.clone()).await;
        for (one, other) in &cut {
            self.database.engine.cut_regions(one, other).await.unwrap();
        }
    }

    async fn settle(&mut self, seed: u64) {
        for (one, other) in self.database.engine.cut_links().await.unwrap() {
            self.database.engine.heal_regions(&one, &other).await.unwrap();
        }
        for _ in 0..200 {
            self.pass(1000).await;
            let status = self.database.engine.replication_status().await.unwrap();
            if status.iter().all(|pair| pair.pending == 0) {
                return;
            }
        }
        panic!("seed {seed}: changes are still pending");
    }
}

async fn run(seed: u64) {
    let mut chance = Chance(seed);
    // With clocks that differ, only values say what a client saw, so nothing is deleted.
    let clocks_differ = seed % 2 == 1;
    let mut options = Options { capacity: Enforcement::Off, ..Options::default() };
    options.replication_delay = Duration::from_millis(chance.below(3) * 200);
    if clocks_differ {
        let offset = |region: &str| (region.to_owned(), chance.below(600_000) as i64 - 300_000);
        options.region_clocks = REGIONS.map(offset).into();
    }
    let database = Database::with_options(options.clone()).await;
    let mut run = Run { database, options, checker: Checker::default(), chance, now_ms: 1_800_000_000_000 };
    run.database.with_table("Table").await;
    for region in &REGIONS[1..] {
        let create = json!({"TableName": "Table", "ReplicaUpdates": [{"Create": {"RegionName": region}}]});
        run.call(REGIONS[0], "UpdateTable", create).await;
        run.pass(5000).await;
    }
    for step in 0..STEPS {
        match run.chance.below(20) {
            0 | 1 => {
                let (one, other) = run.chance.link();
                run.database.engine.cut_regions(one, other).await.unwrap();
            }
            2 => {
                let (one, other) = run.chance.link();
                run.database.engine.heal_regions(one, other).await.unwrap();
            }
            3 => run.restart().await,
            _ => run.write(step, !clocks_differ).await,
        }
        let ms = 1 + run.chance.below(300);
        run.pass(ms).await;
    }
    run.settle(seed).await;
    for key in 0..KEYS {
        for region in REGIONS {
            let (found, expected) = (run.value(region, key).await, run.checker.expected(key));
            assert_eq!(found.as_deref(), expected, "seed {seed}: key {key} in {region}");
        }
    }
    let verified = run.database.engine.verify().await.unwrap();
    assert_eq!(verified.reports, Vec::<String>::new(), "seed {seed}");
}

#[tokio::test(start_paused = true)]
async fn three_regions_come_to_what_last_writer_wins_says() {
    let seeds = std::env::var("CONVERGENCE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    for seed in 0..seeds {
        run(seed).await;
    }
}
