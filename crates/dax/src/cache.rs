//! The two caches: items by their keys, and pages of Query and Scan by their whole requests.
//!
//! They know nothing of each other: a write updates the item cache alone, so a page is as old as its time to live
//! allows. Both are bounded by bytes; what was not used for longest makes room.
//!
//! What always holds for items: after a write through the cache is acknowledged, no read through the cache gets what
//! was there before it. A read that misses takes a [`Ticket`] before it asks the database, and what it found is kept
//! only if no write of that key began in the meantime. If several writes of a key run at the same time, the cache
//! does not know which one was the last, so none of them leaves its item in the cache.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use host::{Environment, Namespace};
use item::Item;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter};

use crate::metrics::Counter;

/// Keys whose writes are told apart; others wait for nothing, they only leave the cache more often.
const STRIPES: usize = 1024;

/// The memory of an entry in addition to its bytes.
const ENTRY_BYTES: u64 = 128;

/// The bytes of a usual entry, by which a cache sizes its tables.
const ENTRY_BYTES_ESTIMATE: u64 = 1024;

/// An item's place: whose, in which table, with which key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemKey {
    pub namespace: Arc<Namespace>,
    pub table: Arc<str>,
    pub key: Item,
}

#[derive(Clone)]
struct Kept<V> {
    value: V,
    /// None for ever.
    until_ms: Option<u64>,
}

/// How long, and how much, is kept.
#[derive(Clone, Copy, Debug)]
pub struct CacheOptions {
    /// 0 for ever.
    pub item_ttl_ms: u64,
    /// 0 not at all.
    pub query_ttl_ms: u64,
    /// Of each of the two caches.
    pub bytes_max: u64,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<ItemKey, Kept<Option<Item>>> for ByBytes {
    fn weight(&self, key: &ItemKey, kept: &Kept<Option<Item>>) -> u64 {
        let item = kept.value.as_ref().map_or(0, stored_bytes);
        ENTRY_BYTES + stored_bytes(&key.key) + item
    }
}

impl Weighter<PageKey, Kept<Arc<Page>>> for ByBytes {
    fn weight(&self, key: &PageKey, kept: &Kept<Arc<Page>>) -> u64 {
        let items = kept.value.items.iter().flatten().map(|item| 32 + stored_bytes(item));
        ENTRY_BYTES + key.request.len() as u64 + items.sum::<u64>()
    }
}

/// Counts what has to leave a cache.
#[derive(Clone)]
struct Evicted(Arc<Counter>);

impl<K, V> Lifecycle<K, V> for Evicted
where
    ByBytes: Weighter<K, V>,
{
    type RequestState = ();

    fn begin_request(&self) {}

    fn on_evict(&self, (): &mut (), key: K, value: V) {
        self.0.add(ByBytes.weight(&key, &value));
    }
}

fn stored_bytes(item: &Item) -> u64 {
    item.clone().into_stored().len() as u64
}

/// A Query or Scan: all that its client sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    pub namespace: Arc<Namespace>,
    pub method: i64,
    pub request: bytes::Bytes,
}

/// What a Query or Scan found.
#[derive(Debug)]
pub struct Page {
    pub items: Option<Vec<Item>>,
    pub count: Option<i32>,
    pub scanned_count: Option<i32>,
    pub last_evaluated_key: Option<Item>,
    pub consumed_capacity: Option<api::ConsumedCapacity>,
}

/// Both caches.
pub struct Caches {
    items: Cache<ItemKey, Kept<Option<Item>>, ByBytes, DefaultHashBuilder, Evicted>,
    pages: Cache<PageKey, Kept<Arc<Page>>, ByBytes, DefaultHashBuilder, Evicted>,
    options: CacheOptions,
    environment: Arc<dyn Environment>,
    stripes: Vec<Mutex<Stripe>>,
    hasher: RandomState,
    pub item_hits: Counter,
    pub item_misses: Counter,
    pub query_hits: Counter,
    pub query_misses: Counter,
    pub evicted_bytes: Arc<Counter>,
}

/// Keys with one hash: how many writes of theirs run, and how many ever began.
#[derive(Debug, Default)]
struct Stripe {
    running: u32,
    begun: u64,
}

