//! Cells as bytes, for keeping them.
//!
//! ```text
//! format (1) | for each cell: metric (1) | form (1) | count (varint) | minimum | maximum | sum
//! ```
//!
//! Most values are whole or half units, so a value is a varint of twice itself, or eight bytes where that is not
//! exact. The form says which. When all values of a cell are the same, only the minimum is there.

use super::Metric;
use super::cell::{Cell, Cells};

const FORMAT: u8 = 1;
/// Bits of the form: which values take eight bytes.
const MIN_IS_WIDE: u8 = 1;
const MAX_IS_WIDE: u8 = 2;
const SUM_IS_WIDE: u8 = 4;
/// All values are the same.
const IS_UNIFORM: u8 = 8;
const FORM_MAX: u8 = 15;
/// Twice a value below this is exact.
const HALVES_MAX: f64 = (1_u64 << 53) as f64;

/// Bytes that are not cells: damaged, or written by a newer version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The format is not known.
    Format(u8),
    /// The metric is not known, or comes twice.
    Metric(u8),
    /// The form of a cell is not known.
    Form(u8),
    /// A number is too large, or a cell is empty.
    Number,
    /// The bytes end too early.
    End,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::Format(format) => write!(f, "unknown format {format} of metrics"),
            Unreadable::Metric(number) => write!(f, "unknown or repeated metric {number}"),
            Unreadable::Form(form) => write!(f, "unknown form {form} of a metric's cell"),
            Unreadable::Number => f.write_str("a number of a metric's cell is out of range"),
            Unreadable::End => f.write_str("metrics end too early"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Cells {
    /// The bytes to keep.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        for (metric, cell) in self.iter() {
            encode_cell(&mut out, metric, cell);
        }
        out
    }

    /// The cells that were kept.
    pub fn decode(bytes: &[u8]) -> Result<Cells, Unreadable> {
        let mut reader = Reader { bytes };
        match reader.byte()? {
            FORMAT => {}
            other => return Err(Unreadable::Format(other)),
        }
        let mut cells = Cells::new();
        while !reader.bytes.is_empty() {
            let number = reader.byte()?;
            let metric = Metric::from_number(number).filter(|metric| cells.get(*metric).is_none());
            let metric = metric.ok_or(Unreadable::Metric(number))?;
            cells.merge_cell(metric, &reader.cell()?);
        }
        Ok(cells)
    }
}

fn encode_cell(out: &mut Vec<u8>, metric: Metric, cell: &Cell) {
    let uniform = cell.min == cell.max && cell.sum == cell.min * cell.count as f64;
    let wide = |value: f64, bit: u8| if halves(value).is_none() { bit } else { 0 };
    let form = if uniform {
        IS_UNIFORM | wide(cell.min, MIN_IS_WIDE)
    } else {
        wide(cell.min, MIN_IS_WIDE) | wide(cell.max, MAX_IS_WIDE) | wide(cell.sum, SUM_IS_WIDE)
    };
    out.extend([metric as u8, form]);
    varint(out, cell.count);
    number(out, cell.min);
    if !uniform {
        number(out, cell.max);
        number(out, cell.sum);
    }
}

/// Twice the value, if that says it exactly.
fn halves(value: f64) -> Option<u64> {
    let twice = value * 2.0;
    let exact = (0.0..HALVES_MAX).contains(&twice) && twice.fract() == 0.0 && twice.is_sign_positive();
    exact.then_some(twice as u64)
}

fn number(out: &mut Vec<u8>, value: f64) {
    match halves(value) {
        Some(halves) => varint(out, halves),
        None => out.extend(value.to_le_bytes()),
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, Unreadable> {
        let (first, rest) = self.bytes.split_first().ok_or(Unreadable::End)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn cell(&mut self) -> Result<Cell, Unreadable> {
        let form = self.byte()?;
        if form > FORM_MAX {
            return Err(Unreadable::Form(form));
        }
        let count = self.varint()?;
        if count == 0 {
            return Err(Unreadable::Number);
        }
        let min = self.number(form & MIN_IS_WIDE != 0)?;
        if form & IS_UNIFORM != 0 {
            return Ok(Cell { count, sum: min * count as f64, min, max: min });
        }
        let max = self.number(form & MAX_IS_WIDE != 0)?;
        let sum = self.number(form & SUM_IS_WIDE != 0)?;
        Ok(Cell { count, sum, min, max })
    }

    fn number(&mut self, is_wide: bool) -> Result<f64, Unreadable> {
        if !is_wide {
            return Ok(self.varint()? as f64 / 2.0);
        }
        let (value, rest) = self.bytes.split_first_chunk().ok_or(Unreadable::End)?;
        self.bytes = rest;
        Ok(f64::from_le_bytes(*value))
    }

    fn varint(&mut self) -> Result<u64, Unreadable> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Unreadable::Number);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Unreadable::Number)
    }
}
