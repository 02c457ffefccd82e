//! The part of CBOR (RFC 8949) that DAX's wire format uses: read from borrowed bytes, written to a buffer.
//!
//! Strings in pieces are not part of it. Nothing is allocated for what a length promises: only bytes that are there
//! are looked at.

/// Bytes that are not CBOR, or not what is expected at their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed bytes: {0}")]
pub struct Malformed(pub &'static str);

/// The start of a value. A length of `None` means that a break ends the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Head {
    Unsigned(u64),
    /// The value is `-1 - n`.
    Negative(u64),
    Bytes(u64),
    Text(u64),
    Array(Option<u64>),
    Map(Option<u64>),
    Tag(u64),
    Bool(bool),
    Null,
    Float(f64),
    Break,
}

/// The head at the start of `bytes` and how many bytes it takes. None if more bytes are needed.
pub fn head(bytes: &[u8]) -> Result<Option<(Head, usize)>, Malformed> {
    let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
    let (major, info) = (first >> 5, first & 0x1F);
    let width = match info {
        0..=23 | 31 => 0,
        24 => 1,
        25 => 2,
        26 => 4,
        27 => 8,
        _ => return Err(Malformed("reserved additional information")),
    };
    let Some(argument) = rest.get(..width) else { return Ok(None) };
    let value = match width {
        0 => u64::from(info),
        _ => argument.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
    };
    let counted = (info != 31).then_some(value);
    let head = match (major, info) {
        (7, 20 | 21) => Head::Bool(info == 21),
        (7, 22 | 23) => Head::Null,
        (7, 25) => return Err(Malformed("floats of 16 bits are not used")),
        (7, 26) => Head::Float(f64::from(f32::from_bits(value as u32))),
        (7, 27) => Head::Float(f64::from_bits(value)),
        (7, 31) => Head::Break,
        (4, _) => Head::Array(counted),
        (5, _) => Head::Map(counted),
        (_, 31) => return Err(Malformed("only arrays and maps may end with a break")),
        (0, _) => Head::Unsigned(value),
        (1, _) => Head::Negative(value),
        (2, _) => Head::Bytes(value),
        (3, _) => Head::Text(value),
        (6, _) => Head::Tag(value),
        _ => return Err(Malformed("unknown simple value")),
    };
    Ok(Some((head, 1 + width)))
}

/// Reads values from the front of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'b>(pub &'b [u8]);

/// How many elements of an array or map are left to read.
#[derive(Clone, Copy, Debug)]
pub struct Left(Option<u64>);

