//! Request ids: 52 upper-case letters and digits like DynamoDB's, unique within a process.

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const LENGTH: usize = 52;
/// Ids are printed five bits a character, so a 64-bit word gives twelve.
const CHARACTERS_PER_WORD: usize = 12;
const WORDS: u64 = LENGTH.div_ceil(CHARACTERS_PER_WORD) as u64;
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// A counter whose values are scrambled.
#[derive(Debug)]
pub(crate) struct RequestIds {
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new(seed: u64) -> RequestIds {
        RequestIds { next: AtomicU64::new(scramble(seed)) }
    }

    pub(crate) fn next(&self) -> [u8; LENGTH] {
        let first = self.next.fetch_add(WORDS, Ordering::Relaxed);
        let mut id = [0; LENGTH];
        for (word, characters) in (0..).zip(id.chunks_mut(CHARACTERS_PER_WORD)) {
            let mut bits = scramble(first.wrapping_add(word));
            for character in characters {
                *character = ALPHABET[(bits & 31) as usize];
                bits >>= 5;
            }
        }
        id
    }
}

/// SplitMix64's output function: a bijection, so different counts stay different.
fn scramble(count: u64) -> u64 {
    let mut word = count.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_differ_and_are_upper_case_alphanumerics() {
        let ids = RequestIds::new(7);
        let seen: HashSet<_> = (0..10_000).map(|_| ids.next()).collect();
        assert_eq!(seen.len(), 10_000);
        assert!(
            seen.iter().flatten().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
            "an id has a character that DynamoDB's have not"
        );
    }

    #[test]
    fn a_seed_replays_its_ids_and_another_does_not() {
        assert_eq!(RequestIds::new(1).next(), RequestIds::new(1).next());
        assert_ne!(RequestIds::new(1).next(), RequestIds::new(2).next());
    }
}
