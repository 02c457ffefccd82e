//! Numbers in two forms: CBOR's, and the order-preserving one of sort keys.
//!
//! The second one, which the clients call LexDecimal, has a header for sign and exponent, then the digits in groups of
//! three (10 bits each), then a group that says how many digits the last one has. A number is `0.d₁d₂… × 10^exponent`.
//! The bits of a negative number's groups go down as those of a positive one go up.

use item::{Number, NumberError};

use crate::cbor::{Head, Malformed, Reader, Writer};

const TAG_POSITIVE_BIG: u64 = 2;
const TAG_NEGATIVE_BIG: u64 = 3;
const TAG_DECIMAL: u64 = 4;

/// The longest integer that is looked at: more than the 126 digits of the largest number.
const BIG_BYTES_MAX: usize = 64;

/// What can be wrong with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    Malformed(Malformed),
    /// The client's number, which DynamoDB doesn't take.
    Refused(NumberError),
}

impl From<Malformed> for Unfit {
    fn from(malformed: Malformed) -> Unfit {
        Unfit::Malformed(malformed)
    }
}

/// Appends a number as CBOR: an integer if it is one, else a decimal fraction.
pub fn write(number: Number, writer: &mut Writer) {
    let Plain { digits, fraction, is_negative } = Plain::of(number);
    if fraction > 0 {
        writer.tag(TAG_DECIMAL);
        writer.array(2);
        writer.int(-(fraction as i64));
    }
    let text = digits.trim_start_matches('0');
    match format!("0{text}").parse::<i64>() {
        Ok(value) => writer.int(if is_negative { -value } else { value }),
        Err(_) => write_big(text, is_negative, writer),
    }
}

fn write_big(digits: &str, is_negative: bool, writer: &mut Writer) {
    let mut bytes: Vec<u8> = Vec::new();
    for digit in digits.bytes() {
        multiply_add(&mut bytes, 10, digit - b'0');
    }
    if is_negative {
        // CBOR holds -1 - n. The number isn't 0, so some byte isn't.
        for byte in bytes.iter_mut().rev() {
            let (less, borrow) = byte.overflowing_sub(1);
            *byte = less;
            if !borrow {
                break;
            }
        }
    }
    writer.tag(if is_negative { TAG_NEGATIVE_BIG } else { TAG_POSITIVE_BIG });
    writer.bytes(&bytes);
}

/// Multiplies digits of any base up to 256 (the most significant first) and adds.
fn multiply_add(number: &mut Vec<u8>, factor: u32, add: u8) {
    let mut carry = u32::from(add);
    for byte in number.iter_mut().rev() {
        carry += u32::from(*byte) * factor;
        *byte = carry as u8;
        carry >>= 8;
    }
    while carry > 0 {
        number.insert(0, carry as u8);
        carry >>= 8;
    }
}

/// Reads a number whose head is read already.
pub fn read(head: Head, reader: &mut Reader<'_>) -> Result<Number, Unfit> {
    let text = match head {
        Head::Unsigned(value) => return Ok(Number::from(value)),
        Head::Tag(TAG_DECIMAL) => {
            let mut left = reader.array()?;
            if !reader.more(&mut left)? {
                return Err(Malformed("a decimal fraction has an exponent").into());
            }
            let exponent = reader.int()?;
            if !reader.more(&mut left)? {
                return Err(Malformed("a decimal fraction has a mantissa").into());
            }
            let head = reader.head()?;
            let mantissa = integer(head, reader)?;
            if reader.more(&mut left)? {
                return Err(Malformed("a decimal fraction has two parts").into());
            }
            format!("{mantissa}e{exponent}")
        }
        head => integer(head, reader)?,
    };
    Number::parse(&text).map_err(Unfit::Refused)
}

