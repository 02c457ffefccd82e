//! The throughput of one table or global index: everything that can refuse a request there.
//!
//! Up to four limits may refuse a request. They are checked in this order:
//!
//! 1. what the table declares: its provisioned units, with 300 seconds saved up, or its on-demand maximum;
//! 2. on demand, the account's quota for one table;
//! 3. on demand, twice the previous peak;
//! 4. what the key's partition sustains.
//!
//! The last three are AWS's, and asked only where they are modelled. Adaptive capacity needs no code: a
//! partition may use all of the table's units, up to what it sustains, from the first moment.
//!
//! A request costs a handful of additions and one binary search. Memory: 1 KB and 200 bytes for each
//! partition, so 2 KB for most tables and 201 KB at the most.

use crate::bucket::{BURST_SECONDS, Bucket};
use crate::bytes::{Reader, Unreadable, write_varint};
use crate::headroom::Left;
use crate::on_demand::Growth;
use crate::partition::Partitions;
use crate::quota::Quotas;
use crate::throttle::{Access, Cause};
use crate::units::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, partitions_provisioned};

const MINUTE_MS: u64 = 60_000;
/// The format of [`Learned`] as bytes.
const LEARNED_FORMAT: u8 = 1;
/// What an on-demand table may use ahead of its rate.
const ON_DEMAND_BURST_SECONDS: f64 = 1.0;
/// Idle minutes after which nothing is remembered that a further one would change.
const IDLE_MINUTES_MAX: u64 = 60;

/// Units each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Read units.
    pub read: u64,
    /// Write units.
    pub write: u64,
}

impl Rate {
    /// The units of one kind.
    pub fn of(self, access: Access) -> u64 {
        match access {
            Access::Read => self.read,
            Access::Write => self.write,
        }
    }
}

/// How throughput is paid for, and what the table or index declares of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// `PROVISIONED`: the units of each second.
    Provisioned(Rate),
    /// `PAY_PER_REQUEST`, with the maxima of `OnDemandThroughput` if they are set.
    OnDemand {
        /// `MaxReadRequestUnits`.
        max_read: Option<u64>,
        /// `MaxWriteRequestUnits`.
        max_write: Option<u64>,
    },
}

impl Billing {
    /// On demand without maxima.
    pub const ON_DEMAND: Billing = Billing::OnDemand { max_read: None, max_write: None };
}

/// What a table or index is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How it is paid for.
    pub billing: Billing,
    /// `WarmThroughput` that was asked for.
    pub warm: Option<Rate>,
    /// Whether a hot key gets a partition of its own. Provisioned tables with a stream do not do it.
    pub isolates_keys: bool,
    /// The quotas of its account.
    pub quotas: Quotas,
}

impl Settings {
    /// With the quotas that every account starts with.
    pub fn new(billing: Billing) -> Settings {
        Settings { billing, warm: None, isolates_keys: true, quotas: Quotas::default() }
    }
}

/// What a table or index learned from its traffic. It is worth keeping over a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The warm throughput: what it can take at once.
    pub warm: Rate,
    /// Where each partition begins.
    pub partitions: Vec<u64>,
}

impl Learned {
    /// The bytes to keep.
    ///
    /// ```text
    /// format (1) | read units | write units | for each partition: how far behind the one before it begins
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![LEARNED_FORMAT];
        write_varint(&mut out, self.warm.read);
        write_varint(&mut out, self.warm.write);
        let mut before = 0;
        for first in &self.partitions {
            write_varint(&mut out, first - before);
            before = *first;
        }
        out
    }

    /// What was kept.
    pub fn decode(bytes: &[u8]) -> Result<Learned, Unreadable> {
        let mut reader = Reader::new(bytes, LEARNED_FORMAT)?;
        let warm = Rate { read: reader.varint()?, write: reader.varint()? };
        let (mut partitions, mut first) = (Vec::new(), 0_u64);
        while !reader.is_at_end() {
            first = first.checked_add(reader.varint()?).ok_or(Unreadable::Number)?;
            partitions.push(first);
        }
        Ok(Learned { warm, partitions })
    }
}

/// The throughput of one table or global index.
#[derive(Clone, Debug)]
pub struct Resource {
    settings: Settings,
    models_aws: bool,
    declared: [Option<Bucket>; 2],
    on_demand: Option<[OnDemand; 2]>,
    growth: [Growth; 2],
    partitions: Partitions,
    /// The minute that `used` is of.
    minute: u64,
    used: [f64; 2],
}