/// What an item read finds in the cache.
pub enum Found {
    /// The item, or that there is none.
    Hit(Option<Item>),
    Miss(Ticket),
}

/// A read under way.
pub struct Ticket {
    /// None if a write was running already.
    begun: Option<u64>,
}

/// A write under way. Dropping it removes the key from the cache, because the outcome of the write is unknown then.
pub struct Writing<'c> {
    caches: &'c Caches,
    key: Option<ItemKey>,
    stripe: usize,
    /// Counts this write.
    begun: u64,
    is_alone: bool,
}

impl Caches {
    pub fn new(options: CacheOptions, environment: Arc<dyn Environment>) -> Caches {
        let estimate = (options.bytes_max / ENTRY_BYTES_ESTIMATE) as usize;
        let evicted_bytes: Arc<Counter> = Arc::default();
        let evicted = || (DefaultHashBuilder::default(), Evicted(evicted_bytes.clone()));
        let ((items, items_evicted), (pages, pages_evicted)) = (evicted(), evicted());
        Caches {
            items: Cache::with(estimate, options.bytes_max, ByBytes, items, items_evicted),
            pages: Cache::with(estimate / 16, options.bytes_max, ByBytes, pages, pages_evicted),
            evicted_bytes,
            options,
            environment,
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            item_hits: Counter::default(),
            item_misses: Counter::default(),
            query_hits: Counter::default(),
            query_misses: Counter::default(),
        }
    }

    /// How many bytes items take.
    pub fn item_bytes(&self) -> u64 {
        self.items.weight()
    }

    /// How many bytes pages take.
    pub fn query_bytes(&self) -> u64 {
        self.pages.weight()
    }

    /// Looks for an item.
    pub fn item(&self, key: &ItemKey) -> Found {
        let now_ms = self.environment.now_ms();
        if let Some(kept) =
            self.items.get(key).filter(|kept| kept.until_ms.is_none_or(|until| now_ms < until))
        {
            self.item_hits.count();
            return Found::Hit(kept.value);
        }
        self.item_misses.count();
        let stripe = self.stripes[self.stripe(key)].lock();
        Found::Miss(Ticket { begun: (stripe.running == 0).then_some(stripe.begun) })
    }

    /// Keeps what a read found, unless it may be old already.
    pub fn keep_read(&self, key: ItemKey, ticket: &Ticket, item: Option<Item>) {
        let stripe = self.stripes[self.stripe(&key)].lock();
        if stripe.running == 0 && ticket.begun == Some(stripe.begun) {
            self.insert(key, item);
        }
    }

    /// Says that an item is going to be written.
    pub fn write(&self, key: ItemKey) -> Writing<'_> {
        let place = self.stripe(&key);
        let mut stripe = self.stripes[place].lock();
        stripe.running += 1;
        stripe.begun += 1;
        let (begun, is_alone) = (stripe.begun, stripe.running == 1);
        Writing { caches: self, key: Some(key), stripe: place, begun, is_alone }
    }

    /// Looks for a page.
    pub fn page(&self, key: &PageKey) -> Option<Arc<Page>> {
        let now_ms = self.environment.now_ms();
        let kept = self.pages.get(key).filter(|kept| kept.until_ms.is_none_or(|until| now_ms < until));
        if kept.is_some() {
            self.query_hits.count()
        } else {
            self.query_misses.count()
        }
        kept.map(|kept| kept.value)
    }

    pub fn keep_page(&self, key: PageKey, page: Arc<Page>) {
        if self.options.query_ttl_ms > 0 {
            let until_ms = Some(self.environment.now_ms().saturating_add(self.options.query_ttl_ms));
            self.pages.insert(key, Kept { value: page, until_ms });
        }
    }

    fn insert(&self, key: ItemKey, item: Option<Item>) {
        let ttl_ms = self.options.item_ttl_ms;
        let until_ms = (ttl_ms > 0).then(|| self.environment.now_ms().saturating_add(ttl_ms));
        self.items.insert(key, Kept { value: item, until_ms });
    }

    fn stripe(&self, key: &ItemKey) -> usize {
        (self.hasher.hash_one(key) as usize) % STRIPES
    }
}

