//! `20 per Customer`, `600 B`, `800/s`, `70%`, `7 days`, `top 30%`.

use super::Parsed;
use super::cursor::Cursor;
use super::yaml::Scalar;
use crate::Span;
use crate::model::{Cached, Growth, Skew};

const PERIODS: [(&[&str], f64); 6] = [
    (&["s", "sec", "second", "seconds"], 1.0),
    (&["min", "m", "minute", "minutes"], 60.0),
    (&["h", "hour", "hours"], 3_600.0),
    (&["d", "day", "days"], 86_400.0),
    (&["w", "week", "weeks"], 7.0 * 86_400.0),
    (&["month", "months"], 30.0 * 86_400.0),
];
const YEAR: (&[&str], f64) = (&["y", "year", "years"], 365.0 * 86_400.0);

const SIZES: [(&str, f64); 4] = [("B", 1.0), ("KB", 1024.0), ("MB", 1048576.0), ("GB", 1073741824.0)];

fn whole<T>(scalar: &Scalar, read: impl FnOnce(&mut Cursor<'_>) -> Parsed<T>) -> Parsed<T> {
    let mut cursor = Cursor::new(scalar);
    let value = read(&mut cursor)?;
    cursor.end()?;
    Ok(value)
}

/// A count, and the entity it is per, if any.
pub fn count(scalar: &Scalar) -> Parsed<(f64, Option<(String, Span)>)> {
    whole(scalar, |cursor| {
        let number = cursor.number()?;
        if !cursor.take_word("per") {
            return Ok((number, None));
        }
        let (name, span) = cursor.word("the name of an entity")?;
        Ok((number, Some((name.to_owned(), span))))
    })
}

pub fn number(scalar: &Scalar) -> Parsed<f64> {
    whole(scalar, |cursor| {
        let negative = cursor.take("-");
        let number = cursor.number()?;
        Ok(if negative { -number } else { number })
    })
}

pub fn integer(scalar: &Scalar) -> Parsed<u64> {
    let value = number(scalar)?;
    if value < 0.0 || value.fract() != 0.0 || value > 1e15 {
        return Err(Cursor::new(scalar).error("expected a whole number, zero or more"));
    }
    Ok(value as u64)
}

pub fn size(scalar: &Scalar) -> Parsed<u64> {
    whole(scalar, size_at)
}

fn size_at(cursor: &mut Cursor<'_>) -> Parsed<u64> {
    // `K` alone would mean a thousand, so the digits are read without it.
    cursor.skip_space();
    let start = cursor.at;
    let digits = cursor.take_while(|c| c.is_ascii_digit() || c == '.' || c == '_').replace('_', "");
    let Ok(number) = digits.parse::<f64>() else {
        cursor.at = start;
        return Err(cursor.error("expected a size, as in `600 B` or `1.5 KB`"));
    };
    cursor.skip_space();
    let before = cursor.at;
    let unit = cursor.take_while(char::is_alphabetic);
    let factor = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor);
    match factor {
        Some(factor) if number * factor < 1e15 => Ok((number * factor) as u64),
        Some(_) => Err(cursor.error("no item is as large as that")),
        None => {
            cursor.at = before;
            Err(cursor.error("expected a unit: `B`, `KB`, `MB` or `GB`"))
        }
    }
}

fn period(cursor: &mut Cursor<'_>) -> Parsed<f64> {
    cursor.skip_space();
    let start = cursor.at;
    let word = cursor.take_while(char::is_alphabetic);
    let known = PERIODS.iter().chain([&YEAR]).find(|(names, _)| names.contains(&word));
    match known {
        Some((_, seconds)) => Ok(*seconds),
        None => {
            cursor.at = start;
            Err(cursor.error("expected `s`, `min`, `h`, `day`, `week`, `month` or `year`"))
        }
    }
}

/// What lists of access patterns say in words, in requests per second.
const RATE_WORDS: [(&str, f64); 3] = [("high", 100.0), ("medium", 10.0), ("low", 1.0)];

/// Requests per second.
pub fn rate(scalar: &Scalar) -> Parsed<f64> {
    let word = RATE_WORDS.iter().find(|(word, _)| scalar.text.trim().eq_ignore_ascii_case(word));
    if let Some((_, rate)) = word {
        return Ok(*rate);
    }
    whole(scalar, |cursor| {
        let number = cursor.number()?;
        if !(cursor.take("/") || cursor.take_word("per")) {
            return Err(cursor.error("expected `/s`, `/min`, `/h` or `/day` after the number"));
        }
        Ok(number / period(cursor)?)
    })
}

/// A share between 0 and 1.
pub fn percent(scalar: &Scalar) -> Parsed<f64> {
    whole(scalar, percent_at)
}

fn percent_at(cursor: &mut Cursor<'_>) -> Parsed<f64> {
    let start = cursor.at;
    let number = cursor.number()?;
    if !cursor.take("%") {
        return Err(cursor.error("expected `%` after the number"));
    }
    if number > 100.0 {
        cursor.at = start;
        return Err(cursor.error("a share is at most 100%"));
    }
    Ok(number / 100.0)
}

/// Seconds.
pub fn duration(scalar: &Scalar) -> Parsed<u64> {
    whole(scalar, |cursor| {
        let number = cursor.number()?;
        Ok((number * period(cursor)?) as u64)
    })
}

/// The share of reads that a cache answers, or how long it keeps an answer.
pub fn cached(scalar: &Scalar) -> Parsed<Cached> {
    if scalar.text.contains('%') {
        return Ok(Cached { hit: Some(percent(scalar)?), ttl_seconds: None });
    }
    Ok(Cached { hit: None, ttl_seconds: Some(duration(scalar)?) })
}

pub fn skew(scalar: &Scalar) -> Parsed<Skew> {
    whole(scalar, |cursor| {
        if cursor.take_word("uniform") {
            Ok(Skew::Uniform)
        } else if cursor.take_word("top") {
            percent_at(cursor).map(Skew::Top)
        } else if cursor.take_word("zipf") {
            cursor.number().map(Skew::Zipf)
        } else {
            Err(cursor.error("expected `uniform`, `top 30%` (the busiest key's share) or `zipf 1.1`"))
        }
    })
}

/// Items in a time: `1M per month`.
pub fn growth_of_items(scalar: &Scalar) -> Parsed<Growth> {
    whole(scalar, |cursor| {
        let amount = cursor.number()?;
        growth(cursor, amount)
    })
}

/// Bytes in a time: `2 KB per day`.
pub fn growth_of_size(scalar: &Scalar) -> Parsed<Growth> {
    whole(scalar, |cursor| {
        let amount = size_at(cursor)? as f64;
        growth(cursor, amount)
    })
}

fn growth(cursor: &mut Cursor<'_>, amount: f64) -> Parsed<Growth> {
    if !(cursor.take_word("per") || cursor.take("/")) {
        return Err(cursor.error("expected `per day`, `per month` or the like"));
    }
    Ok(Growth { amount, period_seconds: period(cursor)? })
}
