//! Entities: their attributes, their keys, their entries in indexes.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use item::{Number, Type, Value};

use super::quantity::{Count, Growth, Size, Skew};
use super::{EntityId, IndexId, TableId};
use crate::predicate::{Predicate, Term};
use crate::template::{Field, Template};
use crate::{Span, Spanned};

/// A kind of item.
#[derive(Clone, Debug)]
pub struct Entity {
    pub name: Spanned<String>,
    pub span: Span,
    pub description: Option<String>,
    pub table: TableId,
    /// The attributes that identify an item, if the file declares them.
    pub identity: Vec<Spanned<String>>,
    /// `None` if keys have not been designed yet.
    pub key: Option<EntityKey>,
    /// Declared ones, then those that only templates and patterns name. Key attributes with a template of
    /// their own (`PK`) are not among them.
    pub attributes: IndexMap<String, Attribute>,
    /// One for each index of the table that items of the entity can be in.
    pub entries: Vec<IndexEntry>,
    pub count: Option<Spanned<Count>>,
    pub size: Option<Spanned<Size>>,
    /// New items, as `1M per month`.
    pub growth: Option<Spanned<Growth>>,
    /// How long after it was written an item expires, in seconds.
    pub expires: Option<Spanned<u64>>,
    pub owner: Option<Spanned<String>>,
    /// Optional attributes that an item has all of or none of: every write that sets or removes one of them does so
    /// with the others.
    pub together: Vec<Vec<String>>,
    /// Example items by their attributes; keys are rendered.
    pub samples: Vec<SampleRow>,
}

/// The templates of an entity's key in the table.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityKey {
    pub partition: Template,
    pub sort: Option<Template>,
    pub span: Span,
}

/// The keys of an entity's items in one index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEntry {
    pub index: IndexId,
    /// Only items for which this holds have the index's key attributes: a sparse index.
    pub when: Option<Predicate>,
    /// One template for each partition attribute of the index.
    pub partition: Vec<Template>,
    pub sort: Vec<Template>,
    /// Whether the templates are declared under `indexes`, or follow from attributes that items have anyway.
    pub declared: bool,
    pub span: Span,
}

/// An attribute of an entity, with what the file declares about its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub name: String,
    pub span: Span,
    /// Whether it is declared under `attributes`; else only a template or pattern names it.
    pub declared: bool,
    pub kind: AttributeKind,
    /// All values it can have, if they were listed.
    pub values: Vec<String>,
    /// The share of each of `values`, adding up to one; empty if not declared.
    pub shares: Vec<f64>,
    /// The value that it has in every item.
    pub constant: Option<Value>,
    /// Whether items can lack it.
    pub optional: bool,
    /// The share of items that have it, if it is optional and declared.
    pub present: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Bytes of a value.
    pub size: Option<Size>,
    /// How many different values there are.
    pub distinct: Option<Spanned<f64>>,
    pub skew: Option<Spanned<Skew>>,
    /// Its growth in bytes, if it is a list, set or text that is appended to.
    pub growth: Option<Spanned<Growth>>,
    pub copy_of: Option<Spanned<CopyOf>>,
    pub sync: Option<Spanned<SyncOwner>>,
}

/// A copied attribute's origin: `Customer.name`.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyOf {
    pub entity: EntityId,
    pub attribute: String,
}

/// What keeps a copy up to date when the original changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncOwner {
    Stream,
    Transaction,
    Application,
    /// The copy keeps its first value: the price at the time of the order.
    Never,
}

/// The type of an attribute in the file; several are stored as the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeKind {
    String,
    Number,
    Binary,
    Boolean,
    /// ISO-8601 text in UTC, so that text order is time order.
    Timestamp,
    /// `2026-06-23`.
    Date,
    /// Seconds since 1970, a number.
    Epoch,
    EpochMillis,
    Uuid,
    Ulid,
    StringSet,
    NumberSet,
    BinarySet,
    List,
    Map,
}

/// A literal row of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// The name that `expect` refers to.
    pub name: Option<Spanned<String>>,
    pub values: IndexMap<String, Spanned<Value>>,
    pub span: Span,
}

impl Entity {
    pub fn entry(&self, index: IndexId) -> Option<&IndexEntry> {
        self.entries.iter().find(|entry| entry.index == index)
    }

    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name)
    }

    /// Text of the file as a value of an attribute's type.
    pub fn typed(&self, attribute: &str, text: &str) -> Value {
        match self.attribute(attribute).map(|attribute| attribute.kind.stored()) {
            Some(Type::N) => Number::parse(text).map_or_else(|_| Value::from(text), Value::N),
            Some(Type::Bool) => Value::Bool(text == "true"),
            _ => Value::from(text),
        }
    }

    /// Whether a number is not always whole: its bounds say so, or a sample.
    pub fn has_fractions(&self, attribute: &Attribute) -> bool {
        let bounds = attribute.min.into_iter().chain(attribute.max);
        let is_fraction = |value: &Value| match value {
            Value::N(number) => number.to_string().contains('.'),
            _ => false,
        };
        let mut samples = self.samples.iter().filter_map(|row| row.values.get(&attribute.name));
        bounds.into_iter().any(|bound| bound.fract() != 0.0)
            || samples.any(|sample| is_fraction(&sample.value))
    }

    /// What must hold for an item to be in the index: the entry's `when`, and that the item has the optional
    /// attributes of which the index's key is made. `None` if every item is in it.
    pub fn membership(&self, entry: &IndexEntry) -> Option<Predicate> {
        let mut terms = entry.when.as_ref().map(|when| when.terms.clone()).unwrap_or_default();
        for name in entry.templates().flat_map(Template::attributes) {
            let optional = self.attribute(name).filter(|attribute| attribute.optional);
            let implied = terms.iter().any(|term| term.attribute.value == name && term.implies_existence());
            if let Some(attribute) = optional.filter(|_| !implied) {
                terms.push(Term::exists(name, attribute.span));
            }
        }
        let span = entry.when.as_ref().map_or(entry.span, |when| when.span);
        (!terms.is_empty()).then_some(Predicate { terms, span })
    }

    /// Whether an item that has one of the two attributes has the other.
    pub fn has_together(&self, one: &str, other: &str) -> bool {
        let both = |group: &Vec<String>| [one, other].iter().all(|name| group.iter().any(|own| own == name));
        one == other || self.together.iter().any(both)
    }

    /// The key templates of the table: partition, then sort.
    pub fn key_templates(&self) -> impl Iterator<Item = &Template> {
        self.key.iter().flat_map(|key| std::iter::once(&key.partition).chain(&key.sort))
    }
}

