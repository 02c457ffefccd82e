//! A planned read -> the request with parameters, the loops around it, and what comes of it.

use item::Type;
use model::Model;
use model::model::{Entity, EntityId, Grouping, KeyAttribute, Pattern, Read, ReadVerb};
use model::plan::{ActionPlan, Filter, Plan, ReadPlan, SortCondition};
use model::predicate::{Operand, Operator, Term};
use model::request::read::HIGHEST;
use model::request::{PlannedRead, Unsendable};
use model::template::{Field, Form, Part, Template};

use super::case::identifier;
use super::key::{self, piece, pieces, text};
use super::parameter::{Expressions, Origin, Parameters};
use super::record;
use super::{Body, Get, Kind, Library, Loop, Pages, Piece, ReadOperation, Request, Step, Value};

const LOWEST: char = '\0';

pub fn single(
    model: &Model,
    read: &Read,
    plan: &ReadPlan,
    function: &str,
    parameters: &mut Parameters,
    library: &mut Library,
) -> Result<Body, Unsendable> {
    if plan.entities.iter().any(|id| model.entity(*id).key.is_none()) {
        return Err(Unsendable::Impossible("there are no keys yet".to_owned()));
    }
    let planned = PlannedRead::new(model, read, plan);
    parameters.begin(0, plan.entities[0]);
    // What the reader knows comes first, in the order of the file.
    for name in &read.by {
        if read.conditions.as_ref().is_none_or(|conditions| conditions.equality(name).is_none()) {
            parameters.value(Origin::Attribute(name.value.clone()), planned.entity(), name);
        }
    }
    let mut reader = Reader { planned, parameters, library, loops: Vec::new() };
    reader.choices();
    let operation = match plan.operation {
        model::plan::ReadOperation::GetItem => ReadOperation::Get,
        model::plan::ReadOperation::Query => ReadOperation::Query,
        model::plan::ReadOperation::Scan => ReadOperation::Scan,
    };
    let mut request = reader.request(operation)?;
    let loops = std::mem::take(&mut reader.loops);
    let is_paged = read.paged.as_ref().is_some_and(|paged| paged.value);
    let pages = match (planned.limit, is_paged || operation == ReadOperation::Scan) {
        _ if operation == ReadOperation::Get => Pages::One,
        (None, true) => Pages::All,
        (Some(_), true) if loops.is_empty() && operation == ReadOperation::Query => Pages::Next,
        _ => Pages::One,
    };
    let limited = planned.limit.filter(|_| operation == ReadOperation::Query);
    if let Some(limit) = limited {
        request.limited = true;
        parameters.limit(limit);
    }
    if pages == Pages::Next {
        request.starts = true;
        parameters.start();
    }
    let schema = planned.schema();
    let merged =
        schema.iter().flat_map(|schema| &schema.sort).filter(|_| !loops.is_empty() && !read.order.is_empty());
    let merge_by = merged.map(|key| (key.name.clone(), kind_of_key(key))).collect();
    let one = read.verb == ReadVerb::Get && loops.is_empty();
    let found = match planned.counts() {
        true => super::Found::Count,
        false => record::found(planned, one, function, library)?,
    };
    Ok(Body::Read(super::Read {
        operation,
        cut: limited.is_some() && !loops.is_empty() && !planned.counts(),
        request,
        loops,
        pages,
        merge_by,
        descending: !plan.forward,
        found,
    }))
}

fn kind_of_key(key: &KeyAttribute) -> Kind {
    match key.kind {
        Type::N => Kind::Number,
        Type::B => Kind::Binary,
        _ => Kind::Text,
    }
}

