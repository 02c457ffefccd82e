//! `generated/enumeration.rs`: one Rust enum for each string with a fixed set of values.

use std::fmt::Write as _;

use super::name::variant;
use super::quirks::LISTED_AS;
use super::{Error, Source, lookup};

pub fn print(source: &Source<'_>) -> Result<String, Error> {
    let Source { facts, reach, .. } = source;
    let mut text = String::from("use crate::enumeration::enumeration;\n\n");
    for name in reach.enumerations(facts) {
        let listed = match lookup(LISTED_AS, name) {
            Some(order) => format!("listed \"{}\" ", order.join(", ")),
            None => String::new(),
        };
        // rustfmt leaves the insides of a macro alone, so they are laid out here.
        writeln!(text, "enumeration! {{\n    /// {}\n    {name} {listed}{{", reach.describe(name))?;
        for value in &facts.shape(name)?.values {
            writeln!(text, "        {} = \"{value}\",", variant(value))?;
        }
        text.push_str("    }\n}\n\n");
    }
    Ok(text)
}
