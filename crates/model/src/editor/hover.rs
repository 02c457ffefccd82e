//! What is at a position, in words: a member by the schema, an entity with its keys, a pattern with its plan and cost.
//! The text is Markdown.

use std::fmt::Write;

use super::Document;
use super::outline::{NameKind, Symbol};
use super::place::{ScalarPlace, description};
use crate::check::rule;
use crate::cost::{self, cost, dollars, number};
use crate::facts::Facts;
use crate::model::{AttributeKind, Entity, EntityId, Pattern, Place as Stored, Projection};
use crate::plan::{Plan, plan};
use crate::predict::typical::{self, Assumption, Footprints};
use crate::{Model, RuleId, Span};

/// An explanation of a part of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Hover {
    pub span: Span,
    pub markdown: String,
}

impl Document {
    pub fn hover(&self, byte: usize) -> Option<Hover> {
        let place = ScalarPlace::at(self.root.as_ref()?, byte)?;
        if let Some(markdown) = rule_page(&place) {
            return Some(Hover { span: place.scalar.span, markdown });
        }
        if let Some((symbol, span)) = self.referred(byte)
            && let Some(markdown) = self.described(&symbol)
        {
            return Some(Hover { span, markdown });
        }
        let mut markdown = description(&place.path)?.to_owned();
        if let (["patterns", id, _], true) = (place.path.as_slice(), place.is_name)
            && let Some(planned) = self.planned(id)
        {
            let _ = write!(markdown, "\n\n---\n\n{planned}");
        }
        Some(Hover { span: place.scalar.span, markdown })
    }

    fn described(&self, symbol: &Symbol) -> Option<String> {
        let model = self.model.as_ref();
        match symbol.kind {
            NameKind::Pattern => self.planned(&symbol.name),
            NameKind::Entity => {
                model.and_then(|model| Some(entity(model, model.entity_named(&symbol.name)?)))
            }
            NameKind::Attribute => model.and_then(|model| attribute(model, symbol)),
            NameKind::Index => model.and_then(|model| index(model, &symbol.name)),
            NameKind::Table | NameKind::Sample | NameKind::Curve => None,
        }
    }

    /// The plan of a pattern and what it costs.
    fn planned(&self, id: &str) -> Option<String> {
        let model = self.model.as_ref()?;
        let pattern = model.pattern_named(id)?;
        Some(plan_and_cost(model, pattern))
    }
}

/// `R14` under `rules` or `allow`.
fn rule_page(place: &ScalarPlace<'_>) -> Option<String> {
    let is_rule = matches!(place.path.as_slice(), ["rules", _] | [.., "allow", _]) && place.is_name;
    let id: RuleId = place.scalar.text.parse().ok().filter(|_| is_rule)?;
    rule(id).map(|rule| rule.page.to_owned())
}

fn plan_and_cost(model: &Model, pattern: &Pattern) -> String {
    let plan = plan(model, pattern);
    let mut text = format!("**{}**", pattern.id.value);
    if let Some(description) = &pattern.description {
        let _ = write!(text, ": {description}");
    }
    if let Some(external) = &pattern.external {
        let _ = write!(text, "\n\nserved by {}", external.value);
        return text;
    }
    let _ = write!(text, "\n\n`{}` on `{}`\n", plan.operation(), plan.source(model));
    for (attribute, condition) in plan.reads().flat_map(|read| read.key_condition(model)) {
        let _ = write!(text, "\n- `{attribute} {condition}`");
    }
    for gap in plan.gaps() {
        let _ = write!(text, "\n- ⚠ {}", gap.describe(model));
    }
    let _ = write!(text, "\n\n{}", costs(model, pattern, &plan));
    text
}

/// Units of one execution and, if the file says how often it runs, dollars a month.
fn costs(model: &Model, pattern: &Pattern, plan: &Plan) -> String {
    let footprints = Footprints::new(model);
    let one = typical::pattern(model, &footprints, pattern, plan, Assumption::Weighted);
    let units = units(model, &footprints, pattern, plan);
    let mut text = format!("each time {}", counted(one.requests));
    if !units.is_empty() {
        let _ = write!(text, ", {}", units.join(", "));
    }
    if let (Some(rate), Some(monthly)) = (&pattern.rate, monthly(model, pattern)) {
        let _ = write!(text, "; {}/s: **{} a month** on demand", rounded(rate.average), dollars(monthly));
    }
    text
}

