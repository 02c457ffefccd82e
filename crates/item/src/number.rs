//! Decimal numbers by value: a sign, up to 38 digits, a power of ten.
//!
//! Invariants:
//! - The mantissa has no trailing zero, and zero has exponent 0 and no sign, so one value has one form:
//!   derived equality and hashing are by value.
//! - The leading digit is between 10^-130 and 10^125, or the number is zero.
//! - [`Number::encode`] keeps order: comparing encoded bytes compares values. Items and keys hold the same bytes.
//!   `docs/item-bytes.md` draws them.

use std::cmp::Ordering;
use std::fmt;

/// How many significant digits a number may have.
const DIGITS_MAX: u32 = 38;
/// The powers of ten that a number's leading digit may have.
const LEADING_MIN: i64 = -130;
const LEADING_MAX: i64 = 125;
/// The first mantissa with too many digits: 10^38.
const MANTISSA_END: u128 = 10u128.pow(DIGITS_MAX);
/// Half of the digits; the most that always fit into a `u64`.
const HALF_DIGITS: usize = 19;
const HALF_END: u128 = 10u128.pow(HALF_DIGITS as u32);
/// Room for 38 digits in pairs, with one digit of padding on either side.
const DIGITS_ROOM: usize = 40;

/// A decimal number: at most 38 significant digits, magnitude 1E-130 to 9.9…E+125, or zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    mantissa: u128,
    exponent: i16,
    negative: bool,
}

/// Why a text or a result is not a number that DynamoDB can hold. The texts are DynamoDB's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    #[error("The parameter cannot be converted to a numeric value: {0}")]
    NotNumeric(String),
    #[error("Attempting to store more than 38 significant digits in a Number")]
    Precision,
    #[error("Number overflow. Attempting to store a number with magnitude larger than supported range")]
    Overflow,
    #[error("Number underflow. Attempting to store a number with magnitude smaller than supported range")]
    Underflow,
}

impl Number {
    pub const ZERO: Number = Number { mantissa: 0, exponent: 0, negative: false };

    /// Reads `[+-] digits [. digits] [e [+-] digits]`, with at least one digit before the exponent.
    pub fn parse(text: &str) -> Result<Number, NumberError> {
        let scanned = scan(text.as_bytes()).ok_or_else(|| NumberError::NotNumeric(text.to_owned()))?;
        if scanned.digits > DIGITS_MAX as usize {
            return Err(NumberError::Precision);
        }
        // DynamoDB checks the range of a zero as if its last written digit were a 1: `0e126` is
        // refused, `0.0e126` is not (observed in Alternator's tests against AWS).
        match scanned.exponent.saturating_add(scanned.digits.max(1) as i64 - 1) {
            leading if leading > LEADING_MAX => Err(NumberError::Overflow),
            leading if leading < LEADING_MIN => Err(NumberError::Underflow),
            _ if scanned.mantissa == 0 => Ok(Number::ZERO),
            _ => Ok(Number {
                mantissa: scanned.mantissa,
                exponent: scanned.exponent as i16,
                negative: scanned.negative,
            }),
        }
    }

    /// The exact sum. A result that does not fit is an overflow, even if only its digits are too many, as in DynamoDB.
    pub fn checked_add(self, other: Number) -> Result<Number, NumberError> {
        if self.mantissa == 0 {
            return Ok(other);
        }
        if other.mantissa == 0 {
            return Ok(self);
        }
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        // `low` does not end in a zero, so if the exponents differ the sum does not either, and all its
        // digits count. A `high` that reaches 2 * 10^38 when aligned leaves no sum below 10^38; a
        // smaller one leaves room for the addition in 128 bits.
        let aligned = 10u128
            .checked_pow(u32::from(high.exponent.abs_diff(low.exponent)))
            .and_then(|scale| high.mantissa.checked_mul(scale))
            .filter(|aligned| *aligned < 2 * MANTISSA_END)
            .ok_or(NumberError::Overflow)?;
        let (mantissa, negative) = if high.negative == low.negative {
            (aligned + low.mantissa, high.negative)
        } else if aligned >= low.mantissa {
            (aligned - low.mantissa, high.negative)
        } else {
            (low.mantissa - aligned, low.negative)
        };
        Number::normalised(mantissa, low.exponent, negative).ok_or(NumberError::Overflow)
    }

    /// The exact difference, with the errors of [`Number::checked_add`].
    pub fn checked_sub(self, other: Number) -> Result<Number, NumberError> {
        self.checked_add(-other)
    }

