//! Snapshots that outlive the five seconds for which FoundationDB remembers versions.
//!
//! While a snapshot is open, every commit that changes a row, or the end of a log, first keeps what was there: once for
//! each snapshot, under a key of the snapshot. What a snapshot shows is what is kept for it, and the live data
//! elsewhere. All commits read the list of open snapshots and conflict with its changes, so a snapshot is exactly the
//! moment of the commit that opened it. That commit also closes all logs: an append that comes later has seen
//! everything that was there, and has a later position.
//!
//! An owner that ended leaves its snapshot open. So owners raise a number in the list from time to time, and a
//! snapshot whose number has not changed for long is closed by the server that notices.

use std::cmp::Ordering;

use bytes::Bytes;
use store::StoreError;

const NUMBER: usize = size_of::<u64>();

/// A snapshot that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub id: u64,
    /// Raised while its owner lives.
    pub beat: u64,
}

/// The list that is stored. None is an empty one.
pub fn decode_list(stored: Option<&[u8]>) -> Result<Vec<Open>, StoreError> {
    let stored = stored.unwrap_or_default();
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let entries = stored.chunks_exact(2 * NUMBER);
    if !entries.remainder().is_empty() {
        return Err(StoreError::Corrupt("the list of snapshots in FoundationDB can't be read".to_owned()));
    }
    Ok(entries.map(|entry| Open { id: number(&entry[..NUMBER]), beat: number(&entry[NUMBER..]) }).collect())
}

/// The list as it is stored.
pub fn encode_list(open: &[Open]) -> Vec<u8> {
    open.iter().flat_map(|open| [open.id.to_be_bytes(), open.beat.to_be_bytes()]).flatten().collect()
}

/// What is kept of a value: also that there was none.
pub fn encode_kept(before: Option<&[u8]>) -> Vec<u8> {
    match before {
        None => vec![0],
        Some(value) => [&[1], value].concat(),
    }
}

/// What was there.
pub fn decode_kept(kept: &Bytes) -> Result<Option<Bytes>, StoreError> {
    match kept.first() {
        Some(0) => Ok(None),
        Some(1) => Ok(Some(kept.slice(1..))),
        _ => Err(StoreError::Corrupt("what a snapshot keeps can't be read".to_owned())),
    }
}

/// A part of a range in the order of a scan.
#[derive(Clone, Debug)]
pub struct Part<T> {
    pub pairs: Vec<(Vec<u8>, T)>,
    /// There may be more behind the last pair.
    pub has_more: bool,
}

/// Whether a pair of a merged part is the live one or what a snapshot keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Live,
    Kept,
}

/// What a snapshot shows of a range: what is kept replaces what is live. The part ends where one of the two does, if
/// that has more.
pub fn merge<T>(live: Part<T>, kept: Part<T>, is_backward: bool) -> Part<(Source, T)> {
    let order = |one: &[u8], other: &[u8]| if is_backward { other.cmp(one) } else { one.cmp(other) };
    let last = |part: &Part<T>| part.pairs.last().filter(|_| part.has_more).map(|(key, _)| key.clone());
    let ends = [last(&live), last(&kept)];
    let end = ends.into_iter().flatten().min_by(|one, other| order(one, other));
    let (mut live, mut kept) = (live.pairs.into_iter().peekable(), kept.pairs.into_iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let next = match (live.peek(), kept.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, _)), Some((other, _))) => order(one, other),
        };
        let source = if next == Ordering::Less { Source::Live } else { Source::Kept };
        let live_pair = live.next_if(|_| next != Ordering::Greater);
        let Some((key, value)) = kept.next_if(|_| next != Ordering::Less).or(live_pair) else { break };
        if end.as_ref().is_some_and(|end| order(&key, end) == Ordering::Greater) {
            break;
        }
        pairs.push((key, (source, value)));
    }
    Part { pairs, has_more: end.is_some() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A part of a map in pages of this size, from behind a key on.
    fn part(map: &BTreeMap<u8, u8>, after: Option<u8>, limit: usize, is_backward: bool) -> Part<u8> {
        let mut all: Vec<(u8, u8)> = map.iter().map(|(key, value)| (*key, *value)).collect();
        if is_backward {
            all.reverse();
        }
        let is_after =
            |key: u8| after.is_none_or(|after| if is_backward { key < after } else { key > after });
        let rest: Vec<(Vec<u8>, u8)> = all
            .into_iter()
            .filter(|(key, _)| is_after(*key))
            .map(|(key, value)| (vec![key], value))
            .collect();
        let has_more = rest.len() >= limit;
        Part { pairs: rest.into_iter().take(limit).collect(), has_more }
    }

    proptest! {
        #[test]
        fn parts_of_any_size_make_the_whole_in_both_directions(
            live: BTreeMap<u8, u8>,
            kept: BTreeMap<u8, u8>,
            limits in (1..9_usize, 1..9_usize),
            is_backward: bool,
        ) {
            let mut expected: BTreeMap<u8, (Source, u8)> =
                live.iter().map(|(key, value)| (*key, (Source::Live, *value))).collect();
            expected.extend(kept.iter().map(|(key, value)| (*key, (Source::Kept, *value))));
            let mut expected: Vec<(u8, (Source, u8))> = expected.into_iter().collect();
            if is_backward {
                expected.reverse();
            }
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let parts = (
                    part(&live, after, limits.0, is_backward),
                    part(&kept, after, limits.1, is_backward),
                );
                let merged = merge(parts.0, parts.1, is_backward);
                found.extend(merged.pairs.into_iter().map(|(key, value)| (key[0], value)));
                if !merged.has_more {
                    break;
                }
                let last = found.last().map(|(key, _)| *key);
                prop_assert!(last != after, "no progress");
                after = last;
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_list_and_what_is_kept_are_read_again(entries: Vec<(u64, u64)>, before: Option<Vec<u8>>) {
            let open: Vec<Open> = entries.into_iter().map(|(id, beat)| Open { id, beat }).collect();
            prop_assert_eq!(decode_list(Some(&encode_list(&open))).unwrap(), open);
            let kept = Bytes::from(encode_kept(before.as_deref()));
            prop_assert_eq!(decode_kept(&kept).unwrap(), before.map(Bytes::from));
        }
    }

    #[test]
    fn what_can_not_be_read_is_an_error() {
        assert!(decode_list(Some(&[0; 15])).is_err());
        assert_eq!(decode_list(None).unwrap(), []);
        assert!(decode_kept(&Bytes::from_static(&[7])).is_err());
        assert!(decode_kept(&Bytes::new()).is_err());
    }
}
