//! Whether the condition of a file's own write accepts and refuses what its pattern says.
//!
//! The write is sent to items that differ in one point each. Those that the pattern takes must be written; those that
//! break one term of its meaning must be refused. A parameter or a version has its value in the request alone, so the
//! first item is looked for among the request's own values, and the others are made from the one that was accepted.

use api::Error;
use item::{Number, Type, Value};
use model::Model;
use model::model::{Attribute, Entity, WriteVerb};
use model::predicate::{Operand, Operator, Predicate, Term};
use model::request::write_case::{altered, moved};
use model::sample::SampleItem;
use model::sample::variant::another;
use model::template::plain_text;

use crate::database::Database;
use crate::fault::Fault;
use crate::literal::{is_condition, send};
use crate::literal_write::{Element, Touched, sample, with_key};
use crate::trial::name_of;

/// How many items are tried until one is accepted: two parameters with twenty values each.
const FITTING_MAX: usize = 512;

/// What the condition does with items that the pattern takes, and with items that it does not.
pub async fn faults(model: &Model, one: &Touched<'_>, element: &Element) -> Result<Vec<Fault>, Fault> {
    let database = Database::open(model).await?;
    let trial = Trial { model, one, element, database };
    let name = name_of(model, one.touch.table, &one.key);
    let Some(fitting) = trial.fitting().await? else {
        return Ok(vec![Fault::Request(format!("refuses {name}, which is as the pattern says"))]);
    };
    let mut faults = Vec::new();
    for state in trial.taken(&fitting) {
        if trial.refusal(&state).await?.is_some_and(|error| is_condition(&error)) {
            let what = &state.what;
            faults.push(Fault::Request(format!("refuses {name} where {what}, which the pattern takes")));
            break;
        }
    }
    for broken in trial.broken(&fitting) {
        let mut is_refused = false;
        for state in &broken {
            is_refused |= trial.refusal(state).await?.is_some();
        }
        if let Some(state) = broken.first().filter(|_| !is_refused) {
            faults.push(Fault::Request(trial.accepts(&name, state)));
            break;
        }
    }
    Ok(faults)
}

/// What is stored where the request writes, and what is special about it.
#[derive(Clone)]
struct State {
    item: Option<SampleItem>,
    what: String,
}

impl State {
    fn nothing() -> State {
        State { item: None, what: "there is no item".to_owned() }
    }
}

struct Trial<'a, 'm> {
    model: &'m Model,
    one: &'a Touched<'m>,
    element: &'a Element,
    database: Database,
}

impl Trial<'_, '_> {
    /// Why the write is refused if this is stored; `None` if it is accepted.
    async fn refusal(&self, state: &State) -> Result<Option<Error>, Fault> {
        // The write before this one has changed the item.
        self.database.forget(self.model, self.one.touch.table, &self.one.key);
        let items: Vec<SampleItem> = state.item.iter().cloned().collect();
        self.database.hold(self.model, &items).await?;
        Ok(send(&self.database, self.element.alone.clone()).await.err())
    }

    fn entity(&self) -> &Entity {
        self.model.entity(self.one.touch.entity)
    }

    /// All terms of the pattern's condition.
    fn terms(&self) -> &[Term] {
        self.one.touch.write.condition.as_ref().map_or(&[][..], |condition| condition.terms.as_slice())
    }

    /// Whether a term is about the item itself: it names nothing, or a key attribute of the table.
    fn is_bare(&self, term: &Term) -> bool {
        let name = &term.attribute.value;
        let key = self.model.table(self.one.touch.table).key.as_ref();
        name.is_empty() || key.is_some_and(|key| key.names(name))
    }

    fn needs_no_item(&self) -> bool {
        let bare = |term: &Term| term.operator == Operator::NotExists && self.is_bare(term);
        self.one.touch.write.verb == WriteVerb::Create || self.terms().iter().any(bare)
    }

    /// A missing attribute is unlike any value, so `<>` accepts that there is no item.
    fn needs_an_item(&self) -> bool {
        let needs = |term: &Term| term.implies_existence() && term.operator != Operator::NotEqual;
        let is_check = self.one.touch.write.verb == WriteVerb::Check && self.terms().is_empty();
        is_check || self.terms().iter().any(needs)
    }

    /// The item that the write finds, if it finds one.
    fn there(&self) -> Option<SampleItem> {
        let touch = &self.one.touch;
        let values = touch.old.clone().or_else(|| touch.new.clone())?;
        Some(sample(self.one, with_key(self.one, values)))
    }

    /// The item with another value of an attribute, under the same key.
    fn with(&self, item: &SampleItem, name: &str, value: Option<Value>) -> State {
        let what = match &value {
            Some(value) => format!("`{name}` is {}", plain_text(value)),
            None => format!("`{name}` is missing"),
        };
        let changed = altered(self.model, item, name, value).values;
        State { item: Some(sample(self.one, with_key(self.one, changed))), what }
    }

