//! A service's facts as the file has them, and the Rust type of each shape.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::quirks::REPORTED_FIRST;
use super::{Error, lookup};

#[derive(Deserialize)]
pub struct Facts {
    pub metadata: Metadata,
    pub operations: BTreeMap<String, Operation>,
    pub shapes: BTreeMap<String, Shape>,
}

#[derive(Deserialize)]
pub struct Metadata {
    /// The package of the service's Java classes, which messages name.
    pub namespace: String,
    /// `json`, `query`, `smithy-rpc-v2-cbor`.
    pub protocols: Vec<String>,
}

/// An operation, with the names of its shapes.
#[derive(Deserialize)]
pub struct Operation {
    pub input: String,
    pub output: Option<String>,
}

#[derive(Deserialize)]
pub struct Shape {
    #[serde(rename = "type")]
    pub kind: String,
    /// Member names of a structure, and the shape of each.
    #[serde(default)]
    pub members: BTreeMap<String, String>,
    #[serde(default)]
    pub required: BTreeSet<String>,
    /// The shape of a list's elements.
    member: Option<String>,
    /// The shapes of a map's keys and values.
    key: Option<String>,
    value: Option<String>,
    /// The values of an enumeration; of anything else, none.
    #[serde(default, rename = "enum")]
    pub values: Vec<String>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub pattern: Option<String>,
}

/// A member of a structure.
pub struct Member<'f> {
    pub name: &'f str,
    pub shape: &'f str,
    pub required: bool,
}

impl Facts {
    pub fn read(path: &Path) -> Result<Facts, Error> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// Whether requests also come as forms or CBOR, which are read by a description of the shapes.
    pub fn speaks_more_than_json(&self) -> bool {
        self.metadata.protocols.iter().any(|protocol| protocol != "json")
    }

    pub fn shape(&self, name: &str) -> Result<&Shape, Error> {
        self.shapes.get(name).ok_or_else(|| format!("the facts have no shape {name}").into())
    }

    pub fn operation(&self, name: &str) -> Result<&Operation, Error> {
        self.operations.get(name).ok_or_else(|| format!("the facts have no operation {name}").into())
    }

    /// The structure's members, those that are reported first in front.
    pub fn members<'f>(&'f self, structure: &str) -> Result<Vec<Member<'f>>, Error> {
        let shape = self.shape(structure)?;
        let first = lookup(REPORTED_FIRST, structure).copied().unwrap_or_default();
        let rank = |member: &str| first.iter().position(|&f| f == member).unwrap_or(first.len());
        let mut members = Vec::new();
        for (name, member) in &shape.members {
            // An AttributeValue has no default to stand in for a missing one.
            let required = shape.required.contains(name) && member != "AttributeValue";
            members.push(Member { name, shape: member, required });
        }
        members.sort_by_key(|member| rank(member.name));
        Ok(members)
    }

    pub fn rust_type(&self, name: &str) -> Result<String, Error> {
        let shape = self.shape(name)?;
        Ok(match shape.kind.as_str() {
            _ if name == "AttributeValue" => "ValueBuf".to_owned(),
            _ if shape.is_item() => "Item".to_owned(),
            "structure" => name.to_owned(),
            "string" if !shape.values.is_empty() => name.to_owned(),
            "string" => "String".to_owned(),
            "boolean" => "bool".to_owned(),
            "integer" => "i32".to_owned(),
            "long" => "i64".to_owned(),
            "double" | "float" | "timestamp" => "f64".to_owned(),
            "blob" => "Vec<u8>".to_owned(),
            "list" => format!("Vec<{}>", self.rust_type(shape.element()?)?),
            "map" => format!("BTreeMap<String, {}>", self.rust_type(shape.value()?)?),
            other => return Err(format!("{name} is of an unknown type {other}").into()),
        })
    }

    /// The Java type that the texts of a SerializationException name.
    pub fn java_class(&self, name: &str) -> Result<String, Error> {
        let shape = self.shape(name)?;
        Ok(match shape.kind.as_str() {
            "structure" => format!("{}.{name}", self.metadata.namespace),
            "string" => "java.lang.String".to_owned(),
            "boolean" => "java.lang.Boolean".to_owned(),
            "integer" => "java.lang.Integer".to_owned(),
            "long" => "java.lang.Long".to_owned(),
            "list" => format!("java.util.List<{}>", self.java_class(shape.element()?)?),
            "map" => format!("java.util.Map<java.lang.String, {}>", self.java_class(shape.value()?)?),
            _ => "java.lang.Object".to_owned(),
        })
    }
}

impl Shape {
    /// The shape of a list's elements.
    pub fn element(&self) -> Result<&str, Error> {
        self.member.as_deref().ok_or_else(|| "a list without its element's shape".into())
    }

    /// The shape of a map's values.
    pub fn value(&self) -> Result<&str, Error> {
        self.value.as_deref().ok_or_else(|| "a map without its values' shape".into())
    }

    /// The names of all shapes that this one is made of.
    pub fn parts(&self) -> impl Iterator<Item = &String> {
        self.members.values().chain([&self.member, &self.key, &self.value].into_iter().flatten())
    }

    /// A map of attribute names to values: one `item::Item`.
    pub fn is_item(&self) -> bool {
        self.kind == "map"
            && self.key.as_deref() == Some("AttributeName")
            && self.value.as_deref() == Some("AttributeValue")
    }

    pub fn is_constrained(&self) -> bool {
        self.min.is_some() || self.max.is_some() || self.pattern.is_some()
    }

    /// The allowed lengths, as a Rust range.
    pub fn length(&self) -> String {
        let max = self.max.map_or("usize::MAX".to_owned(), |max| max.to_string());
        format!("{}..={max}", self.min.unwrap_or(0))
    }

    /// The allowed numbers, as a Rust range.
    pub fn range(&self) -> String {
        let bound = |limit: Option<i64>, word| limit.map_or(format!("i64::{word}"), |n| n.to_string());
        format!("{}..={}", bound(self.min, "MIN"), bound(self.max, "MAX"))
    }
}