/// What one execution of a pattern consumes: `2.5 read units`.
pub fn units(model: &Model, footprints: &Footprints, pattern: &Pattern, plan: &Plan) -> Vec<String> {
    let one = typical::pattern(model, footprints, pattern, plan, Assumption::Weighted);
    let units = [(one.read_units(), "read units"), (one.write_units(), "write units")];
    let units = units.iter().filter(|(amount, _)| *amount > 0.0);
    units.map(|(amount, what)| format!("{} {what}", rounded(*amount))).collect()
}

fn monthly(model: &Model, pattern: &Pattern) -> Option<f64> {
    let costs = monthly_costs(model)?;
    costs.patterns.iter().find(|one| one.pattern == pattern.id.value).map(|one| one.monthly)
}

/// `None` if there are no prices for the model's Region.
pub fn monthly_costs(model: &Model) -> Option<cost::Cost> {
    let plans: Vec<Plan> = model.patterns.iter().map(|pattern| plan(model, pattern)).collect();
    cost(model, &plans, &Facts::embedded(), &cost::CostSettings::default()).ok()
}

fn counted(requests: f64) -> String {
    if requests == 1.0 { "1 request".to_owned() } else { format!("{} requests", rounded(requests)) }
}

/// Two decimals are enough to read.
fn rounded(amount: f64) -> String {
    number((amount * 100.0).round() / 100.0)
}

fn entity(model: &Model, id: EntityId) -> String {
    let entity = model.entity(id);
    let mut text = format!("**{}**", entity.name.value);
    if let Some(description) = &entity.description {
        let _ = write!(text, ": {description}");
    }
    if let Some(items) = model.items(id) {
        let bytes = Footprints::new(model).of(id).item_bytes as f64;
        let _ = write!(text, "\n\n{} items of {} bytes", rounded(items), number(bytes));
    }
    text.push_str("\n\n");
    for place in model.places_of(id) {
        let _ = writeln!(text, "- {}: {}", place.name(), keys(place));
    }
    text
}

/// `PK = ORDER#{orderId}, SK = META`.
fn keys(place: Stored<'_>) -> String {
    let keys = place.partition().into_iter().chain(place.sort());
    let keys: Vec<String> = keys.map(|(key, template)| format!("`{} = {template}`", key.name)).collect();
    let when = place.index.and_then(|(_, _, entry)| entry.when.as_ref());
    let when = when.map(|when| format!(", when `{when}`")).unwrap_or_default();
    format!("{}{when}", keys.join(", "))
}

/// An attribute, in each entity that has it.
fn attribute(model: &Model, symbol: &Symbol) -> Option<String> {
    let owners: Vec<&Entity> =
        model.entities.iter().filter(|entity| entity.attribute(&symbol.name).is_some()).collect();
    let lines = owners.iter().filter_map(|entity| {
        let attribute = entity.attribute(&symbol.name)?;
        let values = match attribute.values.as_slice() {
            [] => String::new(),
            values => format!(", one of {}", values.join(", ")),
        };
        let implied = if attribute.declared { "" } else { ", not declared: a string" };
        let optional = if attribute.optional { ", optional" } else { "" };
        let kind: AttributeKind = attribute.kind;
        Some(format!(
            "`{}.{}`: {}{values}{optional}{implied}",
            entity.name.value,
            attribute.name,
            kind.name()
        ))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("  \n"))
}

fn index(model: &Model, name: &str) -> Option<String> {
    let (table_id, id) =
        model.table_ids().find_map(|table| Some((table, model.table(table).index_named(name)?)))?;
    let table = model.table(table_id);
    let index = table.index(id);
    let projection = match &index.projection.value {
        Projection::All => "all attributes".to_owned(),
        Projection::Keys => "keys only".to_owned(),
        Projection::Include(names) => {
            names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(", ")
        }
    };
    let mut text = format!("**{name}** of `{}`, holds {projection}\n\n", table.name.value);
    for place in
        model.places().into_iter().filter(|place| place.table_id == table_id && place.index_id() == Some(id))
    {
        let _ = writeln!(text, "- {}: {}", place.entity.name.value, keys(place));
    }
    let readers: Vec<&str> = model
        .patterns
        .iter()
        .filter(|pattern| {
            plan(model, pattern).reads().any(|read| read.table == table_id && read.index == Some(id))
        })
        .map(|pattern| pattern.id.value.as_str())
        .collect();
    let readers = if readers.is_empty() { "no pattern".to_owned() } else { readers.join(", ") };
    let _ = write!(text, "\nread by {readers}");
    Some(text)
}
