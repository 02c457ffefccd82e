//! Values of any size in pairs of limited size.
//!
//! FoundationDB stores at most 100,000 bytes under a key. A smaller value is stored as it is, behind a byte that says
//! so. A larger one is cut into pieces, and what is stored under its key names their generation. Pieces of a generation
//! that nothing names are not seen by anyone, so they can be written before the commit that needs them: a commit of
//! more bytes than a transaction may have is one that names pieces.

use bytes::Bytes;
use store::StoreError;

use crate::keys::Generation;

/// The most bytes of a piece.
pub const PIECE_BYTES: usize = 90_000;

const WHOLE: u8 = 0;
const IN_PIECES: u8 = 1;

/// What is stored under the key of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    Whole(Bytes),
    InPieces { generation: Generation, length: usize },
}

impl Stored {
    /// The bytes that are stored.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Stored::Whole(value) => encode_whole(value),
            Stored::InPieces { generation, length } => {
                [&[IN_PIECES], &generation.encode()[..], &(*length as u64).to_be_bytes()].concat()
            }
        }
    }

    /// What these bytes say.
    pub fn decode(bytes: &[u8]) -> Result<Stored, StoreError> {
        let unreadable = || StoreError::Corrupt("a value in FoundationDB has an unknown form".to_owned());
        match bytes.split_first() {
            Some((&WHOLE, value)) => Ok(Stored::Whole(Bytes::copy_from_slice(value))),
            Some((&IN_PIECES, rest)) => {
                let (generation, length) = rest.split_first_chunk().ok_or_else(unreadable)?;
                let length = u64::from_be_bytes(length.try_into().map_err(|_| unreadable())?);
                let length = usize::try_from(length).map_err(|_| unreadable())?;
                Ok(Stored::InPieces { generation: Generation::decode(generation), length })
            }
            _ => Err(unreadable()),
        }
    }
}

/// The length of the value that is stored so.
pub fn length(stored: &[u8]) -> Result<usize, StoreError> {
    match stored.split_first() {
        Some((&WHOLE, value)) => Ok(value.len()),
        _ => match Stored::decode(stored)? {
            Stored::Whole(value) => Ok(value.len()),
            Stored::InPieces { length, .. } => Ok(length),
        },
    }
}

/// The bytes that are stored of a value that is not cut.
pub fn encode_whole(value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len() + 1);
    bytes.push(WHOLE);
    bytes.extend_from_slice(value);
    bytes
}

/// The pieces of a value with their numbers.
pub fn pieces(value: &[u8]) -> Result<impl Iterator<Item = (u16, &[u8])>, StoreError> {
    let count = value.len().div_ceil(PIECE_BYTES);
    match u16::try_from(count) {
        Ok(count) => Ok((0..count).zip(value.chunks(PIECE_BYTES))),
        Err(_) => Err(StoreError::Unavailable(format!("a value of {} bytes is too large", value.len()))),
    }
}

/// Puts pieces together again.
pub fn join(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>, length: usize) -> Result<Bytes, StoreError> {
    let mut value = Vec::new();
    pieces.into_iter().for_each(|piece| value.extend_from_slice(piece.as_ref()));
    match value.len() == length {
        true => Ok(value.into()),
        false => {
            let found = value.len();
            Err(StoreError::Corrupt(format!("{found} of {length} bytes of a value in FoundationDB")))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_of_any_size_comes_back_from_its_pieces(length in 0..3 * PIECE_BYTES, seed: u8) {
            let value: Vec<u8> = (0..length).map(|index| (index as u8).wrapping_mul(seed)).collect();
            let cut: Vec<(u16, &[u8])> = pieces(&value).unwrap().collect();
            prop_assert!(cut.iter().all(|(_, piece)| piece.len() <= PIECE_BYTES));
            prop_assert!(cut.iter().enumerate().all(|(index, (number, _))| index == usize::from(*number)));
            prop_assert_eq!(join(cut.iter().map(|(_, piece)| *piece), length).unwrap(), value);
        }

        #[test]
        fn what_is_stored_is_read_again(value: Vec<u8>, time_us: u64, handle: u64, serial: u64, length: usize) {
            let generation = Generation { time_us, handle, serial };
            let whole_length = value.len();
            let whole = (Stored::Whole(value.into()), whole_length);
            for (stored, length) in [whole, (Stored::InPieces { generation, length }, length)] {
                prop_assert_eq!(super::length(&stored.encode()).unwrap(), length);
                prop_assert_eq!(Stored::decode(&stored.encode()).unwrap(), stored);
            }
        }
    }

    #[test]
    fn what_is_not_a_value_is_an_error_and_so_is_a_missing_piece() {
        for bytes in [&[][..], &[2, 0], &[IN_PIECES], &[IN_PIECES; 30]] {
            assert!(matches!(Stored::decode(bytes), Err(StoreError::Corrupt(_))), "{bytes:?}");
        }
        assert!(matches!(join([[1, 2]], 3), Err(StoreError::Corrupt(_))));
    }
}
