//! A line of a bill: factors and their product, printed so that a person can check it.

use std::fmt;

use serde::{Serialize, Serializer};

/// One factor or divisor, and what it counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Factor {
    pub value: f64,
    pub unit: String,
    pub divides: bool,
}

/// `A1 reads: 800 requests/s × 0.5 RRU × 2,628,000 s × $0.125 ÷ 1,000,000 = $131.40`.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub what: String,
    pub factors: Vec<Factor>,
}

impl Line {
    pub fn new(what: impl Into<String>) -> Line {
        Line { what: what.into(), factors: Vec::new() }
    }

    /// Adds a factor.
    pub fn times(mut self, value: f64, unit: &str) -> Line {
        self.factors.push(Factor { value, unit: unit.to_owned(), divides: false });
        self
    }

    /// Adds a divisor.
    pub fn over(mut self, value: f64, unit: &str) -> Line {
        self.factors.push(Factor { value, unit: unit.to_owned(), divides: true });
        self
    }

    /// The product of the factors.
    pub fn amount(&self) -> f64 {
        self.factors.iter().fold(1.0, |amount, factor| match factor.divides {
            true => amount / factor.value,
            false => amount * factor.value,
        })
    }

    /// The factors and their product, as a person would write them down.
    pub fn arithmetic(&self) -> String {
        let mut text = String::new();
        for (position, factor) in self.factors.iter().enumerate() {
            let sign = if factor.divides { " ÷ " } else { " × " };
            text.push_str(if position == 0 { "" } else { sign });
            text.push_str(&factor.to_string());
        }
        format!("{text} = {}", dollars(self.amount()))
    }
}

/// The sum of lines.
pub fn sum<'l>(lines: impl IntoIterator<Item = &'l Line>) -> f64 {
    // The empty sum of floats is -0, which would be printed as such.
    lines.into_iter().map(Line::amount).sum::<f64>() + 0.0
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'l> {
            what: &'l str,
            factors: &'l [Factor],
            amount: f64,
        }
        Shown { what: &self.what, factors: &self.factors, amount: self.amount() }.serialize(serializer)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit.strip_prefix('$') {
            Some(per) => write!(formatter, "${}{per}", number(self.value)),
            None if self.unit.is_empty() => formatter.write_str(&number(self.value)),
            None => write!(formatter, "{} {}", number(self.value), self.unit),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, self.arithmetic())
    }
}

/// Two decimals and thousands separators; an amount below a cent shows its first digits.
pub fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        return format!("${}", significant(amount, 3));
    }
    let cents = format!("{:.2}", amount + 0.0);
    let (whole, rest) = cents.split_once('.').unwrap_or((&cents, "00"));
    format!("${}.{rest}", grouped(whole))
}

/// At most nine significant digits, with thousands separators.
pub fn number(value: f64) -> String {
    significant(value, 9)
}

fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        // An empty sum is -0, which must not be printed so.
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (digits - 1 - magnitude).clamp(0, 18) as usize;
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    match rest.trim_end_matches('0') {
        "" => grouped(whole),
        rest => format!("{}.{rest}", grouped(whole)),
    }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let mut text = String::from(sign);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
