//! Jobs that bring stored items into another form: page by page, under the plan's conditions, while the
//! application changes some of the items that were just read.

use model::migrate::{BackFill, Copy, Derived, Fate};
use model::predict::item::Values;
use model::sample::rekey;

use super::application::{Form, Writers, fate, forms};
use super::request::{Condition, ItemChange, all, page, send};
use super::stage::Stage;

/// Few items per page, so that a job has many pages between which something can happen.
const PAGE_ITEMS: i32 = 4;
/// The application deletes items during a job only while there are more than this.
const LEAST: usize = 6;

/// What a job did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub written: usize,
    /// Items that the application changed, deleted or wrote between the job's read and its write.
    pub refused: usize,
}

impl Stage<'_> {
    pub async fn back_fill(&mut self, job: &BackFill) -> Result<Done, String> {
        let Some(form) = self.new_form(&job.entity) else { return Ok(Done::default()) };
        self.until_done(form, &job.table, |item| filled(form, job, item)).await
    }

    pub async fn copy(&mut self, copy: &Copy) -> Result<Done, String> {
        let (Some(old), Some(new)) = (self.old_form(&copy.entity), self.new_form(&copy.entity)) else {
            return Ok(Done::default());
        };
        self.until_done(old, &copy.from, |item| copied(old, new, item)).await
    }

    /// Runs again and again, until a run writes nothing. The application disturbs the first run; the second writes what
    /// the first could not, and the third must find nothing to do.
    async fn until_done(
        &mut self,
        form: Form<'_>,
        table: &str,
        change: impl Fn(&Values) -> Vec<ItemChange>,
    ) -> Result<Done, String> {
        let mut done = self.over_pages(form, table, true, &change).await?;
        done.written += self.over_pages(form, table, false, &change).await?.written;
        match self.over_pages(form, table, false, &change).await?.written {
            0 => Ok(done),
            more => Err(format!("run again and again, the job still wrote {more} items")),
        }
    }

    /// Each item of the form, with what the job makes of it. If `disturbed`, the application writes
    /// between reading a page and writing it.
    async fn over_pages(
        &mut self,
        form: Form<'_>,
        table: &str,
        disturbed: bool,
        change: impl Fn(&Values) -> Vec<ItemChange>,
    ) -> Result<Done, String> {
        let (mut done, mut start) = (Done::default(), None);
        loop {
            let (items, next) = page(&self.database, table, start, Some(PAGE_ITEMS)).await?;
            let own: Vec<Values> = items.into_iter().filter(|item| form.recognises(item)).collect();
            if disturbed {
                self.disturb(form, &own).await?;
            }
            for item in &own {
                let changes = change(item);
                if changes.is_empty() {
                    continue;
                }
                match send(&self.database, changes).await? {
                    true => done.written += 1,
                    false => done.refused += 1,
                }
            }
            start = next;
            if start.is_none() {
                return Ok(done);
            }
        }
    }

    /// The application changes, deletes or creates an item, in turn.
    async fn disturb(&mut self, form: Form<'_>, items: &[Values]) -> Result<(), String> {
        let (Some(first), Some(last)) = (items.first(), items.last()) else { return Ok(()) };
        self.turn += 1;
        let entity = form.entity().name.value.clone();
        let at = |stage: &Self, item: &Values| {
            let key = form.key(item);
            let own = stage.positions(&entity).into_iter();
            own.into_iter().find(|position| form.key(&form.stored(&stage.ledger[*position])) == key)
        };
        match self.turn % 3 {
            0 => match at(self, first) {
                Some(position) => self.change(position).await,
                None => Ok(()),
            },
            1 => match at(self, last).filter(|_| self.positions(&entity).len() > LEAST) {
                Some(position) => self.delete(position).await,
                None => Ok(()),
            },
            _ => self.create_another(&entity).await,
        }
    }

    /// Removes attributes that nothing reads any more.
    pub async fn remove(&mut self, table: &str, entity: &str, attributes: &[String]) -> Result<Done, String> {
        let Some(form) = self.new_form(entity) else { return Ok(Done::default()) };
        self.over_pages(form, table, false, |item| without(form, attributes, item)).await
    }

    pub async fn delete_items(&mut self, table: &str, entity: &str) -> Result<Done, String> {
        let Some(form) = self.old_form(entity) else { return Ok(Done::default()) };
        let done = self
            .over_pages(form, table, false, |item| {
                vec![ItemChange::Delete { table: form.table().to_owned(), key: form.key(item) }]
            })
            .await?;
        if matches!(fate(self.layout, entity), Some(Fate::Removed { .. })) {
            self.ledger.retain(|record| record.entity != entity);
        }
        Ok(done)
    }

    /// After the old writers are back: removes everything that was written in addition.
    pub async fn take_back_writes(&mut self) -> Result<(), String> {
        for fate in self.layout.fates.clone() {
            match fate {
                Fate::Stays { new, .. } => {
                    let form = Form { model: &self.layout.target, id: new };
                    let gained: Vec<String> =
                        self.layout.gained(fate).into_iter().map(|one| one.attribute).collect();
                    if !gained.is_empty() {
                        let table = form.table();
                        self.over_pages(form, table, false, |item| without(form, &gained, item)).await?;
                    }
                }
                Fate::Moves { new, .. } => {
                    let form = Form { model: &self.layout.target, id: new };
                    let delete = |item: &Values| {
                        vec![ItemChange::Delete { table: form.table().to_owned(), key: form.key(item) }]
                    };
                    self.over_pages(form, form.table(), false, delete).await?;
                }
                Fate::Added { .. } | Fate::Removed { .. } => {}
            }
        }
        Ok(())
    }

    /// After the writers of both are back: makes the old form of every item what it would be had they never gone.
    pub async fn restore_old_form(&mut self) -> Result<(), String> {
        for fate in self.layout.fates.clone() {
            match fate {
                Fate::Stays { new, .. } => {
                    let form = Form { model: &self.layout.both, id: new };
                    let lost = self.layout.lost(fate);
                    if !lost.is_empty() {
                        let table = form.table();
                        self.over_pages(form, table, false, |item| restored(form, &lost, item)).await?;
                    }
                }
                Fate::Moves { new, both, .. } => {
                    let old = Form { model: &self.layout.both, id: both };
                    let new = Form { model: &self.layout.target, id: new };
                    self.restore_originals(old, new).await?;
                }
                Fate::Added { .. } | Fate::Removed { .. } => {}
            }
        }
        Ok(())
    }

    async fn restore_originals(&mut self, old: Form<'_>, new: Form<'_>) -> Result<(), String> {
        let copies = all(&self.database, new.table()).await?;
        let mut wanted: Vec<Values> = Vec::new();
        for copy in copies.iter().filter(|item| new.recognises(item)) {
            let mut original = new.plain(copy);
            rekey(old.model, old.id, &mut original, 0);
            wanted.push(original);
        }
        let there = all(&self.database, old.table()).await?;
        for item in there.iter().filter(|item| old.recognises(item)) {
            if !wanted.iter().any(|one| old.key(one) == old.key(item)) {
                let delete = ItemChange::Delete { table: old.table().to_owned(), key: old.key(item) };
                send(&self.database, vec![delete]).await?;
            }
        }
        for item in wanted.into_iter().filter(|item| !there.contains(item)) {
            let put = ItemChange::Put { table: old.table().to_owned(), item, conditions: Vec::new() };
            send(&self.database, vec![put]).await?;
        }
        Ok(())
    }
}

