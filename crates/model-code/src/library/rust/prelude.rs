//! What the modules have of their own beside the model: a number type, readers of attributes, batches.

/// Each under a text that is there if it is used; one may use those before it.
pub const VALUES: [(&str, &str); 21] = [
    ("Page<", PAGE),
    ("Number", NUMBER),
    ("StoredAs", STORED_AS),
    ("Number", STORED_AS_NUMBER),
    ("BTreeSet<String>", STORED_AS_TEXT_SET),
    ("BTreeSet<Number>", STORED_AS_NUMBER_SET),
    ("BTreeSet<Vec<u8>>", STORED_AS_BINARY_SET),
    ("read_attribute(", READ_ATTRIBUTE),
    ("read_optional(", READ_OPTIONAL),
    ("text_at(", TEXT_AT),
    ("number_at(", NUMBER_AT),
    ("bytes_at(", BYTES_AT),
    ("key_part(", KEY_PART),
    ("items_of(", ITEMS_OF),
    ("_hex(", HEX),
    ("padded(", PADDED),
    ("descending(", DESCENDING),
    ("shard_of(", SHARD_OF),
    ("random_shard(", RANDOM_SHARD),
    ("key_before(", KEY_BEFORE),
    ("first_characters(", FIRST_CHARACTERS),
];

/// The same for what is at the end, since it is long.
pub const BATCHES: [(&str, &str); 3] =
    [("wait(", WAIT), ("batch_write(", BATCH_WRITE), ("batch_get(", BATCH_GET)];

/// What every module has.
pub const ERROR: &str = r#"
/// An item as it is stored.
pub type Item = HashMap<String, AttributeValue>;

