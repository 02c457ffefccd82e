//! Refuses heads whose lines end with a bare line feed.
//!
//! A recipient may take a line feed without its carriage return for the end of a line (RFC 9112, 2.2), and
//! hyper does. A proxy in front that does not would see other headers than we do, which is how requests
//! are smuggled. So the bytes are looked at before hyper gets them, and the first bare line feed becomes a
//! NUL, which no head may hold. The head then ends at once ([`Framing::end_of_refused`]), so that hyper
//! parses it, answers 400 and closes the connection. In the line before a chunk it stays: there hyper refuses it,
//! and passes over a NUL.
//!
//! To know which bytes are lines and which are bodies, this follows the framing as hyper does:
//! `Content-Length`, chunks and trailers. A body costs nothing, a head one `memchr` a line.

use memchr::memchr;

/// What is kept of a line that arrives in pieces: enough for a framing header and its value.
const LINE_BYTES_KEPT: usize = 64;

/// Where in the stream of requests the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Request line and header fields.
    Head,
    /// The number of bytes of a body that are still to come.
    Body(u64),
    ChunkSize,
    /// The number of bytes of a chunk, and of the line end behind it, that are still to come.
    Chunk(u64),
    Trailers,
    /// Nothing more of what the client sends matters.
    Refused,
    /// hyper got an end of input for a refused request, as if the client had closed its side.
    Ended,
}

/// How the current head delimits its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyLength {
    Known(u64),
    Chunked,
}

/// Follows what a client sends over one connection.
#[derive(Debug)]
pub(crate) struct Framing {
    part: Part,
    body: BodyLength,
    /// The current head has a line already: an empty one ends it.
    has_line: bool,
    /// The beginning of a line whose end has not come yet.
    line: [u8; LINE_BYTES_KEPT],
    /// The whole length of that line so far.
    line_length: usize,
    last_byte: u8,
}

impl Framing {
    pub(crate) fn new() -> Framing {
        Framing {
            part: Part::Head,
            body: BodyLength::Known(0),
            has_line: false,
            line: [0; LINE_BYTES_KEPT],
            line_length: 0,
            last_byte: 0,
        }
    }

    /// Looks at the next bytes of the connection and puts a NUL where a bare line feed is.
    pub(crate) fn check(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let used = match self.part {
                Part::Refused | Part::Ended => return,
                Part::Body(left) => self.skip(bytes.len(), left, Part::Body, Part::Head),
                Part::Chunk(left) => self.skip(bytes.len(), left, Part::Chunk, Part::ChunkSize),
                Part::Head | Part::ChunkSize | Part::Trailers => self.check_line(bytes),
            };
            bytes = &mut bytes[used..];
        }
    }

    /// A request has begun, and its last byte has not come.
    pub(crate) fn is_within_request(&self) -> bool {
        match self.part {
            Part::Head => self.has_line || self.line_length > 0,
            Part::Body(_) | Part::ChunkSize | Part::Chunk(_) | Part::Trailers => true,
            Part::Refused | Part::Ended => false,
        }
    }

    /// What hyper is to read instead of what the client sends from now on, if a line was refused: the end of the head,
    /// and then nothing.
    pub(crate) fn end_of_refused(&mut self) -> Option<&'static [u8]> {
        match self.part {
            Part::Refused => {
                self.part = Part::Ended;
                Some(b"\r\n\r\n")
            }
            Part::Ended => Some(b""),
            _ => None,
        }
    }

    /// Steps over bytes that are not lines.
    fn skip(&mut self, available: usize, left: u64, same: fn(u64) -> Part, next: Part) -> usize {
        let used = left.min(available as u64);
        self.part = if used == left { next } else { same(left - used) };
        used as usize
    }

    /// Steps over the rest of a line, or over all there is of it.
    fn check_line(&mut self, bytes: &mut [u8]) -> usize {
        let Some(end) = memchr(b'\n', bytes) else {
            self.keep(bytes);
            return bytes.len();
        };
        let before = if end > 0 { bytes[end - 1] } else { self.last_byte };
        let is_bare = before != b'\r';
        if is_bare || !self.take_line(&bytes[..end]) {
            let is_refused_by_hyper = is_bare && self.part == Part::ChunkSize;
            if !is_refused_by_hyper {
                bytes[end] = 0;
            }
            self.part = Part::Refused;
        }
        self.line_length = 0;
        self.last_byte = 0;
        end + 1
    }

    fn keep(&mut self, piece: &[u8]) {
        let from = self.line_length.min(LINE_BYTES_KEPT);
        let kept = piece.len().min(LINE_BYTES_KEPT - from);
        self.line[from..from + kept].copy_from_slice(&piece[..kept]);
        self.line_length += piece.len();
        self.last_byte = piece.last().copied().unwrap_or(self.last_byte);
    }

    /// Goes by the line that ends with this piece; `false` if its body could not be followed.
    fn take_line(&mut self, piece: &[u8]) -> bool {
        if self.line_length == 0 {
            return self.go_by(&piece[..piece.len() - 1], piece.len() > LINE_BYTES_KEPT);
        }
        self.keep(piece);
        let line = self.line;
        let kept = self.line_length.min(LINE_BYTES_KEPT);
        let without_return = kept.min(self.line_length - 1);
        self.go_by(&line[..without_return], self.line_length > LINE_BYTES_KEPT)
    }

    fn go_by(&mut self, line: &[u8], long: bool) -> bool {
        match self.part {
            Part::Head if line.is_empty() => {
                // hyper ignores empty lines before a request.
                if self.has_line {
                    *self = Framing { part: self.body.first_part(), ..Framing::new() };
                }
                true
            }
            Part::Head => {
                self.has_line = true;
                self.note_body_length(line, long)
            }
            Part::ChunkSize => match chunk_size(line) {
                Some(0) => {
                    self.part = Part::Trailers;
                    true
                }
                Some(size) => {
                    self.part = Part::Chunk(size.saturating_add(2));
                    true
                }
                None => false,
            },
            Part::Trailers => {
                if line.is_empty() {
                    self.part = Part::Head;
                }
                true
            }
            Part::Body(_) | Part::Chunk(_) | Part::Refused | Part::Ended => {
                unreachable!("these have no lines")
            }
        }
    }

    /// `false` if it is a `Content-Length` that can't be one; hyper refuses those too.
    fn note_body_length(&mut self, line: &[u8], long: bool) -> bool {
        if let Some(value) = value_of(line, b"content-length:") {
            // Chunks count before a length, as for hyper.
            let Some(length) = decimal(value).filter(|_| !long) else { return false };
            if self.body != BodyLength::Chunked {
                self.body = BodyLength::Known(length);
            }
        } else if value_of(line, b"transfer-encoding:").is_some() {
            self.body = BodyLength::Chunked;
        }
        true
    }
}

