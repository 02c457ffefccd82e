//! Names that hold a random part. The caller brings the time and the random bytes.

/// The last part of the ARN of an export, import or backup: the time in milliseconds, padded to 14 digits, and eight
/// hexadecimal digits, as in `01489602797149-73d8d5bc`.
pub fn operation_id(epoch_millis: u64, random: u32) -> String {
    format!("{epoch_millis:014}-{random:08x}")
}

/// 26 characters of lower-case base32, as in the names of data files.
pub fn file_name(random: [u8; 16]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    const CHARACTERS: u32 = 26;
    // 26 characters hold 130 bits, so the last one holds three bits of the 128 and two zeros.
    let bits = u128::from_be_bytes(random);
    let digit = |index: u32| match 128u32.checked_sub(5 * (index + 1)) {
        Some(shift) => bits >> shift,
        None => bits << 2,
    };
    (0..CHARACTERS).map(|index| char::from(ALPHABET[(digit(index) & 31) as usize])).collect()
}
