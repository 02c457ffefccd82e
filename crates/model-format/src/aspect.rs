//! The parts of a model that some formats can't hold.

use model::Model;
use model::diagnostic::listed;
use model::model::{Encryption, IndexKind, Pattern, Table, TableClass};

/// One kind of information in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    Description,
    Region,
    /// More than one table.
    Tables,
    LocalIndexes,
    /// Index keys of several attributes.
    WideKeys,
    Throughput,
    /// How provisioned capacity scales.
    Scaling,
    Class,
    Ttl,
    Stream,
    Pitr,
    DeletionProtection,
    Encryption,
    Replicas,
    Owners,
    Tags,
    Samples,
    /// Entities and their attributes.
    Entities,
    /// Entity keys that are more than one attribute each.
    Templates,
    /// Entries that only some items have.
    Sparse,
    Counts,
    Sizes,
    Growth,
    /// Attributes that have one of several values, or always the same.
    Choices,
    /// Facts about attributes other than their types and choices.
    Values,
    Relations,
    Patterns,
    Rates,
    Skew,
    Consistency,
    /// Order, limit, filter, expectations: the details of a pattern.
    Conditions,
    Transactions,
    Rules,
}

impl Aspect {
    /// What the input of CreateTable can hold.
    pub const CREATE_TABLE: &[Aspect] = &[
        Aspect::Tables,
        Aspect::LocalIndexes,
        Aspect::WideKeys,
        Aspect::Throughput,
        Aspect::Class,
        Aspect::Stream,
        Aspect::DeletionProtection,
        Aspect::Encryption,
        Aspect::Tags,
    ];

    /// What a template for a deployment can hold in addition.
    pub const DEPLOYMENT: &[Aspect] = &[Aspect::Scaling, Aspect::Ttl, Aspect::Pitr, Aspect::Replicas];

    pub const ALL: &[Aspect] = &[
        Aspect::Description,
        Aspect::Region,
        Aspect::Tables,
        Aspect::LocalIndexes,
        Aspect::WideKeys,
        Aspect::Throughput,
        Aspect::Scaling,
        Aspect::Class,
        Aspect::Ttl,
        Aspect::Stream,
        Aspect::Pitr,
        Aspect::DeletionProtection,
        Aspect::Encryption,
        Aspect::Replicas,
        Aspect::Owners,
        Aspect::Tags,
        Aspect::Samples,
        Aspect::Entities,
        Aspect::Templates,
        Aspect::Sparse,
        Aspect::Counts,
        Aspect::Sizes,
        Aspect::Growth,
        Aspect::Choices,
        Aspect::Values,
        Aspect::Relations,
        Aspect::Patterns,
        Aspect::Rates,
        Aspect::Skew,
        Aspect::Consistency,
        Aspect::Conditions,
        Aspect::Transactions,
        Aspect::Rules,
    ];

    /// What a format that lacks this aspect loses of the model; `None` if the model does not use it.
    pub fn missed(self, model: &Model) -> Option<String> {
        let (what, of) = self.used(model)?;
        Some(match of.is_empty() {
            true => format!("not in this format: {what}"),
            false => format!("not in this format: {what} of {}", listed(&of)),
        })
    }