/// Why a function failed.
#[derive(Debug)]
pub enum Error {
    /// The SDK's own error: what the service answered, or why it was not reached.
    Service(Box<aws_sdk_dynamodb::Error>),
    /// An item lacks this attribute, or has another type than the model says.
    Item { attribute: &'static str },
    /// A part of a batch stayed unprocessed.
    Unprocessed,
}

impl Error {
    /// Whether the condition of a write did not hold.
    pub fn is_failed_condition(&self) -> bool {
        let Error::Service(error) = self else {
            return false;
        };
        match error.as_ref() {
            aws_sdk_dynamodb::Error::ConditionalCheckFailedException(_) => true,
            aws_sdk_dynamodb::Error::TransactionCanceledException(canceled) => canceled
                .cancellation_reasons()
                .iter()
                .any(|reason| reason.code() == Some("ConditionalCheckFailed")),
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Service(error) => error.fmt(formatter),
            Error::Item { attribute } => {
                write!(formatter, "`{attribute}` is not as the model says")
            }
            Error::Unprocessed => formatter.write_str("a part of the batch stayed unprocessed"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Service(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl<E> From<E> for Error
where
    aws_sdk_dynamodb::Error: From<E>,
{
    fn from(error: E) -> Error {
        Error::Service(Box::new(aws_sdk_dynamodb::Error::from(error)))
    }
}
"#;

const PAGE: &str = r#"
/// A page, and where the next one begins; `None` after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<Found> {
    pub items: Found,
    pub next: Option<Item>,
}
"#;

const NUMBER: &str = r#"
/// A number with all its digits, without an exponent and without zeros at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(String);

impl Number {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is before the point.
    pub fn whole(&self) -> i128 {
        let whole = self.0.split('.').next().unwrap_or_default();
        let is_negative = whole.starts_with('-');
        let most = if is_negative { i128::MIN } else { i128::MAX };
        whole.parse().unwrap_or(most)
    }

    /// The nearest number of 64 bits.
    pub fn to_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The whole number after this one.
    pub fn next(&self) -> Number {
        Number::from(self.whole().saturating_add(1))
    }
}

impl<Whole: Into<i128>> From<Whole> for Number {
    fn from(number: Whole) -> Number {
        Number(number.into().to_string())
    }
}

/// The text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

impl fmt::Display for NotANumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not a number")
    }
}

impl std::error::Error for NotANumber {}

impl FromStr for Number {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Number, NotANumber> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse().map_err(|_| NotANumber)?),
            None => (unsigned, 0i16),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits = format!("{whole}{fraction}");
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number || exponent.unsigned_abs() > 200 {
            return Err(NotANumber);
        }
        let moved = usize::from(exponent.unsigned_abs());
        let (digits, point) = match exponent {
            0.. => (digits + &"0".repeat(moved), whole.len() + moved),
            _ => ("0".repeat(moved) + &digits, whole.len()),
        };
        let whole = digits[..point].trim_start_matches('0');
        let fraction = digits[point..].trim_end_matches('0');
        let is_negative = text.starts_with('-') && !(whole.is_empty() && fraction.is_empty());
        let sign = if is_negative { "-" } else { "" };
        let whole = if whole.is_empty() { "0" } else { whole };
        let point = if fraction.is_empty() { "" } else { "." };
        Ok(Number(format!("{sign}{whole}{point}{fraction}")))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        // Of two with as many digits before the point, the greater text is the greater number.
        fn size(text: &str) -> (usize, &str) {
            (text.find('.').unwrap_or(text.len()), text)
        }
        match (self.0.strip_prefix('-'), other.0.strip_prefix('-')) {
            (None, None) => size(&self.0).cmp(&size(&other.0)),
            (Some(one), Some(two)) => size(two).cmp(&size(one)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
"#;

const STORED_AS: &str = r#"
/// A type that an attribute's value is read into.
trait StoredAs: Sized {
    fn read(value: &AttributeValue) -> Option<Self>;
}

impl StoredAs for String {
    fn read(value: &AttributeValue) -> Option<String> {
        value.as_s().ok().cloned()
    }
}

impl StoredAs for i64 {
    fn read(value: &AttributeValue) -> Option<i64> {
        value.as_n().ok()?.parse().ok()
    }
}

impl StoredAs for bool {
    fn read(value: &AttributeValue) -> Option<bool> {
        value.as_bool().ok().copied()
    }
}

impl StoredAs for Vec<u8> {
    fn read(value: &AttributeValue) -> Option<Vec<u8>> {
        value.as_b().ok().map(|bytes| bytes.as_ref().to_vec())
    }
}

impl StoredAs for Vec<AttributeValue> {
    fn read(value: &AttributeValue) -> Option<Vec<AttributeValue>> {
        value.as_l().ok().cloned()
    }
}

impl StoredAs for HashMap<String, AttributeValue> {
    fn read(value: &AttributeValue) -> Option<HashMap<String, AttributeValue>> {
        value.as_m().ok().cloned()
    }
}
"#;

const STORED_AS_NUMBER: &str = r#"
impl StoredAs for Number {
    fn read(value: &AttributeValue) -> Option<Number> {
        value.as_n().ok()?.parse().ok()
    }
}
"#;

const STORED_AS_TEXT_SET: &str = r#"
impl StoredAs for BTreeSet<String> {
    fn read(value: &AttributeValue) -> Option<BTreeSet<String>> {
        Some(value.as_ss().ok()?.iter().cloned().collect())
    }
}
"#;

const STORED_AS_NUMBER_SET: &str = r#"
impl StoredAs for BTreeSet<Number> {
    fn read(value: &AttributeValue) -> Option<BTreeSet<Number>> {
        value
            .as_ns()
            .ok()?
            .iter()
            .map(|number| number.parse().ok())
            .collect()
    }
}
"#;

const STORED_AS_BINARY_SET: &str = r#"
impl StoredAs for BTreeSet<Vec<u8>> {
    fn read(value: &AttributeValue) -> Option<BTreeSet<Vec<u8>>> {
        Some(
            value
                .as_bs()
                .ok()?
                .iter()
                .map(|bytes| bytes.as_ref().to_vec())
                .collect(),
        )
    }
}
"#;

const READ_ATTRIBUTE: &str = r#"
fn read_attribute<Value: StoredAs>(item: &Item, attribute: &'static str) -> Result<Value, Error> {
    item.get(attribute)
        .and_then(Value::read)
        .ok_or(Error::Item { attribute })
}
"#;

const READ_OPTIONAL: &str = r#"
fn read_optional<Value: StoredAs>(
    item: &Item,
    attribute: &'static str,
) -> Result<Option<Value>, Error> {
    let read = |value| Value::read(value).ok_or(Error::Item { attribute });
    item.get(attribute).map(read).transpose()
}
"#;

const TEXT_AT: &str = r#"
fn text_at<'i>(item: &'i Item, attribute: &str) -> Option<&'i str> {
    item.get(attribute)?.as_s().ok().map(String::as_str)
}
"#;

const NUMBER_AT: &str = r#"
fn number_at(item: &Item, attribute: &str) -> Option<Number> {
    item.get(attribute)?.as_n().ok()?.parse().ok()
}
"#;

const BYTES_AT: &str = r#"
fn bytes_at<'i>(item: &'i Item, attribute: &str) -> Option<&'i [u8]> {
    item.get(attribute)?.as_b().ok().map(AsRef::as_ref)
}
"#;

const KEY_PART: &str = r#"
/// What a key has behind the first literals of its template.
fn key_part<Value: FromStr>(
    item: &Item,
    attribute: &'static str,
    literals: &[&str],
    position: usize,
) -> Result<Value, Error> {
    let part = || {
        let mut rest = text_at(item, attribute)?.strip_prefix(literals[0])?;
        for literal in &literals[1..=position] {
            rest = rest.split_once(literal)?.1;
        }
        match literals[position + 1] {
            "" => rest.parse().ok(),
            literal => rest.split_once(literal)?.0.parse().ok(),
        }
    };
    part().ok_or(Error::Item { attribute })
}
"#;

const ITEMS_OF: &str = r#"
/// The items of one entity, which a key shows.
fn items_of<Entity>(
    items: &[Item],
    key: &str,
    is: fn(&str) -> bool,
    read: fn(&Item) -> Result<Entity, Error>,
) -> Result<Vec<Entity>, Error> {
    items
        .iter()
        .filter(|item| text_at(item, key).is_some_and(is))
        .map(read)
        .collect()
}
"#;

const HEX: &str = r#"
fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok());
    pairs
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}
"#;

