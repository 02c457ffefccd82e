//! Messages of peers. Their content is not trusted: a message that makes no sense is refused and changes nothing.

use futures_util::future::BoxFuture;
use std::sync::Arc;

use store::StoreError;

use super::destination::{apply, apply_together};
use super::leave::Leave;
use super::peer::{Answer, CHANGES_MAX, Message, News, SentChange, TableThere, Versioned};
use super::scaling::Scaled;
use super::{PeerBeat, in_region, settings};
use crate::Namespace;
use crate::base::origin::Origin;
use crate::base::table::{Table, TableState};
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;

/// The most indexes and members that a table of a peer can have.
const PARTS_MAX: usize = 100;

impl Regions {
    /// Carries out a message of a peer. After an error, the peer sends it again.
    pub fn receive(self: &Arc<Regions>, message: Message) -> BoxFuture<'_, Result<Answer, String>> {
        Box::pin(async move {
            let Message { account, table, from, to, news } = message;
            if self.peers.get(&to).is_some() || self.peers.get(&from).is_none() {
                return Err(format!("{from} is no peer of {to} here; see --peer"));
            }
            if self.is_cut(&from, &to).await.map_err(|error| error.to_string())? {
                return Err(format!("{from} and {to} are cut off from each other"));
            }
            let namespace = Namespace::new(account, to);
            let received = Received { regions: self, namespace, name: table, from };
            let asks_scaling = matches!(news, News::Scaling(_));
            match received.carry_out(news).await {
                Ok(is_done) => {
                    let table = self.table_here(&received.namespace, &received.name, &received.from);
                    let scaling = if asks_scaling { received.scaling().await? } else { Vec::new() };
                    Ok(Answer { is_done, table, scaling })
                }
                Err(Refused::Because(reason)) => Err(reason),
                Err(Refused::Failed(error)) => {
                    tracing::warn!(%error, from = received.from, table = received.name, "the message of a peer failed");
                    Err(error.to_string())
                }
            }
        })
    }
}

impl Regions {
    /// The table of this name in another Region, on this server or at a peer.
    pub(crate) async fn table_there(
        &self,
        table: &Table,
        region: &str,
    ) -> Result<Option<TableThere>, StoreError> {
        match self.peers.get(region) {
            Some(peer) => Ok(self.send_news(&peer, table, region, News::Question).await?.table),
            None => Ok(self.table_here(&in_region(table, region), &table.name, &table.namespace.region)),
        }
    }

    /// The state of a table here, as a member in another Region sees it.
    fn table_here(&self, namespace: &Namespace, name: &str, other: &str) -> Option<TableThere> {
        let table = self.catalog.find(namespace, name)?;
        let own = table.membership.as_ref();
        Some(TableThere {
            is_member: own.is_some_and(|own| own.replica(other).is_some()),
            is_creating: table.state == TableState::Creating,
            is_protected: table.deletion_protection,
            was_source: own.is_some_and(|own| own.was_source(self.environment.now_ms())),
            settings_us: own.map_or(0, |own| own.settings_us),
        })
    }
}

/// Why a message is refused.
enum Refused {
    Because(String),
    Failed(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        Refused::Failed(error)
    }
}

/// A message for one table.
struct Received<'a> {
    regions: &'a Arc<Regions>,
    namespace: Namespace,
    name: String,
    from: String,
}