    /// The name of the aspect, and the parts of the model that use it; `None` if no part does.
    fn used(self, model: &Model) -> Option<(&'static str, Vec<String>)> {
        let whole = |what, found: bool| found.then_some((what, Vec::new()));
        let tables = |what, test: fn(&Table) -> bool| {
            let found: Vec<String> = model
                .tables
                .iter()
                .filter(|table| test(table))
                .map(|table| table.name.value.clone())
                .collect();
            (!found.is_empty()).then_some((what, found))
        };
        let entities = |what, test: fn(&model::model::Entity) -> bool| {
            let found: Vec<String> = model
                .entities
                .iter()
                .filter(|entity| test(entity))
                .map(|entity| entity.name.value.clone())
                .collect();
            (!found.is_empty()).then_some((what, found))
        };
        let patterns = |what, test: fn(&Pattern) -> bool| {
            let found: Vec<String> = model
                .patterns
                .iter()
                .filter(|pattern| test(pattern))
                .map(|pattern| pattern.id.value.clone())
                .collect();
            (!found.is_empty()).then_some((what, found))
        };
        match self {
            Aspect::Description => whole("the description", model.description.is_some()),
            Aspect::Region => whole("the Region", model.region.is_some()),
            Aspect::Tables => {
                let others = model.tables.iter().skip(1).map(|table| table.name.value.clone()).collect();
                (model.tables.len() > 1).then_some(("further tables:", others))
            }
            Aspect::LocalIndexes => tables("local indexes", |table| {
                table.indexes.iter().any(|index| index.kind == IndexKind::Local)
            }),
            Aspect::WideKeys => tables("index keys of several attributes", |table| {
                let wide = |key: &model::model::KeySchema| key.partition.len() > 1 || key.sort.len() > 1;
                table.indexes.iter().any(|index| wide(&index.key))
            }),
            Aspect::Throughput => tables("throughput", |table| {
                table.throughput.read.is_some()
                    || table.throughput.write.is_some()
                    || table.indexes.iter().any(|index| index.throughput != Default::default())
            }),
            Aspect::Scaling => tables("auto scaling", |table| {
                let of_table = [&table.throughput.read, &table.throughput.write];
                let of_indexes =
                    table.indexes.iter().flat_map(|one| [&one.throughput.read, &one.throughput.write]);
                let mut all = of_table.into_iter().chain(of_indexes).flatten();
                all.any(|capacity| capacity.target.is_some() || capacity.min.is_some())
            }),
            Aspect::Class => tables("the table class", |table| table.class != TableClass::Standard),
            Aspect::Ttl => tables("the TTL attribute", |table| table.ttl.is_some()),
            Aspect::Stream => tables("the stream", |table| table.stream.is_some()),
            Aspect::Pitr => tables("point-in-time recovery", |table| table.pitr.is_some()),
            Aspect::DeletionProtection => {
                tables("deletion protection", |table| table.deletion_protection.is_some())
            }
            Aspect::Encryption => tables("encryption", |table| table.encryption != Encryption::AwsOwned),
            Aspect::Replicas => tables("replicas", |table| !table.replicas.is_empty()),
            Aspect::Owners => tables("the owner", |table| table.owner.is_some())
                .or_else(|| entities("the owner", |entity| entity.owner.is_some())),
            Aspect::Tags => tables("tags", |table| !table.tags.is_empty()),
            Aspect::Samples => tables("sample rows", |table| !table.samples.is_empty())
                .or_else(|| entities("sample rows", |entity| !entity.samples.is_empty())),
            Aspect::Entities => entities("entities, their attributes and keys:", |_| true)
                .map(|(_, names)| ("the attributes and keys", names)),
            Aspect::Templates => entities("key templates", |entity| {
                let templates = entity.entries.iter().flat_map(|entry| entry.templates());
                entity.key_templates().chain(templates).any(|template| template.bare().is_none())
            }),
            Aspect::Sparse => entities("which items are in an index (`when`)", |entity| {
                entity.entries.iter().any(|entry| entry.when.is_some())
            }),
            Aspect::Counts => entities("the number of items", |entity| entity.count.is_some()),
            Aspect::Sizes => entities("the size of items", |entity| entity.size.is_some()),
            Aspect::Growth => {
                entities("growth and expiry", |entity| entity.growth.is_some() || entity.expires.is_some())
            }
            Aspect::Choices => entities("the values that attributes can have", |entity| {
                entity.attributes.values().any(|one| !one.values.is_empty() || one.constant.is_some())
            }),
            Aspect::Values => entities("sizes, limits and copies of attributes", |entity| {
                entity.attributes.values().any(says_more)
            }),
            Aspect::Relations => whole("relations", !model.relations.is_empty()),
            Aspect::Patterns => patterns("access patterns:", |_| true).map(|(_, ids)| ("patterns", ids)),
            Aspect::Rates => patterns("the rate", |pattern| pattern.rate.is_some()),
            Aspect::Skew => patterns("skew", |pattern| pattern.skew.is_some()),
            Aspect::Consistency => patterns("consistency", |pattern| pattern.consistency.is_some()),
            Aspect::Conditions => patterns("conditions, order and limits", says_how),
            Aspect::Transactions => {
                patterns("the steps of transactions and batches", |pattern| pattern.actions.len() > 1)
            }
            Aspect::Rules => {
                whole("rules and allowances", !model.rules.is_empty() || !model.allowances.is_empty())
            }
        }
    }
}

fn says_more(attribute: &model::model::Attribute) -> bool {
    attribute.min.is_some()
        || attribute.max.is_some()
        || attribute.size.is_some()
        || attribute.distinct.is_some()
        || attribute.skew.is_some()
        || attribute.growth.is_some()
        || attribute.copy_of.is_some()
}

fn says_how(pattern: &Pattern) -> bool {
    let reads = pattern.reads().any(|(_, read)| {
        !read.order.is_empty()
            || read.limit.is_some()
            || read.filter.is_some()
            || read.returns.is_some()
            || read.paged.is_some()
            || read.attributes.is_some()
    });
    let writes = pattern.writes().any(|(_, write)| write.condition.is_some() || write.version.is_some());
    reads || writes || !pattern.expect.is_empty() || pattern.cached.is_some() || pattern.fails.is_some()
}