impl IndexEntry {
    /// The key templates in this index: partition, then sort.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether an item with these values is in the index.
    pub fn has(&self, values: &BTreeMap<String, Value>) -> bool {
        self.when.as_ref().is_none_or(|when| when.holds(|name| values.get(name).cloned()))
    }

    /// How many partition keys the items of the entity have in the index; infinite if not declared.
    pub fn partition_keys(&self, entity: &Entity) -> f64 {
        let values = |field: &Field| match field.shards() {
            Some(shards) => Some(shards as f64),
            None => entity.attribute(field.attribute()?)?.cardinality(),
        };
        let fields = self.partition.iter().flat_map(|template| template.fields());
        fields.map(|field| values(field).unwrap_or(f64::INFINITY)).product()
    }
}

impl Attribute {
    /// A string attribute without further declarations.
    pub fn implied(name: &str, span: Span) -> Attribute {
        Attribute {
            name: name.to_owned(),
            span,
            declared: false,
            kind: AttributeKind::String,
            values: Vec::new(),
            shares: Vec::new(),
            constant: None,
            optional: false,
            present: None,
            min: None,
            max: None,
            size: None,
            distinct: None,
            skew: None,
            growth: None,
            copy_of: None,
            sync: None,
        }
    }

    /// Whether it holds free text.
    pub fn is_text(&self) -> bool {
        self.kind == AttributeKind::String && self.values.is_empty()
    }

    /// The share of items that have this value, if declared.
    pub fn share_of(&self, value: &str) -> Option<f64> {
        let position = self.values.iter().position(|one| one == value)?;
        Some(self.shares.get(position).copied().unwrap_or(1.0 / self.values.len() as f64))
    }

    /// How many different values it can have, if known.
    pub fn cardinality(&self) -> Option<f64> {
        if self.constant.is_some() {
            return Some(1.0);
        }
        if !self.values.is_empty() {
            return Some(self.values.len() as f64);
        }
        if self.kind == AttributeKind::Boolean {
            return Some(2.0);
        }
        self.distinct.as_ref().map(|distinct| distinct.value)
    }
}

impl AttributeKind {
    pub const ALL: [AttributeKind; 15] = [
        AttributeKind::String,
        AttributeKind::Number,
        AttributeKind::Binary,
        AttributeKind::Boolean,
        AttributeKind::Timestamp,
        AttributeKind::Date,
        AttributeKind::Epoch,
        AttributeKind::EpochMillis,
        AttributeKind::Uuid,
        AttributeKind::Ulid,
        AttributeKind::StringSet,
        AttributeKind::NumberSet,
        AttributeKind::BinarySet,
        AttributeKind::List,
        AttributeKind::Map,
    ];

    pub fn name(self) -> &'static str {
        match self {
            AttributeKind::String => "string",
            AttributeKind::Number => "number",
            AttributeKind::Binary => "binary",
            AttributeKind::Boolean => "boolean",
            AttributeKind::Timestamp => "timestamp",
            AttributeKind::Date => "date",
            AttributeKind::Epoch => "epoch",
            AttributeKind::EpochMillis => "epoch-millis",
            AttributeKind::Uuid => "uuid",
            AttributeKind::Ulid => "ulid",
            AttributeKind::StringSet => "string-set",
            AttributeKind::NumberSet => "number-set",
            AttributeKind::BinarySet => "binary-set",
            AttributeKind::List => "list",
            AttributeKind::Map => "map",
        }
    }

    /// The type of the stored value.
    pub fn stored(self) -> Type {
        match self {
            AttributeKind::Number | AttributeKind::Epoch | AttributeKind::EpochMillis => Type::N,
            AttributeKind::Binary => Type::B,
            AttributeKind::Boolean => Type::Bool,
            AttributeKind::StringSet => Type::Ss,
            AttributeKind::NumberSet => Type::Ns,
            AttributeKind::BinarySet => Type::Bs,
            AttributeKind::List => Type::L,
            AttributeKind::Map => Type::M,
            AttributeKind::String
            | AttributeKind::Timestamp
            | AttributeKind::Date
            | AttributeKind::Uuid
            | AttributeKind::Ulid => Type::S,
        }
    }

    /// Whether no two items have the same.
    pub fn is_unique(self) -> bool {
        matches!(self, AttributeKind::Uuid | AttributeKind::Ulid)
    }

    /// Whether it says when something happened.
    pub fn is_time(self) -> bool {
        matches!(
            self,
            AttributeKind::Timestamp
                | AttributeKind::Date
                | AttributeKind::Epoch
                | AttributeKind::EpochMillis
                | AttributeKind::Ulid
        )
    }
}
