//! The partitions of a table or index: ranges of key hashes, each of which sustains 1,000 write units and
//! 3,000 read units a second and holds 10 GB.
//!
//! Partitions split and are never joined. There are four reasons to split:
//!
//! - the table's throughput needs more of them ([`Partitions::grow`]);
//! - one holds more than 10 GB ([`Partitions::fit_bytes`]);
//! - one was hot for [`HOT_MINUTES`]: it is cut where half of its traffic is on either side, or the part that
//!   has nearly all of it is cut out;
//! - most of a hot one's traffic is for one key: the key is isolated in a partition of its own.
//!
//! A key is in one partition at any time, so no split lifts it beyond what one partition sustains.
//!
//! AWS does not publish when it splits for heat. That it takes minutes of sustained traffic, and that the cut
//! follows the traffic, is known; the figures here are ours.
//!
//! What always holds: the ranges are in order, without a gap or an overlap, and together all hashes.

use crate::bucket::Bucket;
use crate::throttle::Access;
use crate::units::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};

/// What one partition holds before it is split.
pub const PARTITION_BYTES: u64 = 10 << 30;
/// The partitions of one table or index that are told apart: those of 10 TB. At 200 bytes each they take
/// 200 KB.
pub const PARTITIONS_MAX: usize = 1024;
/// Minutes in a row for which a partition is hot before it splits.
pub const HOT_MINUTES: u8 = 5;
/// The part of what a partition sustains above which it is hot.
const HOT_SHARE: f64 = 0.8;
/// A partition sustains its rate in each second: nothing is saved up.
const PARTITION_BURST_SECONDS: f64 = 1.0;
/// Parts of a partition whose traffic is counted apart, to find where to cut.
const BINS: usize = 16;
/// The part of a partition's traffic at which one bin is cut out.
const BIN_SHARE: f32 = 0.8;
/// A key is isolated when it has this much more of the traffic than all others together: 60 % of it.
const KEY_LEAD: f64 = 0.2;

/// All partitions of a table or index.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// Where each begins, apart from the rest so that looking one up reads little.
    firsts: Vec<u64>,
    list: Vec<Partition>,
}

#[derive(Clone, Debug)]
struct Partition {
    first: u64,
    /// Within the partition.
    last: u64,
    buckets: [Bucket; 2],
    traffic: Traffic,
    hot_minutes: u8,
}

/// What happened in one minute. Heat is the share of a second's throughput, so that reads and writes add up.
#[derive(Clone, Debug, Default)]
struct Traffic {
    units: [f64; 2],
    heat: f64,
    bins: [f32; BINS],
    /// The key that may have most of the heat, and by how much it leads: a majority vote.
    leader: u64,
    lead: f64,
}

/// How a partition is to be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// In two: the second begins here.
    At(u64),
    /// This range gets a partition of its own.
    Out(u64, u64),
}

impl Partitions {
    /// `count` partitions of equal width.
    pub fn new(count: usize) -> Partitions {
        let mut partitions = Partitions { firsts: vec![0], list: vec![Partition::new(0, u64::MAX)] };
        partitions.grow(count);
        partitions
    }

    /// Partitions that begin at these hashes, as [`Partitions::firsts`] gave them.
    pub fn from_firsts(firsts: &[u64]) -> Partitions {
        let mut firsts = firsts.to_vec();
        firsts.push(0);
        firsts.sort_unstable();
        firsts.dedup();
        firsts.truncate(PARTITIONS_MAX);
        let lasts = firsts.iter().skip(1).map(|next| next - 1).chain([u64::MAX]);
        let list = firsts.iter().zip(lasts).map(|(first, last)| Partition::new(*first, last)).collect();
        let partitions = Partitions { firsts, list };
        partitions.debug_assert_whole();
        partitions
    }

    /// Panics in a debug build unless the ranges are in order, without a gap or an overlap, and together all
    /// hashes.
    fn debug_assert_whole(&self) {
        if cfg!(debug_assertions) {
            assert!(self.list.len() <= PARTITIONS_MAX, "{} partitions", self.list.len());
            assert!(
                self.firsts.iter().eq(self.list.iter().map(|partition| &partition.first)),
                "both lists agree"
            );
            assert_eq!(self.firsts[0], 0, "the first partition has the lowest hash");
            assert_eq!(self.list.last().map(|last| last.last), Some(u64::MAX), "the last has the highest");
            let are_joined =
                |pair: &[Partition]| pair[0].first <= pair[0].last && pair[0].last + 1 == pair[1].first;
            assert!(self.list.windows(2).all(are_joined), "there is no gap and no overlap");
        }
    }