    /// The nearest number of 32 bits; infinite if it is beyond them.
    pub fn to_f32(self) -> f32 {
        // Both are exact in 24 bits, so that one division or multiplication rounds once.
        const EXACT_MANTISSA_END: u128 = 1 << 24;
        const EXACT_POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
        let power = EXACT_POWERS.get(usize::from(self.exponent.unsigned_abs()));
        let magnitude = match power.filter(|_| self.mantissa < EXACT_MANTISSA_END) {
            Some(power) if self.exponent < 0 => self.mantissa as f32 / power,
            Some(power) => self.mantissa as f32 * power,
            // The standard library reads every decimal text and rounds it once.
            None => {
                let text = format!("{}e{}", self.mantissa, self.exponent);
                text.parse().expect("digits and an exponent are a number")
            }
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// DynamoDB's size: one byte, one for each two digits on either side of the point, and one for a
    /// minus. Zeros at either end do not count.
    pub fn size_bytes(&self) -> usize {
        size_bytes(self.digit_count() as usize, self.exponent, self.negative)
    }

    /// [`Number::size_bytes`] of what [`Number::encode`] wrote.
    pub(crate) fn encoded_size_bytes(bytes: &[u8]) -> usize {
        let encoded = Encoded::of(bytes);
        let (digits, exponent) = encoded.digits_and_exponent();
        size_bytes(digits, exponent, encoded.negative())
    }

    /// Appends the number as [`Display`](fmt::Display) prints it, without allocating by itself.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let mut buffer = [0; DIGITS_ROOM];
        let start = fill_digits(self.mantissa, &mut buffer);
        write_decimal(&mut buffer[start..], self.exponent, self.negative, out);
    }

    /// [`Number::write_to`] of what [`Number::encode`] wrote: pair by pair, without arithmetic.
    pub(crate) fn write_encoded_to(bytes: &[u8], out: &mut Vec<u8>) {
        let encoded = Encoded::of(bytes);
        let mut buffer = [0; DIGITS_ROOM];
        for (pair, digits) in encoded.pairs().zip(buffer.chunks_exact_mut(2)) {
            digits.copy_from_slice(&[pair / 10, pair % 10]);
        }
        let (digits, exponent) = encoded.digits_and_exponent();
        let start = encoded.starts_alone();
        write_decimal(&mut buffer[start..start + digits], exponent, encoded.negative(), out);
    }

    /// Appends the order-preserving, self-delimiting bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if self.mantissa == 0 {
            return out.extend_from_slice(&ENCODED_ZERO);
        }
        // Pairs of digits are aligned at the point, so an odd exponent leaves the last digit alone in
        // its pair, followed by a zero.
        let odd = self.exponent.rem_euclid(2);
        let mut buffer = [0; DIGITS_ROOM];
        let start = fill_digits(self.mantissa, &mut buffer[..DIGITS_ROOM - odd as usize]);
        let pairs = &buffer[start & !1..];
        let power = pairs.len() as i16 / 2 + (self.exponent - odd) / 2;
        let flip = if self.negative { 0xFF } else { 0 };
        out.push((0x80 + (power - POWER_MIN) as u8) ^ flip);
        for pair in pairs.chunks_exact(2) {
            out.push(((pair[0] * 10 + pair[1]) << 1 | 1) ^ flip);
        }
        // The lowest bit of a pair marks the last one.
        if let Some(last) = out.last_mut() {
            *last ^= 1;
        }
    }

    /// Reads what [`Number::encode`] wrote, and returns how many bytes it took. `None` for bytes that it
    /// would not have written.
    pub fn decode(bytes: &[u8]) -> Option<(Number, usize)> {
        let (&first, rest) = bytes.split_first()?;
        let flip = if first < 0x80 { 0xFF } else { 0 };
        let power = i16::from((first ^ flip) - 0x80) + POWER_MIN;
        let mut mantissa = 0u128;
        for (index, byte) in rest.iter().take(PAIRS_MAX).enumerate() {
            let (pair, more) = ((byte ^ flip) >> 1, (byte ^ flip) & 1 == 1);
            if pair > 99 {
                return None;
            }
            if pair == 0 && (index == 0 || !more) {
                return bytes.starts_with(&ENCODED_ZERO).then_some((Number::ZERO, ENCODED_ZERO.len()));
            }
            // If the last pair ends in a zero, only its first digit counts.
            let single = !more && pair % 10 == 0;
            let (scale, digits) = if single { (10, pair / 10) } else { (100, pair) };
            mantissa = mantissa.checked_mul(scale)?.checked_add(u128::from(digits))?;
            if !more {
                let exponent = 2 * (power - index as i16 - 1) + i16::from(single);
                let number = Number { mantissa, exponent, negative: flip != 0 };
                return (mantissa < MANTISSA_END).then_some((number, index + 2));
            }
        }
        None
    }

    /// How many bytes the number at the start of `bytes` takes, given that [`Number::encode`] wrote it.
    pub(crate) fn encoded_len(bytes: &[u8]) -> usize {
        let last = if bytes[0] < 0x80 { 1 } else { 0 };
        bytes[1..].iter().position(|byte| byte & 1 == last).map_or(bytes.len(), |index| index + 2)
    }

    /// Removes trailing zeros. `None` if there are too many digits or the range is exceeded.
    fn normalised(mut mantissa: u128, mut exponent: i16, negative: bool) -> Option<Number> {
        if mantissa == 0 {
            return Some(Number::ZERO);
        }
        while mantissa.is_multiple_of(10) {
            mantissa /= 10;
            exponent += 1;
        }
        let number = Number { mantissa, exponent, negative };
        let fits = mantissa < MANTISSA_END && (LEADING_MIN..=LEADING_MAX).contains(&number.leading().into());
        fits.then_some(number)
    }

    fn digit_count(&self) -> u32 {
        self.mantissa.checked_ilog10().map_or(0, |log| log + 1)
    }

    /// The power of ten of the first digit.
    fn leading(&self) -> i16 {
        self.exponent + self.digit_count() as i16 - 1
    }

    fn cmp_magnitude(&self, other: &Number) -> Ordering {
        let widened = |number: &Number| number.mantissa * 10u128.pow(DIGITS_MAX - number.digit_count());
        self.leading().cmp(&other.leading()).then_with(|| widened(self).cmp(&widened(other)))
    }
}

