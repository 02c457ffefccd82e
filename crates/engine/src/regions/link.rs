//! Which Regions can reach each other. Links are cut on purpose, to rehearse what an application does then.
//!
//! Servers that share a store share the cuts: they are a row there, which is asked each time. So a cut that was acknowledged
//! holds on all servers. Links are whole again when the first server opens the database.

use std::collections::BTreeSet;

use bytes::Bytes;
use parking_lot::RwLock;
use store::{Consistency, StoreError, WriteSet};

use crate::base::space;
use crate::regions::Regions;

/// Pairs of Regions, the first name first.
pub type Cuts = BTreeSet<(String, String)>;

/// The links that are cut, where one process has the store.
#[derive(Default)]
pub struct Links(RwLock<Cuts>);

impl Regions {
    /// The links that are cut.
    pub(super) async fn cuts(&self) -> Result<Cuts, StoreError> {
        if self.members.is_none() {
            return Ok(self.replication.links.0.read().clone());
        }
        let rows = self.store.get(&[space::links_key()], Consistency::Latest).await?;
        decode(&rows[0])
    }

    /// Whether the link between two Regions is cut.
    pub(super) async fn is_cut(&self, one: &str, other: &str) -> Result<bool, StoreError> {
        Ok(match self.members.is_none() {
            true => {
                let cuts = self.replication.links.0.read();
                !cuts.is_empty() && cuts.contains(&pair(one, other))
            }
            false => self.cuts().await?.contains(&pair(one, other)),
        })
    }

    /// Cuts or heals the link between two Regions. False if it was so before.
    pub(super) async fn set_cut(&self, one: &str, other: &str, is_cut: bool) -> Result<bool, StoreError> {
        let link = pair(one, other);
        let set = |cuts: &mut Cuts| if is_cut { cuts.insert(link.clone()) } else { cuts.remove(&link) };
        if self.members.is_none() {
            return Ok(set(&mut self.replication.links.0.write()));
        }
        let key = space::links_key();
        let mut changed = Ok(false);
        let mut decide = |rows: &[Option<Bytes>]| match decode(&rows[0]) {
            Ok(mut cuts) => {
                changed = Ok(set(&mut cuts));
                let row = Bytes::from(serde_json::to_vec(&cuts).expect("texts only"));
                WriteSet { puts: vec![(key.clone(), row)], ..WriteSet::default() }
            }
            Err(error) => {
                changed = Err(error);
                WriteSet::default()
            }
        };
        self.store.update(std::slice::from_ref(&key), &mut decide).await?;
        changed
    }

    /// The first server that opens the database finds all links whole.
    pub(crate) async fn heal_all_if_alone(&self) -> Result<(), StoreError> {
        match &self.members {
            Some(members) if members.is_alone().await? => {
                let key = space::links_key();
                let mut decide =
                    |_: &[Option<Bytes>]| WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
                self.store.update(std::slice::from_ref(&key), &mut decide).await
            }
            _ => Ok(()),
        }
    }
}

fn decode(row: &Option<Bytes>) -> Result<Cuts, StoreError> {
    let Some(row) = row else { return Ok(Cuts::new()) };
    serde_json::from_slice(row)
        .map_err(|error| StoreError::Corrupt(format!("the links that are cut: {error}")))
}

fn pair(one: &str, other: &str) -> (String, String) {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    (first.to_owned(), second.to_owned())
}