    /// Where each partition begins, in order.
    pub fn firsts(&self) -> &[u64] {
        &self.firsts
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Whether the key's partition can take a request now.
    pub fn is_open(&mut self, key_hash: u64, access: Access, now_ms: u64) -> bool {
        self.at(key_hash).buckets[access.position()].is_open(now_ms)
    }

    /// Where each partition begins, and what it has left.
    pub fn left(&mut self, access: Access, now_ms: u64) -> Vec<(u64, f64)> {
        let left =
            |partition: &mut Partition| (partition.first, partition.buckets[access.position()].left(now_ms));
        self.list.iter_mut().map(left).collect()
    }

    /// Takes what a request used; a negative amount is given back.
    pub fn take(&mut self, key_hash: u64, access: Access, units: f64, now_ms: u64) {
        let partition = self.at(key_hash);
        partition.buckets[access.position()].take(units, now_ms);
        partition.count(key_hash, access, units);
    }

    /// Splits until no partition is wider than each of `count` equal ones would be. So traffic that is spread
    /// evenly over all hashes gets through.
    pub fn grow(&mut self, count: usize) {
        let share = 1.0 / count.clamp(1, PARTITIONS_MAX) as f64;
        self.split_wider_than(share);
    }

    /// Splits until no partition holds more than 10 GB, if `bytes` are spread evenly over all hashes.
    pub fn fit_bytes(&mut self, bytes: u64) {
        self.split_wider_than(PARTITION_BYTES as f64 / bytes.max(1) as f64);
    }

    fn split_wider_than(&mut self, share: f64) {
        let width = share * 2f64.powi(64);
        let mut position = 0;
        while position < self.list.len() && self.list.len() < PARTITIONS_MAX {
            if self.list[position].width() > width {
                let middle = self.list[position].middle();
                self.split(position, Cut::At(middle));
            } else {
                position += 1;
            }
        }
        self.debug_assert_whole();
    }

    /// Ends a minute: those that were hot for long enough split.
    pub fn end_minute(&mut self, isolates_keys: bool) {
        // From the end, so that a split moves only what was looked at.
        for position in (0..self.list.len()).rev() {
            let cut = self.list[position].end_minute(isolates_keys);
            if let Some(cut) = cut.filter(|_| self.list.len() + 2 <= PARTITIONS_MAX) {
                self.split(position, cut);
            }
        }
        self.debug_assert_whole();
    }

    fn at(&mut self, key_hash: u64) -> &mut Partition {
        let position = self.firsts.partition_point(|first| *first <= key_hash) - 1;
        let found = &mut self.list[position];
        debug_assert!((found.first..=found.last).contains(&key_hash), "each hash has one partition");
        found
    }

    fn split(&mut self, position: usize, cut: Cut) {
        let whole = &self.list[position];
        debug_assert!(whole.contains(cut), "{cut:?} is inside of the partition");
        let part = |first, last| Partition { first, last, ..whole.rested() };
        let parts: Vec<Partition> = match cut {
            Cut::At(second) => vec![part(whole.first, second - 1), part(second, whole.last)],
            Cut::Out(first, last) => {
                let before = (first > whole.first).then(|| part(whole.first, first - 1));
                let after = (last < whole.last).then(|| part(last + 1, whole.last));
                before.into_iter().chain([part(first, last)]).chain(after).collect()
            }
        };
        self.firsts.splice(position..=position, parts.iter().map(|part| part.first));
        self.list.splice(position..=position, parts);
    }
}

impl Partition {
    fn new(first: u64, last: u64) -> Partition {
        let bucket = |units| Bucket::new(units, PARTITION_BURST_SECONDS);
        Partition {
            first,
            last,
            buckets: [bucket(PARTITION_READ_UNITS), bucket(PARTITION_WRITE_UNITS)],
            traffic: Traffic::default(),
            hot_minutes: 0,
        }
    }

