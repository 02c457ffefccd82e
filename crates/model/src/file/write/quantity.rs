//! Short numbers: `1M`, `600 B`, `800/s`, `30%`. Each text is read back as the same number.

use crate::model::{Growth, Skew};

/// Longest first.
const PERIODS: [(&str, f64); 7] = [
    ("year", 365.0 * 86_400.0),
    ("month", 30.0 * 86_400.0),
    ("week", 7.0 * 86_400.0),
    ("day", 86_400.0),
    ("h", 3_600.0),
    ("min", 60.0),
    ("s", 1.0),
];

pub fn number(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let value = value.abs();
    let scaled = [("G", 1e9), ("M", 1e6), ("K", 1e3)].into_iter().find_map(|(unit, factor)| {
        let amount = value / factor;
        // `1.5M` is short enough, `1.234567M` is better written out.
        let short = amount >= 1.0 && (amount * 10.0).fract() == 0.0;
        (short && amount * factor == value).then(|| format!("{amount}{unit}"))
    });
    format!("{sign}{}", scaled.unwrap_or_else(|| value.to_string()))
}

pub fn size(bytes: u64) -> String {
    let units = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    let whole = units.into_iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    match whole {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

/// The longest period that makes the number short, but not below one.
pub fn rate(per_second: f64) -> String {
    let exact = |(name, seconds): &(&str, f64)| {
        let amount = (per_second * seconds * 1e6).round() / 1e6;
        let short = amount.fract() == 0.0 && amount / seconds == per_second;
        short.then(|| format!("{}/{name}", number(amount)))
    };
    let exact = PERIODS.iter().rev().find_map(exact);
    exact.unwrap_or_else(|| format!("{per_second}/s"))
}

pub fn growth(growth: &Growth, amount: impl Fn(f64) -> String) -> String {
    let named = PERIODS.iter().find(|(_, seconds)| *seconds == growth.period_seconds);
    match named {
        Some((name, _)) => format!("{} per {name}", amount(growth.amount)),
        None => format!("{} per day", amount(growth.per_second() * 86_400.0)),
    }
}

pub fn duration(seconds: u64) -> String {
    let whole = PERIODS[2..].iter().find(|(_, period)| seconds > 0 && seconds.is_multiple_of(*period as u64));
    match whole {
        Some((name, period)) => {
            let amount = seconds / (*period as u64);
            let plural = if name.len() > 2 && *name != "min" && amount > 1 { "s" } else { "" };
            format!("{amount} {name}{plural}")
        }
        None => format!("{seconds} s"),
    }
}

/// The shortest number of per cents that is the same share.
pub fn percent(share: f64) -> String {
    let candidates = (0..=15).map(|digits| format!("{:.digits$}", share * 100.0));
    let same = |text: &String| text.parse::<f64>().is_ok_and(|percent| percent / 100.0 == share);
    let shortest = candidates.into_iter().find(same).unwrap_or_else(|| (share * 100.0).to_string());
    format!("{shortest}%")
}

pub fn skew(skew: Skew) -> String {
    match skew {
        Skew::Uniform => "uniform".to_owned(),
        Skew::Top(share) => format!("top {}", percent(share)),
        Skew::Zipf(exponent) => format!("zipf {exponent}"),
    }
}
