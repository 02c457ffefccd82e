//! How the values of a metric are distributed, for percentiles.
//!
//! Values are counted in buckets, [`PER_DOUBLING`] of them from any value to twice that value, as AWS's own sparse
//! exponential histograms do. A bucket stands for its smallest value: percentiles of whole numbers up to 128 are exact,
//! and others are at most 1.6 % too small. Distributions add up without loss.
//!
//! What it costs: a bucket that is used takes 16 bytes in memory and some 3 in a store, and there are at most
//! [`BUCKETS_MAX`].

use crate::bytes::{Reader, Unreadable, write_varint};

/// Bits of a number's fraction that tell buckets apart: 64 buckets for each doubling.
const FRACTION_BITS: u32 = 6;
const PER_DOUBLING: u64 = 1 << FRACTION_BITS;
/// Everything below is in one bucket: a microsecond, in milliseconds.
const SMALLEST: f64 = 1.0 / 1024.0;
const DOUBLINGS: u64 = 50;
/// One for the smallest values, and those of 50 doublings, up to 10 to the 12th.
const BUCKETS_MAX: u64 = 1 + DOUBLINGS * PER_DOUBLING;

/// How often values of each size came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Buckets that are not empty, each with its count, in order.
    buckets: Vec<(u16, u64)>,
}

/// A part of the values in the order of their size: those behind the first rank, up to and with the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// How many values are too small.
    pub from: f64,
    /// How many values are not too large.
    pub to: f64,
}

impl Distribution {
    /// A value that occurred `count` times.
    pub fn of(value: f64, count: u64) -> Distribution {
        Distribution { buckets: vec![(bucket(value), count)] }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.add_to(bucket(value), 1);
    }

    /// Adds the values of another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        other.buckets.iter().for_each(|(bucket, count)| self.add_to(*bucket, *count));
    }

    fn add_to(&mut self, bucket: u16, count: u64) {
        match self.buckets.binary_search_by_key(&bucket, |(known, _)| *known) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(count),
            Err(at) => {
                self.buckets.insert(at, (bucket, count));
                debug_assert!(
                    self.buckets[at.saturating_sub(1)..self.buckets.len().min(at + 2)]
                        .is_sorted_by(|one, next| one.0 < next.0),
                    "buckets are in order, each once"
                );
            }
        }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The smallest value that `percent` of all values do not exceed.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.at_rank((self.count() as f64 * percent / 100.0).ceil())
    }

    /// How many values do not exceed this one.
    pub fn rank(&self, value: f64) -> f64 {
        let last = bucket(value);
        let below = self.buckets.iter().take_while(|(bucket, _)| *bucket <= last);
        below.map(|(_, count)| *count as f64).sum()
    }

    /// The sum of a part of the values.
    pub fn sum(&self, ranks: Ranks) -> f64 {
        let mut before = 0.0_f64;
        let mut sum = 0.0;
        for (bucket, count) in &self.buckets {
            let after = before + *count as f64;
            sum += smallest_value(*bucket) * (after.min(ranks.to) - before.max(ranks.from)).max(0.0);
            before = after;
        }
        sum
    }

    /// The value of this rank; the first is the smallest.
    pub fn at_rank(&self, rank: f64) -> f64 {
        let mut before = 0.0;
        let at = self.buckets.iter().find(|(_, count)| {
            before += *count as f64;
            before >= rank
        });
        at.or(self.buckets.last()).map_or(0.0, |(bucket, _)| smallest_value(*bucket))
    }

    /// Appends it: how many buckets there are, and for each how far it is behind the last one, and its count.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        write_varint(out, self.buckets.len() as u64);
        let mut last = 0;
        for (bucket, count) in &self.buckets {
            write_varint(out, u64::from(*bucket - last));
            write_varint(out, *count);
            last = *bucket;
        }
    }

    /// Reads what was appended, of this many values.
    pub(super) fn decode(reader: &mut Reader<'_>, count: u64) -> Result<Distribution, Unreadable> {
        let length = reader.varint()?;
        if !(1..=BUCKETS_MAX).contains(&length) {
            return Err(Unreadable::Number);
        }
        let mut buckets = Vec::new();
        let mut last = 0_u64;
        for number in 0..length {
            let distance = reader.varint()?;
            if number > 0 && distance == 0 {
                return Err(Unreadable::Number);
            }
            last = last.checked_add(distance).filter(|last| *last < BUCKETS_MAX).ok_or(Unreadable::Number)?;
            match reader.varint()? {
                0 => return Err(Unreadable::Number),
                count => buckets.push((last as u16, count)),
            }
        }
        let distribution = Distribution { buckets };
        if distribution.count() != count {
            return Err(Unreadable::Number);
        }
        Ok(distribution)
    }
}

/// The bucket of a value: the exponent of the number and the first bits of its fraction. What is no number, or less
/// than nothing, is in the first one.
fn bucket(value: f64) -> u16 {
    if value.is_nan() || value < SMALLEST {
        return 0;
    }
    let above = (value.to_bits() - SMALLEST.to_bits()) >> (f64::MANTISSA_DIGITS - 1 - FRACTION_BITS);
    (above + 1).min(BUCKETS_MAX - 1) as u16
}

fn smallest_value(bucket: u16) -> f64 {
    match u64::from(bucket).checked_sub(1) {
        None => 0.0,
        Some(above) => {
            f64::from_bits(SMALLEST.to_bits() + (above << (f64::MANTISSA_DIGITS - 1 - FRACTION_BITS)))
        }
    }
}
