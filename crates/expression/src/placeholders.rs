//! ExpressionAttributeNames and ExpressionAttributeValues of one request, and which of them its expressions use.

use std::collections::{BTreeMap, BTreeSet};

use item::{Placeholder, Value, ValueBuf};

use crate::error::{ExpressionError, Fault, Faults};

/// The longest key of either map in bytes, its `#` or `:` included.
pub const PLACEHOLDER_BYTES_MAX: usize = 255;

const NAME_BYTES_MAX: usize = 65_535;

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

/// What the placeholders of a request stand for. A placeholder counts as used if the text of any expression of the
/// request has it, even in a branch that is never evaluated.
pub struct Placeholders<'r> {
    names: Option<&'r BTreeMap<String, String>>,
    values: Option<&'r BTreeMap<String, ValueBuf>>,
    used_names: BTreeSet<&'r str>,
    used_values: BTreeSet<&'r str>,
}

impl<'r> Placeholders<'r> {
    pub fn new(
        names: Option<&'r BTreeMap<String, String>>,
        values: Option<&'r BTreeMap<String, ValueBuf>>,
    ) -> Placeholders<'r> {
        Placeholders { names, values, used_names: BTreeSet::new(), used_values: BTreeSet::new() }
    }

    /// Checks the maps by themselves, as DynamoDB does before it reads any expression.
    pub fn check_keys(&self) -> Result<(), ExpressionError> {
        if let Some(names) = self.names {
            check_keys(NAMES, Placeholder::Name, names.keys())?;
            for (key, name) in names {
                let reason = match name.len() {
                    0 => "Empty attribute name",
                    1..=NAME_BYTES_MAX => continue,
                    _ => "Attribute name is too large, must be less than 65536 bytes",
                };
                return Err(ExpressionError::InvalidName { key: key.clone(), reason });
            }
        }
        self.values.map_or(Ok(()), |values| check_keys(VALUES, Placeholder::Value, values.keys()))
    }

    /// Checks, after the last expression of the request, that every placeholder was used.
    pub fn finish(self) -> Result<(), ExpressionError> {
        check_used(NAMES, self.names.into_iter().flat_map(BTreeMap::keys), &self.used_names)?;
        check_used(VALUES, self.values.into_iter().flat_map(BTreeMap::keys), &self.used_values)
    }

    /// An undefined name is reported, and the placeholder taken for the name, so that binding can go on.
    pub(crate) fn name(&mut self, placeholder: &str, faults: &mut Faults) -> String {
        match self.names.and_then(|names| names.get_key_value(placeholder)) {
            Some((key, name)) => {
                self.used_names.insert(key);
                name.clone()
            }
            None => {
                faults.report(Fault::UndefinedName(placeholder.to_owned()));
                placeholder.to_owned()
            }
        }
    }

    /// An undefined value is reported and taken for NULL, so that binding can go on.
    pub(crate) fn value(&mut self, placeholder: &str, faults: &mut Faults) -> ValueBuf {
        match self.values.and_then(|values| values.get_key_value(placeholder)) {
            Some((key, value)) => {
                self.used_values.insert(key);
                value.clone()
            }
            None => {
                faults.report(Fault::UndefinedValue(placeholder.to_owned()));
                ValueBuf::from(&Value::Null)
            }
        }
    }
}

fn check_keys<'k>(
    parameter: &'static str,
    placeholder: Placeholder,
    mut keys: impl ExactSizeIterator<Item = &'k String>,
) -> Result<(), ExpressionError> {
    if keys.len() == 0 {
        return Err(ExpressionError::EmptyPlaceholders { parameter });
    }
    let bad = keys.find(|key| key.len() > PLACEHOLDER_BYTES_MAX || !placeholder.matches(key));
    bad.map_or(Ok(()), |key| Err(ExpressionError::PlaceholderSyntax { parameter, key: key.clone() }))
}

fn check_used<'k>(
    parameter: &'static str,
    keys: impl Iterator<Item = &'k String>,
    used: &BTreeSet<&str>,
) -> Result<(), ExpressionError> {
    let keys: Vec<String> = keys.filter(|key| !used.contains(key.as_str())).cloned().collect();
    if keys.is_empty() { Ok(()) } else { Err(ExpressionError::UnusedPlaceholders { parameter, keys }) }
}
