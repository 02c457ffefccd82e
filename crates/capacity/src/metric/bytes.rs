//! Cells as bytes, for keeping them.
//!
//! ```text
//! format (1) | for each cell: metric (1) | form (1) | count (varint) | minimum | maximum | sum | distribution
//! ```
//!
//! The form says which values are halves and which take eight bytes. When all values of a cell are the same,
//! only the minimum is there. Metrics without percentiles have no distribution.

use super::Metric;
use super::cell::{Cell, Cells};
use super::distribution::Distribution;
use crate::bytes::{Reader, Unreadable, halves, write_bytes, write_value, write_varint};

const FORMAT: u8 = 1;
/// Bits of the form: which values take eight bytes.
const MIN_IS_WIDE: u8 = 1;
const MAX_IS_WIDE: u8 = 2;
const SUM_IS_WIDE: u8 = 4;
/// All values are the same.
const IS_UNIFORM: u8 = 8;
const FORM_MAX: u8 = 15;

/// The cells of several sets of dimensions in one minute, each with a name that the caller chose:
///
/// ```text
/// format (1) | for each set: name | cells
/// ```
pub fn encode_sets<'a>(sets: impl IntoIterator<Item = (&'a str, &'a Cells)>) -> Vec<u8> {
    let mut out = vec![FORMAT];
    for (name, cells) in sets {
        write_bytes(&mut out, name.as_bytes());
        write_bytes(&mut out, &cells.encode());
    }
    out
}

/// The sets that were kept.
pub fn decode_sets(bytes: &[u8]) -> Result<Vec<(&str, Cells)>, Unreadable> {
    let mut reader = Reader::new(bytes, FORMAT)?;
    let mut sets = Vec::new();
    while !reader.is_at_end() {
        let name = std::str::from_utf8(reader.bytes()?).map_err(|_| Unreadable::Name)?;
        sets.push((name, Cells::decode(reader.bytes()?)?));
    }
    Ok(sets)
}

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
        let mut reader = Reader::new(bytes, FORMAT)?;
        let mut cells = Cells::new();
        while !reader.is_at_end() {
            let number = reader.byte()?;
            let metric = Metric::from_number(number).filter(|metric| cells.get(*metric).is_none());
            let metric = metric.ok_or(Unreadable::Metric(number))?;
            cells.merge_cell(metric, &decode_cell(&mut reader, metric)?);
        }
        Ok(cells)
    }
}

fn encode_cell(out: &mut Vec<u8>, metric: Metric, cell: &Cell) {
    let uniform = cell.is_uniform();
    let wide = |value: f64, bit: u8| if halves(value).is_none() { bit } else { 0 };
    let form = if uniform {
        IS_UNIFORM | wide(cell.min, MIN_IS_WIDE)
    } else {
        wide(cell.min, MIN_IS_WIDE) | wide(cell.max, MAX_IS_WIDE) | wide(cell.sum, SUM_IS_WIDE)
    };
    out.extend([metric as u8, form]);
    write_varint(out, cell.count);
    write_value(out, cell.min);
    if !uniform {
        write_value(out, cell.max);
        write_value(out, cell.sum);
        if let Some(distribution) = &cell.distribution {
            distribution.encode(out);
        }
    }
}

fn decode_cell(reader: &mut Reader<'_>, metric: Metric) -> Result<Cell, Unreadable> {
    let form = reader.byte()?;
    if form > FORM_MAX {
        return Err(Unreadable::Form(form));
    }
    let count = reader.varint()?;
    if count == 0 {
        return Err(Unreadable::Number);
    }
    let min = reader.value(form & MIN_IS_WIDE != 0)?;
    if form & IS_UNIFORM != 0 {
        let distribution = metric.has_percentiles().then(|| Distribution::of(min, count));
        return Ok(Cell { count, sum: min * count as f64, min, max: min, distribution });
    }
    let max = reader.value(form & MAX_IS_WIDE != 0)?;
    let sum = reader.value(form & SUM_IS_WIDE != 0)?;
    let distribution = metric.has_percentiles().then(|| Distribution::decode(reader, count)).transpose()?;
    Ok(Cell { count, sum, min, max, distribution })
}