    /// The same with nothing counted yet. What is left of its second goes on.
    fn rested(&self) -> Partition {
        let (first, last, buckets) = (self.first, self.last, self.buckets.clone());
        Partition { first, last, buckets, traffic: Traffic::default(), hot_minutes: 0 }
    }

    /// Whether the cut leaves each part some hashes of this partition and no others.
    fn contains(&self, cut: Cut) -> bool {
        match cut {
            Cut::At(second) => self.first < second && second <= self.last,
            Cut::Out(first, last) => self.first <= first && first <= last && last <= self.last,
        }
    }

    fn width(&self) -> f64 {
        (self.last - self.first) as f64 + 1.0
    }

    /// Where the second half begins.
    fn middle(&self) -> u64 {
        self.first + (self.last - self.first) / 2 + 1
    }

    fn count(&mut self, key_hash: u64, access: Access, units: f64) {
        let heat = units / sustained(access);
        let bin = ((key_hash - self.first) as f64 / self.width() * BINS as f64) as usize;
        let traffic = &mut self.traffic;
        traffic.units[access.position()] += units;
        traffic.heat += heat;
        traffic.bins[bin.min(BINS - 1)] += heat as f32;
        // Units that are given back were counted a moment ago. The vote is an estimate, so it keeps them.
        if heat > 0.0 {
            traffic.vote(key_hash, heat);
        }
    }

    fn end_minute(&mut self, isolates_keys: bool) -> Option<Cut> {
        self.hot_minutes = if self.traffic.is_hot() { self.hot_minutes + 1 } else { 0 };
        let cut = (self.hot_minutes >= HOT_MINUTES).then(|| self.cut(isolates_keys)).flatten();
        self.hot_minutes = self.hot_minutes.min(HOT_MINUTES);
        self.traffic = Traffic::default();
        cut
    }

    /// None for a single key: it has its partition already.
    fn cut(&self, isolates_keys: bool) -> Option<Cut> {
        if self.first == self.last {
            return None;
        }
        let Traffic { heat, leader, lead, .. } = self.traffic;
        if lead > KEY_LEAD * heat {
            // Elsewhere a split would not help: nearly all of the traffic stays on one side.
            return isolates_keys.then_some(Cut::Out(leader, leader));
        }
        Some(self.cut_by_bins())
    }

    fn cut_by_bins(&self) -> Cut {
        let bins = &self.traffic.bins;
        let all: f32 = bins.iter().sum();
        if let Some(hot) = bins.iter().position(|heat| *heat > BIN_SHARE * all) {
            let (first, last) = self.bin(hot);
            if first <= last && (first, last) != (self.first, self.last) {
                return Cut::Out(first, last);
            }
        }
        let mut left = 0.0;
        let half = bins.iter().position(|heat| {
            left += heat;
            left >= all / 2.0
        });
        let at = half.map_or(self.last, |bin| self.bin(bin).1).saturating_add(1);
        Cut::At(if at > self.first && at <= self.last { at } else { self.middle() })
    }

    /// The first and last hash of a bin. It is empty if there are fewer hashes than bins.
    fn bin(&self, bin: usize) -> (u64, u64) {
        let width = u128::from(self.last - self.first) + 1;
        // At most the width, so behind the first hash of the partition it is at most one beyond the last.
        let begins = |bin: usize| u128::from(self.first) + width * bin as u128 / BINS as u128;
        (begins(bin) as u64, begins(bin + 1).saturating_sub(1) as u64)
    }
}

impl Traffic {
    /// A majority vote: a key with more than half of the heat leads at the end, whatever the order.
    fn vote(&mut self, key_hash: u64, heat: f64) {
        if key_hash == self.leader {
            self.lead += heat;
        } else if heat > self.lead {
            (self.leader, self.lead) = (key_hash, heat - self.lead);
        } else {
            self.lead -= heat;
        }
    }

    fn is_hot(&self) -> bool {
        let is_above = |access: Access| self.units[access.position()] > HOT_SHARE * 60.0 * sustained(access);
        Access::BOTH.into_iter().any(is_above)
    }
}

/// The units that a partition sustains each second.
fn sustained(access: Access) -> f64 {
    match access {
        Access::Read => PARTITION_READ_UNITS as f64,
        Access::Write => PARTITION_WRITE_UNITS as f64,
    }
}
