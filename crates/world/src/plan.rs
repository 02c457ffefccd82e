//! What happens in a world. A seed is expanded to a plan before anything runs, so that a failing world can be made
//! smaller: by leaving out features, faults, clients and requests, none of which shifts the others.

use host::LEAP_MIN;
use serde::{Deserialize, Serialize};

use crate::executor::{hash_text, mix};

/// A world before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub seed: u64,
    pub servers: Vec<ServerPlan>,
    /// A global table of Regions, each with a server and a database of its own; otherwise all servers share one.
    #[serde(default)]
    pub regions: Option<RegionsPlan>,
    /// One server on a data folder of its own, and not on a database that others share.
    #[serde(default)]
    pub is_embedded: bool,
    pub clients: Vec<ClientPlan>,
    pub features: Features,
    pub faults: Vec<TimedFault>,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The Regions of a global table, in the order of the servers.
pub const REGIONS: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];

/// A global table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionsPlan {
    /// How long a change stays in its Region before it is sent.
    pub delay_ms: u64,
    /// Whether the items of a transaction arrive together.
    pub is_whole: bool,
    /// When one of the Regions is to leave, if it is.
    pub leaves_ms: Option<u64>,
}

/// The clock of a server's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    pub offset_ms: i64,
    /// Microseconds that it gains each second.
    pub drift: i64,
}

/// A client that sends one request after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    pub number: usize,
    pub requests: usize,
    /// The longest pause between two requests.
    pub pause_ms: u64,
    /// Of a hundred requests, how many are given up before their answer.
    pub gives_up_percent: u64,
}

/// What is used in a world. Each has a coin of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    pub stream: bool,
    pub recovery: bool,
    /// Restores in the peace at the end, to random moments. They need recovery.
    pub restores: u32,
    /// Backups that are made while everything happens, and restored at the end.
    pub backups: u32,
    /// Exports of the table while everything happens. They need recovery.
    #[serde(default)]
    pub exports: u32,
    /// Tables that are made from files in a bucket.
    #[serde(default)]
    pub imports: u32,
    /// Indexes that are made and dropped.
    pub index_changes: u32,
    /// Items that expire.
    pub expiring: u32,
    /// Looks at all data at once while everything happens.
    pub verifications: u32,
    /// Statements instead of operations for some reads.
    pub partiql: bool,
    /// The same for some writes.
    #[serde(default)]
    pub statement_writes: bool,
    /// Walks through the table or an index, some items at a time.
    #[serde(default)]
    pub walks: u32,
    /// The table is strongly consistent in three Regions, which clients use in turns. It has no local index then, and no
    /// transactions.
    #[serde(default)]
    pub strong: bool,
    /// How far reads that need not be fresh may lag.
    pub stale_ms: Option<u64>,
    /// Rows of one round trip of a scan.
    pub chunk_rows: usize,
    /// How long tables take to change their state.
    pub state_delay_ms: u64,
    /// The shards of a stream when servers are opened again.
    pub later_shards: u16,
}

