//! Rules that item operations share: older parameters against expressions, placeholders, values.
//! The error is a text; the operation knows what to put in front of it.

use std::collections::{BTreeMap, BTreeSet};

use item::{Placeholder, ValueBuf, ValueError};

use crate::{ConditionalOperator, Error, Select, limits};

pub(super) type Checked = Result<(), String>;

/// A parameter's name, and whether the request has it.
pub(super) type Parameter = (&'static str, bool);

/// A request uses expressions or the older parameters, never both.
pub(super) fn check_mixing(older: &[Parameter], expressions: &[Parameter]) -> Checked {
    let (older, expressions) = (present(older), present(expressions));
    if older.is_empty() || expressions.is_empty() {
        return Ok(());
    }
    Err(format!(
        "Can not use both expression and non-expression parameters in the same request: \
         Non-expression parameters: {{{older}}} Expression parameters: {{{expressions}}}"
    ))
}

fn present(parameters: &[Parameter]) -> String {
    let names: Vec<&str> = parameters.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    names.join(", ")
}

/// A ConditionalOperator joins at least two of the older conditions.
pub(super) fn check_conditional_operator<T>(
    operator: Option<ConditionalOperator>,
    conditions: Option<&BTreeMap<String, T>>,
) -> Checked {
    let count = conditions.map_or(0, BTreeMap::len);
    match operator {
        Some(_) if count == 0 => {
            Err("ConditionalOperator cannot be used without Filter or Expected".to_owned())
        }
        Some(_) if count == 1 => Err("ConditionalOperator can only be used when Filter or Expected has \
             two or more elements"
            .to_owned()),
        _ => Ok(()),
    }
}

/// The maps of placeholders, and whether the request has an expression that can use them.
#[derive(Default)]
pub(super) struct Placeholders<'a> {
    pub names: Option<&'a BTreeMap<String, String>>,
    pub names_usable: bool,
    pub values: Option<&'a BTreeMap<String, ValueBuf>>,
    pub values_usable: bool,
    /// The fault of a value that decoding left out of its map.
    pub value_fault: Option<&'a ValueError>,
}

impl Placeholders<'_> {
    /// Checks that the maps can be used, are not empty, and have the right keys.
    pub fn check(&self) -> Checked {
        if let Some(names) = self.names {
            self.check_map("ExpressionAttributeNames", Placeholder::Name, names, self.names_usable, true)?;
            if names.values().any(String::is_empty) {
                return Err(ValueError::EmptyName.to_string());
            }
        }
        if let Some(values) = self.values {
            let complete = self.value_fault.is_none();
            self.check_map(
                "ExpressionAttributeValues",
                Placeholder::Value,
                values,
                self.values_usable,
                complete,
            )?;
        }
        Ok(())
    }

    fn check_map<T>(
        &self,
        map: &str,
        placeholder: Placeholder,
        entries: &BTreeMap<String, T>,
        usable: bool,
        complete: bool,
    ) -> Checked {
        if !usable {
            return Err(format!("{map} can only be specified when using expressions"));
        }
        if entries.is_empty() && complete {
            return Err(format!("{map} must not be empty"));
        }
        match entries.keys().find(|key| !placeholder.matches(key)) {
            Some(key) => Err(format!("{map} contains invalid key: Syntax error; key: \"{key}\"")),
            None => Ok(()),
        }
    }
}

/// Reports a value that breaks a rule of its type, in a request that writes one item.
pub(super) fn check_written_values(fault: &Option<ValueError>) -> Result<(), Error> {
    match fault {
        Some(fault) if fault.is_request_shape() => Err(Error::request_shape(fault)),
        Some(fault) => Err(Error::validation(fault.to_string())),
        None => Ok(()),
    }
}

/// Reports a value that breaks a rule of its type, in any other request.
pub(super) fn check_read_values(fault: &Option<ValueError>) -> Result<(), Error> {
    match fault {
        Some(fault) => Err(Error::validation(fault.to_string())),
        None => Ok(()),
    }
}

/// Checks names that one of the older parameters lists.
pub(super) fn check_attributes_to_get(names: Option<&Vec<String>>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for name in names.into_iter().flatten() {
        check_attribute_name(name).map_err(Error::validation)?;
        if !seen.insert(name) {
            return Err(Error::invalid_parameter(format_args!("Duplicate value in attribute name: {name}")));
        }
    }
    Ok(())
}

/// Checks names that are keys of one of the older parameters.
pub(super) fn check_attribute_names<T>(conditions: Option<&BTreeMap<String, T>>) -> Checked {
    conditions.into_iter().flat_map(BTreeMap::keys).try_for_each(|name| check_attribute_name(name))
}

fn check_attribute_name(name: &str) -> Checked {
    match name.len() {
        0 => Err(ValueError::EmptyName.to_string()),
        1..=limits::ATTRIBUTE_NAME_BYTES_MAX => Ok(()),
        _ => Err(ValueError::LongName.to_string()),
    }
}

/// What a Query or Scan returns of each item.
pub(super) struct Selection {
    pub select: Option<Select>,
    pub attributes_to_get: bool,
    pub projection: bool,
    pub index: bool,
}

impl Selection {
    /// Checks that Select agrees with the list of attributes, and with the index.
    pub fn check(&self) -> Checked {
        let Some(select) = self.select else { return Ok(()) };
        let listing = match (self.attributes_to_get, self.projection) {
            (true, _) => Some("AttributesToGet"),
            (_, true) => Some("ProjectionExpression"),
            _ => None,
        };
        match (select, listing) {
            (Select::SpecificAttributes, None) => Err("Must specify the AttributesToGet or \
                 ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
                .to_owned()),
            (Select::SpecificAttributes, Some(_)) => Ok(()),
            (Select::Count, Some(listing)) => {
                Err(format!("Cannot specify the {listing} when choosing to get only the Count"))
            }
            (other, Some(listing)) => {
                Err(format!("Cannot specify the {listing} when choosing to get {}", other.as_str()))
            }
            (Select::AllProjectedAttributes, None) if !self.index => {
                Err("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName".to_owned())
            }
            (_, None) => Ok(()),
        }
    }
}
