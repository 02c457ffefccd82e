//! How a job changes one item: pure, so that a rehearsal and a real run do the same.

use std::collections::BTreeSet;

use model::migrate::{BackFill, Derived, Fate, Layout, StepKind};
use model::predict::item::Values;

use super::form::{Form, new_form, old_form};
use super::request::{Condition, ItemChange};

/// A job over all items of one form.
#[derive(Clone)]
pub struct Job<'m> {
    /// The items that it works on, and their table.
    pub form: Form<'m>,
    pub work: Work<'m>,
}

#[derive(Clone)]
pub enum Work<'m> {
    /// Sets index keys that an item lacks.
    Fill(&'m BackFill),
    /// Puts an item again in another form.
    Copy {
        to: Form<'m>,
    },
    Remove(Vec<String>),
    Delete,
    /// Sets the old index keys to what the item's attributes render to.
    Restore(Vec<Derived>),
    /// Makes the original of a copy what the copy says, or creates it again.
    RestoreOriginal {
        old: Form<'m>,
    },
    /// Deletes an original whose copy is gone.
    DeleteOrphan {
        copy: Form<'m>,
    },
}

/// What a job does with an item.
#[derive(Debug)]
pub enum JobDecision {
    /// There is nothing to do.
    Right,
    /// It has other keys than its attributes say, so an application does not maintain them. The job leaves it alone.
    Differs,
    /// Written in one request, if it is as it was read.
    Write(Vec<ItemChange>),
}

/// The jobs of a step, one after the other; none for steps that change no items.
pub fn jobs<'m>(layout: &'m Layout, kind: &'m StepKind) -> Vec<Job<'m>> {
    let job = match kind {
        StepKind::BackFill(fill) => {
            new_form(layout, &fill.entity).map(|form| Job { form, work: Work::Fill(fill) })
        }
        StepKind::Copy(copy) => {
            let forms = old_form(layout, &copy.entity).zip(new_form(layout, &copy.entity));
            forms.map(|(form, to)| Job { form, work: Work::Copy { to } })
        }
        StepKind::RemoveAttributes { entity, attributes, .. } => {
            new_form(layout, entity).map(|form| Job { form, work: Work::Remove(attributes.clone()) })
        }
        StepKind::DeleteItems { entity, .. } => {
            old_form(layout, entity).map(|form| Job { form, work: Work::Delete })
        }
        _ => None,
    };
    job.into_iter().collect()
}

/// The jobs of the way back from a step, after the writers were deployed that belong to it.
pub fn jobs_back<'m>(layout: &'m Layout, kind: &StepKind) -> Vec<Job<'m>> {
    let fates = layout.fates.iter().copied();
    match kind {
        StepKind::StartDualWrites(_) => fates.flat_map(|fate| without_the_new(layout, fate)).collect(),
        StepKind::EndDualWrites(_) | StepKind::RemoveAttributes { .. } => {
            fates.flat_map(|fate| with_the_old(layout, fate)).collect()
        }
        // What a job of another step wrote is removed with the dual writes.
        _ => Vec::new(),
    }
}

/// Removes everything that was written in addition.
fn without_the_new(layout: &Layout, fate: Fate) -> Vec<Job<'_>> {
    match fate {
        Fate::Stays { new, .. } => {
            let form = Form { model: &layout.target, id: new };
            let gained: Vec<String> = layout.gained(fate).into_iter().map(|one| one.attribute).collect();
            if gained.is_empty() { Vec::new() } else { vec![Job { form, work: Work::Remove(gained) }] }
        }
        Fate::Moves { new, .. } => {
            vec![Job { form: Form { model: &layout.target, id: new }, work: Work::Delete }]
        }
        Fate::Added { .. } | Fate::Removed { .. } => Vec::new(),
    }
}

/// Makes the old form of every item what it would be, had it been written all the time.
fn with_the_old(layout: &Layout, fate: Fate) -> Vec<Job<'_>> {
    match fate {
        Fate::Stays { new, .. } => {
            let form = Form { model: &layout.both, id: new };
            let lost = layout.lost(fate);
            if lost.is_empty() { Vec::new() } else { vec![Job { form, work: Work::Restore(lost) }] }
        }
        Fate::Moves { new, both, .. } => {
            let old = Form { model: &layout.both, id: both };
            let copy = Form { model: &layout.target, id: new };
            vec![
                Job { form: copy, work: Work::RestoreOriginal { old } },
                Job { form: old, work: Work::DeleteOrphan { copy } },
            ]
        }
        Fate::Added { .. } | Fate::Removed { .. } => Vec::new(),
    }
}

