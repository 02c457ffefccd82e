//! gzip and deflate: compresses answers and decompresses bodies, always with a bound on the result.

use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::{Compression, Decompress, FlushDecompress, Status, read::MultiGzDecoder};
use hyper::HeaderMap;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue};
use std::io::{Read, Write};

/// A content coding. `Deflate` is zlib's format, as RFC 9110 says, not the bare stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
}

/// Neither format can expand by a larger factor: at best two bits stand for 258 bytes (zlib's manual).
pub(crate) const EXPANSION_MAX: usize = 1032;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// Not a complete stream of its format, or something follows it.
    Broken,
    /// More than the bound comes out.
    TooLarge,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownCoding;

impl Coding {
    pub(crate) fn name(self) -> HeaderValue {
        match self {
            Coding::Gzip => HeaderValue::from_static("gzip"),
            Coding::Deflate => HeaderValue::from_static("deflate"),
        }
    }

    fn from_name(name: &str) -> Option<Coding> {
        if name.eq_ignore_ascii_case("gzip") {
            Some(Coding::Gzip)
        } else if name.eq_ignore_ascii_case("deflate") {
            Some(Coding::Deflate)
        } else {
            None
        }
    }

    /// How a request's body is packed.
    pub(crate) fn of_request(headers: &HeaderMap) -> Result<Option<Coding>, UnknownCoding> {
        let Some(value) = headers.get(CONTENT_ENCODING) else { return Ok(None) };
        let name = value.to_str().map_err(|_| UnknownCoding)?.trim();
        if name.is_empty() || name.eq_ignore_ascii_case("identity") {
            return Ok(None);
        }
        Coding::from_name(name).map(Some).ok_or(UnknownCoding)
    }

    /// The coding that the client likes best, if it likes one at all.
    ///
    /// Follows what DynamoDB was observed to do: `identity` is ignored; of equally liked ones the first
    /// named wins; `*` stands for those not named and prefers gzip; a quality above 1 counts as 1,
    /// below 0 as 0, and one that is no number as 1; of several Accept-Encoding fields only the first is
    /// read.
    pub(crate) fn accepted(headers: &HeaderMap) -> Option<Coding> {
        let mut best: Option<(Coding, f32)> = None;
        let mut prefer = |coding, quality| {
            if quality > best.map_or(0.0, |(_, quality)| quality) {
                best = Some((coding, quality));
            }
        };
        let mut named = [false; 2];
        let mut any = 0.0_f32;
        let field = headers.get(ACCEPT_ENCODING).and_then(|field| field.to_str().ok()).unwrap_or_default();
        for entry in field.split(',') {
            let (name, parameters) = entry.split_once(';').unwrap_or((entry, ""));
            let name = name.trim();
            if let Some(coding) = Coding::from_name(name) {
                named[coding as usize] = true;
                prefer(coding, quality(parameters));
            } else if name == "*" {
                any = any.max(quality(parameters));
            }
        }
        for coding in [Coding::Gzip, Coding::Deflate] {
            if !named[coding as usize] {
                prefer(coding, any);
            }
        }
        best.map(|(coding, _)| coding)
    }

    /// Unpacks a whole body of at most `bytes_max` unpacked bytes.
    pub(crate) fn inflate(self, packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, InflateError> {
        match self {
            Coding::Gzip => inflate_gzip(packed, bytes_max),
            Coding::Deflate => inflate_zlib(packed, bytes_max),
        }
    }

    /// Packs an answer. The quickest level: answers are JSON, which it already cuts to a fraction.
    pub(crate) fn deflate(self, plain: &[u8]) -> Vec<u8> {
        const INFALLIBLE: &str = "writing to memory does not fail";
        let packed = Vec::with_capacity(plain.len() / 4);
        match self {
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(packed, Compression::fast());
                encoder.write_all(plain).and_then(|()| encoder.finish()).expect(INFALLIBLE)
            }
            Coding::Deflate => {
                let mut encoder = ZlibEncoder::new(packed, Compression::fast());
                encoder.write_all(plain).and_then(|()| encoder.finish()).expect(INFALLIBLE)
            }
        }
    }
}

/// The quality among an entry's parameters. DynamoDB looks for the first `q=`, in any position:
/// `nq=0` counts, `q =0` does not.
fn quality(parameters: &str) -> f32 {
    let Some((_, rest)) = parameters.split_once("q=") else { return 1.0 };
    let number = rest.split(';').next().unwrap_or_default().trim();
    number.parse::<f32>().map_or(1.0, |quality| quality.clamp(0.0, 1.0))
}

