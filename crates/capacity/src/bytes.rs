//! Numbers as bytes, for what is kept in a store: metrics, contributors and what a table learned.
//!
//! Whole numbers are varints: seven bits a byte, the lowest first. Most other values are whole or half units, so
//! a value is a varint of twice itself, or eight bytes where that is not exact.

/// Twice a value below this is exact.
const HALVES_MAX: f64 = (1_u64 << 53) as f64;

/// Bytes that cannot be read: damaged, or written by a newer version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The format is not known.
    Format(u8),
    /// The metric is not known, or comes twice.
    Metric(u8),
    /// The form of a value is not known.
    Form(u8),
    /// A name is not text.
    Name,
    /// A number is out of range.
    Number,
    /// The bytes end too early.
    End,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::Format(format) => write!(f, "format {format} is not known"),
            Unreadable::Metric(number) => write!(f, "metric {number} is not known, or comes twice"),
            Unreadable::Form(form) => write!(f, "form {form} of a value is not known"),
            Unreadable::Name => f.write_str("a name is not text"),
            Unreadable::Number => f.write_str("a number is out of range"),
            Unreadable::End => f.write_str("the bytes end too early"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Appends a whole number.
pub fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Twice the value, if that says it exactly.
pub fn halves(value: f64) -> Option<u64> {
    let twice = value * 2.0;
    let is_exact = (0.0..HALVES_MAX).contains(&twice) && twice.fract() == 0.0 && twice.is_sign_positive();
    is_exact.then_some(twice as u64)
}

/// Appends a value whose width the reader knows: whether it is [`halves`] or eight bytes.
pub fn write_value(out: &mut Vec<u8>, value: f64) {
    match halves(value) {
        Some(halves) => write_varint(out, halves),
        None => out.extend(value.to_le_bytes()),
    }
}

/// Appends bytes with their length.
pub fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Reads what was written, from the front.
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Behind the number of the format, which must be the one expected.
    pub fn new(bytes: &'a [u8], format: u8) -> Result<Reader<'a>, Unreadable> {
        let mut reader = Reader { bytes };
        match reader.byte()? {
            known if known == format => Ok(reader),
            other => Err(Unreadable::Format(other)),
        }
    }

    /// Whether all is read.
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, Unreadable> {
        let (first, rest) = self.bytes.split_first().ok_or(Unreadable::End)?;
        self.bytes = rest;
        Ok(*first)
    }

    /// Eight bytes of a floating point number.
    pub fn wide(&mut self) -> Result<f64, Unreadable> {
        let (value, rest) = self.bytes.split_first_chunk().ok_or(Unreadable::End)?;
        self.bytes = rest;
        Ok(f64::from_le_bytes(*value))
    }

    /// A value, of eight bytes or as halves.
    pub fn value(&mut self, is_wide: bool) -> Result<f64, Unreadable> {
        if is_wide { self.wide() } else { Ok(self.varint()? as f64 / 2.0) }
    }

    /// A whole number.
    pub fn varint(&mut self) -> Result<u64, Unreadable> {
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

    /// Bytes behind their length.
    pub fn bytes(&mut self) -> Result<&'a [u8], Unreadable> {
        let length = usize::try_from(self.varint()?).map_err(|_| Unreadable::Number)?;
        let (bytes, rest) = self.bytes.split_at_checked(length).ok_or(Unreadable::End)?;
        self.bytes = rest;
        Ok(bytes)
    }
}