const PADDED: &str = r#"
fn padded(text: &str, width: usize) -> String {
    match text.strip_prefix('-') {
        Some(digits) => format!("-{digits:0>width$}"),
        None => format!("{text:0>width$}"),
    }
}
"#;

const DESCENDING: &str = r#"
/// The distance to the largest number with this number of digits: the greatest come first.
fn descending(number: i128, digits: usize) -> String {
    let largest = "9".repeat(digits).parse().unwrap_or(i128::MAX);
    format!("{:0digits$}", largest.saturating_sub(number))
}
"#;

const SHARD_OF: &str = r#"
/// The CRC-32 of the text, modulo the count.
fn shard_of(text: &str, count: u32) -> i64 {
    let mut crc = u32::MAX;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    i64::from(!crc % count)
}
"#;

const RANDOM_SHARD: &str = r#"
fn random_shard(count: i64) -> i64 {
    use std::hash::{BuildHasher, Hasher};
    let random = std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish();
    (random >> 1) as i64 % count
}
"#;

const KEY_BEFORE: &str = r#"
/// The last key before this text.
fn key_before(text: &str) -> String {
    let mut before = text.to_owned();
    let last = before.pop().map_or(0, u32::from);
    before.push(char::from_u32(last.saturating_sub(1)).unwrap_or('\u{d7ff}'));
    before.push(char::MAX);
    before
}
"#;

const FIRST_CHARACTERS: &str = r#"
fn first_characters(text: &str, count: usize) -> &str {
    text.get(..count).unwrap_or(text)
}
"#;

const WAIT: &str = r#"
/// Longer with each attempt to send what was left unprocessed, in the way that the client waits.
async fn wait(client: &Client, attempt: u32) {
    if let Some(sleep) = client.config().sleep_impl().filter(|_| attempt > 0) {
        sleep.sleep(Duration::from_millis(50 << attempt)).await;
    }
}
"#;

const BATCH_WRITE: &str = r#"
/// Writes 25 at a time, and what was left unprocessed again.
async fn batch_write(
    client: &Client,
    parts: Vec<(&str, types::WriteRequest)>,
) -> Result<(), Error> {
    for some in parts.chunks(25) {
        let mut left: HashMap<String, Vec<types::WriteRequest>> = HashMap::new();
        for (table, part) in some {
            left.entry((*table).to_owned())
                .or_default()
                .push(part.clone());
        }
        for attempt in 0..10 {
            wait(client, attempt).await;
            let answer = client
                .batch_write_item()
                .set_request_items(Some(left))
                .send()
                .await?;
            left = answer.unprocessed_items.unwrap_or_default();
            if left.is_empty() {
                break;
            }
        }
        if !left.is_empty() {
            return Err(Error::Unprocessed);
        }
    }
    Ok(())
}
"#;

const BATCH_GET: &str = r#"
/// Gets 100 at a time, and what was left unprocessed again.
async fn batch_get(
    client: &Client,
    keys: Vec<(&str, Item)>,
    consistent: bool,
) -> Result<Vec<Item>, Error> {
    let mut items = Vec::new();
    for some in keys.chunks(100) {
        let mut of_tables: HashMap<String, Vec<Item>> = HashMap::new();
        for (table, key) in some {
            of_tables
                .entry((*table).to_owned())
                .or_default()
                .push(key.clone());
        }
        let mut left = HashMap::new();
        for (table, keys) in of_tables {
            let keys = types::KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .set_consistent_read(consistent.then_some(true))
                .build()?;
            left.insert(table, keys);
        }
        for attempt in 0..10 {
            wait(client, attempt).await;
            let answer = client
                .batch_get_item()
                .set_request_items(Some(left))
                .send()
                .await?;
            items.extend(answer.responses.unwrap_or_default().into_values().flatten());
            left = answer.unprocessed_keys.unwrap_or_default();
            if left.is_empty() {
                break;
            }
        }
        if !left.is_empty() {
            return Err(Error::Unprocessed);
        }
    }
    Ok(items)
}
"#;
