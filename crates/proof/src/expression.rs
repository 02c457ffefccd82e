//! Terms of the model -> expressions of the API. Every name and value goes through a placeholder, so no
//! reserved word can get in the way.

use std::collections::BTreeMap;

use item::{Number, Type, Value, ValueBuf};
use model::model::{AttributesRead, Entity, IndexId, IndexKind, KeySchema, Projection, Table};
use model::predicate::{Operand, Operator, Term};

use crate::given::Given;

/// Names and values an expression refers to.
#[derive(Default)]
pub struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, ValueBuf>,
}

impl Placeholders {
    pub fn name(&mut self, attribute: &str) -> String {
        if let Some((placeholder, _)) = self.names.iter().find(|(_, name)| *name == attribute) {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", self.names.len());
        self.names.insert(placeholder.clone(), attribute.to_owned());
        placeholder
    }

    pub fn value(&mut self, value: &Value) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value.into());
        placeholder
    }

    pub fn names(&self) -> Option<BTreeMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    pub fn values(&self) -> Option<BTreeMap<String, ValueBuf>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }

    /// A term as a condition or filter. A term without an attribute is about the item: about its partition
    /// key.
    pub fn term(&mut self, entity: &Entity, table: &Table, term: &Term, given: &Given) -> Option<String> {
        let partition = table.key.as_ref().and_then(|key| key.partition.first());
        let attribute = match term.attribute.value.as_str() {
            "" => partition?.name.as_str(),
            attribute => attribute,
        };
        let name = self.name(attribute);
        let operands: Option<Vec<Value>> =
            term.operands.iter().map(|operand| given.operand(entity, attribute, operand)).collect();
        let operands: Vec<String> = operands?.iter().map(|value| self.value(value)).collect();
        let first = operands.first().map(String::as_str).unwrap_or_default();
        Some(match term.operator {
            Operator::Exists => format!("attribute_exists({name})"),
            Operator::NotExists => format!("attribute_not_exists({name})"),
            Operator::BeginsWith => format!("begins_with({name}, {first})"),
            Operator::Contains => format!("contains({name}, {first})"),
            Operator::In => format!("{name} IN ({})", operands.join(", ")),
            Operator::Between => format!("{name} BETWEEN {}", operands.join(" AND ")),
            comparison => format!("{name} {} {first}", comparison.name()),
        })
    }

    /// What the read wants, and the keys that tell which item it is. What a global index has only inside of
    /// its keys the reader takes from there.
    pub fn projection(
        &mut self,
        table: &Table,
        index: Option<IndexId>,
        read: Option<&AttributesRead>,
    ) -> Option<String> {
        let wanted = match read? {
            AttributesRead::All | AttributesRead::Count => return None,
            AttributesRead::Keys => &[][..],
            AttributesRead::These(names) => names,
        };
        let index = index.map(|index| table.index(index));
        let held = |name: &&String| match index.map(|index| (index.kind, &index.projection.value)) {
            None | Some((IndexKind::Local, _) | (_, Projection::All)) => true,
            Some((_, Projection::Keys)) => false,
            Some((_, Projection::Include(names))) => names.iter().any(|one| one.value == **name),
        };
        let schemas = table.key.iter().chain(index.map(|index| &index.key));
        let keys = schemas.flat_map(KeySchema::attributes).map(|key| &key.name);
        let mut names: Vec<&String> =
            keys.chain(wanted.iter().map(|name| &name.value).filter(held)).collect();
        names.sort();
        names.dedup();
        Some(names.into_iter().map(|name| self.name(name)).collect::<Vec<_>>().join(", "))
    }
}

/// Text of the file as a value of an attribute's type.
pub fn typed(entity: &Entity, attribute: &str, text: &str) -> Value {
    match entity.attribute(attribute).map(|attribute| attribute.kind.stored()) {
        Some(Type::N) => Number::parse(text).map_or_else(|_| Value::from(text), Value::N),
        Some(Type::Bool) => Value::Bool(text == "true"),
        _ => Value::from(text),
    }
}

impl Given {
    pub fn operand(&self, entity: &Entity, attribute: &str, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Literal(text) => Some(typed(entity, attribute, text)),
            Operand::Parameter(name) => self.parameter(name),
        }
    }
}
