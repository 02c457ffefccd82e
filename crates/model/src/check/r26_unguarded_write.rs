//! R26: writes that overwrite other writers' changes.

use super::{PatternWrite, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{AttributeChange, AttributeKind, Entity, Grouping, Table, Write, WriteVerb};

pub const RULE: Rule = Rule {
    id: RuleId(26),
    level: Level::Warning,
    title: "A write can overwrite another writer's change",
    page: include_str!("../../../../docs/rules/R26.md"),
    // Updates of one item per second from which it counts as contended.
    parameters: &[("per-second", 10.0)],
    check,
};

/// What an attribute for optimistic locking is called.
const VERSION: &str = "version";

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    // A batch can't have conditions.
    let writers: Vec<PatternWrite<'_>> =
        subject.writes().filter(|one| one.pattern.grouping != Grouping::Batch).collect();
    let found = |writer: &PatternWrite<'_>| {
        let others: Vec<PatternWrite<'_>> =
            writers.iter().copied().filter(|other| meet(writer, other)).collect();
        let entity = subject.model.entity(writer.write.entity.value);
        create_without_condition(writer, entity)
            .or_else(|| put_over_others(writer, entity, &others))
            .or_else(|| past_the_version(writer, entity, &others))
            .or_else(|| same_attribute(writer, entity, &others))
            .or_else(|| unchecked_transition(writer))
            .or_else(|| comes_back(writer, entity, subject.model.table_of(entity), &others))
            .or_else(|| contended(subject, writer, entity))
    };
    writers.iter().filter_map(found).collect()
}

/// Whether two patterns write the same entity.
fn meet(one: &PatternWrite<'_>, other: &PatternWrite<'_>) -> bool {
    one.name() != other.name() && one.plan.entity == other.plan.entity
}

fn is_guarded(write: &Write) -> bool {
    write.condition.is_some() || write.version.is_some()
}

/// A `create` whose request has no such condition.
fn create_without_condition(writer: &PatternWrite<'_>, entity: &Entity) -> Option<Diagnostic> {
    let request = writer.pattern.request.as_ref().filter(|_| writer.pattern.grouping == Grouping::Single)?;
    let condition = request.get("ConditionExpression").and_then(|text| text.as_str()).unwrap_or_default();
    let unguarded = writer.write.verb == WriteVerb::Create && !condition.contains("attribute_not_exists");
    let span = writer.pattern.request_members.get("ConditionExpression").copied().unwrap_or(request.span);
    unguarded.then(|| {
        Diagnostic::warning(span, format!("the request does not check that `{}` is new", entity.name.value))
            .label("no `attribute_not_exists`")
            .why("PutItem replaces an item with the same key without a word")
            .help("add `ConditionExpression: attribute_not_exists(PK)`, with the table's partition key")
    })
}

