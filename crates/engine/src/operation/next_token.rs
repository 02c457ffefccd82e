//! The NextToken of ExecuteStatement: where a SELECT goes on. The token itself holds that position, so it outlives
//! restarts and takes no memory of the server.
//!
//! ```text
//! base64( 16 bytes   digest of the statement and its parameters
//!         1 byte     which of the SELECT's ranges, of which there are at most 50
//!         rest       the key of the last item evaluated, as an item is stored )
//! ```
//!
//! A client can make one up. Its SELECT then goes on where that token says, within its own rows: no harm is done.
//! It is at most about 10 KB long: two keys of 3 KB each with their names of 255 bytes, and a third for base64.

use api::Error;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use bytes::Bytes;
use item::{Item, ValueBuf};

use super::digest::Digest;

/// What a token is for: the exact statement, with its exact parameters.
pub struct Purpose([u8; Purpose::LENGTH]);

impl Purpose {
    const LENGTH: usize = 16;

    /// The purpose of every token that this statement is given.
    pub fn of(statement: &str, parameters: Option<&Vec<ValueBuf>>) -> Purpose {
        let mut digest = Digest::default();
        digest.statement(statement, parameters);
        let hash = digest.finish();
        Purpose(hash.as_bytes()[..Purpose::LENGTH].try_into().expect("the hash is longer than that"))
    }
}

/// Where a SELECT goes on.
#[derive(Debug, PartialEq)]
pub struct NextToken {
    /// Which of its ranges.
    pub range: u8,
    /// The page key of the last item evaluated.
    pub after: Item,
}

impl NextToken {
    /// The token as the client gets it.
    pub fn print(self, purpose: &Purpose) -> String {
        let mut bytes = purpose.0.to_vec();
        bytes.push(self.range);
        bytes.extend_from_slice(&self.after.into_stored());
        BASE64.encode(bytes)
    }

    /// Reads a token that a client sent; one for another purpose is refused.
    pub fn read(text: &str, purpose: &Purpose) -> Result<NextToken, Error> {
        NextToken::parse(text, purpose).ok_or_else(Error::next_token_mismatch)
    }

    fn parse(text: &str, purpose: &Purpose) -> Option<NextToken> {
        let bytes = BASE64.decode(text).ok()?;
        let (range, key) = bytes.strip_prefix(&purpose.0[..])?.split_first()?;
        let after = Item::from_stored(Bytes::copy_from_slice(key)).ok()?;
        Some(NextToken { range: *range, after })
    }
}
