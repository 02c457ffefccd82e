//! Lists of attribute names and their ids. Items travel as the id of their names and the values in that order.
//!
//! An id is a hash of its names, so that clients may remember it beyond the life of this process: an id never gets
//! another meaning, however often the server restarts. Lists that clients define are rows, because a client
//! defines each once and may use it for as long as it runs. Those that answers name are kept for a while: a client
//! that doesn't know one asks for it at once.
//!
//! The number of rows is bounded. A row has the day on which it was last used; when the rows are too many, the service removes
//! those that no client used for [`UNUSED_DAYS`]. If there are still too many, it refuses to define another list: it never
//! removes a list that a client may still use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host::{Environment, Rows};
use item::{Item, ItemBuilder, ItemRef};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::cbor::{Malformed, Reader, Writer};
use crate::key::KeySchema;
use crate::value::{self, Unreadable};

/// The id of the list without names. Clients know it and never ask.
pub const EMPTY: u32 = 1;

/// What lists may take in memory.
const BYTES_MAX: u64 = 32 << 20;
const LISTS_ESTIMATE: usize = 10_000;

/// How many names a list may have: an item has 400 KB, and a name and its value take two bytes at least.
const NAMES_MAX: usize = 200_000;

/// What lists may take as rows, and how many there may be.
const STORED_BYTES_MAX: usize = 64 << 20;
const STORED_MAX: usize = 50_000;

/// Rows that were not used for so long may make room for others: no client runs for as long without writing an item.
const UNUSED_DAYS: u64 = 30;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

const PREFIX: &str = "dax/attribute-list/";

type Names = Arc<[String]>;

/// The lists that are known.
pub struct AttributeLists {
    lists: Cache<u32, Known, Weight>,
    rows: Arc<dyn Rows>,
    environment: Arc<dyn Environment>,
    room: tokio::sync::Mutex<Option<Room>>,
    bounds: (usize, usize),
}

/// A list in memory.
#[derive(Clone)]
struct Known {
    names: Names,
    /// The day up to which its row says that it is used. 0 if it is not known to have a row.
    noted_day: Arc<AtomicU64>,
}

/// How many rows there are, and what they take.
#[derive(Clone, Copy, Default)]
struct Room {
    count: usize,
    bytes: usize,
}

#[derive(Clone)]
struct Weight;

impl Weighter<u32, Known> for Weight {
    fn weight(&self, _: &u32, known: &Known) -> u64 {
        96 + known.names.iter().map(|name| 24 + name.len() as u64).sum::<u64>()
    }
}

/// Why there is no such list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("The attribute list {0} is not known")]
    Unknown(u32),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    #[error("There are too many attribute lists: items have too many different sets of attribute names")]
    Full,
    #[error("attribute lists can't be stored or read: {0}")]
    Rows(#[from] host::RowsError),
}

impl AttributeLists {
    pub fn new(rows: Arc<dyn Rows>, environment: Arc<dyn Environment>) -> AttributeLists {
        AttributeLists {
            lists: Cache::with_weighter(LISTS_ESTIMATE, BYTES_MAX, Weight),
            rows,
            environment,
            room: tokio::sync::Mutex::default(),
            bounds: (STORED_MAX, STORED_BYTES_MAX),
        }
    }

    fn today(&self) -> u64 {
        self.environment.now_ms() / DAY_MS
    }

    /// The id of names that a client is going to write.
    pub async fn define(&self, names: Vec<String>) -> Result<u32, ListError> {
        if names.is_empty() {
            return Ok(EMPTY);
        }
        let id = self.remember(&names);
        match self.rows.get(&row_name(id)).await? {
            Some(row) => self.note_use(id, &row).await?,
            None => {
                let row = encode(&names, self.today());
                let mut room = self.room.lock().await;
                self.take_room(&mut room, row.len()).await?;
                self.rows.put(&row_name(id), row).await?;
            }
        }
        Ok(id)
    }

    /// The names that an id stands for.
    pub async fn names(&self, id: u32) -> Result<Names, ListError> {
        if id == EMPTY {
            return Ok(Arc::new([]));
        }
        let today = self.today();
        let known = self.lists.get(&id);
        if let Some(known) = known.filter(|known| known.noted_day.load(Ordering::Relaxed) >= today) {
            return Ok(known.names);
        }
        match self.rows.get(&row_name(id)).await? {
            Some(row) => {
                self.note_use(id, &row).await?;
                Ok(decode(&row)?.0)
            }
            // One that an answer named has no row.
            None => self.lists.get(&id).map(|known| known.names).ok_or(ListError::Unknown(id)),
        }
    }

    /// Notes in a row, once a day, that it is used.
    async fn note_use(&self, id: u32, row: &[u8]) -> Result<(), ListError> {
        let ((names, day), today) = (decode(row)?, self.today());
        if day < today {
            self.rows.put(&row_name(id), encode(&names, today)).await?;
        }
        self.lists.insert(id, Known { names, noted_day: Arc::new(AtomicU64::new(today)) });
        Ok(())
    }