impl<'b> Reader<'b> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn peek(&self) -> Result<Head, Malformed> {
        head(self.0)?.map(|(head, _)| head).ok_or(Malformed("the bytes end too early"))
    }

    pub fn head(&mut self) -> Result<Head, Malformed> {
        let (head, width) = head(self.0)?.ok_or(Malformed("the bytes end too early"))?;
        self.0 = &self.0[width..];
        Ok(head)
    }

    pub fn int(&mut self) -> Result<i64, Malformed> {
        let (value, is_negative) = match self.head()? {
            Head::Unsigned(value) => (value, false),
            Head::Negative(value) => (value, true),
            _ => return Err(Malformed("an integer is expected")),
        };
        let value = i64::try_from(value).map_err(|_| Malformed("the integer is too large"))?;
        Ok(if is_negative { -1 - value } else { value })
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: u64) -> Result<&'b [u8], Malformed> {
        let length = usize::try_from(length).ok().filter(|length| *length <= self.0.len());
        let (taken, rest) = self.0.split_at(length.ok_or(Malformed("the bytes end too early"))?);
        self.0 = rest;
        Ok(taken)
    }

    pub fn bytes(&mut self) -> Result<&'b [u8], Malformed> {
        match self.head()? {
            Head::Bytes(length) => self.take(length),
            _ => Err(Malformed("a byte string is expected")),
        }
    }

    pub fn text(&mut self) -> Result<&'b str, Malformed> {
        match self.head()? {
            Head::Text(length) => self.utf8(length),
            _ => Err(Malformed("a text is expected")),
        }
    }

    /// The next `length` bytes, as text.
    pub fn utf8(&mut self, length: u64) -> Result<&'b str, Malformed> {
        std::str::from_utf8(self.take(length)?).map_err(|_| Malformed("a text is not UTF-8"))
    }

    /// A name that some clients send as text and others as bytes.
    pub fn name(&mut self) -> Result<&'b str, Malformed> {
        match self.head()? {
            Head::Text(length) | Head::Bytes(length) => self.utf8(length),
            _ => Err(Malformed("a name is expected")),
        }
    }

    /// True or false, which some methods send as 1 and 0.
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.head()? {
            Head::Bool(value) => Ok(value),
            Head::Unsigned(value) => Ok(value != 0),
            _ => Err(Malformed("true or false is expected")),
        }
    }

    pub fn array(&mut self) -> Result<Left, Malformed> {
        match self.head()? {
            Head::Array(length) => Ok(Left(length)),
            _ => Err(Malformed("an array is expected")),
        }
    }

    /// What is left of an array or map whose head is read already.
    pub fn left(length: Option<u64>) -> Left {
        Left(length)
    }

    pub fn map(&mut self) -> Result<Left, Malformed> {
        match self.head()? {
            Head::Map(length) => Ok(Left(length)),
            _ => Err(Malformed("a map is expected")),
        }
    }

    /// Whether another element follows. If so, it is to be read before the next call.
    pub fn more(&mut self, left: &mut Left) -> Result<bool, Malformed> {
        match &mut left.0 {
            Some(0) => Ok(false),
            Some(count) => {
                *count -= 1;
                Ok(true)
            }
            None if self.peek()? == Head::Break => {
                self.head()?;
                left.0 = Some(0);
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Passes over a null, if one is next.
    pub fn null(&mut self) -> Result<bool, Malformed> {
        let is_null = self.peek()? == Head::Null;
        if is_null {
            self.head()?;
        }
        Ok(is_null)
    }

    /// What `read` reads, or none for a null.
    pub fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'b>) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.null()? { Ok(None) } else { read(self).map(Some) }
    }

    /// The elements of an array, each read by `read`.
    pub fn elements<T>(
        &mut self,
        mut read: impl FnMut(&mut Reader<'b>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut left = self.array()?;
        let mut elements = Vec::new();
        while self.more(&mut left)? {
            elements.push(read(self)?);
        }
        Ok(elements)
    }

    /// Passes over the next value and returns its bytes.
    pub fn skip(&mut self) -> Result<&'b [u8], Malformed> {
        let start = self.0;
        let mut scan = Scan::default();
        if !scan.value_is_complete(start)? {
            return Err(Malformed("the bytes end too early"));
        }
        self.take(scan.at as u64)
    }
}

/// How deep arrays and maps may be nested: values have 32 levels, and stand in a map within a map.
const DEPTH_MAX: usize = 64;

/// How many values there may be inside of one. Most of what a request holds stands in byte strings, which count once.
const VALUES_MAX: usize = 1 << 20;

/// Finds the end of a value whose bytes are still coming in, looking at each byte once.
#[derive(Debug, Default)]
pub struct Scan {
    /// Where the next head begins. May be beyond the bytes that are there.
    pub at: usize,
    /// How many values each open array or map still takes; none until a break.
    open: Vec<Option<u64>>,
    seen: usize,
    /// Whether the end of the value is known. Its last bytes may still be missing.
    is_ended: bool,
}

impl Scan {
    /// Starts with the value at this place.
    pub fn next_value(&mut self) {
        self.open.clear();
        self.seen = 0;
        self.is_ended = false;
    }

    /// Whether the value that starts where the last one ended is complete. If it isn't, to be called again with
    /// more bytes behind the same ones.
    pub fn value_is_complete(&mut self, bytes: &[u8]) -> Result<bool, Malformed> {
        while !self.is_ended {
            let Some(rest) = bytes.get(self.at..) else { return Ok(false) };
            let Some((head, width)) = head(rest)? else { return Ok(false) };
            self.seen += 1;
            if self.seen > VALUES_MAX || self.open.len() > DEPTH_MAX {
                return Err(Malformed("the value has too many parts"));
            }
            let skipped = match head {
                Head::Bytes(length) | Head::Text(length) => length,
                _ => 0,
            };
            let end =
                usize::try_from(skipped).ok().and_then(|skipped| (self.at + width).checked_add(skipped));
            self.at = end.ok_or(Malformed("a length is too large"))?;
            match head {
                Head::Array(Some(0)) | Head::Map(Some(0)) => self.ended(),
                Head::Array(length) => self.open.push(length),
                Head::Map(length) => {
                    let doubled =
                        length.map(|length| length.checked_mul(2).ok_or(Malformed("a map is too large")));
                    self.open.push(doubled.transpose()?);
                }
                // One value follows, which belongs to the tag.
                Head::Tag(_) => self.open.push(Some(1)),
                Head::Break => match self.open.pop() {
                    Some(None) => self.ended(),
                    _ => return Err(Malformed("a break where there is nothing to end")),
                },
                _ => self.ended(),
            }
            self.is_ended = self.open.is_empty();
        }
        Ok(self.at <= bytes.len())
    }

    /// A value ended, and with it what waited for nothing more.
    fn ended(&mut self) {
        while let Some(Some(left)) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return;
            }
            self.open.pop();
        }
    }
}

