//! Objects as text: decompressed while they arrive, and cut into lines of bounded length.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use bytes::Bytes;
use futures_util::TryStreamExt;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader};
use tokio_util::io::StreamReader;

use crate::checksum::Checksum;
use crate::import::Compression;
use crate::{ByteStream, PlaceError};

/// How long a line or a CSV record may be. An item has at most 400 KB, of which DynamoDB JSON makes at most nine times
/// as much (an empty string in a list counts as one byte), and a line of an incremental export holds two: 7.2 MB.
pub const RECORD_BYTES_MAX: usize = 8 << 20;

/// How much decompressed text is held at a time.
const BUFFER_BYTES: usize = 64 << 10;

/// Why an object can't be read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("it can't be decompressed: {0}")]
    Damaged(io::Error),
    #[error("a record is longer than {RECORD_BYTES_MAX} bytes")]
    LongRecord,
}

impl From<io::Error> for ReadError {
    /// An error of the place comes through the decoder and is taken out again.
    fn from(error: io::Error) -> ReadError {
        match error.downcast::<PlaceError>() {
            Ok(place) => ReadError::Place(place),
            Err(error) => ReadError::Damaged(error),
        }
    }
}

/// What has been read of an object so far, before decompression.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<(u64, Checksum)>>);

impl Progress {
    fn note(&self, piece: &[u8]) {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.0 += piece.len() as u64;
        progress.1.update(piece);
    }

    pub fn bytes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn checksum(&self) -> Checksum {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

/// The text of one object.
pub(crate) struct TextReader {
    text: Box<dyn AsyncBufRead + Send + Unpin>,
    line: Vec<u8>,
    /// Whether `line` was handed out. If not, a call was dropped in the middle of it, and the next one goes on there.
    is_complete: bool,
}

impl TextReader {
    pub fn new(content: ByteStream, compression: Compression, progress: Progress) -> TextReader {
        let counted = content.inspect_ok(move |piece: &Bytes| progress.note(piece));
        let raw = StreamReader::new(counted.map_err(io::Error::other));
        TextReader { text: decompressed(raw, compression), line: Vec::new(), is_complete: true }
    }

    /// The next line, without its end. The last line of an object need not have one.
    pub async fn line(&mut self) -> Result<Option<&[u8]>, ReadError> {
        if std::mem::take(&mut self.is_complete) {
            self.line.clear();
        }
        loop {
            let piece = self.text.fill_buf().await?;
            if piece.is_empty() {
                self.is_complete = true;
                return Ok((!self.line.is_empty()).then_some(&self.line));
            }
            let end = memchr::memchr(b'\n', piece);
            let taken = end.map_or(piece.len(), |end| end + 1);
            if self.line.len() + taken > RECORD_BYTES_MAX {
                return Err(ReadError::LongRecord);
            }
            self.line.extend_from_slice(&piece[..taken]);
            self.text.consume(taken);
            if end.is_some() {
                self.line.pop();
                self.is_complete = true;
                return Ok(Some(&self.line));
            }
        }
    }

    /// The text that comes next; empty at the end. [`TextReader::consume`] says how much of it was used.
    pub async fn piece(&mut self) -> Result<&[u8], ReadError> {
        Ok(self.text.fill_buf().await?)
    }

    pub fn consume(&mut self, bytes: usize) {
        self.text.consume(bytes);
    }
}

/// An object may consist of several compressed ones, one behind the other.
fn decompressed(
    raw: impl AsyncBufRead + Send + Unpin + 'static,
    compression: Compression,
) -> Box<dyn AsyncBufRead + Send + Unpin> {
    match compression {
        Compression::None => Box::new(raw),
        Compression::Gzip => {
            let mut decoder = GzipDecoder::new(raw);
            decoder.multiple_members(true);
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
        }
        Compression::Zstd => {
            let mut decoder = ZstdDecoder::new(raw);
            decoder.multiple_members(true);
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
        }
    }
}
