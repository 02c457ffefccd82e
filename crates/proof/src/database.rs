//! A database that has the model's tables and holds exactly the data that an experiment asks for.
//!
//! It remembers what was put into it, so that the next data set costs only the difference. Code that writes to it
//! directly must report so with [`Database::forget`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use api::{DeleteItemInput, Error, Input, PutItemInput, Request};
use item::Item;
use model::Model;
use model::model::TableId;
use model::predict::item::Values;
use model::sample::{SampleItem, item, key_of};

use crate::endpoint::{Endpoint, Memory, call};
use crate::table::create_table;

/// Global indexes nearly always follow their table within a second.
const PAUSES_MS: [u64; 5] = [50, 200, 500, 1000, 2000];

pub struct Database {
    endpoint: Arc<dyn Endpoint>,
    held: Mutex<BTreeMap<ItemAddress, Held>>,
    /// Tables that the endpoint refused to make, with its reason.
    refused: Vec<(TableId, String)>,
}

/// An item's address: its table and, as text, its key.
pub(crate) type ItemAddress = (TableId, String);

struct Held {
    key: Values,
    /// `None` if it is not known what is stored there.
    values: Option<Values>,
}

impl Database {
    /// Uses the endpoint's tables, which exist and are empty.
    pub fn on(endpoint: Arc<dyn Endpoint>) -> Database {
        Database { endpoint, held: Mutex::default(), refused: Vec::new() }
    }

    pub fn endpoint(&self) -> &dyn Endpoint {
        self.endpoint.as_ref()
    }

    /// In memory, with the model's tables.
    pub async fn open(model: &Model) -> Result<Database, Error> {
        let database = Database::on(Arc::new(Memory::open().await?));
        for table in model.tables.iter().filter_map(create_table) {
            database.call(table).await?;
        }
        Ok(database)
    }

    /// The same, without the tables that are refused.
    pub async fn open_partly(model: &Model) -> Result<Database, Error> {
        let mut database = Database::on(Arc::new(Memory::open().await?));
        for id in model.table_ids() {
            let Some(table) = create_table(model.table(id)) else { continue };
            if let Err(error) = database.call(table).await {
                database.refused.push((id, error.message));
            }
        }
        Ok(database)
    }

    /// Why there is no such table, if there is none.
    pub fn refusal(&self, table: TableId) -> Option<&str> {
        self.refused.iter().find(|(refused, _)| *refused == table).map(|(_, reason)| reason.as_str())
    }

    pub async fn with(model: &Model, items: &[SampleItem]) -> Result<Database, Error> {
        let database = Database::open(model).await?;
        database.hold(model, items).await?;
        Ok(database)
    }

    /// Carries out one operation: the input's type says which.
    pub async fn call<I: Input<Request = Request>>(&self, input: I) -> Result<I::Output, Error> {
        call(self.endpoint.as_ref(), input).await
    }

    /// Looks again and again until the result is right, or until eventually consistent reads must have caught up.
    pub async fn until_consistent<T>(&self, look: impl AsyncFn() -> T, is_right: impl Fn(&T) -> bool) -> T {
        let mut seen = look().await;
        let pauses = if self.endpoint.is_immediate() { &[][..] } else { &PAUSES_MS };
        for pause in pauses {
            if is_right(&seen) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(*pause)).await;
            seen = look().await;
        }
        seen
    }

    pub async fn put(&self, model: &Model, item: &SampleItem) -> Result<(), Error> {
        let is_new = !self.known().contains_key(&address(model, item.table, &item.values).0);
        self.note(model, item.table, &item.values, None);
        let table_name = model.table(item.table).name.value.clone();
        let put = PutItemInput { table_name, item: item.item(), ..PutItemInput::default() };
        if let Err(error) = self.call(put).await {
            // There is nothing to delete, and a key that is refused here is refused there, too.
            if is_new && error.kind == api::ErrorKind::Validation {
                self.known().remove(&address(model, item.table, &item.values).0);
            }
            return Err(error);
        }
        self.note(model, item.table, &item.values, Some(item.values.clone()));
        Ok(())
    }

    /// Makes it hold this data and nothing else. Of two items with the same key the later is kept.
    pub async fn hold(&self, model: &Model, items: &[SampleItem]) -> Result<(), Error> {
        let wanted: BTreeMap<ItemAddress, &SampleItem> =
            items.iter().map(|item| (address(model, item.table, &item.values).0, item)).collect();
        for (address, key) in self.addresses() {
            if !wanted.contains_key(&address) {
                self.delete(model, address, &key).await?;
            }
        }
        for (address, item) in &wanted {
            if !self.holds(address, &item.values) {
                self.put(model, item).await?;
            }
        }
        Ok(())
    }

    /// Records that this item may have been changed.
    pub fn forget(&self, model: &Model, table: TableId, values: &Values) {
        self.note(model, table, values, None);
    }

    async fn delete(&self, model: &Model, address: ItemAddress, key: &Values) -> Result<(), Error> {
        let table_name = model.table(address.0).name.value.clone();
        self.call(DeleteItemInput { table_name, key: item(key), ..DeleteItemInput::default() }).await?;
        self.known().remove(&address);
        Ok(())
    }

    fn addresses(&self) -> Vec<(ItemAddress, Values)> {
        self.known().iter().map(|(address, held)| (address.clone(), held.key.clone())).collect()
    }

    fn holds(&self, address: &ItemAddress, values: &Values) -> bool {
        self.known().get(address).is_some_and(|held| held.values.as_ref() == Some(values))
    }

    fn note(&self, model: &Model, table: TableId, item: &Values, values: Option<Values>) {
        let (address, key) = address(model, table, item);
        self.known().insert(address, Held { key, values });
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<ItemAddress, Held>> {
        self.held.lock().expect("no thread panics while it holds the lock")
    }
}

/// The item's address, and its key.
pub(crate) fn address(model: &Model, table: TableId, values: &Values) -> (ItemAddress, Values) {
    let key = key_of(model, table, values);
    ((table, format!("{key:?}")), key)
}

/// The attributes of an item by name.
pub fn values(item: &Item) -> Values {
    item.as_ref().iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}
