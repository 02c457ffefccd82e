//! Why the design is as it is: a sentence or two for each key, index and pattern, which also become comments in the
//! file.

use std::collections::BTreeSet;

use super::Options;
use super::assemble::Assembly;
use super::blueprint::{IndexForm, LogicalIndex};
use super::judge::{Judge, is_found_by_writers};
use super::price::{Price, share};
use crate::Model;
use crate::check::figures::bytes;
use crate::cost::dollars;
use crate::file::{Comments, Element};
use crate::heat::{Growing, KeyHeat, forecasts, heat};
use crate::model::{EntityId, IndexId, Projection, TableId};
use crate::plan::{ActionPlan, Plan, ReadOperation};

pub fn comments(judge: &Judge<'_>, assembly: &Assembly, options: &Options, head: String) -> Comments {
    let explaining = Explaining { judge, assembly, headroom: options.headroom };
    let mut comments = Comments::from([(Element::Model, head)]);
    for id in assembly.blueprint.table.keys() {
        comments.insert(Element::Key(*id), explaining.key(*id));
    }
    let mut positions: std::collections::BTreeMap<TableId, usize> = Default::default();
    // The consequences of local indexes are the same for a whole table, and are explained once.
    let mut explained: BTreeSet<TableId> = BTreeSet::new();
    for physical in &assembly.blueprint.indexes {
        let position = positions.entry(physical.table).or_default();
        let index = IndexId(*position);
        *position += 1;
        let held = projection(&assembly.model.table(physical.table).index(index).projection.value);
        let about = match physical.form() {
            IndexForm::Composed => held.to_owned(),
            IndexForm::Local if !explained.insert(physical.table) => held.to_owned(),
            IndexForm::Local => format!("{} {held}", explaining.local(physical.table)),
            IndexForm::Attributes => {
                let logical = &physical.logical[0];
                let reason = explaining.entry(logical.layouts[0].0, index, physical.table, logical);
                format!("{reason} {held}")
            }
        };
        comments.insert(Element::Index(physical.table, index), about);
        for logical in &physical.logical {
            for id in logical.entities() {
                comments
                    .insert(Element::Entry(id, index), explaining.entry(id, index, physical.table, logical));
            }
        }
    }
    for (at, plan) in assembly.plans.iter().enumerate() {
        comments.insert(Element::Pattern(at), pattern(&assembly.model, plan));
    }
    comments
}

struct Explaining<'a, 'm> {
    judge: &'a Judge<'m>,
    assembly: &'a Assembly,
    headroom: f64,
}

impl Explaining<'_, '_> {
    fn key(&self, id: EntityId) -> String {
        let model = &self.assembly.model;
        let identity = &self.judge.identities[id.0];
        let served = self.served(id, None);
        let mut text = match served.is_empty() {
            true => String::from("No read uses it."),
            false => format!("Serves {}.", served.join(", ")),
        };
        text += &format!(" Unique by {}", listed(identity));
        text += match is_found_by_writers(model, id) {
            true => "; every writer knows the whole key, and none changes it.",
            false => ".",
        };
        let key = &self.assembly.blueprint.table[&id];
        let beside: Vec<&str> = self
            .assembly
            .blueprint
            .table
            .iter()
            .filter(|(other, one)| {
                let together = one.layout.partition == key.layout.partition && one.apart == key.apart;
                **other != id
                    && together
                    && !key.apart
                    && model.entity(**other).table == model.entity(id).table
            })
            .map(|(other, _)| model.entity(*other).name.value.as_str())
            .collect();
        if !beside.is_empty() {
            text += &format!(" In one partition with {}.", beside.join(", "));
        }
        if key.apart {
            text += " Separate partitions, because others of that key are read whole.";
        }
        text
    }

    fn entry(&self, id: EntityId, index: IndexId, table: TableId, logical: &LogicalIndex) -> String {
        let model = &self.assembly.model;
        let mut text = format!("Serves {}.", self.served(id, Some(index)).join(", "));
        let Some(entry) = model.entity(id).entry(index) else { return text };
        if let Some(when) = &entry.when {
            let share = share(model, id, entry) * 100.0;
            text +=
                &format!(" Only items with {when} ({share:.0}%) are in it: the others cost nothing here.");
        }
        let changing: Vec<String> = entry
            .templates()
            .flat_map(|template| template.attributes())
            .filter(|name| super::identity::changes(model, id, name))
            .map(|name| format!("`{name}`"))
            .collect();
        if !changing.is_empty() {
            text += &format!(" A change of {} moves the row: two writes.", changing.join(", "));
        }
        match logical.form {
            IndexForm::Composed => {}
            IndexForm::Local => text += " In the table's own partition, so strong reads can use it.",
            IndexForm::Attributes => {
                text += " Keyed by attributes as they are: no writer has to compose a key, or to know the \
                         rest of one.";
            }
        }
        if logical.shards > 1 {
            text += &self.shards(table, index, entry.partition[0].literal_prefix(), logical.shards);
        }
        text
    }