/// One byte, one for each two digits on either side of the point, one for a minus.
fn size_bytes(digits: usize, exponent: i16, negative: bool) -> usize {
    let whole = if exponent >= 0 { digits } else { digits.saturating_sub(exponent.unsigned_abs().into()) };
    1 + whole.div_ceil(2) + (digits - whole).div_ceil(2) + usize::from(negative)
}

/// Appends `digits` in plain decimal. They are numbers from 0 to 9, which this replaces by their characters.
fn write_decimal(digits: &mut [u8], exponent: i16, negative: bool, out: &mut Vec<u8>) {
    if digits.is_empty() {
        return out.push(b'0');
    }
    if negative {
        out.push(b'-');
    }
    digits.iter_mut().for_each(|digit| *digit += b'0');
    let whole = digits.len() as i16 + exponent;
    if exponent >= 0 {
        out.extend_from_slice(digits);
        out.resize(out.len() + exponent as usize, b'0');
    } else if whole > 0 {
        out.extend_from_slice(&digits[..whole as usize]);
        out.push(b'.');
        out.extend_from_slice(&digits[whole as usize..]);
    } else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + whole.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    }
}

/// The parts of what [`Number::encode`] wrote, without converting it to a number.
struct Encoded<'a> {
    power: i16,
    /// Turns the bytes of a negative number into those of its magnitude.
    flip: u8,
    pairs: &'a [u8],
}

