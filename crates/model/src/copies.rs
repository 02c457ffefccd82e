//! Copied attributes, and what follows when an original changes: a function on the table's stream updates each item
//! that holds a copy (`copy-of … sync: stream`). R28, costs, heat and simulations start from the same list.

use crate::Model;
use crate::Spanned;
use crate::model::{
    Action, ActionKind, Attribute, AttributeChange, CopyOf, Entity, EntityId, Grouping, Pattern, SyncOwner,
    Write, WriteVerb,
};
use crate::plan::{self, ActionPlan};
use crate::template::Template;

/// An attribute that is a copy of another entity's.
pub struct Copied<'m> {
    pub id: EntityId,
    pub entity: &'m Entity,
    pub attribute: &'m Attribute,
    pub of: &'m Spanned<CopyOf>,
    pub origin: &'m Entity,
}

/// The updates of one entity's copies after one execution of an action.
pub struct CopyUpdates {
    pub entity: EntityId,
    /// One update of one item, as a pattern of its own: a function sends it outside of any transaction.
    pub pattern: Pattern,
    pub plan: ActionPlan,
    /// How many items are updated, typically.
    pub items: f64,
}

/// How often a function is invoked because originals of one entity change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyTrigger {
    pub origin: EntityId,
    pub per_second: f64,
}

/// Every copied attribute of the model.
pub fn copied(model: &Model) -> impl Iterator<Item = Copied<'_>> {
    model.entity_ids().flat_map(move |id| {
        let entity = model.entity(id);
        entity.attributes.values().filter_map(move |attribute| {
            let of = attribute.copy_of.as_ref()?;
            Some(Copied { id, entity, attribute, of, origin: model.entity(of.entity) })
        })
    })
}

impl Copied<'_> {
    /// What keeps it up to date, if the file says so.
    pub fn sync(&self) -> Option<SyncOwner> {
        self.attribute.sync.as_ref().map(|sync| sync.value)
    }

    /// `Customer.name`.
    pub fn original(&self) -> String {
        format!("{}.{}", self.origin.name.value, self.of.attribute)
    }

    /// Whether a write changes the original.
    pub fn is_changed_by(&self, write: &Write) -> bool {
        write.verb == WriteVerb::Update
            && write.entity.value == self.of.entity
            && plan::changed(write).any(|name| name == self.of.attribute)
    }

    /// How many items hold a copy of one original: typically, and at most.
    pub fn items_per_original(&self, model: &Model) -> Option<(f64, f64)> {
        let count = self.entity.count.as_ref()?;
        if count.per == Some(self.of.entity) {
            return Some((count.typical, count.most()));
        }
        let share = model.items(self.id)? / model.items(self.of.entity)?.max(1.0);
        Some((share, share))
    }
}

/// What a function on the stream does after one execution of an action of the pattern. Nothing follows a condition that
/// fails, or a pattern that another system serves.
pub fn updates(model: &Model, pattern: &Pattern, action: &Action) -> Vec<CopyUpdates> {
    let ActionKind::Write(write) = &action.kind else { return Vec::new() };
    if pattern.external.is_some() {
        return Vec::new();
    }
    let mut updates: Vec<CopyUpdates> = Vec::new();
    for copy in copied(model).filter(|copy| copy.sync() == Some(SyncOwner::Stream)) {
        if !copy.is_changed_by(write) {
            continue;
        }
        // An item that holds several copies is updated once.
        match updates.iter_mut().find(|one| one.entity == copy.id) {
            Some(known) => known.also(model, &copy),
            None => updates.push(CopyUpdates::new(model, pattern, action, &copy)),
        }
    }
    updates
}

/// The changes of originals whose copies a function keeps up to date, by entity.
pub fn triggers(model: &Model) -> Vec<CopyTrigger> {
    let mut triggers: Vec<CopyTrigger> = Vec::new();
    for pattern in model.patterns.iter().filter(|pattern| pattern.external.is_none()) {
        let rate = pattern.rate.as_ref().map_or(0.0, |rate| rate.average);
        let succeeding = 1.0 - pattern.fails.as_ref().map_or(0.0, |fails| fails.value);
        for (action, write) in pattern.writes() {
            let per_second = rate * succeeding * action.times as f64;
            if per_second <= 0.0 || updates(model, pattern, action).is_empty() {
                continue;
            }
            let origin = write.entity.value;
            match triggers.iter_mut().find(|known| known.origin == origin) {
                Some(known) => known.per_second += per_second,
                None => triggers.push(CopyTrigger { origin, per_second }),
            }
        }
    }
    triggers
}

impl CopyUpdates {
    fn new(model: &Model, pattern: &Pattern, action: &Action, copy: &Copied<'_>) -> CopyUpdates {
        let succeeding = 1.0 - pattern.fails.as_ref().map_or(0.0, |fails| fails.value);
        let (items, _) = copy.items_per_original(model).unwrap_or((1.0, 1.0));
        let write = update_of(copy);
        let plan = ActionPlan::Write(plan::of_write(model, &write));
        let step = Action { kind: ActionKind::Write(write), times: 1, span: action.span };
        let alone = Pattern {
            grouping: Grouping::Single,
            actions: vec![step],
            fails: None,
            cached: None,
            request: None,
            expect: Vec::new(),
            ..pattern.clone()
        };
        CopyUpdates { entity: copy.id, pattern: alone, plan, items: items * action.times as f64 * succeeding }
    }

    /// The update sets another copy of the item, too.
    fn also(&mut self, model: &Model, copy: &Copied<'_>) {
        let ActionKind::Write(write) = &mut self.pattern.actions[0].kind else { return };
        write.set.push(set(copy));
        self.plan = ActionPlan::Write(plan::of_write(model, write));
    }

    /// The update of one item, as a step of a pattern.
    pub fn action(&self) -> &Action {
        &self.pattern.actions[0]
    }
}

/// The function knows the whole item, because it has read it.
fn update_of(copy: &Copied<'_>) -> Write {
    let known = copy.entity.key_templates().flat_map(Template::attributes);
    let mut by: Vec<Spanned<String>> = Vec::new();
    for name in known {
        if !by.iter().any(|one| one.value == name) {
            by.push(Spanned::new(name.to_owned(), copy.of.span));
        }
    }
    Write {
        verb: WriteVerb::Update,
        entity: Spanned::new(copy.id, copy.of.span),
        says_by: !by.is_empty(),
        by,
        knows: Vec::new(),
        set: vec![set(copy)],
        add: Vec::new(),
        remove: Vec::new(),
        condition: None,
        version: None,
    }
}

fn set(copy: &Copied<'_>) -> AttributeChange {
    let attribute = Spanned::new(copy.attribute.name.clone(), copy.of.span);
    AttributeChange { attribute, from: None, to: None }
}