    /// The restrictions that a local index brings.
    fn local(&self, table: TableId) -> String {
        let limits = &self.judge.facts.limits;
        let name = &self.assembly.model.table(table).name.value;
        let collections = forecasts(&self.assembly.model, limits);
        let here = collections.iter().filter(|one| one.growing == Growing::Collection && one.table == *name);
        let largest = here.max_by(|one, other| one.bytes.total_cmp(&other.bytes));
        let size = largest.map_or_else(String::new, |one| {
            let growth = match one.days_left {
                Some(days) => format!(", and reach it in {days:.0} days"),
                None => String::new(),
            };
            format!("; the largest has about {}{growth}", bytes(one.bytes))
        });
        format!(
            "Made with the table, or never. With it, all items of one partition key have at most {}{size}.",
            bytes(limits.collection_bytes)
        )
    }

    /// ` Its busiest key would take 1,800 WCU …: 3 shards.`
    fn shards(&self, table: TableId, index: IndexId, prefix: &str, shards: u64) -> String {
        let limits = &self.judge.facts.limits;
        let heats = heat(&self.assembly.model, &self.assembly.plans, limits, self.headroom);
        let here = heats.iter().find(|heat| heat.table_id == table && heat.index_id == Some(index));
        let keys = here.iter().flat_map(|heat| &heat.keys).filter(|key| key.key.starts_with(prefix));
        let busiest = keys.max_by(|one, other| one.load.total_cmp(&other.load));
        let load = |key: &KeyHeat| {
            let each = key.read_each.peak();
            let read = each + (key.read.peak() - each).max(0.0) * shards as f64;
            let write = key.write.peak() * shards as f64;
            match write / limits.partition_write_units >= read / limits.partition_read_units {
                true => format!("{write:.0} WCU a second, of the {:.0}", limits.partition_write_units),
                false => format!("{read:.0} RCU a second, of the {:.0}", limits.partition_read_units),
            }
        };
        let load = busiest.map(load).unwrap_or_default();
        format!(
            " Unsharded, its busiest key would take {load} that one sustains and {:.0}% of which it should \
             use: {shards} shards.",
            self.headroom * 100.0
        )
    }

    /// Ids of the patterns that read the entity here.
    fn served(&self, id: EntityId, index: Option<IndexId>) -> Vec<String> {
        let model = &self.assembly.model;
        let patterns = model.patterns.iter().zip(&self.assembly.plans);
        let here = patterns.filter(|(pattern, plan)| {
            let mut reads = plan.reads().filter(|read| read.operation != ReadOperation::Scan);
            pattern.external.is_none() && reads.any(|read| read.index == index && read.entities.contains(&id))
        });
        here.map(|(pattern, _)| pattern.id.value.clone()).collect()
    }
}

fn projection(held: &Projection) -> &'static str {
    match held {
        Projection::All => "Holds whole items: a read wants them.",
        Projection::Keys => "Holds keys alone: no read wants more.",
        Projection::Include(_) => "Holds what its reads want beside keys, and no more.",
    }
}

/// `Query on GSI1`, `GetItem`, `TransactWriteItems`.
fn pattern(model: &Model, plan: &Plan) -> String {
    let mut text = plan.operation().to_owned();
    for step in &plan.steps {
        let ActionPlan::Read(read) = &step.kind else { continue };
        if let Some(index) = read.index {
            text += &format!(" on {}", model.table(read.table).index(index).name.value);
        }
        if read.fan_out > 1 {
            text += &format!(", one for each of {} shards", read.fan_out);
        }
    }
    text
}

pub fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What differs from one design to another, in keys and indexes.
pub fn difference(best: &Assembly, other: &Assembly) -> Vec<String> {
    let (one, two) = (&best.model, &other.model);
    let mut lines = Vec::new();
    for id in one.entity_ids() {
        let name = &one.entity(id).name.value;
        let key = |model: &Model| {
            let templates = model.entity(id).key_templates();
            templates.map(|template| template.to_string()).collect::<Vec<_>>().join(" / ")
        };
        if key(one) != key(two) {
            lines.push(format!("{name} is at {} instead of {}", key(two), key(one)));
        }
        let (mine, theirs) = (entries(one, id), entries(two, id));
        for entry in theirs.iter().filter(|entry| !mine.contains(entry)) {
            lines.push(format!("{name} is in an index at {entry}"));
        }
        for entry in mine.iter().filter(|entry| !theirs.contains(entry)) {
            lines.push(format!("{name} is in no index at {entry}"));
        }
    }
    if best.indexes() != other.indexes() {
        lines.push(format!("{} indexes instead of {}", other.indexes(), best.indexes()));
    }
    lines
}

fn entries(model: &Model, id: EntityId) -> Vec<String> {
    let entry = |entry: &crate::model::IndexEntry| {
        let keys = entry.templates().map(|template| template.to_string()).collect::<Vec<_>>().join(" / ");
        let when = entry.when.as_ref().map(|when| format!(" when {when}")).unwrap_or_default();
        format!("{keys}{when}")
    };
    model.entity(id).entries.iter().map(entry).collect()
}

/// The first lines of the file.
pub fn head(price: &Price, next: Option<f64>) -> String {
    let mut text = format!("Designed from the access patterns below. On demand {}.", price.describe());
    if let Some(next) = next {
        text += &format!("\nThe next best design costs {} more.", dollars(next));
    }
    text
}