/// Gets by key, in a transaction or batch.
pub fn group(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    function: &str,
    parameters: &mut Parameters,
    library: &mut Library,
) -> Result<Body, Unsendable> {
    let mut steps = Vec::new();
    let mut entities: Vec<EntityId> = Vec::new();
    for (position, ((action, read), step)) in pattern.reads().zip(&plan.steps).enumerate() {
        let ActionPlan::Read(plan) = &step.kind else { return Err(Unsendable::mixed()) };
        if plan.operation != model::plan::ReadOperation::GetItem {
            return Err(Unsendable::Impossible(format!(
                "a group of reads gets items by their keys; this is a {}",
                plan.operation.name()
            )));
        }
        let planned = PlannedRead::new(model, read, plan);
        parameters.begin(position, plan.entities[0]);
        let wanted = identifier(&planned.entity().name.value, "item");
        if action.times > 1 {
            parameters.begin_list(&wanted);
        }
        let mut reader = Reader { planned, parameters, library, loops: Vec::new() };
        let request = reader.request(ReadOperation::Get)?;
        if !reader.loops.is_empty() {
            return Err(Unsendable::Unknown("the shard".to_owned()));
        }
        let each = if action.times > 1 { parameters.end_list(&wanted, function, library) } else { None };
        if !entities.contains(&plan.entities[0]) {
            entities.push(plan.entities[0]);
        }
        steps.push(Step {
            each,
            action: Get { table: request.table, key: request.key, consistent: request.consistent },
        });
    }
    let found = record::found_whole(model, &entities, function, library)?;
    Ok(match pattern.grouping {
        Grouping::Transaction => Body::TransactionGet { steps, found },
        _ => Body::BatchGet { steps, found },
    })
}

struct Reader<'r, 'm> {
    planned: PlannedRead<'m>,
    parameters: &'r mut Parameters,
    library: &'r mut Library,
    loops: Vec<Loop>,
}

