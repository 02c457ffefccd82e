//! `generated/shape.rs`: one Rust struct for each structure.

use std::fmt::Write as _;

use super::name::snake;
use super::{Error, Source, mentions};

pub fn print(source: &Source<'_>) -> Result<String, Error> {
    let Source { facts, reach, .. } = source;
    let mut types = String::new();
    for name in reach.structures(facts) {
        writeln!(types, "/// {}", reach.describe(name))?;
        writeln!(types, "#[derive(Clone, Debug, Default, PartialEq)]\npub struct {name} {{")?;
        for member in facts.members(name)? {
            let rust = facts.rust_type(member.shape)?;
            let rust = if member.required { rust } else { format!("Option<{rust}>") };
            writeln!(types, "pub {}: {rust},", snake(member.name))?;
        }
        if reach.with_values.contains(name) {
            types.push_str(
                "/// The first AttributeValue that breaks a rule of its type. The member that holds it is absent
                /// or empty.
                pub value_fault: Option<ValueError>,\n",
            );
        }
        types.push_str("}\n\n");
    }
    let map = if mentions(&types, "BTreeMap") { "use std::collections::BTreeMap;\n\n" } else { "" };
    let items: Vec<&str> =
        ["Item", "ValueBuf", "ValueError"].into_iter().filter(|name| mentions(&types, name)).collect();
    let items =
        if items.is_empty() { String::new() } else { format!("use item::{{{}}};\n\n", items.join(", ")) };
    Ok(format!(
        "#![allow(missing_docs, reason = \"members are named by the service\")]

        {map}{items}use super::*;

        {types}"
    ))
}
