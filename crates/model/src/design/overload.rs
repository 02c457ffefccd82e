//! Which logical indexes share a physical one: graph colouring. Two that hold the same entity can't, because an
//! item has one value for each key attribute; nor can one keyed by attributes share with any other.

use super::blueprint::{IndexForm, LogicalIndex, Need, PhysicalIndex, label};
use crate::Model;
use crate::model::TableId;

/// More tries than any sensible number of indexes takes.
const TRIES_MAX: u32 = 20_000;
/// DynamoDB's limit for each table.
const LOCAL_INDEXES_MAX: usize = api::limits::LOCAL_SECONDARY_INDEXES_MAX;

/// At most `colours` global indexes per table, and as few local ones as possible; `None` if they do not suffice.
pub fn overloaded(model: &Model, logical: &[LogicalIndex], colours: usize) -> Option<Vec<PhysicalIndex>> {
    let mut all = Vec::new();
    for table in model.table_ids() {
        let here = logical.iter().filter(|one| table_of(model, one) == table);
        let (local, global): (Vec<&LogicalIndex>, Vec<&LogicalIndex>) =
            here.partition(|one| one.form == IndexForm::Local);
        let few = (0..=LOCAL_INDEXES_MAX).find_map(|colours| painted(&local, colours));
        for (prefix, painted) in [("GSI", painted(&global, colours)?), ("LSI", few?)] {
            for (position, logical) in painted.into_iter().enumerate() {
                all.push(PhysicalIndex { table, name: format!("{prefix}{}", position + 1), logical });
            }
        }
    }
    Some(all)
}

/// The logical indexes of each colour.
fn painted(here: &[&LogicalIndex], colours: usize) -> Option<Vec<Vec<LogicalIndex>>> {
    let mut painter = Painter { here, colours, tries: 0, painted: Vec::new() };
    let suffices = painter.paint(0);
    let members = |members: Vec<usize>| labelled(members.into_iter().map(|at| here[at].clone()).collect());
    suffices.then(|| painter.painted.into_iter().map(members).collect())
}

/// One physical index for each logical one, named after what it finds; `None` if there are too many.
pub fn named(model: &Model, logical: &[LogicalIndex]) -> Option<Vec<PhysicalIndex>> {
    let mut all: Vec<PhysicalIndex> = Vec::new();
    for one in logical {
        let table = table_of(model, one);
        let plain = name(model, one);
        let taken = all.iter().filter(|other| other.table == table && other.name.starts_with(&plain)).count();
        let name = if taken == 0 { plain } else { format!("{plain}{}", taken + 1) };
        all.push(PhysicalIndex { table, name, logical: vec![one.clone()] });
    }
    let local = |table: TableId| {
        all.iter().filter(|one| one.table == table && one.form() == IndexForm::Local).count()
    };
    model.table_ids().all(|table| local(table) <= LOCAL_INDEXES_MAX).then_some(all)
}

fn table_of(model: &Model, logical: &LogicalIndex) -> TableId {
    model.entity(logical.layouts[0].0).table
}

/// `OrderByCustomerStatus`, `OrderOpen`.
fn name(model: &Model, logical: &LogicalIndex) -> String {
    let (id, layout) = &logical.layouts[0];
    let entity = &model.entity(*id).name.value;
    let word = |text: &str| {
        let stem = text.strip_suffix("Id").unwrap_or(text);
        let parts = label(stem).to_lowercase();
        let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
        parts.split('_').filter(|part| part.is_ascii() && !part.is_empty()).map(capital).collect::<String>()
    };
    let values = layout.members.iter().filter_map(|member| member.value.as_deref()).map(word);
    let by: String = layout.partition.iter().map(|name| word(name)).collect();
    let by = if by.is_empty() { by } else { format!("By{by}") };
    format!("{}{}{by}", word(entity), values.collect::<String>())
}

struct Painter<'l> {
    here: &'l [&'l LogicalIndex],
    colours: usize,
    tries: u32,
    /// Members of each colour, by position.
    painted: Vec<Vec<usize>>,
}

impl Painter<'_> {
    fn paint(&mut self, at: usize) -> bool {
        if at == self.here.len() {
            return true;
        }
        self.tries += 1;
        if self.tries > TRIES_MAX {
            return false;
        }
        for colour in self.fitting(at) {
            match self.painted.get_mut(colour) {
                Some(members) => members.push(at),
                None => self.painted.push(vec![at]),
            }
            if self.paint(at + 1) {
                return true;
            }
            self.painted[colour].pop();
            self.painted.retain(|members| !members.is_empty());
        }
        false
    }

    /// Colours without a conflict, the one with the most attributes in common first.
    fn fitting(&self, at: usize) -> Vec<usize> {
        let free = |members: &Vec<usize>| members.iter().all(|one| !conflict(self.here[*one], self.here[at]));
        let used = self.painted.iter().enumerate().filter(|(_, members)| free(members)).map(|(at, _)| at);
        let mut colours: Vec<usize> = used.collect();
        if self.painted.len() < self.colours {
            colours.push(self.painted.len());
        }
        colours.sort_by_key(|colour| {
            let members = self.painted.get(*colour);
            let widened = |one: &usize| difference(&self.here[*one].projection, &self.here[at].projection);
            let most = members.map(|members| members.iter().map(widened).max().unwrap_or(0));
            // A new index copies no further attributes, but it is one more.
            most.map_or((1, 1), |most| (usize::from(most > 0) * 2, most))
        });
        colours
    }
}

fn conflict(one: &LogicalIndex, other: &LogicalIndex) -> bool {
    let shared = one.entities().any(|id| other.entities().any(|there| there == id));
    let several = one.layouts.len() > 1 || other.layouts.len() > 1;
    let exclusive = one.form == IndexForm::Attributes || other.form == IndexForm::Attributes;
    shared || exclusive || (several && one.partition() == other.partition())
}

fn difference(one: &Need, other: &Need) -> usize {
    match (one, other) {
        (Need::All, Need::All) => 0,
        (Need::These(one), Need::These(other)) => one.symmetric_difference(other).count(),
        _ => usize::MAX,
    }
}

/// Entities of one index that share partition keys are distinguished by their sort keys.
fn labelled(mut members: Vec<LogicalIndex>) -> Vec<LogicalIndex> {
    let partitions: Vec<Vec<String>> = members.iter().map(|one| one.partition().to_vec()).collect();
    for (at, member) in members.iter_mut().enumerate() {
        let same = |(other, partition): (usize, &Vec<String>)| other != at && *partition == partitions[at];
        let constant = partitions[at].is_empty();
        member.labelled = !constant && partitions.iter().enumerate().any(same);
    }
    members
}