    /// Makes sure that there is room for one row more.
    async fn take_room(&self, room: &mut Option<Room>, bytes: usize) -> Result<(), ListError> {
        let (count_max, bytes_max) = self.bounds;
        let is_full = |room: &Room| room.count >= count_max || room.bytes + bytes > bytes_max;
        let mut taken = match *room {
            Some(taken) if !is_full(&taken) => taken,
            _ => self.remove_unused().await?,
        };
        if is_full(&taken) {
            *room = Some(taken);
            return Err(ListError::Full);
        }
        taken = Room { count: taken.count + 1, bytes: taken.bytes + bytes };
        *room = Some(taken);
        Ok(())
    }

    /// Removes the rows that no client used for long. Returns how much room the remaining rows take.
    async fn remove_unused(&self) -> Result<Room, ListError> {
        let mut room = Room::default();
        let today = self.today();
        for (name, row) in self.rows.list(PREFIX).await? {
            let (_, day) = decode(&row)?;
            if day + UNUSED_DAYS < today {
                self.rows.delete(&name).await?;
            } else {
                room = Room { count: room.count + 1, bytes: room.bytes + row.len() };
            }
        }
        Ok(room)
    }

    /// Appends an item without its key: the id of its names, then its values.
    pub fn write_item(&self, item: ItemRef<'_>, schema: &KeySchema, writer: &mut Writer) {
        let names: Vec<&str> =
            item.iter().map(|(name, _)| name).filter(|name| !schema.contains(name)).collect();
        writer.int(self.remember(&names).into());
        for (_, value) in item.iter().filter(|(name, _)| !schema.contains(name)) {
            value::write(value, writer);
        }
    }

    /// Appends some attributes: the id of their names, then a map from places in that list to values.
    pub fn write_attributes(&self, attributes: ItemRef<'_>, writer: &mut Writer) {
        let names: Vec<&str> = attributes.iter().map(|(name, _)| name).collect();
        writer.int(self.remember(&names).into());
        writer.map(names.len());
        for (place, (_, value)) in attributes.iter().enumerate() {
            writer.int(place as i64);
            value::write(value, writer);
        }
    }

    /// The id of some names, which are known from now on.
    fn remember(&self, names: &[impl AsRef<str>]) -> u32 {
        if names.is_empty() {
            return EMPTY;
        }
        let is_same = |known: &Known| {
            let known = &known.names;
            known.len() == names.len() && known.iter().zip(names).all(|(one, other)| one == other.as_ref())
        };
        let mut id = id_of(names);
        // Two lists with one id are next to impossible; the later one then has the next id that is free.
        loop {
            match self.lists.get(&id) {
                Some(known) if is_same(&known) => return id,
                Some(_) => id = (id + 1).max(EMPTY + 1),
                None => break,
            }
        }
        let names: Names = names.iter().map(|name| name.as_ref().to_owned()).collect();
        self.lists.insert(id, Known { names, noted_day: Arc::default() });
        id
    }
}

/// The row of a list: its names, then the day on which it was last used.
fn encode(names: &[String], day: u64) -> Vec<u8> {
    let mut row = Writer::default();
    row.array(names.len());
    names.iter().for_each(|name| row.text(name));
    row.int(day as i64);
    row.0
}

/// A row without a day, as they were at first, was last used long ago.
fn decode(row: &[u8]) -> Result<(Names, u64), Malformed> {
    let mut reader = Reader(row);
    let names = reader.elements(|reader| reader.text().map(str::to_owned))?;
    let day = if reader.is_empty() { 0 } else { reader.int()? };
    Ok((names.into(), u64::try_from(day).unwrap_or(0)))
}

/// Reads an item: the names are those of the list whose id comes first, and the key is added.
pub async fn read_item(lists: &AttributeLists, key: &Item, bytes: &[u8]) -> Result<Item, ItemError> {
    let mut reader = Reader(bytes);
    let id = u32::try_from(reader.int()?).map_err(|_| Malformed("an attribute list has no such id"))?;
    let names = lists.names(id).await?;
    let mut item = ItemBuilder::default();
    for name in names.iter() {
        value::check_name(name).map_err(Unreadable::Refused)?;
        item.put(name, value::read(&mut reader)?.as_ref());
    }
    if !reader.is_empty() {
        return Err(Malformed("an item has more values than names").into());
    }
    for (name, value) in key.as_ref().iter() {
        item.put(name, value);
    }
    Ok(item.build())
}

/// Why bytes are not an item.
#[derive(Debug)]
pub enum ItemError {
    List(ListError),
    Unreadable(Unreadable),
}

impl From<ListError> for ItemError {
    fn from(error: ListError) -> ItemError {
        ItemError::List(error)
    }
}