impl<'m> Reader<'_, 'm> {
    fn entity(&self) -> &'m Entity {
        self.planned.entity()
    }

    /// `status in (OPEN, HELD)` is a loop over the values, if a key contains it.
    fn choices(&mut self) {
        let PlannedRead { plan, read, .. } = self.planned;
        let filtered = |name: &str| plan.filter.iter().any(|filter| filter.attribute() == name);
        let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
        for term in terms.filter(|term| term.operator == Operator::In && !filtered(&term.attribute)) {
            let entity = self.planned.entity();
            let values =
                term.operands.iter().map(|one| self.parameters.operand(entity, &term.attribute, one));
            let values: Vec<Value> = values.collect();
            let kind = entity.attribute(&term.attribute).map_or(Kind::Text, |one| Kind::of(one.kind));
            let variable = self.parameters.free(&identifier(&term.attribute, "value"));
            let attribute = term.attribute.value.clone();
            self.loops.push(Loop::Values { variable, attribute, kind, values });
        }
    }

    /// The value of an attribute, if the reader knows it.
    fn known(&mut self, attribute: &str) -> Option<Value> {
        let PlannedRead { read, .. } = self.planned;
        let entity = self.planned.entity();
        let conditions = read.conditions.as_ref();
        if let Some(operand) = conditions.and_then(|conditions| conditions.equality(attribute)) {
            return Some(self.parameters.operand(entity, attribute, operand));
        }
        if read.by.iter().any(|name| name.value == attribute) {
            return Some(self.parameters.value(Origin::Attribute(attribute.to_owned()), entity, attribute));
        }
        self.loops.iter().find_map(|one| match one {
            Loop::Values { variable, attribute: own, kind, .. } if own == attribute => {
                Some(Value::Variable { name: variable.clone(), kind: *kind })
            }
            _ => None,
        })
    }

    /// The value of a template's field; a shard that the reader can't compute is a loop.
    fn field(&mut self, field: &Field) -> Result<Value, Unsendable> {
        let value = field.attribute().and_then(|name| self.known(name));
        match (field.shards(), &value) {
            (Some(count), None) => {
                let shards = self.loops.iter().filter(|one| matches!(one, Loop::Shards { .. })).count();
                let wanted = if shards == 0 { "shard".to_owned() } else { format!("shard{}", shards + 1) };
                let variable = self.parameters.free(&wanted);
                self.loops.push(Loop::Shards { variable: variable.clone(), count });
                Ok(Value::Variable { name: variable, kind: Kind::Integer })
            }
            _ => record::of_field(field, value),
        }
    }

    fn key(&mut self, key: &KeyAttribute, template: &Template) -> Result<Value, Unsendable> {
        let mut values = Vec::new();
        for field in template.fields() {
            values.push(self.field(field)?);
        }
        // A template names each attribute's value again where it is used again.
        let fields: Vec<&Field> = template.fields().collect();
        let mut known = |field: &Field| {
            let position = fields.iter().position(|one| *one == field);
            position.map(|at| values[at].clone()).ok_or_else(|| Unsendable::Unknown(field.to_string()))
        };
        key::value(self.library, self.planned.entity(), key, template, &mut known)
    }

    fn request(&mut self, operation: ReadOperation) -> Result<Request, Unsendable> {
        let planned = self.planned;
        let PlannedRead { plan, read, .. } = planned;
        let mut request = Request {
            table: planned.table().name.value.clone(),
            index: plan.index.map(|index| planned.table().index(index).name.value.clone()),
            counts: planned.counts(),
            backward: !plan.forward && operation == ReadOperation::Query,
            consistent: plan.consistent && operation != ReadOperation::Scan,
            ..Request::default()
        };
        let mut expressions = Expressions::default();
        match operation {
            ReadOperation::Get => request.key = self.item_key()?,
            ReadOperation::Query => request.key_condition = Some(self.key_condition(&mut expressions)?),
            ReadOperation::Scan => request.counts = false,
        }
        if operation != ReadOperation::Get {
            request.filter = self.filter(&mut expressions)?;
        }
        if operation != ReadOperation::Scan {
            let wanted = read.attributes.as_ref().map(|wanted| &wanted.value);
            request.projection = expressions.placeholders.projection(planned.table(), plan.index, wanted);
        }
        expressions.finish(&mut request);
        Ok(request)
    }

    fn item_key(&mut self) -> Result<Vec<(String, Value)>, Unsendable> {
        let PlannedRead { plan, .. } = self.planned;
        let schema = self.planned.schema().ok_or_else(|| Unsendable::Unknown("the key".to_owned()))?;
        let mut values = Vec::new();
        for (key, template) in schema.partition.iter().zip(&plan.partition) {
            values.push((key.name.clone(), self.key(key, template)?));
        }
        for (key, condition) in schema.sort.iter().zip(&plan.sort) {
            let SortCondition::Equal(template) = condition else {
                return Err(Unsendable::Unknown(format!("`{}`", key.name)));
            };
            values.push((key.name.clone(), self.key(key, template)?));
        }
        Ok(values)
    }

    fn key_condition(&mut self, expressions: &mut Expressions) -> Result<String, Unsendable> {
        let PlannedRead { plan, .. } = self.planned;
        let schema = self.planned.schema().ok_or_else(|| Unsendable::Unknown("the key".to_owned()))?;
        let mut conditions = Vec::new();
        for (key, template) in schema.partition.iter().zip(&plan.partition) {
            let value = self.key(key, template)?;
            conditions.push(format!(
                "{} = {}",
                expressions.name(&key.name),
                expressions.value(&key.name, value)
            ));
        }
        for (position, (key, condition)) in schema.sort.iter().zip(&plan.sort).enumerate() {
            conditions.push(self.sort_condition(expressions, position, key, condition)?);
        }
        Ok(conditions.join(" AND "))
    }

    fn sort_condition(
        &mut self,
        expressions: &mut Expressions,
        position: usize,
        key: &KeyAttribute,
        condition: &SortCondition,
    ) -> Result<String, Unsendable> {
        let name = expressions.name(&key.name);
        let (operator, values) = match condition {
            SortCondition::Equal(template) => (Operator::Equal, vec![self.key(key, template)?]),
            SortCondition::BeginsWith(prefix) => {
                let pieces = pieces(prefix, &mut |field| self.field(field))?;
                (Operator::BeginsWith, vec![text(pieces)])
            }
            SortCondition::Range { prefix, term, .. } => self.range(position, key, prefix, term)?,
        };
        let values: Vec<String> =
            values.into_iter().map(|value| expressions.value(&key.name, value)).collect();
        Ok(match operator {
            Operator::BeginsWith => format!("begins_with({name}, {})", values[0]),
            Operator::Between => format!("{name} BETWEEN {} AND {}", values[0], values[1]),
            operator => format!("{name} {} {}", operator.name(), values[0]),
        })
    }

    /// The bounds of [`model::request::read`], as texts with parameters.
    fn range(
        &mut self,
        position: usize,
        key: &KeyAttribute,
        prefix: &[Part],
        term: &Term,
    ) -> Result<(Operator, Vec<Value>), Unsendable> {
        let entity = self.entity();
        let operand = |one: &Operand| self.parameters.operand(entity, &term.attribute, one);
        let operands: Vec<Value> = term.operands.iter().map(operand).collect();
        if key.kind != Type::S {
            return Ok((term.operator, operands));
        }
        let before = pieces(prefix, &mut |field| self.field(field))?;
        let with = |more: Vec<Piece>| text([before.clone(), more].concat());
        if term.operator == Operator::BeginsWith {
            let plain =
                Piece::Field { value: operands[0].clone(), form: super::TextForm::Plain, width: None };
            return Ok((Operator::BeginsWith, vec![with(vec![plain])]));
        }
        let template = match self.planned.plan.index {
            Some(index) => entity.entry(index).and_then(|entry| entry.sort.get(position)),
            None => entity.key.as_ref().and_then(|key| key.sort.as_ref()),
        };
        let unknown = || Unsendable::Unknown(format!("`{term}`"));
        let template = template.ok_or_else(unknown)?;
        let Some(Part::Field(field)) = template.parts.get(prefix.len()) else { return Err(unknown()) };
        let rendered: Vec<Piece> = operands.into_iter().map(|value| piece(field, value)).collect();
        let (first, last) = (rendered.first().ok_or_else(unknown)?, rendered.last().ok_or_else(unknown)?);
        let separator = match template.parts.get(prefix.len() + 1) {
            Some(Part::Literal(text)) => Some(text.clone()),
            Some(Part::Field(_)) => Some(String::new()),
            None => None,
        };
        let literal = |text: String| Piece::Literal(text);
        let at = |piece: &Piece| with(vec![piece.clone()]);
        let through = |piece: &Piece| match &separator {
            Some(separator) => with(vec![piece.clone(), literal(format!("{separator}{HIGHEST}"))]),
            None => at(piece),
        };
        let lowest =
            || if before.is_empty() { with(vec![literal(LOWEST.to_string())]) } else { with(Vec::new()) };
        let highest = || with(vec![literal(HIGHEST.to_string())]);
        let behind = |piece: &Piece| match &separator {
            Some(_) => through(piece),
            None => with(vec![piece.clone(), literal(LOWEST.to_string())]),
        };
        let ahead_of = |piece: &Piece| match &separator {
            Some(_) => at(piece),
            None => Value::Before(Box::new(at(piece))),
        };
        let descends = matches!(field.form, Form::Descending { .. });
        let operator = match (term.operator, descends) {
            (Operator::Greater, true) => Operator::Less,
            (Operator::GreaterOrEqual, true) => Operator::LessOrEqual,
            (Operator::Less, true) => Operator::Greater,
            (Operator::LessOrEqual, true) => Operator::GreaterOrEqual,
            (operator, _) => operator,
        };
        let (low, high) = match operator {
            Operator::Greater => (behind(first), highest()),
            Operator::GreaterOrEqual => (at(first), highest()),
            Operator::Less => (lowest(), ahead_of(first)),
            Operator::LessOrEqual => (lowest(), through(first)),
            _ if descends => (at(last), through(first)),
            _ => (at(first), through(last)),
        };
        Ok((Operator::Between, vec![low, high]))
    }

    fn filter(&mut self, expressions: &mut Expressions) -> Result<Option<String>, Unsendable> {
        let planned = self.planned;
        let mut terms = Vec::new();
        for filter in &planned.plan.filter {
            terms.push(match filter {
                Filter::Term(term) => {
                    expressions.term(self.entity(), planned.table(), term, self.parameters)?
                }
                Filter::Known(attribute) => {
                    let origin = Origin::Attribute(attribute.clone());
                    let value = self.parameters.value(origin, self.entity(), attribute);
                    format!("{} = {}", expressions.name(attribute), expressions.value(attribute, value))
                }
            });
        }
        Ok((!terms.is_empty()).then(|| terms.join(" AND ")))
    }
}
