//! Statistics that need to know how values are distributed, as `ExtendedStatistic` and `Stat` name them.
//!
//! ```text
//! p99.9                            the value that 99.9 % of all values do not exceed
//! tm99   TM(10%:90%)   IQM         the mean of the values within a range; IQM is TM(25%:75%)
//! tc99   TC(0.005:0.030)           how many values are within a range
//! ts99   TS(80%:)                  the sum of the values within a range
//! wm98   WM(2%:98%)                the mean, with the values outside of a range moved to its ends
//! PR(:300)                         how many percent of the values are within a range
//! ```

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExtendedStatistic {
    /// In percent.
    Percentile(f64),
    /// `TM`
    TrimmedMean(Trim),
    /// `TC`
    TrimmedCount(Trim),
    /// `TS`
    TrimmedSum(Trim),
    /// `WM`
    WinsorizedMean(Trim),
    /// `PR`
    PercentileRank(Trim),
}

/// A range of values: larger than the lower end, and not larger than the upper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trim {
    /// Where it begins.
    pub low: TrimEnd,
    /// Where it ends.
    pub high: TrimEnd,
}

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrimEnd {
    /// Above this percentage of all values.
    Percent(f64),
    /// At a value.
    Value(f64),
}

impl ExtendedStatistic {
    /// The statistic with this name; none if there is no such.
    pub fn named(name: &str) -> Option<ExtendedStatistic> {
        if name == "IQM" {
            let trim = Trim { low: TrimEnd::Percent(25.0), high: TrimEnd::Percent(75.0) };
            return Some(ExtendedStatistic::TrimmedMean(trim));
        }
        if let Some(number) = name.strip_prefix('p') {
            return percent(number).map(ExtendedStatistic::Percentile);
        }
        let (kind, rest) = name.split_at_checked(2)?;
        let trim = match rest.strip_prefix('(') {
            Some(range) => range.strip_suffix(')').and_then(trim)?,
            None => Trim { low: TrimEnd::Percent(0.0), high: TrimEnd::Percent(percent(rest)?) },
        };
        let is_range = rest.starts_with('(');
        match kind {
            "tm" if !is_range => Some(ExtendedStatistic::TrimmedMean(trim)),
            "tc" if !is_range => Some(ExtendedStatistic::TrimmedCount(trim)),
            "ts" if !is_range => Some(ExtendedStatistic::TrimmedSum(trim)),
            "wm" if !is_range => Some(ExtendedStatistic::WinsorizedMean(trim)),
            "TM" if is_range => Some(ExtendedStatistic::TrimmedMean(trim)),
            "TC" if is_range => Some(ExtendedStatistic::TrimmedCount(trim)),
            "TS" if is_range => Some(ExtendedStatistic::TrimmedSum(trim)),
            "WM" if is_range => Some(ExtendedStatistic::WinsorizedMean(trim)),
            "PR" if is_range && !rest.contains('%') => Some(ExtendedStatistic::PercentileRank(trim)),
            _ => None,
        }
    }
}

/// `10%:90%`, `150:1000`, `:95%`, `80%:`
fn trim(range: &str) -> Option<Trim> {
    let (low, high) = range.split_once(':')?;
    let end = |text: &str, missing: f64| match (text, text.strip_suffix('%')) {
        ("", _) => Some(TrimEnd::Percent(missing)),
        (_, Some(number)) => percent(number).map(TrimEnd::Percent),
        (number, None) => decimal(number).map(TrimEnd::Value),
    };
    let is_empty = low.is_empty() && high.is_empty();
    (!is_empty).then_some(Trim { low: end(low, 0.0)?, high: end(high, 100.0)? })
}

fn percent(text: &str) -> Option<f64> {
    decimal(text).filter(|number| *number <= 100.0)
}

/// Digits, with a point among them at most.
fn decimal(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|number: &f64| is_plain && number.is_finite())
}