/// What limits an on-demand table of its own accord.
#[derive(Clone, Debug)]
struct OnDemand {
    quota: Bucket,
    grown: Bucket,
}

impl Resource {
    /// A new one. Without `models_aws` it knows only what it declares.
    pub fn new(settings: Settings, models_aws: bool, now_ms: u64) -> Resource {
        let mut resource = Resource {
            settings,
            models_aws,
            declared: Access::BOTH.map(|access| declared_bucket(&settings.billing, access)),
            on_demand: None,
            growth: [Growth::new(0), Growth::new(0)],
            partitions: Partitions::new(1),
            minute: now_ms / MINUTE_MS,
            used: [0.0; 2],
        };
        resource.fit_growth();
        resource
    }

    /// Goes on with what was learned earlier.
    pub fn resume(&mut self, learned: &Learned) {
        self.partitions = Partitions::from_firsts(&learned.partitions);
        for access in Access::BOTH {
            self.growth[access.position()].raise(learned.warm.of(access));
        }
        self.fit_growth();
    }

    /// What is worth keeping over a restart.
    pub fn learned(&self) -> Learned {
        Learned { warm: self.warm(), partitions: self.partitions.firsts().to_vec() }
    }

    /// The warm throughput: what it can take at once.
    pub fn warm(&self) -> Rate {
        let units = |access: Access| self.growth[access.position()].units_per_second() as u64;
        Rate { read: units(Access::Read), write: units(Access::Write) }
    }

    /// How many partitions it has.
    pub fn partition_count(&self) -> usize {
        self.partitions.count()
    }

    /// Goes on with other settings. What is saved up stays if the mode does.
    pub fn set(&mut self, settings: Settings, now_ms: u64) {
        self.roll(now_ms);
        let same_mode =
            std::mem::discriminant(&self.settings.billing) == std::mem::discriminant(&settings.billing);
        for access in Access::BOTH {
            let bucket = &mut self.declared[access.position()];
            match (bucket.as_mut(), declared_units(&settings.billing, access)) {
                (Some(bucket), Some(units)) if same_mode => bucket.set_rate(units),
                _ => *bucket = declared_bucket(&settings.billing, access),
            }
        }
        self.settings = settings;
        self.fit_growth();
    }

    /// Says how much is stored, for partitions split at 10 GB.
    pub fn set_bytes(&mut self, bytes: u64) {
        if self.models_aws {
            self.partitions.fit_bytes(bytes);
        }
    }

    /// The limit that refuses a request, if one does. Nothing is taken. A request for no particular
    /// key, such as a Scan, meets the limits of the whole alone.
    pub fn refusal(&mut self, key_hash: Option<u64>, access: Access, now_ms: u64) -> Option<Cause> {
        self.roll(now_ms);
        let declared = self.declared[access.position()].as_mut();
        if declared.is_some_and(|bucket| !bucket.is_open(now_ms)) {
            return Some(self.declared_cause());
        }
        if !self.models_aws {
            return None;
        }
        if let Some(on_demand) = &mut self.on_demand {
            let OnDemand { quota, grown } = &mut on_demand[access.position()];
            if !quota.is_open(now_ms) {
                return Some(Cause::AccountLimitExceeded);
            }
            if !grown.is_open(now_ms) {
                return Some(Cause::KeyRangeThroughputExceeded);
            }
        }
        let is_open = key_hash.is_none_or(|key_hash| self.partitions.is_open(key_hash, access, now_ms));
        (!is_open).then_some(Cause::KeyRangeThroughputExceeded)
    }

    /// What is left for requests of one kind.
    pub(crate) fn left(&mut self, access: Access, now_ms: u64) -> Left {
        self.roll(now_ms);
        let cause = self.declared_cause();
        let declared = self.declared[access.position()].as_mut();
        let declared = declared.map(|bucket| (cause, bucket.left(now_ms)));
        if !self.models_aws {
            return Left { declared, ..Left::default() };
        }
        let on_demand = self.on_demand.as_mut().map(|both| &mut both[access.position()]);
        let (quota, grown) =
            on_demand.map(|limits| (limits.quota.left(now_ms), limits.grown.left(now_ms))).unzip();
        Left { declared, quota, grown, partitions: self.partitions.left(access, now_ms) }
    }