impl BodyLength {
    fn first_part(self) -> Part {
        match self {
            BodyLength::Known(0) => Part::Head,
            BodyLength::Known(length) => Part::Body(length),
            BodyLength::Chunked => Part::ChunkSize,
        }
    }
}

/// The value of a header field, if it is this one. The name is given in lower case, with its colon.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then_some(value.trim_ascii())
}

fn decimal(digits: &[u8]) -> Option<u64> {
    number(digits, 10)
}

/// The size before any extension.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    number(digits.trim_ascii(), 16)
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a bare line feed was found when the bytes come in pieces of every length.
    fn check(sent: &str, expected: Option<usize>) {
        for piece in 1..=sent.len() {
            let mut bytes = sent.as_bytes().to_vec();
            let mut framing = Framing::new();
            for piece in bytes.chunks_mut(piece) {
                framing.check(piece);
            }
            let found = bytes.iter().zip(sent.bytes()).position(|(after, before)| *after != before);
            assert_eq!(found, expected, "{sent:?} in pieces of {piece}");
            assert_eq!(framing.part == Part::Refused, expected.is_some());
        }
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn lines_that_end_with_both_characters_pass() {
        check(GET, None);
        check(&GET.repeat(3), None);
        check(&format!("\r\n\r\n{GET}"), None);
        check(&format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n{GET}", "y".repeat(200)), None);
    }

    #[test]
    fn the_first_bare_line_feed_of_a_head_is_found() {
        check("GET / HTTP/1.1\nHost: a\r\n\r\n", Some(14));
        check("GET / HTTP/1.1\r\nHost: a\n\n", Some(23));
        check("GET / HTTP/1.1\r\nHost: a\r\n\n", Some(25));
        check("\nGET / HTTP/1.1\r\n\r\n", Some(0));
        check(&format!("{GET}GET / HTTP/1.1\n\r\n"), Some(GET.len() + 14));
    }

    #[test]
    fn bodies_may_hold_line_feeds() {
        let post = "POST / HTTP/1.1\r\ncontent-LENGTH:  6 \r\n\r\n{\n\n\n\n}";
        check(post, None);
        check(&format!("{post}{GET}"), None);
        check(&format!("{post}GET /\n"), Some(post.len() + 5));
    }

    #[test]
    fn chunks_are_followed_to_their_end() {
        let post = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n\
                    3\r\n\n\n\n\r\n000A ; x=y\r\n0123\n56789\r\n0\r\nx: y\r\n\r\n";
        check(post, None);
        check(&format!("{post}{GET}"), None);
        check(&format!("{post}GET /\n"), Some(post.len() + 5));
        check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx: y\n\r\n", Some(54));
    }

    #[test]
    fn a_bare_line_feed_before_a_chunk_is_left_for_hyper_and_ends_the_request() {
        let mut bytes =
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\n1\r\n}\r\n0\r\n\r\n".to_vec();
        let (sent, mut framing) = (bytes.clone(), Framing::new());
        framing.check(&mut bytes);
        assert_eq!(bytes, sent);
        let ends = [(); 3].map(|()| framing.end_of_refused());
        assert_eq!(ends, [Some(&b"\r\n\r\n"[..]), Some(b""), Some(b"")], "it ends once");
    }

    #[test]
    fn a_length_that_cannot_be_followed_is_refused() {
        for length in ["", "x", "-1", "+1", "1 1", "99999999999999999999", &format!("{}1", " ".repeat(80))] {
            let head = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n");
            check(&format!("{head}\r\n"), Some(head.len() - 1));
        }
    }
}
