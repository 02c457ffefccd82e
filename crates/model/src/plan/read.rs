//! A read -> GetItem, Query or Scan.

use super::{Filter, Gap, ReadOperation, ReadPlan, SortCondition};
use crate::Model;
use crate::model::{
    AttributesRead, Consistency, Entity, EntityId, FanOut, IndexId, IndexKind, Pattern, Projection, Read,
    ReadVerb, Table, TableId,
};
use crate::predicate::{Operator, Predicate, Term};
use crate::predict::found::{examined_at_most, identity, whole};
use crate::template::{Field, Form, Part, Template, may_begin_with, may_equal};

/// Counts and shares are products of floating-point numbers.
const SEVERAL_TOLERANCE: f64 = 1e-6;

pub fn plan(model: &Model, pattern: &Pattern, read: &Read) -> ReadPlan {
    let entities: Vec<EntityId> = read.entities.iter().map(|id| id.value).collect();
    let table = model.entity(entities[0]).table;
    let asked = Asked { model, pattern, read, table, entities };
    if read.verb == ReadVerb::Scan {
        return asked.scan(vec![Gap::Scans]);
    }
    if asked.entities.iter().any(|id| model.entity(*id).key.is_none()) {
        return asked.scan(vec![Gap::NoKeys]);
    }
    if asked.entities.iter().any(|id| model.entity(*id).table != table) {
        return asked.scan(vec![Gap::NotTogether]);
    }
    asked.best()
}

/// What the pattern asks for.
struct Asked<'m> {
    model: &'m Model,
    pattern: &'m Pattern,
    read: &'m Read,
    table: TableId,
    entities: Vec<EntityId>,
}

/// The keys of one entity in the table or an index.
struct Keys<'m> {
    partition: Vec<&'m Template>,
    sort: Vec<&'m Template>,
    /// Which items are there, if not all.
    when: Option<Predicate>,
}

/// How far the keys of one entity serve the read.
struct Service {
    missing: Vec<String>,
    fan_out: u64,
    sort: Vec<SortCondition>,
    filter: Vec<Filter>,
    unserved_order: Option<String>,
    forward: bool,
    complete: bool,
    sparse: Option<Predicate>,
}