impl Writing<'_> {
    /// The item was written, or deleted.
    pub fn written(mut self, item: Option<Item>) {
        let Some(key) = self.key.take() else { return };
        let mut stripe = self.caches.stripes[self.stripe].lock();
        stripe.running -= 1;
        // Under the stripe's lock, so that a write that begins now comes after.
        match self.is_alone && stripe.begun == self.begun {
            true => self.caches.insert(key, item),
            false => {
                self.caches.items.remove(&key);
            }
        }
    }

    /// Nothing was written.
    pub fn refused(mut self) {
        self.key = None;
        self.caches.stripes[self.stripe].lock().running -= 1;
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let mut stripe = self.caches.stripes[self.stripe].lock();
            stripe.running -= 1;
            self.caches.items.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Default)]
    struct Hand(AtomicU64);

    impl Environment for Hand {
        fn now_ms(&self) -> u64 {
            self.0.load(Ordering::SeqCst)
        }
        fn random(&self) -> u128 {
            4
        }
    }

    fn caches(bytes_max: u64) -> (Caches, Arc<Hand>) {
        let clock = Arc::new(Hand::default());
        let options = CacheOptions { item_ttl_ms: 1000, query_ttl_ms: 500, bytes_max };
        (Caches::new(options, clock.clone()), clock)
    }

    fn item(value: &str) -> Item {
        [("pk", "k"), ("v", value)].into_iter().collect()
    }

    fn key(name: &str) -> ItemKey {
        let namespace = Namespace { account: "1".into(), region: "r".into() };
        let key = [("pk", name)].into_iter().collect();
        ItemKey { namespace: Arc::new(namespace), table: "t".into(), key }
    }

    fn miss(caches: &Caches) -> Ticket {
        match caches.item(&key("k")) {
            Found::Miss(ticket) => ticket,
            Found::Hit(item) => panic!("{item:?} is there"),
        }
    }

    fn hit(caches: &Caches) -> Option<Item> {
        match caches.item(&key("k")) {
            Found::Hit(item) => item,
            Found::Miss(_) => panic!("nothing is there"),
        }
    }

    #[test]
    fn an_item_is_kept_until_its_time_and_so_is_that_there_is_none() {
        let (caches, clock) = caches(1 << 20);
        caches.keep_read(key("k"), &miss(&caches), None);
        assert_eq!(hit(&caches), None);
        clock.0.store(999, Ordering::SeqCst);
        assert_eq!(hit(&caches), None);
        clock.0.store(1000, Ordering::SeqCst);
        miss(&caches);
        assert_eq!((caches.item_hits.get(), caches.item_misses.get()), (2, 2));
    }

    #[test]
    fn a_read_that_a_write_overtook_is_not_kept() {
        let (caches, _) = caches(1 << 20);
        let before = miss(&caches);
        let writing = caches.write(key("k"));
        let during = miss(&caches);
        writing.written(Some(item("new")));
        caches.keep_read(key("k"), &before, Some(item("old")));
        caches.keep_read(key("k"), &during, Some(item("old")));
        assert_eq!(hit(&caches), Some(item("new")));
    }

    #[test]
    fn of_two_writes_at_once_neither_is_kept() {
        for order in [[0, 1], [1, 0]] {
            let (caches, _) = caches(1 << 20);
            let mut writes = [Some(caches.write(key("k"))), Some(caches.write(key("k")))];
            for write in order {
                writes[write].take().unwrap().written(Some(item("one")));
            }
            miss(&caches);
            caches.write(key("k")).written(Some(item("later")));
            assert_eq!(hit(&caches), Some(item("later")));
        }
    }

    #[test]
    fn a_refused_write_leaves_the_item_and_an_unknown_end_removes_it() {
        let (caches, _) = caches(1 << 20);
        caches.write(key("k")).written(Some(item("kept")));
        caches.write(key("k")).refused();
        assert_eq!(hit(&caches), Some(item("kept")));
        drop(caches.write(key("k")));
        miss(&caches);
    }

    #[test]
    fn the_cache_holds_no_more_bytes_than_it_may() {
        let (caches, _) = caches(64 << 10);
        for number in 0..1000 {
            caches.write(key(&number.to_string())).written(Some(item(&"x".repeat(1000))));
            assert!(caches.item_bytes() <= 64 << 10);
        }
        assert!(caches.item_bytes() > 16 << 10);
    }
}
