//! R50: `create` is to keep out a second item with the same `id`, and the key is made of more than the `id`.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::EntityId;
use crate::template::Field;
use crate::uniqueness::{creates, determined, relies_on_key};

pub const RULE: Rule = Rule {
    id: RuleId(50),
    level: Level::Error,
    title: "The key is made of more than the `id`, so `create` does not keep it unique",
    page: include_str!("../../../../docs/rules/R50.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.entity_ids().filter_map(|id| beyond(subject, id)).collect()
}

fn beyond(subject: &Subject<'_>, id: EntityId) -> Option<Diagnostic> {
    let entity = subject.model.entity(id);
    let key = entity.key.as_ref().filter(|_| relies_on_key(subject.model, id))?;
    let determined = determined(subject.model, id);
    let outside = |field: &&Field| field.attribute().is_none_or(|name| !determined.contains(name));
    let fields: Vec<&Field> =
        key.templates().flat_map(|template| template.fields()).filter(outside).collect();
    let first = fields.first()?;
    let names: Vec<&str> = entity.identity.iter().map(|name| name.value.as_str()).collect();
    let what = first.attribute().map_or_else(|| format!("`{first}`"), |name| format!("`{name}`"));
    let name = &entity.name.value;
    let message = format!("two `{name}` items can have the same {}", listed(&names));
    let mut found = Diagnostic::error(first.span, message)
        .label(format!("{what} is not part of the `id`"))
        .related(entity.identity[0].span, "identifies an item")
        .why("`create`, as `put` with `if: not exists`, fails if there is an item with the same key: with another value here the key is another, and both are stored")
        .help(format!(
            "make the key of {} alone, and serve the order by an index; or create a second item with that key in the same transaction",
            listed(&names)
        ));
    let create = subject.writes().find(|one| one.plan.entity == id && creates(subject.model, one.write));
    if let Some(create) = create {
        found = found.related(create.action.span, "succeeds for both");
    }
    Some(found)
}