/// The digits of an integer.
fn integer(head: Head, reader: &mut Reader<'_>) -> Result<String, Unfit> {
    let (bytes, is_negative) = match head {
        Head::Unsigned(value) => return Ok(value.to_string()),
        Head::Negative(value) => return Ok((-1 - i128::from(value)).to_string()),
        Head::Tag(TAG_POSITIVE_BIG) => (reader.bytes()?, false),
        Head::Tag(TAG_NEGATIVE_BIG) => (reader.bytes()?, true),
        _ => return Err(Malformed("a number is expected").into()),
    };
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = &bytes[zeros..];
    if bytes.len() > BIG_BYTES_MAX {
        return Err(Unfit::Refused(NumberError::Overflow));
    }
    // Decimal digits, the least significant first.
    let mut digits: Vec<u8> = vec![0];
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) * 256;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
    }
    if is_negative {
        // CBOR holds -1 - n.
        let mut carry = 1;
        for digit in &mut digits {
            carry += *digit;
            *digit = carry % 10;
            carry /= 10;
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    let sign = if is_negative { "-" } else { "" };
    let digits: String = digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
    Ok(format!("{sign}{digits}"))
}

/// A number as it is printed without an exponent.
struct Plain {
    /// All digits, without the point.
    digits: String,
    /// How many of the digits are behind the point.
    fraction: usize,
    is_negative: bool,
}

impl Plain {
    fn of(number: Number) -> Plain {
        let text = number.to_string();
        let unsigned = text.strip_prefix('-').unwrap_or(&text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        Plain {
            digits: format!("{whole}{fraction}"),
            fraction: fraction.len(),
            is_negative: unsigned.len() < text.len(),
        }
    }
}

const ZERO: u8 = 0x80;
/// Headers of exponents that don't fit into the header; four bytes follow.
const POSITIVE_LARGE: u8 = 0xFE;
const POSITIVE_SMALL: u8 = 0x81;
const NEGATIVE_SMALL: u8 = 0x7E;
const NEGATIVE_LARGE: u8 = 0x01;
const GROUP_ADD: u16 = 12;
const GROUP_MAX: u16 = 999 + GROUP_ADD;
const GROUP_BITS: u32 = 10;
const GROUP_ONES: u16 = 1023;

/// Appends the order-preserving form.
pub fn write_ordered(number: Number, out: &mut Vec<u8>) {
    let Plain { digits, fraction, is_negative } = Plain::of(number);
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return out.push(ZERO);
    }
    let exponent = significant.len() as i32 - fraction as i32;
    match (is_negative, exponent) {
        (false, -62..=61) => out.push((0xC0 + exponent) as u8),
        (true, -62..=61) => out.push((0x3F - exponent) as u8),
        (false, _) => {
            out.push(if exponent > 0 { POSITIVE_LARGE } else { POSITIVE_SMALL });
            out.extend((exponent as u32 ^ 0x8000_0000).to_be_bytes());
        }
        (true, _) => {
            out.push(if exponent > 0 { NEGATIVE_LARGE } else { NEGATIVE_SMALL });
            out.extend((exponent as u32 ^ 0x7FFF_FFFF).to_be_bytes());
        }
    }
    let groups = significant.as_bytes().chunks(3).map(|group| {
        let value = (0..3)
            .fold(0, |value, place| value * 10 + group.get(place).map_or(0, |digit| u16::from(digit - b'0')));
        if is_negative { GROUP_MAX - value } else { value + GROUP_ADD }
    });
    let last_length = (significant.len() - 1) as u16 % 3;
    let end = if is_negative { GROUP_ONES - last_length } else { last_length };
    let (mut bits, mut count) = (0u32, 0);
    for group in groups.chain([end]) {
        bits = bits << GROUP_BITS | u32::from(group);
        count += GROUP_BITS;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8);
    }
}