impl<'m> Stage<'m> {
    fn new_form(&self, entity: &str) -> Option<Form<'m>> {
        forms(self.layout, Writers::New, entity).first().copied()
    }

    fn old_form(&self, entity: &str) -> Option<Form<'m>> {
        forms(self.layout, Writers::Old, entity).first().copied()
    }
}

/// The new keys, for an item that lacks them.
fn filled(form: Form<'_>, job: &BackFill, item: &Values) -> Vec<ItemChange> {
    let mut made = item.clone();
    rekey(form.model, form.id, &mut made, 0);
    let lacking = |one: &&Derived| !item.contains_key(&one.attribute) && made.contains_key(&one.attribute);
    let missing: Vec<&Derived> = job.attributes.iter().filter(lacking).collect();
    let Some(first) = missing.first() else { return Vec::new() };
    let mut conditions =
        vec![Condition::Exists(job.partition.clone()), Condition::Lacks(first.attribute.clone())];
    let read = job.unchanged.iter().map(|name| Condition::Is(name.clone(), item.get(name).cloned()));
    conditions.extend(read);
    let mut to = item.clone();
    to.extend(
        missing.iter().filter_map(|one| Some((one.attribute.clone(), made.get(&one.attribute)?.clone()))),
    );
    vec![update(form, item, to, conditions)]
}

/// The item under its new key, if the original is unchanged since it was read.
fn copied(old: Form<'_>, new: Form<'_>, item: &Values) -> Vec<ItemChange> {
    let mut copy = old.plain(item);
    rekey(new.model, new.id, &mut copy, 0);
    let as_read = item.iter().map(|(name, value)| Condition::Is(name.clone(), Some(value.clone())));
    vec![
        ItemChange::Put {
            table: new.table().to_owned(),
            item: copy,
            conditions: vec![Condition::Lacks(new.partition())],
        },
        ItemChange::Check {
            table: old.table().to_owned(),
            key: old.key(item),
            conditions: as_read.collect(),
        },
    ]
}

fn without(form: Form<'_>, attributes: &[String], item: &Values) -> Vec<ItemChange> {
    let mut to = item.clone();
    to.retain(|name, _| !attributes.contains(name));
    match to == *item {
        true => Vec::new(),
        false => vec![update(form, item, to, vec![Condition::Exists(form.partition())])],
    }
}

/// The old keys as the item's attributes render them, where they differ.
fn restored(form: Form<'_>, lost: &[Derived], item: &Values) -> Vec<ItemChange> {
    let mut made = item.clone();
    rekey(form.model, form.id, &mut made, 0);
    let mut to = item.clone();
    for one in lost {
        to.remove(&one.attribute);
        to.extend(made.get(&one.attribute).map(|value| (one.attribute.clone(), value.clone())));
    }
    match to == *item {
        true => Vec::new(),
        false => vec![update(form, item, to, vec![Condition::Exists(form.partition())])],
    }
}

fn update(form: Form<'_>, from: &Values, to: Values, conditions: Vec<Condition>) -> ItemChange {
    ItemChange::Update {
        table: form.table().to_owned(),
        key: form.key(from),
        from: from.clone(),
        to,
        conditions,
    }
}