    /// The first state that the pattern takes and the request accepts.
    async fn fitting(&self) -> Result<Option<State>, Fault> {
        for state in self.candidates() {
            // Another error is reported where the effects are looked at.
            if self.refusal(&state).await?.is_none_or(|error| !is_condition(&error)) {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// The item that the pattern expects, with each value that its parameters can have.
    fn candidates(&self) -> Vec<State> {
        let Some(item) = self.there().filter(|_| !self.needs_no_item()) else {
            return vec![State::nothing()];
        };
        let version = self.one.touch.write.version.iter().map(|name| name.value.as_str());
        let parameters = self.attributes().filter(|name| !self.is_literal(name));
        let mut states = vec![State { item: Some(item), what: "it is as the pattern says".to_owned() }];
        for name in parameters.chain(version) {
            let more = |state: &State| -> Vec<State> {
                let Some(item) = &state.item else { return Vec::new() };
                self.values_near(item.values.get(name))
                    .into_iter()
                    .map(|value| self.with(item, name, Some(value)))
                    .collect()
            };
            let varied: Vec<State> = states.iter().flat_map(more).collect();
            states.extend(varied);
            states.truncate(FITTING_MAX);
        }
        states
    }

    /// Values of the request of the same type, and such as are just above and below them.
    fn values_near(&self, value: Option<&Value>) -> Vec<Value> {
        let Some(value) = value else { return Vec::new() };
        let same = self.element.operands.iter().filter(|one| same_type(one, value));
        same.flat_map(|one| [one.clone(), moved(one, 1), moved(one, -1)]).collect()
    }

    /// The attributes that the condition names, whose values the key does not fix.
    fn attributes(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self.terms().iter().map(|term| term.attribute.value.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let is_free = move |name: &&str| {
            let attribute = self.entity().attribute(name);
            !self.one.key_values.contains_key(*name)
                && attribute.is_some_and(|attribute| attribute.constant.is_none())
        };
        names.into_iter().filter(is_free)
    }

    fn terms_of(&self, name: &str) -> Vec<Term> {
        self.terms().iter().filter(|term| term.attribute.value == name).cloned().collect()
    }

    /// Whether the file says every value that this attribute is compared with.
    fn is_literal(&self, name: &str) -> bool {
        let operands = self.terms_of(name).into_iter().flat_map(|term| term.operands);
        operands.into_iter().all(|operand| operand.literal().is_some())
    }

    /// Further states that the pattern takes.
    fn taken(&self, fitting: &State) -> Vec<State> {
        let mut states: Vec<State> = self.probes(fitting, true);
        let write = self.one.touch.write;
        let any = write.verb == WriteVerb::Put && write.version.is_none() && !self.needs_no_item();
        let takes_nothing = self.terms().iter().all(|term| term.operator == Operator::NotExists);
        if any && takes_nothing {
            states.push(State::nothing());
        }
        states
    }

    /// States that break the pattern's meaning; of each group the request must refuse at least one.
    fn broken(&self, fitting: &State) -> Vec<Vec<State>> {
        let mut groups: Vec<Vec<State>> = Vec::new();
        if self.needs_no_item() {
            groups.extend(self.existing().into_iter().map(|state| vec![state]));
            return groups;
        }
        if self.needs_an_item() {
            groups.push(vec![State::nothing()]);
        }
        groups.extend(self.probes(fitting, false).into_iter().map(|state| vec![state]));
        let Some(item) = &fitting.item else { return groups };
        for name in self.attributes().filter(|name| !self.is_literal(name)) {
            let Some(value) = item.values.get(name) else { continue };
            let optional = self.entity().attribute(name).is_some_and(|attribute| attribute.optional);
            for term in self.terms_of(name) {
                let missing = (optional && term.operator != Operator::NotEqual).then(|| vec![None]);
                let others = self.others(&term, value).into_iter();
                let others = others.map(|group| group.into_iter().map(Some).collect::<Vec<_>>());
                groups.extend(
                    others
                        .chain(missing)
                        .map(|values| values.into_iter().map(|value| self.with(item, name, value)).collect()),
                );
            }
        }
        let version = self.one.touch.write.version.as_ref().map(|name| name.value.as_str());
        if let Some((name, value)) = version.and_then(|name| Some((name, item.values.get(name)?))) {
            groups.push(vec![self.with(item, name, Some(moved(value, 1)))]);
        }
        groups
    }

    /// The item that must not be there: with all its attributes, and with those alone that every item has.
    fn existing(&self) -> Vec<State> {
        let Some(item) = self.there() else { return Vec::new() };
        let optional = self.entity().attributes.values().filter(|attribute| attribute.optional);
        let least = optional.fold(item.clone(), |item, attribute| {
            let least = altered(self.model, &item, &attribute.name, None).values;
            sample(self.one, with_key(self.one, least))
        });
        let what = "it is there".to_owned();
        [item, least].map(|item| State { item: Some(item), what: what.clone() }).into()
    }

    /// The accepted item with other values of attributes that the file compares with literal values: those for which all
    /// terms hold, or those for which one does not.
    fn probes(&self, fitting: &State, hold: bool) -> Vec<State> {
        let Some(item) = &fitting.item else { return Vec::new() };
        let mut states = Vec::new();
        for name in self.attributes().filter(|name| self.is_literal(name)) {
            let terms = self.terms_of(name);
            let span = terms[0].span;
            let predicate = Predicate { terms, span };
            let old = item.values.get(name);
            let values = self
                .entity()
                .attribute(name)
                .map(|attribute| values_around(self.entity(), attribute, &predicate, old).into_iter());
            let values = values.into_iter().flatten().filter(|value| value.as_ref() != old);
            let fitting = values.filter(|value| predicate.holds(|_| value.clone()) == hold);
            states.extend(fitting.map(|value| self.with(item, name, value)));
        }
        states
    }

    /// Values for which a term with a parameter does not hold, in groups: the parameter decides which of a group.
    fn others(&self, term: &Term, value: &Value) -> Vec<Vec<Value>> {
        let name = term.attribute.value.as_str();
        let (low, high) = ends(value);
        let own = self.element.operands.iter().filter(|one| same_type(one, value)).cloned();
        let own: Vec<Value> = own.collect();
        match term.operator {
            Operator::Less | Operator::LessOrEqual => vec![high.into_iter().collect()],
            Operator::Greater | Operator::GreaterOrEqual => vec![low.into_iter().collect()],
            Operator::Between => [low, high].into_iter().flatten().map(|one| vec![one]).collect(),
            Operator::BeginsWith | Operator::Contains => vec![low.into_iter().collect()],
            Operator::NotEqual => vec![own.into_iter().chain([value.clone()]).collect()],
            Operator::Equal | Operator::In => {
                let mut other = another(self.entity(), name, Some(value));
                // One more than the request has values: one of them is none of its own.
                for _ in 0..own.len() {
                    if own.contains(&other) && other != *value {
                        other = another(self.entity(), name, Some(&other));
                    }
                }
                (other != *value).then(|| vec![other]).into_iter().collect()
            }
            Operator::Exists | Operator::NotExists => Vec::new(),
        }
    }

    fn accepts(&self, name: &str, state: &State) -> String {
        let write = self.one.touch.write;
        let what = &state.what;
        match (&write.condition, &write.version) {
            _ if write.verb == WriteVerb::Create => {
                format!("overwrites {name}, and the pattern says `create`")
            }
            (Some(condition), _) => {
                format!("accepts {name} where {what}, and the pattern says `if: {condition}`")
            }
            (None, Some(version)) => {
                format!("accepts {name} where {what}, and the pattern says `version: {}`", version.value)
            }
            (None, None) => format!("accepts {name} where {what}, and the pattern says `check`"),
        }
    }
}

fn same_type(one: &Value, other: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Values that show where a comparison begins to hold: all that the attribute can have if they are listed, else the
/// bounds and their neighbours. `None` is an item without the attribute.
fn values_around(
    entity: &Entity,
    attribute: &Attribute,
    predicate: &Predicate,
    old: Option<&Value>,
) -> Vec<Option<Value>> {
    let name = attribute.name.as_str();
    let operands = predicate.terms.iter().flat_map(|term| &term.operands).filter_map(Operand::literal);
    let bounds: Vec<Value> = operands.map(|text| entity.typed(name, text)).collect();
    let listed = attribute.values.iter().map(|text| entity.typed(name, text));
    let mut values: Vec<Value> = bounds.clone();
    match attribute.values.is_empty() {
        false => values.extend(listed),
        true => {
            let near = bounds.iter().flat_map(|bound| [moved(bound, 1), moved(bound, -1)]);
            values.extend(near.chain([another(entity, name, old)]));
        }
    }
    let is_plain = |value: &Value| matches!(value, Value::S(_) | Value::N(_) | Value::Bool(_));
    let is_existence = |term: &Term| matches!(term.operator, Operator::Exists | Operator::NotExists);
    let has_existence = predicate.terms.iter().any(is_existence);
    values.retain(|value| (has_existence || is_plain(value)) && is_within(attribute, value));
    let lacks = attribute.optional || predicate.terms.iter().any(|one| one.operator == Operator::NotExists);
    let compares = predicate.terms.iter().any(|term| term.operator == Operator::NotEqual);
    let missing = (lacks && !compares).then_some(None);
    values.into_iter().map(Some).chain(missing).collect()
}

fn is_within(attribute: &Attribute, value: &Value) -> bool {
    let Value::N(number) = value else { return true };
    let Ok(number) = number.to_string().parse::<f64>() else { return true };
    attribute.min.is_none_or(|min| number >= min) && attribute.max.is_none_or(|max| number <= max)
}

/// Values far below and far above.
fn ends(value: &Value) -> (Option<Value>, Option<Value>) {
    let number = |text: &str| Number::parse(text).ok().map(Value::N);
    match value.kind() {
        Type::N => (number("-1e20"), number("1e20")),
        Type::S => (Some(Value::from("!")), Some(Value::from("~"))),
        _ => (None, None),
    }
}
