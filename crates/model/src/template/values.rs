//! What a rendered key tells of the attributes in its template.

use super::{Field, Form, Part, Template, descending};

impl Template {
    /// The text of each attribute in a key; `None` if the template never gives this key. A value ends where the next
    /// literal begins.
    pub fn values(&self, key: &str) -> Option<Vec<(&str, String)>> {
        let mut rest = key;
        let mut values = Vec::new();
        for (position, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Field(field) => {
                    let end = match self.parts.get(position + 1) {
                        Some(Part::Literal(next)) => rest.find(next.as_str())?,
                        Some(Part::Field(_)) => return None,
                        None => rest.len(),
                    };
                    let (value, left) = rest.split_at(end);
                    rest = left;
                    values.extend(field.value_in(value).filter(|_| !value.is_empty()));
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

impl Field {
    fn value_in(&self, value: &str) -> Option<(&str, String)> {
        match &self.form {
            Form::Attribute(name) | Form::Lower(name) | Form::Bucket { attribute: name, .. } => {
                Some((name, value.to_owned()))
            }
            Form::Descending { attribute, digits } => {
                let number: u128 = descending(value, *digits)?.parse().ok()?;
                Some((attribute, number.to_string()))
            }
            Form::Shard { .. } | Form::Random { .. } => None,
        }
    }
}
