//! How many, how large, how often, how unevenly.

use super::EntityId;

/// `1M`, `20 per Customer`, `{ typical: 20, max: 50K, per: Customer }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    pub typical: f64,
    /// The maximum (for one parent, if `per`).
    pub max: Option<f64>,
    pub per: Option<EntityId>,
}

impl Count {
    pub fn most(&self) -> f64 {
        self.max.unwrap_or(self.typical).max(self.typical)
    }
}

/// `1 KB`, `{ typical: 1 KB, max: 300 KB }`. KB are 1024 bytes, as DynamoDB counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub typical: u64,
    pub max: Option<u64>,
}

impl Size {
    pub fn most(&self) -> u64 {
        self.max.unwrap_or(self.typical).max(self.typical)
    }
}

/// `1M per month`, `2 KB per day`: items or bytes that are added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    pub amount: f64,
    pub period_seconds: f64,
}

impl Growth {
    pub fn per_second(&self) -> f64 {
        self.amount / self.period_seconds
    }
}

/// `800/s`, `{ average: 800/s, peak: 3000/s, curve: [..24 weights..] }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Requests per second, over a day.
    pub average: f64,
    pub peak: Option<f64>,
    pub curve: Option<Curve>,
}

impl Rate {
    /// The rate that capacity and heat must sustain.
    pub fn peak(&self) -> f64 {
        let by_curve = self.curve.as_ref().map_or(self.average, |curve| self.average * curve.peak_factor());
        self.peak.unwrap_or(by_curve).max(self.average)
    }
}

/// Relative traffic of the 24 hours of a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve(pub [f64; 24]);

impl Curve {
    /// How many times the mean the busiest hour is.
    pub fn peak_factor(&self) -> f64 {
        let mean = self.0.iter().sum::<f64>() / 24.0;
        let busiest = self.0.iter().copied().fold(0.0, f64::max);
        if mean > 0.0 { busiest / mean } else { 1.0 }
    }
}

/// How unevenly requests, or values, are distributed over keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Skew {
    Uniform,
    /// The share of the busiest key, between 0 and 1.
    Top(f64),
    /// A zipf distribution with this exponent.
    Zipf(f64),
}

impl Skew {
    /// The share of the busiest of `keys` keys.
    pub fn top_share(self, keys: f64) -> f64 {
        let keys = keys.max(1.0);
        match self {
            Skew::Uniform => 1.0 / keys,
            Skew::Top(share) => share.max(1.0 / keys),
            Skew::Zipf(exponent) => 1.0 / generalised_harmonic(keys, exponent),
        }
    }
}

impl Skew {
    /// All keys, in groups of equal shares: how many keys, and the share of each. The first keys of a zipf
    /// distribution are groups of their own; the others are put together in ranges that double.
    pub fn groups(self, keys: f64) -> Vec<(f64, f64)> {
        const SINGLE: u64 = 1_000;
        let keys = keys.clamp(1.0, 1e15);
        let top = self.top_share(keys);
        let rest = (keys - 1.0).max(0.0);
        match self {
            Skew::Uniform => vec![(keys, top)],
            Skew::Top(_) if rest > 0.0 => vec![(1.0, top), (rest, (1.0 - top).max(0.0) / rest)],
            Skew::Top(_) => vec![(1.0, 1.0)],
            Skew::Zipf(exponent) => {
                let single =
                    (1..=SINGLE.min(keys as u64)).map(|rank| (1.0, top * (rank as f64).powf(-exponent)));
                let mut groups: Vec<(f64, f64)> = single.collect();
                let mut from = SINGLE as f64;
                while from < keys {
                    let to = (from * 2.0).min(keys);
                    let shares = generalised_harmonic(to, exponent) - generalised_harmonic(from, exponent);
                    groups.push((to - from, top * shares / (to - from)));
                    from = to;
                }
                groups
            }
        }
    }
}

/// The sum of 1/k^s for k up to n: the first terms one by one, the rest as an integral.
fn generalised_harmonic(n: f64, s: f64) -> f64 {
    const EXACT_TERMS: f64 = 10_000.0;
    let exact = n.min(EXACT_TERMS);
    let head: f64 = (1..=exact as u64).map(|k| (k as f64).powf(-s)).sum();
    if n <= exact {
        return head;
    }
    let (low, high) = (exact + 0.5, n + 0.5);
    let tail = if (s - 1.0).abs() < 1e-9 {
        (high / low).ln()
    } else {
        (high.powf(1.0 - s) - low.powf(1.0 - s)) / (1.0 - s)
    };
    head + tail
}

/// `5 min`, `90%`, `{ ttl: 5 min, hit: 90% }`: a cache in front of the table, as DAX is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cached {
    /// How long an answer is kept.
    pub ttl_seconds: Option<u64>,
    /// The share of reads that it answers, if declared; else it follows from the time ([`crate::cache`]).
    pub hit: Option<f64>,
}

impl Cached {
    /// Whether it is declared to answer nothing.
    pub fn is_off(&self) -> bool {
        match self.hit {
            Some(hit) => hit <= 0.0,
            None => self.ttl_seconds.unwrap_or(0) == 0,
        }
    }
}

/// How many items a read returns: `20`, `{ typical: 20, max: 500 }`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Returns {
    pub typical: f64,
    pub max: Option<f64>,
}
