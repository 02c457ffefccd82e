//! Each function with arguments of the example data: how it is called, and what it then finds or leaves.

use item::Value as Stored;
use model::Model;
use model::model::Pattern;
use model::request::write_case::amount;

use super::parameter::{Origin, Role};
use super::{Library, Parameter, ParameterKind, Record};
use crate::example::{Example, Sending, Touched};

/// A call of the function of a pattern.
pub struct Call {
    pub pattern: String,
    /// One for each parameter, in their order.
    pub arguments: Vec<Argument>,
}

pub enum Argument {
    Value(Stored),
    Record(Row),
    Records(Vec<Row>),
    Limit(u64),
    /// From the beginning.
    Start,
}

/// The values of a record's fields, in their order.
pub struct Row {
    pub record: String,
    pub values: Vec<Option<Stored>>,
}

/// The calls of all functions that the example data has arguments for.
pub fn example_calls(model: &Model, library: &Library, examples: &[Example]) -> Vec<Call> {
    let call = |example: &Example| {
        let function = library.functions.iter().find(|one| one.pattern == example.pattern)?;
        let written = function.written.as_ref().ok()?;
        let chosen = Chosen {
            library,
            pattern: model.pattern_named(&example.pattern)?,
            sending: example.sending.as_ref().ok()?,
        };
        let arguments = written.parameters.iter().map(|parameter| chosen.argument(parameter));
        Some(Call { pattern: example.pattern.clone(), arguments: arguments.collect::<Option<_>>()? })
    };
    examples.iter().filter_map(call).collect()
}

struct Chosen<'c> {
    library: &'c Library,
    pattern: &'c Pattern,
    sending: &'c Sending,
}

impl Chosen<'_> {
    fn argument(&self, parameter: &Parameter) -> Option<Argument> {
        match (&parameter.role, &parameter.kind) {
            (Role::Limit, ParameterKind::Limit(limit)) => Some(Argument::Limit(*limit)),
            (Role::Start, _) => Some(Argument::Start),
            (Role::Value(step, origin), _) => {
                Some(Argument::Value(self.value(*step, self.touched(*step).first().copied(), origin)?))
            }
            (Role::Item(step), ParameterKind::Record(record)) => {
                self.row(record, self.touched(*step).first()?).map(Argument::Record)
            }
            (Role::Items(step), ParameterKind::Records(record)) => {
                let rows = self.touched(*step).into_iter().map(|touched| self.row(record, touched));
                rows.collect::<Option<Vec<_>>>().map(Argument::Records)
            }
            (Role::Group(step, fields), ParameterKind::Records(record)) => {
                let row = |touched: &Touched| {
                    let values = fields.iter().map(|(_, origin)| self.value(*step, Some(touched), origin));
                    Row { record: record.clone(), values: values.collect() }
                };
                Some(Argument::Records(self.touched(*step).into_iter().map(row).collect()))
            }
            _ => None,
        }
    }

    /// The items of an action.
    fn touched(&self, step: usize) -> Vec<&Touched> {
        self.sending.touched.iter().filter(|touched| touched.step == step).collect()
    }

    fn value(&self, step: usize, touched: Option<&Touched>, origin: &Origin) -> Option<Stored> {
        let Some(touched) = touched else {
            return match origin {
                Origin::Given(name) => self.sending.given.parameter(name),
                Origin::Attribute(name) => self.sending.given.attribute(name),
                Origin::New(_) | Origin::Added(_) => None,
            };
        };
        let stored = |name: &str| {
            let old = touched.old.as_ref().and_then(|values| values.get(name));
            old.or_else(|| touched.new.as_ref().and_then(|values| values.get(name))).cloned()
        };
        match origin {
            Origin::Given(name) => touched.given.parameter(name),
            Origin::Attribute(name) => stored(name),
            Origin::New(name) => touched.new.as_ref().and_then(|values| values.get(name)).cloned(),
            Origin::Added(name) => {
                let (_, write) = self.pattern.writes().nth(step)?;
                let change = write.add.iter().find(|change| change.attribute.value == *name)?;
                let new = touched.new.as_ref().and_then(|values| values.get(name));
                let old = touched.old.as_ref().and_then(|values| values.get(name));
                Some(model::request::write::added(&amount(change.to.as_ref()).to_string(), old, new?))
            }
        }
    }

    fn row(&self, record: &str, touched: &Touched) -> Option<Row> {
        let known: &Record = self.library.records.iter().find(|one| one.name == record)?;
        let values = touched.new.as_ref().or(touched.old.as_ref())?;
        let values = known.fields.iter().map(|field| values.get(&field.attribute).cloned());
        Some(Row { record: record.to_owned(), values: values.collect() })
    }
}