/// A fault and when it begins, in milliseconds after the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedFault {
    pub at_ms: u64,
    pub fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The process ends without a word.
    Kill {
        server: usize,
        down_ms: u64,
    },
    /// The process closes its database and starts again.
    Restart {
        server: usize,
        down_ms: u64,
    },
    /// Nothing of the process runs for a while.
    Standstill {
        server: usize,
        for_ms: u64,
    },
    /// The machine's clock is wrong for a while.
    ClockLeap {
        server: usize,
        by_ms: i64,
        for_ms: u64,
    },
    StoreAway {
        for_ms: u64,
    },
    StoreSlow {
        factor: u64,
        for_ms: u64,
    },
    StoreAmbiguous {
        percent: u64,
        for_ms: u64,
    },
    StoreConflicts {
        percent: u64,
        for_ms: u64,
    },
    StoreFailing {
        percent: u64,
        for_ms: u64,
    },
    /// The power fails, and some files of the data folder are then as they were at an earlier time.
    RollBack {
        server: usize,
        down_ms: u64,
    },
    /// One call to the disk fails.
    DiskBroken {
        after_calls: u64,
    },
    /// Some calls to the disk find no room.
    DiskFull {
        after_calls: u64,
    },
    /// The power fails, and the disk does so while the store is opened again.
    FailingOpen {
        down_ms: u64,
        is_full: bool,
        after_calls: u64,
    },
    /// Some calls to the bucket fail.
    BucketFailing {
        percent: u64,
        for_ms: u64,
    },
    /// Nothing gets from one Region to another; the other way may be open.
    LinkCut {
        from: usize,
        to: usize,
        for_ms: u64,
    },
    LinkSlow {
        from: usize,
        to: usize,
        delay_ms: u64,
        for_ms: u64,
    },
    LinkLosing {
        from: usize,
        to: usize,
        percent: u64,
        for_ms: u64,
    },
    LinkRepeating {
        from: usize,
        to: usize,
        percent: u64,
        for_ms: u64,
    },
}

impl Fault {
    /// The kind, for the matrix of what was tried.
    pub fn kind(self) -> &'static str {
        match self {
            Fault::Kill { .. } => "kill",
            Fault::Restart { .. } => "restart",
            Fault::Standstill { .. } => "standstill",
            Fault::ClockLeap { .. } => "clock leap",
            Fault::StoreAway { .. } => "store away",
            Fault::StoreSlow { .. } => "store slow",
            Fault::StoreAmbiguous { .. } => "ambiguous commits",
            Fault::StoreConflicts { .. } => "conflicts",
            Fault::StoreFailing { .. } => "store failing",
            Fault::RollBack { .. } => "files of before",
            Fault::DiskBroken { .. } => "disk broken",
            Fault::DiskFull { .. } => "disk full",
            Fault::FailingOpen { .. } => "failing opening",
            Fault::BucketFailing { .. } => "bucket failing",
            Fault::LinkCut { .. } => "link cut",
            Fault::LinkSlow { .. } => "link slow",
            Fault::LinkLosing { .. } => "link losing",
            Fault::LinkRepeating { .. } => "link repeating",
        }
    }

    /// When its effect is over, after it began.
    pub fn lasts_ms(self) -> u64 {
        match self {
            Fault::Kill { down_ms, .. }
            | Fault::Restart { down_ms, .. }
            | Fault::RollBack { down_ms, .. }
            | Fault::FailingOpen { down_ms, .. } => down_ms,
            Fault::DiskBroken { .. } | Fault::DiskFull { .. } => 0,
            Fault::Standstill { for_ms, .. }
            | Fault::ClockLeap { for_ms, .. }
            | Fault::StoreAway { for_ms }
            | Fault::StoreSlow { for_ms, .. }
            | Fault::StoreAmbiguous { for_ms, .. }
            | Fault::StoreConflicts { for_ms, .. }
            | Fault::StoreFailing { for_ms, .. }
            | Fault::BucketFailing { for_ms, .. }
            | Fault::LinkCut { for_ms, .. }
            | Fault::LinkSlow { for_ms, .. }
            | Fault::LinkLosing { for_ms, .. }
            | Fault::LinkRepeating { for_ms, .. } => for_ms,
        }
    }
}

impl Plan {
    /// The world of a seed.
    pub fn of(seed: u64) -> Plan {
        let mut chance = fastrand::Rng::with_seed(mix(seed, 0x706c_616e));
        let servers = (0..chance.usize(1..=3)).map(|_| server(&mut chance)).collect::<Vec<_>>();
        let clients = (0..chance.usize(2..=6)).map(|number| client(&mut chance, number)).collect();
        let features = features(&mut chance);
        let faults = faults(&mut chance, servers.len());
        let plan = Plan { seed, servers, regions: None, is_embedded: false, clients, features, faults };
        // Of a source of its own, so that it does not shift what other worlds are.
        let mut chance = fastrand::Rng::with_seed(mix(seed, 0x7265_6769));
        match chance.u8(0..4) {
            0 => plan.with_regions(&mut chance),
            1 => plan.on_a_disk(&mut chance),
            _ => plan.with_strong_regions(),
        }
        .with_transfers()
        .with_more_requests()
    }