impl<'a> Encoded<'a> {
    fn of(bytes: &'a [u8]) -> Encoded<'a> {
        let flip = if bytes[0] < 0x80 { 0xFF } else { 0 };
        let power = i16::from((bytes[0] ^ flip) & 0x7F) + POWER_MIN;
        let pairs = if bytes.starts_with(&ENCODED_ZERO) { &[] } else { &bytes[1..] };
        Encoded { power, flip, pairs }
    }

    fn negative(&self) -> bool {
        self.flip != 0
    }

    fn pairs(&self) -> impl Iterator<Item = u8> {
        self.pairs.iter().map(|pair| (pair ^ self.flip) >> 1)
    }

    /// How many digits of the first pair do not count: 1 if it is below 10.
    fn starts_alone(&self) -> usize {
        self.pairs().next().map_or(0, |first| usize::from(first < 10))
    }

    fn digits_and_exponent(&self) -> (usize, i16) {
        let ends_alone = self.pairs().last().is_some_and(|last| last % 10 == 0);
        let digits = 2 * self.pairs.len() - self.starts_alone() - usize::from(ends_alone);
        (digits, 2 * (self.power - self.pairs.len() as i16) + i16::from(ends_alone))
    }
}

/// The power of a hundred of the smallest numbers: 1E-130 is 0.01 * 100^-64.
const POWER_MIN: i16 = -64;
/// 38 digits that begin and end in the middle of a pair.
const PAIRS_MAX: usize = 20;
/// The smallest power, no digits: below every positive number, above every negative one.
const ENCODED_ZERO: [u8; 2] = [0x80, 0x00];

struct Scanned {
    negative: bool,
    /// Without trailing zeros; meaningless if `digits` is over the limit.
    mantissa: u128,
    digits: usize,
    exponent: i64,
}

/// Takes a text apart; `None` if it does not follow the grammar.
fn scan(text: &[u8]) -> Option<Scanned> {
    let (negative, unsigned) = take_sign(text);
    let mut scanned = Scanned { negative, mantissa: 0, digits: 0, exponent: 0 };
    let (mut trailing_zeros, mut fraction, mut point, mut any) = (0usize, 0i64, false, false);
    let mut at = 0;
    while let Some(&byte) = unsigned.get(at) {
        match byte {
            b'0'..=b'9' => {
                any = true;
                fraction += i64::from(point);
                if byte == b'0' {
                    trailing_zeros += usize::from(scanned.digits > 0);
                } else {
                    let shift = trailing_zeros + 1;
                    trailing_zeros = 0;
                    scanned.digits += shift;
                    if scanned.digits <= DIGITS_MAX as usize {
                        let digit = u128::from(byte - b'0');
                        scanned.mantissa = scanned.mantissa * 10u128.pow(shift as u32) + digit;
                    }
                }
            }
            b'.' if !point => point = true,
            b'e' | b'E' => break,
            _ => return None,
        }
        at += 1;
    }
    if !any {
        return None;
    }
    let written = if at < unsigned.len() { scan_exponent(&unsigned[at + 1..])? } else { 0 };
    scanned.exponent = written.saturating_sub(fraction).saturating_add(trailing_zeros as i64);
    Some(scanned)
}

/// `None` for an exponent that does not fit into 64 bits. The range check judges smaller ones.
fn scan_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = take_sign(text);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0i64, |exponent, byte| {
        let digit = i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        let exponent = exponent.checked_mul(10)?;
        if negative { exponent.checked_sub(digit) } else { exponent.checked_add(digit) }
    })
}

fn take_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// Writes the digits, as numbers 0 to 9, to the end of `buffer` and returns where they begin.
fn fill_digits(mantissa: u128, buffer: &mut [u8]) -> usize {
    // Two halves, because 128-bit division is many times slower than 64-bit division.
    let (high, low) = if mantissa < HALF_END {
        (0, mantissa as u64)
    } else {
        ((mantissa / HALF_END) as u64, (mantissa % HALF_END) as u64)
    };
    let end = buffer.len();
    let start = fill_half(low, &mut buffer[..end]);
    if high == 0 { start } else { fill_half(high, &mut buffer[..end - HALF_DIGITS]) }
}

fn fill_half(mut half: u64, buffer: &mut [u8]) -> usize {
    let mut start = buffer.len();
    while half > 0 {
        start -= 1;
        buffer[start] = (half % 10) as u8;
        half /= 10;
    }
    start
}

impl std::ops::Neg for Number {
    type Output = Number;
    fn neg(self) -> Number {
        Number { negative: !self.negative && self.mantissa != 0, ..self }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let sign = |number: &Number| match (number.mantissa, number.negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => self.cmp_magnitude(other),
            _ => other.cmp_magnitude(self),
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<u64> for Number {
    fn from(mut whole: u64) -> Number {
        if whole == 0 {
            return Number::ZERO;
        }
        let mut exponent = 0;
        while whole.is_multiple_of(10) {
            whole /= 10;
            exponent += 1;
        }
        Number { mantissa: whole.into(), exponent, negative: false }
    }
}

impl From<i64> for Number {
    fn from(whole: i64) -> Number {
        let magnitude = Number::from(whole.unsigned_abs());
        if whole < 0 { -magnitude } else { magnitude }
    }
}

impl From<i32> for Number {
    fn from(whole: i32) -> Number {
        Number::from(i64::from(whole))
    }
}

impl std::str::FromStr for Number {
    type Err = NumberError;
    fn from_str(text: &str) -> Result<Number, NumberError> {
        Number::parse(text)
    }
}

/// Plain decimal, never an exponent.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write_to(&mut text);
        f.pad(&String::from_utf8_lossy(&text))
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