impl<'m> Asked<'m> {
    fn table(&self) -> &'m Table {
        self.model.table(self.table)
    }

    fn scan(&self, gaps: Vec<Gap>) -> ReadPlan {
        let terms = self.read.conditions.iter().chain(&self.read.filter).flat_map(|where_| &where_.terms);
        let known = self.read.by.iter().map(|name| Filter::Known(name.value.clone()));
        ReadPlan {
            operation: ReadOperation::Scan,
            table: self.table,
            index: None,
            entities: self.entities.clone(),
            partition: Vec::new(),
            sort: Vec::new(),
            forward: true,
            consistent: self.strong(),
            fan_out: 1,
            filter: terms.cloned().map(Filter::Term).chain(known).collect(),
            gaps,
        }
    }

    fn strong(&self) -> bool {
        self.pattern.consistency.as_ref().is_some_and(|consistency| consistency.value == Consistency::Strong)
    }

    /// The source with the fewest gaps; the table before an index, a narrow index before a wide one.
    fn best(&self) -> ReadPlan {
        let table = self.table();
        let wanted = self.pattern.index.as_ref().map(|name| table.index_named(name));
        let sources: Vec<Option<IndexId>> = match wanted {
            Some(index) => vec![index],
            None => std::iter::once(None).chain(table.index_ids().map(Some)).collect(),
        };
        let plans = sources.into_iter().filter_map(|index| self.on(index));
        let best = plans.min_by_key(|plan| (wrongness(&plan.gaps), plan.fan_out, self.width(plan.index)));
        let best = best.unwrap_or_else(|| self.scan(vec![Gap::NotTogether]));
        let hopeless = |gap: &Gap| matches!(gap, Gap::PartitionUnknown { .. } | Gap::NotTogether);
        if best.gaps.iter().any(hopeless) {
            return self.scan(best.gaps.into_iter().filter(hopeless).collect());
        }
        best
    }

    fn width(&self, index: Option<IndexId>) -> usize {
        match index.map(|id| &self.table().index(id).projection.value) {
            None => 0,
            Some(Projection::Keys) => 1,
            Some(Projection::Include(attributes)) => 2 + attributes.len(),
            Some(Projection::All) => usize::MAX,
        }
    }

    fn keys(&self, entity: &'m Entity, index: Option<IndexId>) -> Option<Keys<'m>> {
        match index {
            None => entity.key.as_ref().map(|key| Keys {
                partition: vec![&key.partition],
                sort: key.sort.iter().collect(),
                when: None,
            }),
            Some(index) => entity.entry(index).map(|entry| Keys {
                partition: entry.partition.iter().collect(),
                sort: entry.sort.iter().collect(),
                when: entity.membership(entry),
            }),
        }
    }

    /// The plan on one source, if all entities are in it.
    fn on(&self, index: Option<IndexId>) -> Option<ReadPlan> {
        let keys: Vec<Keys<'m>> =
            self.entities.iter().map(|id| self.keys(self.model.entity(*id), index)).collect::<Option<_>>()?;
        let services: Vec<Service> = keys
            .iter()
            .zip(&self.entities)
            .map(|(keys, id)| self.serve(keys, self.model.entity(*id)))
            .collect();
        let sort = common_sort(&services);
        let operation = match (self.read.verb, index) {
            (ReadVerb::Get, None) if services.iter().all(|service| service.complete) => {
                ReadOperation::GetItem
            }
            _ => ReadOperation::Query,
        };
        let fan_out = services.iter().map(|service| service.fan_out).max().unwrap_or(1);
        let mut filter: Vec<Filter> = Vec::new();
        for one in services.iter().flat_map(|service| &service.filter) {
            if !filter.contains(one) {
                filter.push(one.clone());
            }
        }
        let gaps = self.gaps(index, &keys, &services, &sort, fan_out);
        Some(ReadPlan {
            operation,
            table: self.table,
            index,
            entities: self.entities.clone(),
            partition: keys[0].partition.iter().map(|template| (*template).clone()).collect(),
            sort,
            forward: services.iter().all(|service| service.forward),
            consistent: self.strong(),
            fan_out,
            filter,
            gaps,
        })
    }

    fn gaps(
        &self,
        index: Option<IndexId>,
        keys: &[Keys<'m>],
        services: &[Service],
        sort: &[SortCondition],
        fan_out: u64,
    ) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut missing: Vec<String> = services.iter().flat_map(|service| service.missing.clone()).collect();
        missing.sort();
        missing.dedup();
        if !missing.is_empty() {
            gaps.push(Gap::PartitionUnknown { attributes: missing });
        }
        let partition =
            |keys: &Keys<'m>| keys.partition.iter().map(|one| one.to_string()).collect::<Vec<_>>();
        if keys.iter().any(|one| partition(one) != partition(&keys[0])) {
            gaps.push(Gap::NotTogether);
        }
        if let Some(when) = services.iter().find_map(|service| service.sparse.clone()) {
            gaps.push(Gap::Sparse { when });
        }
        gaps.extend(self.filter_gap(services));
        if let Some(attribute) = services.iter().find_map(|service| service.unserved_order.clone()) {
            gaps.push(Gap::OrderUnserved { attribute });
        }
        gaps.extend(index.and_then(|index| self.index_gap(index)));
        gaps.extend(index.and_then(|index| self.projection_gap(index)));
        gaps.extend(self.mixed_gap(index, keys, sort));
        gaps.extend(self.fan_out_gap(fan_out));
        let one_key = index.is_none() && services.iter().all(|service| service.complete);
        gaps.extend(self.several_gap().filter(|_| !one_key));
        gaps
    }

    /// A filter that drops items which TTL has not yet removed does not count as selecting.
    fn filter_gap(&self, services: &[Service]) -> Option<Gap> {
        let ttl = self.table().ttl.as_ref().map(|ttl| ttl.value.as_str());
        let mut attributes: Vec<String> = services
            .iter()
            .flat_map(|service| &service.filter)
            .map(|filter| filter.attribute().to_owned())
            .filter(|attribute| Some(attribute.as_str()) != ttl)
            .collect();
        attributes.sort();
        attributes.dedup();
        (!attributes.is_empty()).then_some(Gap::SelectsByFilter { attributes })
    }

    fn index_gap(&self, index: IndexId) -> Option<Gap> {
        let global = self.table().index(index).kind == IndexKind::Global;
        (global && self.strong()).then_some(Gap::StrongOnGlobalIndex)
    }

    /// Attributes that are read but neither projected nor part of a key.
    fn projection_gap(&self, index: IndexId) -> Option<Gap> {
        let (projected, silent) = match &self.table().index(index).projection.value {
            Projection::All => return None,
            Projection::Keys => (&[][..], Some(&AttributesRead::All)),
            Projection::Include(names) => (names.as_slice(), None),
        };
        // A pattern that does not say what it reads takes what the index lists, but keys alone are too little.
        let read = self.read.attributes.as_ref().map(|read| &read.value).or(silent)?;
        let mut attributes: Vec<String> = Vec::new();
        for id in &self.entities {
            let entity = self.model.entity(*id);
            let wanted: Vec<&str> = match read {
                AttributesRead::All => entity.attributes.keys().map(String::as_str).collect(),
                AttributesRead::These(names) => names.iter().map(|name| name.value.as_str()).collect(),
                AttributesRead::Keys | AttributesRead::Count => Vec::new(),
            };
            let missing = wanted.into_iter().filter(|name| {
                let of_index = entity.entry(index).into_iter().flat_map(|entry| entry.templates());
                let in_keys = entity.key_templates().chain(of_index).any(|one| one.tells(name));
                entity.attribute(name).is_some()
                    && !in_keys
                    && !projected.iter().any(|one| one.value == **name)
            });
            attributes.extend(missing.map(str::to_owned));
        }
        attributes.sort();
        attributes.dedup();
        (!attributes.is_empty()).then_some(Gap::NotProjected { attributes })
    }

    /// Other entities whose items the key condition finds.
    fn mixed_gap(&self, index: Option<IndexId>, keys: &[Keys<'m>], sort: &[SortCondition]) -> Option<Gap> {
        let condition = sort.first();
        let strays = self.model.entities_of(self.table).filter(|(id, _)| !self.entities.contains(id));
        let strays = strays.filter(|(_, entity)| {
            let Some((partition, sort)) = templates(entity, index) else { return false };
            let same_partition =
                keys[0].partition.iter().zip(partition).all(|(one, other)| may_equal(one, other));
            let in_range = || match (condition, sort) {
                (Some(SortCondition::Equal(template)), Some(sort)) => may_equal(sort, template),
                (Some(SortCondition::BeginsWith(prefix)), Some(sort)) => may_begin_with(sort, prefix),
                (Some(SortCondition::Range { prefix, .. }), Some(sort)) => may_begin_with(sort, prefix),
                _ => true,
            };
            same_partition && in_range()
        });
        let entities: Vec<EntityId> = strays.map(|(id, _)| id).collect();
        (!entities.is_empty()).then_some(Gap::Mixed { entities })
    }

    /// A `get` finds one item. The file may declare that several have the same known values.
    fn several_gap(&self) -> Option<Gap> {
        let first_only = self.read.limit.as_ref().is_some_and(|limit| limit.value == 1);
        if self.read.verb != ReadVerb::Get || first_only {
            return None;
        }
        let found = self.entities.iter().filter_map(|id| examined_at_most(self.model, self.read, *id));
        let items = found.fold(0.0, f64::max);
        if items > 1.0 + SEVERAL_TOLERANCE {
            return Some(Gap::Several { items: Some(items) });
        }
        let part = self.entities.iter().any(|id| self.knows_part_of_key(self.model.entity(*id)));
        part.then_some(Gap::Several { items: None })
    }

    /// The key itself says that there are several: what is known is a part of it, and its last part, which tells them
    /// apart, is not.
    fn knows_part_of_key(&self, entity: &Entity) -> bool {
        let one_each = entity.count.as_ref().is_some_and(|count| count.per.is_some() && count.most() <= 1.0);
        let key = identity(entity);
        let last = entity.key_templates().flat_map(Template::fields).filter_map(whole).last();
        let told_apart = last.is_none_or(|name| self.read.knows(name))
            || !entity.identity.is_empty() && entity.identity.iter().all(|name| self.read.knows(name))
            || entity.attributes.values().any(|one| one.kind.is_unique() && self.read.knows(&one.name));
        let known = key.iter().filter(|name| self.read.knows(name)).count();
        let all_in_key = self.read.by.iter().all(|name| key.contains(name.value.as_str()));
        !one_each && !told_apart && all_in_key && known > 0
    }

    fn fan_out_gap(&self, requests: u64) -> Option<Gap> {
        let allowed = match self.pattern.fan_out.as_ref().map(|fan_out| fan_out.value) {
            Some(FanOut::Allowed) => u64::MAX,
            Some(FanOut::Most(most)) => most,
            None => 1,
        };
        (requests > allowed).then_some(Gap::FanOutUndeclared { requests })
    }

    /// How one entity's keys serve the read.
    fn serve(&self, keys: &Keys<'m>, entity: &Entity) -> Service {
        let mut service = Service {
            missing: Vec::new(),
            fan_out: 1,
            sort: Vec::new(),
            filter: Vec::new(),
            unserved_order: None,
            forward: true,
            complete: false,
            sparse: None,
        };
        for field in keys.partition.iter().flat_map(|template| template.fields()) {
            self.serve_partition(field, &mut service);
        }
        let walk = self.walk_sort(&keys.sort);
        service.complete = walk.complete && service.missing.is_empty();
        service.fan_out = service.fan_out.saturating_mul(walk.fan_out);
        self.serve_filter(keys, &walk, entity, &mut service);
        self.serve_order(&walk, entity, &mut service);
        service.sparse = keys.when.clone().filter(|when| !self.implies(entity, when));
        service.sort = walk.conditions;
        service
    }

    fn serve_partition(&self, field: &Field, service: &mut Service) {
        match (field.attribute().and_then(|name| self.known(name)), field.shards()) {
            (Some(values), _) => service.fan_out = service.fan_out.saturating_mul(values),
            (None, Some(shards)) => service.fan_out = service.fan_out.saturating_mul(shards),
            (None, None) => service.missing.extend(field.attribute().map(str::to_owned)),
        }
    }

    /// How many values the reader would ask for: one if the attribute is known, several with `in`.
    fn known(&self, attribute: &str) -> Option<u64> {
        if self.read.knows(attribute) {
            return Some(1);
        }
        let terms = self.read.conditions.iter().flat_map(|where_| &where_.terms);
        terms
            .filter(|term| term.operator == Operator::In && term.attribute.value == attribute)
            .map(|term| term.operands.len() as u64)
            .next()
    }

    fn range(&self, attribute: &str) -> Option<&'m Term> {
        let terms = self.read.conditions.iter().flat_map(|where_| &where_.terms);
        terms.into_iter().find(|term| term.operator.is_range() && term.attribute.value == attribute)
    }

    /// Left to right through the sort key: known parts, then at most one range.
    fn walk_sort(&self, sort: &[&'m Template]) -> Walk<'m> {
        let mut walk =
            Walk { conditions: Vec::new(), served: Vec::new(), rest: Vec::new(), fan_out: 1, complete: true };
        for template in sort {
            if walk.complete {
                self.walk_template(template, &mut walk);
            } else {
                walk.rest.extend(template.fields());
            }
        }
        walk
    }

    fn walk_template(&self, template: &'m Template, walk: &mut Walk<'m>) {
        let mut prefix: Vec<Part> = Vec::new();
        for (position, part) in template.parts.iter().enumerate() {
            let field = match part {
                Part::Literal(_) => {
                    prefix.push(part.clone());
                    continue;
                }
                Part::Field(field) => field,
            };
            let attribute = field.attribute();
            if let Some(values) = attribute.and_then(|name| self.known(name)) {
                walk.served.extend(attribute);
                walk.fan_out = walk.fan_out.saturating_mul(values);
                prefix.push(part.clone());
                continue;
            }
            walk.complete = false;
            walk.rest.extend(template.parts[position..].iter().filter_map(|part| match part {
                Part::Field(field) => Some(field),
                Part::Literal(_) => None,
            }));
            let ranged = attribute.and_then(|name| self.range(name));
            let condition = match ranged.filter(|_| serves_range(field)) {
                Some(term) => {
                    walk.served.extend(attribute);
                    let last = position + 1 == template.parts.len();
                    Some(SortCondition::Range { prefix, term: term.clone(), last })
                }
                None => (!prefix.is_empty()).then_some(SortCondition::BeginsWith(prefix)),
            };
            walk.conditions.extend(condition);
            return;
        }
        walk.conditions.push(SortCondition::Equal(template.clone()));
    }

    /// What the keys do not cover must be filtered.
    fn serve_filter(&self, keys: &Keys<'m>, walk: &Walk<'m>, entity: &Entity, service: &mut Service) {
        let in_partition = |name: &str| {
            keys.partition.iter().flat_map(|template| template.attributes()).any(|one| one == name)
        };
        let member = keys.when.as_ref().filter(|when| self.implies(entity, when));
        let by_membership = |name: &str| member.is_some_and(|when| when.equality(name).is_some());
        let same = |term: &Term| {
            member.iter().flat_map(|when| &when.terms).any(|one| {
                let equal = one.operator == term.operator && one.operands == term.operands;
                let exists = term.operator == Operator::Exists && one.implies_existence();
                one.attribute.value == term.attribute.value && (equal || exists)
            })
        };
        let served = |name: &str| in_partition(name) || walk.served.contains(&name) || by_membership(name);
        let own = |name: &str| entity.attribute(name).is_some();
        let known = self.read.by.iter().map(|name| &name.value).filter(|name| own(name) && !served(name));
        service.filter.extend(known.map(|name| Filter::Known(name.clone())));
        let terms = self.read.conditions.iter().flat_map(|where_| &where_.terms);
        let left = |term: &&Term| !(same(term) || served(&term.attribute) && key_serves(term));
        let terms = terms.filter(|term| own(&term.attribute)).filter(left);
        service.filter.extend(terms.cloned().map(Filter::Term));
        let explicit = self.read.filter.iter().flat_map(|filter| &filter.terms);
        service.filter.extend(explicit.cloned().map(Filter::Term));
    }

    /// The order must be that of the key after its known part, all in one direction.
    fn serve_order(&self, walk: &Walk<'m>, entity: &Entity, service: &mut Service) {
        let mut rest = walk.rest.iter();
        let mut backward: Option<bool> = None;
        for order in &self.read.order {
            let attribute = order.attribute.value.as_str();
            if self.known(attribute) == Some(1) || entity.attribute(attribute).is_none() {
                continue;
            }
            let field =
                rest.next().filter(|field| field.attribute() == Some(attribute) && serves_range(field));
            let direction =
                field.map(|field| order.descending != matches!(field.form, Form::Descending { .. }));
            let consistent = direction.is_some_and(|one| backward.is_none_or(|other| one == other));
            if !consistent {
                service.unserved_order = Some(attribute.to_owned());
                return;
            }
            backward = direction;
        }
        service.forward = !backward.unwrap_or(false);
    }

    /// Whether the pattern asks only for items that match the predicate.
    fn implies(&self, entity: &Entity, when: &Predicate) -> bool {
        when.terms.iter().all(|term| {
            let asked = self.read.conditions.as_ref().and_then(|where_| where_.equality(&term.attribute));
            match term.operator {
                Operator::Equal => asked.is_some() && asked == term.operands.first(),
                Operator::Exists => {
                    let terms = self.read.conditions.iter().flat_map(|where_| &where_.terms);
                    let with = |name: &str| entity.has_together(name, &term.attribute);
                    self.read.by.iter().any(|name| with(name))
                        || terms.into_iter().any(|one| with(&one.attribute) && one.implies_existence())
                }
                Operator::In => asked.is_some_and(|asked| term.operands.contains(asked)),
                _ => self.read.conditions.iter().flat_map(|where_| &where_.terms).any(|one| {
                    one.attribute.value == term.attribute.value
                        && one.operator == term.operator
                        && one.operands == term.operands
                }),
            }
        })
    }
}

/// The partition key's templates of an entity in the table or an index, and its first sort template.
fn templates(entity: &Entity, index: Option<IndexId>) -> Option<(&[Template], Option<&Template>)> {
    match index {
        None => entity.key.as_ref().map(|key| (std::slice::from_ref(&key.partition), key.sort.as_ref())),
        Some(index) => entity.entry(index).map(|entry| (entry.partition.as_slice(), entry.sort.first())),
    }
}

/// The way through a sort key.
struct Walk<'m> {
    conditions: Vec<SortCondition>,
    served: Vec<&'m str>,
    /// The fields from the first unknown one on: they order the result.
    rest: Vec<&'m Field>,
    fan_out: u64,
    complete: bool,
}

/// Shards and buckets do not keep the order of their attribute.
fn serves_range(field: &Field) -> bool {
    matches!(field.form, Form::Attribute(_) | Form::Descending { .. } | Form::Lower(_))
}

fn key_serves(term: &Term) -> bool {
    term.operator.is_range() || matches!(term.operator, Operator::Equal | Operator::In)
}

/// One entity: its own condition. Several: the common prefix of their keys.
fn common_sort(services: &[Service]) -> Vec<SortCondition> {
    let [first, others @ ..] = services else { return Vec::new() };
    if others.iter().all(|other| other.sort == first.sort) {
        return first.sort.clone();
    }
    let mut common = prefix_of(first.sort.first());
    for other in others {
        common = shared(&common, &prefix_of(other.sort.first()));
    }
    if common.is_empty() { Vec::new() } else { vec![SortCondition::BeginsWith(common)] }
}

fn prefix_of(condition: Option<&SortCondition>) -> Vec<Part> {
    match condition {
        Some(SortCondition::Equal(template)) => template.parts.clone(),
        Some(SortCondition::BeginsWith(prefix) | SortCondition::Range { prefix, .. }) => prefix.clone(),
        None => Vec::new(),
    }
}

/// Equal parts, then the common prefix of two literals.
fn shared(one: &[Part], other: &[Part]) -> Vec<Part> {
    let mut shared = Vec::new();
    for (one, other) in one.iter().zip(other) {
        match (one, other) {
            (Part::Literal(one), Part::Literal(other)) if one != other => {
                let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
                let text: String = same.map(|(character, _)| character).collect();
                shared.extend((!text.is_empty()).then_some(Part::Literal(text)));
                break;
            }
            (Part::Field(one_field), Part::Field(other_field)) if one_field.form != other_field.form => break,
            (Part::Literal(_), Part::Field(_)) | (Part::Field(_), Part::Literal(_)) => break,
            _ => shared.push(one.clone()),
        }
    }
    shared
}

fn wrongness(gaps: &[Gap]) -> usize {
    let weight = |gap: &Gap| match gap {
        Gap::PartitionUnknown { .. } | Gap::NotTogether => 1000,
        Gap::Sparse { .. } => 300,
        Gap::StrongOnGlobalIndex => 100,
        Gap::SelectsByFilter { attributes } => 50 * attributes.len(),
        Gap::OrderUnserved { .. } => 40,
        Gap::NotProjected { .. } => 30,
        Gap::Mixed { .. } => 20,
        Gap::Several { .. } => 25,
        Gap::FanOutUndeclared { .. } => 10,
        _ => 0,
    };
    gaps.iter().map(weight).sum()
}
