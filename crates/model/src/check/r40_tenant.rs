//! R40: items of a tenant under a key that does not name the tenant.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Attribute, Entity, TableId};
use crate::template::Template;

pub const RULE: Rule = Rule {
    id: RuleId(40),
    level: Level::Warning,
    title: "Items of a tenant have a key without the tenant",
    page: include_str!("../../../../docs/rules/R40.md"),
    parameters: &[],
    check,
};

/// Names of customers whose data must be kept apart.
const TENANTS: [&str; 5] = ["tenant", "org", "organisation", "organization", "workspace"];

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.table_ids().flat_map(|id| in_table(subject, id)).collect()
}

fn in_table(subject: &Subject<'_>, id: TableId) -> Vec<Diagnostic> {
    let entities: Vec<&Entity> = subject.model.entities_of(id).map(|(_, entity)| entity).collect();
    // The rule applies only if some entity of the table already has the tenant in its key.
    let Some((tenant, keyed)) = entities.iter().find_map(|entity| tenant_key(entity)) else {
        return Vec::new();
    };
    let exposed = entities.iter().filter_map(|entity| {
        let owner = entity.attribute(tenant)?;
        let partition = &entity.key.as_ref()?.partition;
        (!partition.uses(tenant)).then(|| finding(entity, owner, partition, keyed))
    });
    exposed.collect()
}

/// The tenant in the partition key of an entity, and that key.
fn tenant_key(entity: &Entity) -> Option<(&str, &Template)> {
    let partition = &entity.key.as_ref()?.partition;
    partition.attributes().find(|name| names_tenant(name)).map(|name| (name, partition))
}

fn names_tenant(attribute: &str) -> bool {
    let plain = attribute.to_ascii_lowercase().replace(['_', '-'], "");
    TENANTS.contains(&plain.strip_suffix("id").unwrap_or(&plain))
}

fn finding(entity: &Entity, owner: &Attribute, partition: &Template, keyed: &Template) -> Diagnostic {
    let (name, tenant) = (&entity.name.value, &owner.name);
    Diagnostic::warning(
        partition.span,
        format!("`{name}` belongs to a `{tenant}`, and its key does not say so"),
    )
    .label(format!("found without `{tenant}`"))
    .related(keyed.span, "other items are kept apart by it")
    .why(
        "a caller that knows or guesses an id reads the item of another tenant, and no policy can prevent it: \
             `dynamodb:LeadingKeys` looks at the partition key",
    )
    .help(format!("begin the key with it: `TENANT#{{{tenant}}}#{partition}`"))
}