/// One or more gzip members, one after another.
fn inflate_gzip(packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, InflateError> {
    if packed.is_empty() {
        return Err(InflateError::Broken);
    }
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(packed).take(bytes_max as u64 + 1);
    decoder.read_to_end(&mut plain).map_err(|_| InflateError::Broken)?;
    if plain.len() > bytes_max { Err(InflateError::TooLarge) } else { Ok(plain) }
}

/// Exactly one zlib stream. Driven by hand because flate2's reader takes a cut-off stream for a
/// finished one.
fn inflate_zlib(packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, InflateError> {
    let mut inflater = Decompress::new(true);
    let mut plain = Vec::with_capacity((packed.len() * 4).max(256).min(bytes_max + 1));
    loop {
        let consumed = inflater.total_in() as usize;
        let status = inflater
            .decompress_vec(&packed[consumed..], &mut plain, FlushDecompress::None)
            .map_err(|_| InflateError::Broken)?;
        if plain.len() > bytes_max {
            return Err(InflateError::TooLarge);
        }
        match status {
            Status::StreamEnd if inflater.total_in() as usize == packed.len() => return Ok(plain),
            Status::StreamEnd => return Err(InflateError::Broken),
            Status::Ok | Status::BufError if plain.len() == plain.capacity() => plain.reserve(plain.len()),
            // Room to write and nothing left to read, yet no end: the stream is cut off.
            Status::Ok | Status::BufError if inflater.total_in() as usize == packed.len() => {
                return Err(InflateError::Broken);
            }
            Status::Ok => {}
            Status::BufError => return Err(InflateError::Broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_coding_is_chosen_as_dynamodb_chooses_it() {
        let check = |fields: &[&str], expected: Option<Coding>| {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(ACCEPT_ENCODING, field.parse().unwrap());
            }
            assert_eq!(Coding::accepted(&headers), expected, "{fields:?}");
        };
        let (gzip, deflate) = (Some(Coding::Gzip), Some(Coding::Deflate));

        check(&[], None);
        check(&["identity"], None);
        check(&["br, zstd, x-gzip"], None);
        check(&["gzip, deflate"], gzip);
        check(&["br, identity, deflate, gzip"], deflate);
        check(&["GZIP, identity"], gzip);
        check(&["dog, gzip ,, cat"], gzip);
        check(&["identity", "gzip"], None);
        check(&["gzip", "identity"], gzip);

        check(&["deflate;q=0.5, gzip;q=0.2"], deflate);
        check(&["gzip;q=0.5,identity;q=0.8"], gzip);
        check(&["gzip ;q=0"], None);
        check(&["br,gzip;q=0.0001"], gzip);
        check(&["gzip;q=0, gzip;q=1, gzip;q=0"], gzip);

        check(&["*"], gzip);
        check(&["*, deflate"], deflate);
        check(&["*, deflate;q=0.5"], gzip);
        check(&["*, gzip;q=0.5"], deflate);
        check(&["*;q=0"], None);
        check(&["gzip;q=0, *"], deflate);

        check(&["gzip br"], None);
        check(&["\"gzip\""], None);
        check(&["gzip;q=31,deflate;q=51"], gzip);
        check(&["deflate;q=-0.5,gzip;q=0.2"], gzip);
        check(&["deflate;q=0.5,gzip;q=0.x"], gzip);
        check(&["deflate;q=0.5,gzip;q=1;q=0.2"], gzip);
        check(&["gzip;q= 0;q=1"], None);
        check(&["gzip;q =0;q=1"], gzip);
        check(&["gzip;nq=0;q=1"], None);
        check(&["gzip;q=nan"], None);
    }

    #[test]
    fn what_is_compressed_decompresses_to_the_same_bytes() {
        let plains = [
            vec![],
            b"{}".to_vec(),
            vec![b'x'; 100_000],
            (0..100_000_u64).map(|n| ((n * n) >> 3) as u8).collect(),
        ];
        for plain in plains {
            for coding in [Coding::Gzip, Coding::Deflate] {
                let packed = coding.deflate(&plain);
                assert_eq!(coding.inflate(&packed, plain.len()).as_ref(), Ok(&plain), "{coding:?}");
            }
        }
    }

    #[test]
    fn several_gzip_members_are_one_body() {
        let packed = [Coding::Gzip.deflate(b"one "), Coding::Gzip.deflate(b"two")].concat();
        assert_eq!(Coding::Gzip.inflate(&packed, 100), Ok(b"one two".to_vec()));
    }

    #[test]
    fn broken_streams_are_refused() {
        for coding in [Coding::Gzip, Coding::Deflate] {
            let whole = coding.deflate(b"a body of some length, a body of some length");
            for cut in 0..whole.len() {
                assert_eq!(
                    coding.inflate(&whole[..cut], 100),
                    Err(InflateError::Broken),
                    "{coding:?} cut at {cut}"
                );
            }
            let followed = [&whole[..], b"junk"].concat();
            assert_eq!(
                coding.inflate(&followed, 100),
                Err(InflateError::Broken),
                "{coding:?} with junk behind"
            );
            assert_eq!(
                coding.inflate(b"{\"not\": \"packed\"}", 100),
                Err(InflateError::Broken),
                "{coding:?} plain"
            );
            let mut damaged = whole.clone();
            let checksum = damaged.len() - 1;
            damaged[checksum] ^= 1;
            assert_eq!(coding.inflate(&damaged, 100), Err(InflateError::Broken), "{coding:?} damaged");
        }
    }

    #[test]
    fn a_small_stream_cannot_unpack_past_the_bound() {
        for coding in [Coding::Gzip, Coding::Deflate] {
            let packed = coding.deflate(&vec![b' '; 1_000_000]);
            assert!(packed.len() < 10_000);
            assert!(1_000_000 / packed.len() <= EXPANSION_MAX);
            assert_eq!(coding.inflate(&packed, 999_999), Err(InflateError::TooLarge), "{coding:?}");
            assert_eq!(
                coding.inflate(&packed, 1_000_000).map(|plain| plain.len()),
                Ok(1_000_000),
                "{coding:?}"
            );
        }
    }
}
