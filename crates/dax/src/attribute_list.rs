//! Lists of attribute names and their ids. Items travel as the id of their names and the values in that order.
//!
//! An id is a hash of its names, so that clients may remember it beyond the life of this process: an id never gets
//! another meaning, however often the server starts anew. Lists that clients define are rows, because a client
//! defines each once and may use it for as long as it runs. Those that answers name are kept for a while: a client
//! that doesn't know one asks for it at once.

use std::sync::Arc;

use host::Rows;
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

type Names = Arc<[String]>;

/// The lists that are known.
pub struct AttributeLists {
    lists: Cache<u32, Names, Weight>,
    rows: Arc<dyn Rows>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<u32, Names> for Weight {
    fn weight(&self, _: &u32, names: &Names) -> u64 {
        64 + names.iter().map(|name| 24 + name.len() as u64).sum::<u64>()
    }
}

/// Why there is no such list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("The attribute list {0} is not known")]
    Unknown(u32),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    #[error("attribute lists can't be stored or read: {0}")]
    Rows(#[from] host::RowsError),
}

impl AttributeLists {
    pub fn new(rows: Arc<dyn Rows>) -> AttributeLists {
        AttributeLists { lists: Cache::with_weighter(LISTS_ESTIMATE, BYTES_MAX, Weight), rows }
    }

    /// The id of names that a client is going to write.
    pub async fn define(&self, names: Vec<String>) -> Result<u32, ListError> {
        if names.is_empty() {
            return Ok(EMPTY);
        }
        let id = self.remember(&names);
        if self.rows.get(&row_name(id)).await?.is_none() {
            let mut row = Writer::default();
            row.array(names.len());
            names.iter().for_each(|name| row.text(name));
            self.rows.put(&row_name(id), row.0).await?;
        }
        Ok(id)
    }

    /// The names that an id stands for.
    pub async fn names(&self, id: u32) -> Result<Names, ListError> {
        if id == EMPTY {
            return Ok(Arc::new([]));
        }
        if let Some(names) = self.lists.get(&id) {
            return Ok(names);
        }
        let row = self.rows.get(&row_name(id)).await?.ok_or(ListError::Unknown(id))?;
        let names: Names = Reader(&row).elements(|reader| reader.text().map(str::to_owned))?.into();
        self.lists.insert(id, names.clone());
        Ok(names)
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
        let is_same = |known: &Names| {
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
        self.lists.insert(id, names);
        id
    }
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
    format!("dax/attribute-list/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::MemoryRows;

    #[tokio::test]
    async fn an_id_means_the_same_after_a_restart() {
        let rows: Arc<dyn Rows> = Arc::new(MemoryRows::default());
        let names = vec!["a".to_owned(), "b".to_owned()];
        let id = AttributeLists::new(rows.clone()).define(names.clone()).await.unwrap();
        let later = AttributeLists::new(rows);
        assert_eq!(*later.names(id).await.unwrap(), names[..]);
        assert_eq!(later.define(names).await.unwrap(), id);
        assert!(matches!(later.names(id ^ 1).await, Err(ListError::Unknown(_))));
        assert_eq!(later.define(Vec::new()).await.unwrap(), EMPTY);
    }

    #[tokio::test]
    async fn an_item_is_read_as_it_was_written() {
        let lists = AttributeLists::new(Arc::new(MemoryRows::default()));
        let schema = KeySchema { partition: ("pk".into(), item::Type::S), sort: None };
        let item: Item = [("pk", "x"), ("name", "y"), ("zone", "z")].into_iter().collect();
        let mut writer = Writer::default();
        lists.write_item(item.as_ref(), &schema, &mut writer);
        let key = schema.key_of(item.as_ref());
        assert_eq!(read_item(&lists, &key, &writer.0).await.unwrap(), item);
    }
}