/// Writes values behind one another.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    fn head(&mut self, major: u8, value: u64) {
        let major = major << 5;
        match value {
            0..=23 => self.0.push(major | value as u8),
            24..=0xFF => self.0.extend([major | 24, value as u8]),
            0x100..=0xFFFF => {
                self.0.push(major | 25);
                self.0.extend((value as u16).to_be_bytes());
            }
            0x1_0000..=0xFFFF_FFFF => {
                self.0.push(major | 26);
                self.0.extend((value as u32).to_be_bytes());
            }
            _ => {
                self.0.push(major | 27);
                self.0.extend(value.to_be_bytes());
            }
        }
    }

    pub fn int(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.head(0, value),
            Err(_) => self.head(1, !value as u64),
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.head(2, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.head(3, text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    pub fn array(&mut self, length: usize) {
        self.head(4, length as u64);
    }

    pub fn map(&mut self, length: usize) {
        self.head(5, length as u64);
    }

    /// A map that [`Writer::end`] ends.
    pub fn open_map(&mut self) {
        self.0.push(0xBF);
    }

    pub fn end(&mut self) {
        self.0.push(0xFF);
    }

    pub fn tag(&mut self, tag: u64) {
        self.head(6, tag);
    }

    pub fn bool(&mut self, value: bool) {
        self.0.push(if value { 0xF5 } else { 0xF4 });
    }

    pub fn null(&mut self) {
        self.0.push(0xF6);
    }

    pub fn float(&mut self, value: f64) {
        self.0.push(0xFB);
        self.0.extend(value.to_be_bytes());
    }

    /// A byte string that holds what `write` writes.
    pub fn nested(&mut self, write: impl FnOnce(&mut Writer)) {
        let mut inner = Writer::default();
        write(&mut inner);
        self.bytes(&inner.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_complete_with_its_last_byte_and_not_before() {
        let mut writer = Writer::default();
        writer.map(2);
        writer.text("a");
        writer.tag(4);
        writer.array(2);
        writer.int(-3);
        writer.int(70_000);
        writer.open_map();
        writer.int(1);
        writer.nested(|inner| inner.float(0.5));
        writer.end();
        writer.null();
        let bytes = writer.0;
        let mut scan = Scan::default();
        for end in 0..bytes.len() {
            assert_eq!(scan.value_is_complete(&bytes[..end]), Ok(false), "after {end} bytes");
        }
        assert_eq!(scan.value_is_complete(&bytes), Ok(true));
        assert_eq!(scan.at, bytes.len());
        assert_eq!(Reader(&bytes).skip(), Ok(&bytes[..]));
    }

    #[test]
    fn a_text_that_comes_in_pieces_is_complete_with_its_last_byte() {
        let mut writer = Writer::default();
        writer.text("some words");
        let mut scan = Scan::default();
        for end in 0..writer.0.len() {
            assert_eq!(scan.value_is_complete(&writer.0[..end]), Ok(false), "after {end} bytes");
        }
        assert_eq!(scan.value_is_complete(&writer.0), Ok(true));
    }

    #[test]
    fn integers_are_read_as_they_were_written() {
        for value in [0, 1, 23, 24, 255, 256, 65_535, 65_536, i64::MAX, -1, -24, -25, -257, i64::MIN] {
            let mut writer = Writer::default();
            writer.int(value);
            assert_eq!(Reader(&writer.0).int(), Ok(value));
        }
    }

    #[test]
    fn a_length_that_is_not_there_allocates_nothing() {
        for bytes in
            [&[0x5B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF][..], &[0x9B, 0x7F, 0, 0, 0, 0, 0, 0, 0]]
        {
            assert!(Reader(bytes).bytes().is_err());
            assert!(Reader(bytes).elements(|reader| reader.int()).is_err());
            assert!(Reader(bytes).skip().is_err());
        }
    }
}