fn put_over_others(
    writer: &PatternWrite<'_>,
    entity: &Entity,
    others: &[PatternWrite<'_>],
) -> Option<Diagnostic> {
    if writer.write.verb != WriteVerb::Put || is_guarded(writer.write) {
        return None;
    }
    let other =
        others.iter().find(|other| matches!(other.write.verb, WriteVerb::Create | WriteVerb::Update))?;
    let name = &entity.name.value;
    Some(
        Diagnostic::warning(writer.action.span, format!("`put {name}` replaces the whole item, unseen"))
            .label("no condition")
            .related(other.action.span, format!("`{}` is lost then", other.pattern.id.value))
            .why("PutItem overwrites an item with the same key, also when a request is retried")
            .help(format!(
                "write `create: {name}` if it must be new (`attribute_not_exists`), `update: {name}` if it is a \
                 change, or add `if: …`"
            )),
    )
}

/// Other writers lock by a version; this one neither checks nor increments it.
fn past_the_version(
    writer: &PatternWrite<'_>,
    entity: &Entity,
    others: &[PatternWrite<'_>],
) -> Option<Diagnostic> {
    let changes = !writer.write.set.is_empty() || !writer.write.remove.is_empty();
    if writer.write.verb != WriteVerb::Update || writer.write.version.is_some() || !changes {
        return None;
    }
    let locking = others.iter().find_map(|other| Some((other, other.write.version.as_ref()?)));
    let Some((locking, version)) = locking else { return version_without_use(writer, entity) };
    let raises = writer.write.set.iter().chain(&writer.write.add);
    if raises.into_iter().any(|change| change.attribute.value == version.value) {
        return None;
    }
    let message = format!("`{}` changes `{}` past its version", writer.pattern.id.value, entity.name.value);
    Some(
        Diagnostic::warning(writer.action.span, message)
            .label(format!("`{}` stays as it is", version.value))
            .related(version.span, format!("`{}` relies on it", locking.pattern.id.value))
            .why("a version protects only if every writer compares and raises it")
            .help(format!("add `version: {}`", version.value))
            .fix(Fix::put(writer.action.span, "version", &version.value)),
    )
}

/// The item has a version that no writer compares.
fn version_without_use(writer: &PatternWrite<'_>, entity: &Entity) -> Option<Diagnostic> {
    // A version that is part of the key numbers the items, and locks none of them.
    let in_key = entity.key_templates().any(|template| template.uses(VERSION));
    let version = entity.attribute(VERSION).filter(|one| one.kind == AttributeKind::Number && !in_key)?;
    let raises = writer.write.set.iter().chain(&writer.write.add);
    if is_guarded(writer.write) || raises.into_iter().any(|change| change.attribute.value == VERSION) {
        return None;
    }
    let message = format!("`{}` changes `{}` past its version", writer.pattern.id.value, entity.name.value);
    Some(
        Diagnostic::warning(writer.action.span, message)
            .label(format!("`{VERSION}` stays as it is"))
            .related(version.span, "no writer compares it")
            .why("a version protects only if every writer compares and raises it")
            .help(format!("add `version: {VERSION}`"))
            .fix(Fix::put(writer.action.span, "version", VERSION)),
    )
}

/// `OPEN -> SHIPPED`, and nothing checks that it was open.
fn unchecked_transition(writer: &PatternWrite<'_>) -> Option<Diagnostic> {
    if writer.write.verb != WriteVerb::Update || is_guarded(writer.write) {
        return None;
    }
    let change = writer.write.set.iter().find(|change| change.from.is_some())?;
    let from = change.from.as_ref()?;
    let name = &change.attribute.value;
    Some(
        Diagnostic::warning(change.attribute.span, format!("nothing checks that `{name}` is {from}"))
            .label("set whatever it was")
            .why("a writer that is late, or sends its request twice, undoes what came in between")
            .help(guard(change))
            .fix(Fix::put(writer.action.span, "if", format!("{name} = {from}"))),
    )
}

/// An update without a condition creates the item if there is none: what was deleted comes back, in part.
fn comes_back(
    writer: &PatternWrite<'_>,
    entity: &Entity,
    table: &Table,
    others: &[PatternWrite<'_>],
) -> Option<Diagnostic> {
    // Counters are meant to begin by themselves.
    let blind =
        writer.write.verb == WriteVerb::Update && !is_guarded(writer.write) && writer.write.add.is_empty();
    let deletion = others.iter().find(|other| other.write.verb == WriteVerb::Delete);
    let expires = entity.expires.as_ref().map(|expires| (expires.span, "items expire".to_owned()));
    let deleted = deletion.map(|one| (one.action.span, format!("`{}` deletes it", one.pattern.id.value)));
    let (span, note) = deleted.or(expires).filter(|_| blind)?;
    let message = format!("`{}` can bring a deleted `{}` back", writer.pattern.id.value, entity.name.value);
    // An item that has expired is there until it is removed (R55).
    let ttl = table.ttl.as_ref().filter(|_| entity.expires.is_some());
    let condition = ttl.map_or("exists".to_owned(), |ttl| format!("{} > :now", ttl.value));
    Some(
        Diagnostic::warning(writer.action.span, message)
            .label("no condition")
            .related(span, note)
            .why("UpdateItem creates an item that is not there, with its key and what is set, and nothing else")
            .help(format!("add `if: {condition}`"))
            .fix(Fix::put(writer.action.span, "if", condition)),
    )
}

/// Two patterns set the same attribute, and this one does not check its old value.
fn same_attribute(
    writer: &PatternWrite<'_>,
    entity: &Entity,
    others: &[PatternWrite<'_>],
) -> Option<Diagnostic> {
    if writer.write.verb != WriteVerb::Update || is_guarded(writer.write) {
        return None;
    }
    let updates = others.iter().filter(|other| other.write.verb == WriteVerb::Update);
    let meeting = updates.flat_map(|other| other.write.set.iter().map(move |change| (other, change)));
    let mut meeting = meeting.filter_map(|(other, theirs)| {
        let mine = writer.write.set.iter().find(|mine| mine.attribute.value == theirs.attribute.value)?;
        (!is_timestamp_of_write(entity, mine)).then_some((other, mine, theirs))
    });
    let (other, mine, theirs) = meeting.next()?;
    let name = &mine.attribute.value;
    Some(
        Diagnostic::warning(mine.attribute.span, format!("`{name}` is set without looking at what it is"))
            .label("the last writer wins")
            .related(theirs.attribute.span, format!("`{}` sets it too", other.pattern.id.value))
            .why("of two concurrent changes one is lost, without an error")
            .help(guard(mine)),
    )
}

/// Every writer may record when it wrote.
fn is_timestamp_of_write(entity: &Entity, change: &AttributeChange) -> bool {
    let name = change.attribute.value.as_str();
    let lower = name.to_ascii_lowercase();
    entity.attribute(name).is_some_and(|attribute| attribute.kind.is_time())
        || name.ends_with("At")
        || ["updated", "modified", "last"].iter().any(|word| lower.starts_with(word))
}

fn guard(change: &AttributeChange) -> String {
    let name = &change.attribute.value;
    match &change.from {
        Some(from) => format!("add `if: {name} = {from}`: the change says it comes from there"),
        None => format!("add a condition, as in `if: {name} = :expected`, or `version: version`"),
    }
}

/// One item that gets many updates per second.
fn contended(subject: &Subject<'_>, writer: &PatternWrite<'_>, entity: &Entity) -> Option<Diagnostic> {
    let skew = writer.pattern.skew.as_ref()?;
    let rate = writer.pattern.rate.as_ref()?.peak();
    let items = subject.model.items(writer.write.entity.value).unwrap_or(f64::MAX);
    let busiest = rate * skew.top_share(items);
    let change = writer.write.set.iter().find(|change| !is_timestamp_of_write(entity, change))?;
    let blind = writer.write.verb == WriteVerb::Update && !is_guarded(writer.write);
    (blind && busiest >= subject.parameter("per-second")).then(|| {
        let rate = super::figures::count(busiest);
        Diagnostic::warning(
            change.attribute.span,
            format!("the busiest `{}` is updated {rate} times a second", entity.name.value),
        )
        .label("the last writer wins")
        .related(skew.span, "the share of the busiest key")
        .why("updates that were computed from what was read before overwrite each other")
        .help(format!("{}; a counter is safe as `add: {}`", guard(change), change.attribute.value))
    })
}