/// Reads the order-preserving form, which takes all of `bytes`.
pub fn read_ordered(bytes: &[u8]) -> Result<Number, Unfit> {
    const SHORT: Malformed = Malformed("a number of a sort key ends too early");
    let (&header, rest) = bytes.split_first().ok_or(SHORT)?;
    let (is_negative, exponent, rest) = match header {
        0x7F | ZERO => return Ok(Number::ZERO),
        0x00 | 0xFF => return Err(Malformed("a sort key is no number").into()),
        POSITIVE_LARGE | POSITIVE_SMALL | NEGATIVE_SMALL | NEGATIVE_LARGE => {
            let (written, rest) = rest.split_first_chunk::<4>().ok_or(SHORT)?;
            let is_negative = header < ZERO;
            let flip = if is_negative { 0x7FFF_FFFF } else { 0x8000_0000 };
            (is_negative, (u32::from_be_bytes(*written) ^ flip) as i32, rest)
        }
        0x82.. => (false, i32::from(header) - 0xC0, rest),
        _ => (true, 0x3F - i32::from(header), rest),
    };
    let mut text = String::from(if is_negative { "-0." } else { "0." });
    let (mut bits, mut count, mut previous) = (0u32, 0, None);
    for byte in rest {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        if count < GROUP_BITS {
            continue;
        }
        count -= GROUP_BITS;
        let group = (bits >> count) as u16 & GROUP_ONES;
        let group = if is_negative { GROUP_ONES - group } else { group };
        if let Some(digits) = previous {
            let digits: String = digits;
            let length = if group < 3 { usize::from(group) + 1 } else { 3 };
            text.push_str(&digits[..length]);
        }
        if group < 3 {
            text.push_str(&format!("e{exponent}"));
            return Number::parse(&text).map_err(Unfit::Refused);
        }
        let value = group.checked_sub(GROUP_ADD).filter(|value| *value < 1000);
        previous = Some(format!("{:03}", value.ok_or(Malformed("a sort key is no number"))?));
    }
    Err(SHORT.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn ordered_numbers_have_the_bytes_that_clients_write() {
        for (text, expected) in [
            ("0", "80"),
            ("1", "c11c0000"),
            ("-1", "3ee3fff0"),
            ("10", "c21c0010"),
            ("999", "c3fcc020"),
            ("1000", "c41c00c000"),
            ("1.5", "c1288010"),
            ("-1.5", "3ed77fe0"),
            ("123456789", "c921dd4c8402"),
            ("0.001", "be1c0000"),
            ("-0.001", "41e3fff0"),
        ] {
            let mut bytes = Vec::new();
            write_ordered(number(text), &mut bytes);
            assert_eq!(hex(&bytes), expected, "{text}");
            assert_eq!(read_ordered(&bytes), Ok(number(text)));
        }
        // The clients write 1E+100 with one digit, 1E-130 alike.
        let bytes = [0xFE, 0x80, 0, 0, 0x65, 0x1C, 0, 0];
        assert_eq!(read_ordered(&bytes), Ok(number("1e100")));
        let bytes = [0x81, 0x7F, 0xFF, 0xFF, 0x7F, 0x1C, 0, 0];
        assert_eq!(read_ordered(&bytes), Ok(number("1e-130")));
    }

    const SAMPLES: [&str; 19] = [
        "-9.9999999999999999999999999999999999999e125",
        "-1e62",
        "-12345678901234567890123",
        "-1000",
        "-9",
        "-0.5",
        "-1e-63",
        "-1e-130",
        "0",
        "1e-130",
        "1e-63",
        "0.000123",
        "7",
        "256",
        "18446744073709551616",
        "340282366920938463463374607431768211456",
        "1e61",
        "1e62",
        "9.9999999999999999999999999999999999999e125",
    ];

    #[test]
    fn both_forms_give_back_every_number_and_one_keeps_the_order() {
        let mut previous: Option<Vec<u8>> = None;
        for text in SAMPLES.into_iter().filter(|text| Number::parse(text).is_ok()) {
            let mut writer = Writer::default();
            write(number(text), &mut writer);
            let mut reader = Reader(&writer.0);
            let head = reader.head().unwrap();
            assert_eq!(read(head, &mut reader), Ok(number(text)), "{text}");
            assert!(reader.is_empty());

            let mut bytes = Vec::new();
            write_ordered(number(text), &mut bytes);
            assert_eq!(read_ordered(&bytes), Ok(number(text)), "{text}");
            assert!(previous.is_none_or(|previous| previous < bytes), "{text}");
            previous = Some(bytes);
        }
    }

    #[test]
    fn numbers_that_dynamodb_refuses_are_refused_and_nothing_panics() {
        let mut writer = Writer::default();
        writer.tag(TAG_POSITIVE_BIG);
        writer.bytes(&[0xFF; 60]);
        let mut reader = Reader(&writer.0);
        let head = reader.head().unwrap();
        assert_eq!(read(head, &mut reader), Err(Unfit::Refused(NumberError::Precision)));
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..random.usize(0..12)).map(|_| random.u8(..)).collect();
            let _ = read_ordered(&bytes);
        }
    }
}