    fn chance(&self, name: &str) -> fastrand::Rng {
        fastrand::Rng::with_seed(mix(self.seed, hash_text(name)))
    }

    /// The same with exports, imports, and a bucket that fails.
    fn with_transfers(mut self) -> Plan {
        let mut chance = self.chance("transfers");
        if self.regions.is_some() || self.features.strong {
            return self;
        }
        self.features.exports = if self.features.recovery { few(&mut chance) } else { 0 };
        self.features.imports = few(&mut chance);
        let uses = self.features.backups + self.features.exports + self.features.imports;
        if uses > 0 && chance.bool() {
            for _ in 0..chance.u64(1..4) {
                let (at_ms, percent) = (chance.u64(100..20_000), chance.u64(5..80));
                let fault = Fault::BucketFailing { percent, for_ms: chance.u64(200..8000) };
                self.faults.push(TimedFault { at_ms, fault });
            }
            self.faults.sort_by_key(|timed| timed.at_ms);
        }
        self
    }

    /// The same with writes that are statements, and with walks.
    fn with_more_requests(mut self) -> Plan {
        let mut chance = self.chance("more requests");
        if self.regions.is_none() {
            self.features.statement_writes = chance.bool();
            self.features.walks = few(&mut chance);
        }
        self
    }

    /// The same, sometimes, with a table that is strongly consistent in three Regions.
    fn with_strong_regions(mut self) -> Plan {
        if self.chance("strong Regions").u8(0..5) == 0 {
            let Features { index_changes, verifications, partiql, stale_ms, .. } = self.features;
            let Features { chunk_rows, state_delay_ms, later_shards, .. } = self.features;
            self.features = Features {
                index_changes,
                verifications,
                partiql,
                stale_ms,
                chunk_rows,
                state_delay_ms,
                later_shards,
                strong: true,
                ..Features::default()
            };
        }
        self
    }

    /// Whether no clock is ever wrong.
    pub fn has_right_clocks(&self) -> bool {
        let leaps = |timed: &TimedFault| matches!(timed.fault, Fault::ClockLeap { .. });
        self.servers.iter().all(|server| (server.offset_ms, server.drift) == (0, 0))
            && !self.faults.iter().any(leaps)
    }

    /// Whether calls to the bucket may fail.
    pub fn has_failing_bucket(&self) -> bool {
        self.faults.iter().any(|timed| matches!(timed.fault, Fault::BucketFailing { .. }))
    }

    /// The same on one server with a data folder of its own. What goes wrong with a shared database goes wrong with the
    /// disk.
    fn on_a_disk(mut self, chance: &mut fastrand::Rng) -> Plan {
        self.is_embedded = true;
        self.servers.truncate(1);
        (self.features.stale_ms, self.features.chunk_rows) = (None, 64);
        for TimedFault { fault, .. } in &mut self.faults {
            *fault = match *fault {
                Fault::Restart { down_ms, .. } => Fault::Restart { server: 0, down_ms },
                Fault::Standstill { for_ms, .. } => Fault::Standstill { server: 0, for_ms },
                Fault::ClockLeap { by_ms, for_ms, .. } => Fault::ClockLeap { server: 0, by_ms, for_ms },
                Fault::StoreAway { for_ms } => Fault::RollBack { server: 0, down_ms: for_ms },
                Fault::StoreFailing { .. } => Fault::DiskBroken { after_calls: chance.u64(0..200) },
                Fault::StoreConflicts { .. } | Fault::StoreAmbiguous { .. } => {
                    Fault::DiskFull { after_calls: chance.u64(0..200) }
                }
                Fault::Kill { down_ms, .. } => Fault::Kill { server: 0, down_ms },
                other => Fault::Kill { server: 0, down_ms: other.lasts_ms().min(3000) },
            };
        }
        self.with_failing_openings()
    }