impl Received<'_> {
    fn table(&self) -> Option<Arc<LiveTable>> {
        self.regions.catalog.find(&self.namespace, &self.name)
    }

    /// The table, if the sender is another member of it.
    fn member(&self) -> Option<Arc<LiveTable>> {
        let knows =
            |table: &Table| table.membership.as_ref().is_some_and(|own| own.replica(&self.from).is_some());
        self.table().filter(|table| knows(table))
    }

    async fn carry_out(&self, news: News) -> Result<bool, Refused> {
        if let News::Create { source, others } = &news {
            return self.create(source, others).await;
        }
        let Some(table) = self.member() else {
            // These need no table here: the sender asks, or forgets what is gone here.
            let is_answer_enough =
                matches!(news, News::Question | News::Leave | News::Forget { .. } | News::State { .. });
            return if is_answer_enough { Ok(true) } else { Err(self.unknown()) };
        };
        match news {
            News::Question | News::Create { .. } => {}
            News::Beat { lag_us, now_us } => self.note_beat(&table, lag_us, now_us),
            News::Changes(changes) => {
                if table.state == TableState::Deleting {
                    return Err(Refused::Because(format!("{} is being deleted", self.name)));
                }
                return self.apply(&table, changes, Origin::Replica).await;
            }
            News::Together(changes) => {
                if table.state == TableState::Deleting {
                    return Err(Refused::Because(format!("{} is being deleted", self.name)));
                }
                let changes = self.checked(&table, changes)?;
                return Ok(apply_together(self.regions, &table, changes).await?);
            }
            News::Copy(changes) => {
                // A copy that comes late must not pass streams by.
                let is_joining = table.membership.as_ref().is_some_and(|own| own.joins_from.is_some());
                let origin = if is_joining { Origin::Restore } else { Origin::Replica };
                return self.apply(&table, changes, origin).await;
            }
            News::Activate(source) => {
                self.check(&source)?;
                self.regions.activate_member(&table, &source).await?;
            }
            News::Introduce { region, overrides } => {
                check_region(&region)?;
                if overrides.len() > PARTS_MAX {
                    return Err(Refused::Because("there are too many Regions".to_owned()));
                }
                self.regions.introduce(&table, &self.from, &region, overrides).await?;
            }
            News::State { region, state } => {
                self.regions.set_state(&self.namespace, &self.name, &region, state).await?;
            }
            News::Leave => {
                if self.regions.begin_leaving(&table).await? {
                    let leave = Leave::new(self.regions.clone(), self.namespace.clone(), self.name.clone());
                    self.regions.background.start(leave);
                }
            }
            News::Forget { region, is_lost } => match is_lost {
                true => drop(self.regions.go_on_without(&table, &region).await?),
                false => self.regions.forget_member(&table, &region).await?,
            },
            News::Settings(source) => {
                self.check(&source)?;
                self.regions.align_one(&table, &source).await?;
            }
            News::Scaling(scaled) => {
                if scaled.len() > PARTS_MAX {
                    return Err(Refused::Because("there are too many units".to_owned()));
                }
                let set = self.regions.set_scaling_here(&self.namespace, &self.name, scaled).await;
                set.map_err(|error| Refused::Because(error.message))?;
            }
        }
        self.regions.replication.changed.notify_waiters();
        Ok(true)
    }

    /// How the units of the member are scaled.
    async fn scaling(&self) -> Result<Vec<Scaled>, String> {
        let Some(table) = self.member() else { return Ok(Vec::new()) };
        self.regions.scaling_here(&self.namespace, &table).await.map_err(|error| error.message)
    }

    fn unknown(&self) -> Refused {
        let Received { namespace, name, from, .. } = self;
        Refused::Because(format!("{name} in {} has no replica in {from}", namespace.region))
    }

    async fn create(&self, source: &Table, others: &[String]) -> Result<bool, Refused> {
        self.check(source)?;
        others.iter().try_for_each(|region| check_region(region))?;
        if self.table().is_none() {
            self.regions.create_member(source, &self.namespace.region, others.to_vec()).await?;
        }
        Ok(true)
    }

    /// Checks a table of the sender.
    fn check(&self, source: &Table) -> Result<(), Refused> {
        let is_it = source.name == self.name
            && source.namespace.account == self.namespace.account
            && *source.namespace.region == *self.from;
        let others = source.membership.as_ref().map(|own| own.replicas.len());
        let is_sound = others.is_some_and(|others| others <= PARTS_MAX)
            && source.indexes.len() <= PARTS_MAX
            && api::TableName::parse(&source.name).is_ok_and(|name| name.home.is_none())
            && settings::has_sound_keys(source);
        match is_it && is_sound {
            true => Ok(()),
            false => Err(Refused::Because("this is no table of a member".to_owned())),
        }
    }

    async fn apply(
        &self,
        table: &Arc<LiveTable>,
        changes: Vec<SentChange>,
        origin: Origin,
    ) -> Result<bool, Refused> {
        let changes = self.checked(table, changes)?;
        match changes.is_empty() {
            true => Ok(true),
            false => Ok(apply(self.regions, table, changes, origin).await?),
        }
    }

    fn checked(&self, table: &LiveTable, changes: Vec<SentChange>) -> Result<Vec<Versioned>, Refused> {
        if changes.len() > CHANGES_MAX {
            return Err(Refused::Because(format!("there are more than {CHANGES_MAX} changes")));
        }
        let now_us = self.regions.environment.now_us();
        let changes = changes.into_iter().map(|change| change.check(table, now_us));
        changes.collect::<Result<Vec<_>, String>>().map_err(Refused::Because)
    }

    /// Its changes are here up to a time, by the clock of this server.
    fn note_beat(&self, table: &LiveTable, lag_us: u64, now_us: u64) {
        let here_us = self.regions.clock.now_us(&*self.regions.environment);
        let (ahead, through_us) =
            (now_us.cast_signed().wrapping_sub(here_us.cast_signed()), here_us.saturating_sub(lag_us));
        let beat = PeerBeat { through_us, clock_offset_us: ahead };
        self.regions.replication.beats.lock().insert((table.space(), self.from.clone()), beat);
    }
}

fn check_region(region: &str) -> Result<(), Refused> {
    let is_name = !region.is_empty() && region.len() <= 64;
    match is_name && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        true => Ok(()),
        false => Err(Refused::Because("this is no Region".to_owned())),
    }
}
