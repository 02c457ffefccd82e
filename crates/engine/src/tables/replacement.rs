//! What a change of a table turns its stored row into, and the rows of its strong replicas in other Regions. Pure.
//!
//! A change is given the table and its replicas, the one that was named first, and returns how all are afterwards. So a
//! replica is made by returning one more table, and removed by returning one less.

use bytes::Bytes;
use store::{Key, Space, StoreError, WriteSet};

use crate::Namespace;
use crate::base::space;
use crate::base::stream::PastStream;
use crate::base::strong;
use crate::base::table::Table;
use crate::tables::catalog::{decode_table, encode, encode_table, next_space};

/// Changes a table and its strong replicas, given a space that no table has used; `None` if it refuses. The table that
/// was named comes first, before and afterwards.
pub type ChangeOfReplicas = dyn Fn(&[Table], Space) -> Option<Vec<Table>> + Send + Sync;

/// The outcome of a change for the stored rows of a table and its replicas.
pub enum Replacement {
    /// There is no such table any more.
    Gone,
    /// The change itself refuses.
    Refused,
    /// It has replicas in these Regions, whose rows were not locked.
    OtherReplicas(Vec<String>),
    Changed(Box<Changed>),
}

/// Tables after a change.
pub struct Changed {
    /// The one that was named comes first.
    pub tables: Vec<Table>,
    /// Replicas that are no more.
    pub removed: Vec<Table>,
    /// The streams that the change switched off.
    pub past_streams: Vec<PastStream>,
}

/// Where the tables are that a change is about.
pub struct Homes {
    /// The name of all of them.
    pub table: String,
    /// The namespace that was named, and then the others.
    pub namespaces: Vec<Namespace>,
    /// The Regions in which the change may meet a table that is no replica yet.
    pub new_regions: Vec<String>,
}

impl Homes {
    /// The keys of their rows, and of the number of the next space.
    pub fn keys(&self) -> Vec<Key> {
        let tables = self.namespaces.iter().map(|namespace| space::table_key(namespace, &self.table));
        tables.chain([space::next_key()]).collect()
    }

    /// Decides a change, given the rows of [`Homes::keys`].
    pub fn decide(
        &self,
        rows: &[Option<Bytes>],
        change: &ChangeOfReplicas,
    ) -> Result<(Replacement, WriteSet), StoreError> {
        let unchanged = |replacement| Ok((replacement, WriteSet::default()));
        let Some(row) = &rows[0] else { return unchanged(Replacement::Gone) };
        let (named, next) = (decode_table(row)?, next_space(&rows[self.namespaces.len()])?);
        let is_locked = |region: &str| self.namespaces.iter().any(|namespace| *namespace.region == *region);
        if !named.strong_regions().all(is_locked) {
            let regions = named.strong_regions().map(str::to_owned).collect();
            return unchanged(Replacement::OtherReplicas(regions));
        }
        let mut current = vec![named];
        for row in rows[1..self.namespaces.len()].iter().flatten() {
            let other = decode_table(row)?;
            if self.concerns(&current[0], &other.namespace.region) {
                current.push(other);
            }
        }
        match change(&current, next) {
            Some(tables) => {
                let (changed, writes) = written(current, tables, next);
                Ok((Replacement::Changed(Box::new(changed)), writes))
            }
            None => unchanged(Replacement::Refused),
        }
    }

    /// Whether the change of a table is about that of its name in another Region, too.
    fn concerns(&self, named: &Table, region: &str) -> bool {
        named.strong_regions().chain(self.new_regions.iter().map(String::as_str)).any(|known| known == region)
    }
}

/// The change of a table, for all its replicas.
pub fn of_all(
    change: impl Fn(&Table, Space) -> Option<Table> + Send + Sync + 'static,
) -> Box<ChangeOfReplicas> {
    Box::new(move |tables, unused| Some(strong::share(change(&tables[0], unused)?, &tables[1..])))
}

fn written(current: Vec<Table>, tables: Vec<Table>, next: Space) -> (Changed, WriteSet) {
    let same =
        |tables: &[Table], table: &Table| tables.iter().position(|other| other.namespace == table.namespace);
    assert_eq!(same(&tables, &current[0]), Some(0), "a change keeps the table that was named");
    let mut past_streams = Vec::new();
    for before in &current {
        if let Some(after) = same(&tables, before).map(|at| &tables[at]) {
            assert!(after.is_successor_of(before), "{} became another table", before.full_name());
            past_streams.extend(past_stream(before, after));
        }
    }
    let kept: Vec<Space> = tables.iter().flat_map(Table::spaces).collect();
    let mut dropped: Vec<Space> = current.iter().flat_map(Table::spaces).collect();
    dropped.sort_unstable();
    dropped.dedup();
    dropped.retain(|space| !kept.contains(space));
    let key = |table: &Table| space::table_key(&table.namespace, &table.name);
    let mut puts: Vec<(Key, Bytes)> = tables.iter().map(|table| (key(table), encode_table(table))).collect();
    let end = tables.iter().map(Table::numbers_end).max().unwrap_or(next.0);
    puts.push((space::next_key(), space::encode_number(end.max(next.0))));
    puts.extend(dropped.into_iter().map(|space| (space::drop_key(space), Bytes::new())));
    puts.extend(past_streams.iter().map(|stream| (space::past_stream_key(stream), encode(stream))));
    let removed: Vec<Table> = current.into_iter().filter(|table| same(&tables, table).is_none()).collect();
    let deletes = removed.iter().map(key).collect();
    (Changed { tables, removed, past_streams }, WriteSet { puts, deletes, ..WriteSet::default() })
}

/// The stream that the change switched off.
fn past_stream(current: &Table, changed: &Table) -> Option<PastStream> {
    let stream = current.stream.as_ref().filter(|stream| changed.stream.as_ref() != Some(*stream))?;
    let closed_us = changed.log.shards.iter().filter_map(|shard| shard.closed_us).max();
    Some(PastStream::of(current, stream, &changed.log.shards, closed_us.unwrap_or(stream.from_us)))
}