    /// The same with a disk that fails, sometimes, while the store is opened.
    fn with_failing_openings(mut self) -> Plan {
        let mut chance = self.chance("failing openings");
        let count = if chance.bool() { chance.u64(1..4) } else { 0 };
        for _ in 0..count {
            let (at_ms, down_ms) = (chance.u64(100..25_000), chance.u64(10..3000));
            // Most openings make few calls.
            let after_calls = if chance.bool() { chance.u64(0..10) } else { chance.u64(0..100) };
            let fault = Fault::FailingOpen { down_ms, is_full: chance.bool(), after_calls };
            self.faults.push(TimedFault { at_ms, fault });
        }
        self.faults.sort_by_key(|timed| timed.at_ms);
        self
    }

    /// The same in three Regions, with what goes wrong between them.
    fn with_regions(mut self, chance: &mut fastrand::Rng) -> Plan {
        self.regions = Some(RegionsPlan {
            delay_ms: if chance.u8(0..4) == 0 { chance.u64(1..2000) } else { 0 },
            is_whole: chance.bool(),
            leaves_ms: (chance.u8(0..3) == 0).then(|| chance.u64(100..15_000)),
        });
        self.servers = REGIONS.iter().map(|_| server(chance)).collect();
        // What these worlds do not use.
        let Features { verifications, stale_ms, chunk_rows, state_delay_ms, .. } = self.features;
        let base = Features { later_shards: 4, ..Features::default() };
        self.features = Features { verifications, stale_ms, chunk_rows, state_delay_ms, ..base };
        let kinds: Vec<u8> = (0..4).filter(|_| chance.bool()).collect();
        let count = if kinds.is_empty() { 0 } else { chance.usize(0..8) };
        for _ in 0..count {
            let at_ms = chance.u64(100..25_000);
            let from = chance.usize(0..REGIONS.len());
            let to = (from + chance.usize(1..REGIONS.len())) % REGIONS.len();
            let (for_ms, percent) = (chance.u64(200..15_000), chance.u64(5..80));
            let fault = match kinds[chance.usize(0..kinds.len())] {
                0 => Fault::LinkCut { from, to, for_ms },
                1 => Fault::LinkSlow { from, to, delay_ms: chance.u64(50..4000), for_ms },
                2 => Fault::LinkLosing { from, to, percent, for_ms },
                _ => Fault::LinkRepeating { from, to, percent, for_ms },
            };
            self.faults.push(TimedFault { at_ms, fault });
        }
        self.faults.sort_by_key(|timed| timed.at_ms);
        self
    }

    /// By how much two dates of this world may differ at most. A leap changes no date, unless it is as short as a
    /// correction, or the clock had leapt, by `leapt_ms` at most, when a server was opened.
    pub fn clock_error_ms(&self, leapt_ms: u64) -> u64 {
        let offsets =
            self.servers.iter().map(|server| server.offset_ms.unsigned_abs() + server.drift.unsigned_abs());
        let leaps = self.faults.iter().map(|timed| match timed.fault {
            Fault::ClockLeap { by_ms, .. } => by_ms.unsigned_abs().min(LEAP_MIN.as_millis() as u64),
            _ => 0,
        });
        2 * (offsets.max().unwrap_or(0) + leaps.max().unwrap_or(0).max(leapt_ms)) + 1
    }

    /// When all faults are over, in milliseconds after the clients began.
    pub fn faults_end_ms(&self) -> u64 {
        self.faults.iter().map(|timed| timed.at_ms + timed.fault.lasts_ms()).max().unwrap_or(0)
    }
}