impl From<Unreadable> for ItemError {
    fn from(error: Unreadable) -> ItemError {
        ItemError::Unreadable(error)
    }
}

impl From<Malformed> for ItemError {
    fn from(malformed: Malformed) -> ItemError {
        ItemError::Unreadable(malformed.into())
    }
}

/// Reads the names of a list that a client defines.
pub fn read_names(reader: &mut Reader<'_>) -> Result<Vec<String>, Malformed> {
    let names = reader.elements(|reader| reader.name().map(str::to_owned))?;
    if names.len() > NAMES_MAX {
        return Err(Malformed("an attribute list has too many names"));
    }
    Ok(names)
}

/// 31 bits: the clients' languages have no larger integer in common that is cheap.
fn id_of(names: &[impl AsRef<str>]) -> u32 {
    let mut hasher = blake3::Hasher::new();
    for name in names {
        let name = name.as_ref();
        hasher.update(&(name.len() as u64).to_be_bytes());
        hasher.update(name.as_bytes());
    }
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    (u32::from_be_bytes([a, b, c, d]) >> 1).max(EMPTY + 1)
}

fn row_name(id: u32) -> String {
    format!("{PREFIX}{id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::MemoryRows;

    struct Clock(AtomicU64);

    impl Environment for Clock {
        fn now_ms(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn random(&self) -> u128 {
            0
        }
    }

    fn clock() -> Arc<Clock> {
        Arc::new(Clock(AtomicU64::new(20_000 * DAY_MS)))
    }

    fn names(number: usize) -> Vec<String> {
        vec!["a".to_owned(), format!("b{number}")]
    }

    #[tokio::test]
    async fn an_id_means_the_same_after_a_restart() {
        let rows: Arc<dyn Rows> = Arc::new(MemoryRows::default());
        let names = names(0);
        let id = AttributeLists::new(rows.clone(), clock()).define(names.clone()).await.unwrap();
        let later = AttributeLists::new(rows, clock());
        assert_eq!(*later.names(id).await.unwrap(), names[..]);
        assert_eq!(later.define(names).await.unwrap(), id);
        assert!(matches!(later.names(id ^ 1).await, Err(ListError::Unknown(_))));
        assert_eq!(later.define(Vec::new()).await.unwrap(), EMPTY);
    }

    #[tokio::test]
    async fn a_row_without_a_day_is_read() {
        let rows = Arc::new(MemoryRows::default());
        let mut row = Writer::default();
        row.array(1);
        row.text("a");
        rows.put(&row_name(77), row.0).await.unwrap();
        let lists = AttributeLists::new(rows, clock());
        assert_eq!(*lists.names(77).await.unwrap(), ["a".to_owned()]);
    }

    #[tokio::test]
    async fn lists_are_bounded_and_only_unused_ones_make_room() {
        let (rows, clock) = (Arc::new(MemoryRows::default()), clock());
        let mut lists = AttributeLists::new(rows.clone(), clock.clone());
        lists.bounds = (10, STORED_BYTES_MAX);
        let mut ids = Vec::new();
        for number in 0..10 {
            ids.push(lists.define(names(number)).await.unwrap());
        }
        assert!(matches!(lists.define(names(10)).await, Err(ListError::Full)));
        assert_eq!(lists.define(names(3)).await.unwrap(), ids[3], "a list that is known is no new one");

        // One of them is used every day, by a client that never defines it again.
        for _ in 0..=UNUSED_DAYS {
            clock.0.fetch_add(DAY_MS, Ordering::Relaxed);
            lists.names(ids[5]).await.unwrap();
        }
        lists.define(names(10)).await.unwrap();
        assert_eq!(rows.list(PREFIX).await.unwrap().len(), 2);
        let later = AttributeLists::new(rows, clock);
        assert_eq!(*later.names(ids[5]).await.unwrap(), names(5)[..]);
        assert!(matches!(later.names(ids[4]).await, Err(ListError::Unknown(_))));
    }

    #[tokio::test]
    async fn lists_are_bounded_by_what_they_take() {
        let mut lists = AttributeLists::new(Arc::new(MemoryRows::default()), clock());
        lists.bounds = (10, 100);
        lists.define(vec!["x".repeat(60)]).await.unwrap();
        assert!(matches!(lists.define(vec!["y".repeat(60)]).await, Err(ListError::Full)));
    }

    #[tokio::test]
    async fn an_item_is_read_as_it_was_written() {
        let lists = AttributeLists::new(Arc::new(MemoryRows::default()), clock());
        let schema = KeySchema { partition: ("pk".into(), item::Type::S), sort: None };
        let item: Item = [("pk", "x"), ("name", "y"), ("zone", "z")].into_iter().collect();
        let mut writer = Writer::default();
        lists.write_item(item.as_ref(), &schema, &mut writer);
        let key = schema.key_of(item.as_ref());
        assert_eq!(read_item(&lists, &key, &writer.0).await.unwrap(), item);
    }
}