impl Job<'_> {
    /// The table and key of the other item that decides what to do with this one.
    pub fn counterpart(&self, item: &Values) -> Option<(&str, Values)> {
        let other = match self.work {
            Work::Copy { to } => to,
            Work::RestoreOriginal { old } => old,
            Work::DeleteOrphan { copy } => copy,
            Work::Fill(_) | Work::Remove(_) | Work::Delete | Work::Restore(_) => return None,
        };
        Some((other.table(), other.key(&self.in_form(other, item))))
    }

    pub fn decide(&self, item: &Values, counterpart: Option<&Values>) -> JobDecision {
        match &self.work {
            Work::Fill(job) => self.fill(job, item),
            Work::Copy { to } => self.copy(*to, item, counterpart),
            Work::Remove(attributes) => self.remove(attributes, item),
            Work::Delete => {
                JobDecision::Write(vec![ItemChange::delete(self.form.table(), self.form.key(item))])
            }
            Work::Restore(lost) => self.restore(lost, item),
            Work::RestoreOriginal { old } => self.restore_original(*old, item, counterpart),
            Work::DeleteOrphan { copy } => match counterpart {
                Some(_) => JobDecision::Right,
                None => self.delete_orphan(*copy, item),
            },
        }
    }

    fn in_form(&self, other: Form<'_>, item: &Values) -> Values {
        other.keyed(self.form.plain(item), self.form.chance(item))
    }

    /// The new keys, for an item that lacks them.
    fn fill(&self, job: &BackFill, item: &Values) -> JobDecision {
        let form = self.form;
        let made = form.keyed(item.clone(), form.chance(item));
        let is_lacking =
            |one: &&Derived| !item.contains_key(&one.attribute) && made.contains_key(&one.attribute);
        let missing: Vec<&Derived> = job.attributes.iter().filter(is_lacking).collect();
        let Some(first) = missing.first() else {
            let is_fixed = |one: &&Derived| one.template.fields().all(|field| field.attribute().is_some());
            let same = |one: &Derived| item.get(&one.attribute) == made.get(&one.attribute);
            let as_it_should = job.attributes.iter().filter(is_fixed).all(same);
            return if as_it_should { JobDecision::Right } else { JobDecision::Differs };
        };
        let mut conditions =
            vec![Condition::Exists(job.partition.clone()), Condition::Lacks(first.attribute.clone())];
        let read = job.unchanged.iter().map(|name| Condition::Is(name.clone(), item.get(name).cloned()));
        conditions.extend(read);
        let mut to = item.clone();
        let new = |one: &&Derived| Some((one.attribute.clone(), made.get(&one.attribute)?.clone()));
        to.extend(missing.iter().filter_map(new));
        JobDecision::Write(vec![self.update(item, to, conditions)])
    }

    /// The item under its new key, if the original is unchanged since it was read.
    fn copy(&self, to: Form<'_>, item: &Values, copy: Option<&Values>) -> JobDecision {
        let made = self.in_form(to, item);
        match copy {
            Some(copy) if to.plain(copy) == to.plain(&made) => JobDecision::Right,
            Some(_) => JobDecision::Differs,
            None => JobDecision::Write(vec![
                ItemChange::Put {
                    table: to.table().to_owned(),
                    item: made,
                    conditions: vec![Condition::Lacks(to.partition())],
                },
                self.is_as_read(item),
            ]),
        }
    }

    fn remove(&self, attributes: &[String], item: &Values) -> JobDecision {
        let mut to = item.clone();
        to.retain(|name, _| !attributes.contains(name));
        self.unless_equal(item, to, std::iter::empty())
    }

    /// The old keys as the item's attributes render them, where they differ.
    fn restore(&self, lost: &[Derived], item: &Values) -> JobDecision {
        let made = self.form.keyed(item.clone(), self.form.chance(item));
        let mut to = item.clone();
        for one in lost {
            to.remove(&one.attribute);
            to.extend(made.get(&one.attribute).map(|value| (one.attribute.clone(), value.clone())));
        }
        self.unless_equal(item, to, lost.iter().flat_map(Derived::sources))
    }

    fn restore_original(&self, old: Form<'_>, item: &Values, original: Option<&Values>) -> JobDecision {
        let made = self.in_form(old, item);
        if original == Some(&made) {
            return JobDecision::Right;
        }
        let put = ItemChange::Put { table: old.table().to_owned(), item: made, conditions: Vec::new() };
        JobDecision::Write(vec![put, self.is_as_read(item)])
    }

    fn delete_orphan(&self, copy: Form<'_>, item: &Values) -> JobDecision {
        let check = ItemChange::Check {
            table: copy.table().to_owned(),
            key: copy.key(&self.in_form(copy, item)),
            conditions: vec![Condition::Lacks(copy.partition())],
        };
        JobDecision::Write(vec![ItemChange::delete(self.form.table(), self.form.key(item)), check])
    }

    fn is_as_read(&self, item: &Values) -> ItemChange {
        let as_read = item.iter().map(|(name, value)| Condition::Is(name.clone(), Some(value.clone())));
        ItemChange::Check {
            table: self.form.table().to_owned(),
            key: self.form.key(item),
            conditions: as_read.collect(),
        }
    }

    /// On the condition that what changes, and what it is made of, is as it was read: an item that was deleted in the
    /// meantime is not created again.
    fn unless_equal<'a>(
        &self,
        from: &Values,
        to: Values,
        sources: impl Iterator<Item = &'a str>,
    ) -> JobDecision {
        if to == *from {
            return JobDecision::Right;
        }
        let changed = from.keys().chain(to.keys()).filter(|name| from.get(*name) != to.get(*name)).cloned();
        let read: BTreeSet<String> = changed.chain(sources.map(str::to_owned)).collect();
        let read = read.into_iter().map(|name| Condition::Is(name.clone(), from.get(&name).cloned()));
        let conditions = std::iter::once(Condition::Exists(self.form.partition())).chain(read).collect();
        JobDecision::Write(vec![self.update(from, to, conditions)])
    }

    fn update(&self, from: &Values, to: Values, conditions: Vec<Condition>) -> ItemChange {
        ItemChange::Update {
            table: self.form.table().to_owned(),
            key: self.form.key(from),
            from: from.clone(),
            to,
            conditions,
        }
    }
}