fn server(chance: &mut fastrand::Rng) -> ServerPlan {
    match chance.bool() {
        true => ServerPlan { offset_ms: 0, drift: 0 },
        false => ServerPlan { offset_ms: chance.i64(-2000..2000), drift: chance.i64(-200..200) },
    }
}

fn client(chance: &mut fastrand::Rng, number: usize) -> ClientPlan {
    let gives_up_percent = if chance.bool() { chance.u64(1..20) } else { 0 };
    ClientPlan { number, requests: chance.usize(20..60), pause_ms: chance.u64(1..1200), gives_up_percent }
}

fn features(chance: &mut fastrand::Rng) -> Features {
    let recovery = chance.bool();
    Features {
        stream: chance.bool(),
        recovery,
        restores: if recovery { few(chance) } else { 0 },
        backups: few(chance),
        index_changes: few(chance),
        expiring: if chance.bool() { chance.u32(3..20) } else { 0 },
        verifications: few(chance),
        partiql: chance.bool(),
        stale_ms: chance.bool().then(|| chance.u64(5..3000)),
        chunk_rows: if chance.bool() { chance.usize(1..5) } else { 64 },
        state_delay_ms: if chance.u8(0..4) == 0 { chance.u64(1..3000) } else { 0 },
        later_shards: if chance.bool() { 4 } else { 8 },
        ..Features::default()
    }
}

/// None, or some: a coin for each feature.
fn few(chance: &mut fastrand::Rng) -> u32 {
    if chance.bool() { chance.u32(1..4) } else { 0 }
}

/// The kinds of faults of a world, and then the faults.
fn faults(chance: &mut fastrand::Rng, servers: usize) -> Vec<TimedFault> {
    let kinds: Vec<u8> = (0..9).filter(|_| chance.bool()).collect();
    let mut faults = Vec::new();
    if kinds.is_empty() {
        return faults;
    }
    for _ in 0..chance.usize(0..10) {
        let at_ms = chance.u64(100..25_000);
        let server = chance.usize(0..servers);
        let for_ms = match chance.u8(0..4) {
            0 => chance.u64(10..500),
            1 | 2 => chance.u64(500..4000),
            _ => chance.u64(4000..15_000),
        };
        let percent = chance.u64(1..40);
        let leap_ms = match chance.u8(0..4) {
            0 | 1 => chance.i64(-5000..5000),
            2 => chance.i64(-60_000..60_000),
            _ => chance.i64(-3 * DAY_MS..3 * DAY_MS),
        };
        let fault = match kinds[chance.usize(0..kinds.len())] {
            0 => Fault::Kill { server, down_ms: for_ms },
            1 => Fault::Restart { server, down_ms: for_ms.min(3000) },
            2 => Fault::Standstill { server, for_ms },
            3 => Fault::ClockLeap { server, by_ms: leap_ms, for_ms },
            4 => Fault::StoreAway { for_ms: for_ms.min(8000) },
            5 => Fault::StoreSlow { factor: chance.u64(2..60), for_ms },
            6 => Fault::StoreAmbiguous { percent, for_ms },
            7 => Fault::StoreConflicts { percent, for_ms },
            _ => Fault::StoreFailing { percent, for_ms },
        };
        faults.push(TimedFault { at_ms, fault });
    }
    faults.sort_by_key(|timed| timed.at_ms);
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_one_plan_and_a_plan_is_one_file() {
        for seed in 0..100 {
            let plan = Plan::of(seed);
            assert_eq!(plan, Plan::of(seed));
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(plan, serde_json::from_str(&text).unwrap());
        }
        assert_ne!(Plan::of(1), Plan { seed: 1, ..Plan::of(2) });
    }

    #[test]
    fn a_plan_with_an_unknown_word_is_refused() {
        let mut plan = serde_json::to_value(Plan::of(1)).unwrap();
        plan["features"]["teleports"] = 1.into();
        let refused = serde_json::from_value::<Plan>(plan).unwrap_err();
        assert!(refused.to_string().contains("teleports"), "{refused}");
    }
}