    fn declared_cause(&self) -> Cause {
        match self.settings.billing {
            Billing::Provisioned(_) => Cause::ProvisionedThroughputExceeded,
            Billing::OnDemand { .. } => Cause::MaxOnDemandThroughputExceeded,
        }
    }

    /// Takes what a request used; a negative amount is given back.
    pub fn charge(&mut self, key_hash: Option<u64>, access: Access, units: f64, now_ms: u64) {
        self.roll(now_ms);
        if let Some(bucket) = &mut self.declared[access.position()] {
            bucket.take(units, now_ms);
        }
        if !self.models_aws {
            return;
        }
        self.used[access.position()] += units;
        if let Some(on_demand) = &mut self.on_demand {
            let OnDemand { quota, grown } = &mut on_demand[access.position()];
            quota.take(units, now_ms);
            grown.take(units, now_ms);
        }
        if let Some(key_hash) = key_hash {
            self.partitions.take(key_hash, access, units, now_ms);
        }
    }

    /// Ends the minutes that passed since the last request.
    fn roll(&mut self, now_ms: u64) {
        let minute = now_ms / MINUTE_MS;
        if minute <= self.minute || !self.models_aws {
            return;
        }
        let idle = (minute - self.minute - 1).min(IDLE_MINUTES_MAX);
        self.minute = minute;
        for _ in 0..=idle {
            for (growth, used) in self.growth.iter_mut().zip(&mut self.used) {
                growth.end_minute(std::mem::take(used));
            }
            self.partitions.end_minute(self.settings.isolates_keys);
        }
        self.fit_growth();
    }

    /// Brings growth, its buckets and the partitions to what the settings ask for at least.
    fn fit_growth(&mut self) {
        if !self.models_aws {
            return;
        }
        for access in Access::BOTH {
            let least = match self.settings.billing {
                Billing::Provisioned(rate) => rate.of(access),
                Billing::OnDemand { .. } => Growth::initial_units(access),
            };
            let growth = &mut self.growth[access.position()];
            growth.raise(least.max(self.settings.warm.map_or(0, |warm| warm.of(access))));
        }
        self.partitions.grow(self.partitions_needed());
        self.fit_on_demand();
    }

    fn fit_on_demand(&mut self) {
        let Billing::OnDemand { .. } = self.settings.billing else {
            self.on_demand = None;
            return;
        };
        let warm = self.warm();
        let quota = Rate {
            read: self.settings.quotas.table_read_units,
            write: self.settings.quotas.table_write_units,
        };
        let buckets = self.on_demand.get_or_insert_with(|| {
            Access::BOTH.map(|access| OnDemand {
                quota: Bucket::new(quota.of(access), ON_DEMAND_BURST_SECONDS),
                grown: Bucket::new(warm.of(access), ON_DEMAND_BURST_SECONDS),
            })
        });
        for access in Access::BOTH {
            let OnDemand { quota: quota_bucket, grown } = &mut buckets[access.position()];
            quota_bucket.set_rate(quota.of(access));
            grown.set_rate(warm.of(access));
        }
    }

    /// A new on-demand table has four partitions for 12,000 reads and 4,000 writes. Provisioned units count
    /// together.
    fn partitions_needed(&self) -> usize {
        let warm = self.warm();
        let needed = match self.settings.billing {
            Billing::Provisioned(rate) => partitions_provisioned(rate.read, rate.write),
            Billing::OnDemand { .. } => 1,
        };
        let reads = warm.read.div_ceil(PARTITION_READ_UNITS);
        let writes = warm.write.div_ceil(PARTITION_WRITE_UNITS);
        usize::try_from(needed.max(reads).max(writes)).unwrap_or(usize::MAX)
    }
}

fn declared_units(billing: &Billing, access: Access) -> Option<u64> {
    match (billing, access) {
        (Billing::Provisioned(rate), _) => Some(rate.of(access)),
        (Billing::OnDemand { max_read, .. }, Access::Read) => *max_read,
        (Billing::OnDemand { max_write, .. }, Access::Write) => *max_write,
    }
}

fn declared_bucket(billing: &Billing, access: Access) -> Option<Bucket> {
    let burst_seconds = match billing {
        Billing::Provisioned(_) => BURST_SECONDS,
        Billing::OnDemand { .. } => ON_DEMAND_BURST_SECONDS,
    };
    declared_units(billing, access).map(|units| Bucket::new(units, burst_seconds))
}
