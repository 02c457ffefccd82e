//! `generated/decode.rs`: one function for each shape that reads it from JSON. A shape without constraints
//! of its own is read by a function of `api::decode`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::facts::{Member, Shape};
use super::name::{self, snake};
use super::quirks::PATTERNS;
use super::{Error, Source, lookup, mentions};

pub fn print(source: &Source<'_>) -> Result<String, Error> {
    let Source { service, facts, reach } = source;
    let mut readers = String::new();
    for name in reach.shapes.keys() {
        if source.reader(name)? != name::reader(name) || !reach.is_read(name) {
            continue;
        }
        let shape = facts.shape(name)?;
        match shape.kind.as_str() {
            "structure" => print_structure(source, name, &mut readers)?,
            _ => {
                let (reader, rust) = (name::reader(name), facts.rust_type(name)?);
                let call = source.call(name, shape)?;
                writeln!(
                    readers,
                    "fn {reader}(reader: &mut Reader<'_>, at: &Path<'_>) -> Decoded<{rust}> {{ {call} }}\n"
                )?;
            }
        }
    }
    let mut uses = String::new();
    if mentions(&readers, "BTreeMap") {
        uses.push_str("use std::collections::BTreeMap;\n\n");
    }
    let items: Vec<&str> = ["Item", "ValueBuf"].into_iter().filter(|name| mentions(&readers, name)).collect();
    if !items.is_empty() {
        writeln!(uses, "use item::{{{}}};\n", items.join(", "))?;
    }
    uses.push_str("use super::*;\nuse crate::decode::*;\n");
    if !service.borrowed.is_empty() {
        uses.push_str("use crate::dynamodb::generated::decode::*;\n");
    }
    if mentions(&readers, "pattern") {
        uses.push_str("use crate::pattern;\n");
    }
    Ok(format!("{uses}\n{readers}"))
}

impl Source<'_> {
    /// The function that reads a shape: its own, or the common one if the shape sets no constraint.
    fn reader(&self, name: &str) -> Result<String, Error> {
        let shape = self.facts.shape(name)?;
        let is_input = self.reach.is_constrained(name);
        let is_free = !is_input || !shape.is_constrained();
        Ok(match shape.kind.as_str() {
            _ if name == "TableArn" && is_input => "table_name".to_owned(),
            _ if name == "AttributeValue" => "value".to_owned(),
            _ if shape.is_item() => "item".to_owned(),
            "string" if !shape.values.is_empty() => "enumeration".to_owned(),
            "string" if is_free => "string".to_owned(),
            "integer" if is_free => "integer".to_owned(),
            "long" if is_free => "long".to_owned(),
            "boolean" => "boolean".to_owned(),
            "double" | "float" | "timestamp" => "double".to_owned(),
            "blob" => "blob".to_owned(),
            _ => name::reader(name),
        })
    }

    /// The call of the common function that reads a shape that is no structure.
    fn call(&self, name: &str, shape: &Shape) -> Result<String, Error> {
        let length = shape.length();
        Ok(match shape.kind.as_str() {
            "string" => {
                let pattern = match &shape.pattern {
                    None => "None".to_owned(),
                    Some(pattern) => {
                        let matcher = lookup(PATTERNS, pattern).ok_or(format!("no matcher for {pattern}"))?;
                        format!("Some(&pattern::{matcher})")
                    }
                };
                format!("text(reader, at, {length}, {pattern})")
            }
            kind @ ("integer" | "long") => format!("{kind}_within(reader, at, {})", shape.range()),
            "list" if shape.element()? == "AttributeValue" => format!("value_list(reader, at, {length})"),
            "list" => format!("list(reader, at, {length}, {})", self.reader(shape.element()?)?),
            "map" if shape.value()? == "AttributeValue" => "value_map(reader, at)".to_owned(),
            "map" => {
                let (class, value) = (self.facts.java_class(name)?, self.reader(shape.value()?)?);
                format!("map(reader, at, {length}, \"{class}\", {value})")
            }
            other => return Err(format!("{name} is of an unknown type {other}").into()),
        })
    }

    /// `shape.table_name = read_table_name(reader, &at)?`
    fn assignment(&self, member: &Member<'_>) -> Result<String, Error> {
        let read = format!("{}(reader, &at)?", self.reader(member.shape)?);
        // The reader of an AttributeValue returns an option: a value at fault leaves nothing.
        let is_whole = member.required || member.shape == "AttributeValue";
        let value = if is_whole { read } else { format!("Some({read})") };
        Ok(format!("shape.{} = {value}", snake(member.name)))
    }
}

fn print_structure(source: &Source<'_>, name: &str, text: &mut String) -> Result<(), Error> {
    let members = source.facts.members(name)?;
    let class = source.facts.java_class(name)?;
    let names: String = members.iter().map(|member| format!("\"{}\", ", member.name)).collect();
    let loop_body = print_loop_body(source, &members)?;
    let required: BTreeSet<usize> =
        members.iter().enumerate().filter(|(_, member)| member.required).map(|(index, _)| index).collect();
    let require = match required.is_empty() {
        true => String::new(),
        false => format!("members.require(reader, at, &{:?});", Vec::from_iter(required)),
    };
    let fault = match source.reach.with_values.contains(name) {
        true => "shape.value_fault = reader.take_value_fault();",
        false => "",
    };
    let (at, mutable) = if members.is_empty() { ("_at", "") } else { ("at", "mut ") };
    writeln!(
        text,
        "pub(crate) fn {}(reader: &mut Reader<'_>, {at}: &Path<'_>) -> Decoded<{name}> {{
            const MEMBERS: &[&str] = &[{names}];
            let mut members = reader.structure(\"{class}\", MEMBERS)?;
            let {mutable}shape = {name}::default();
            {loop_body}
            {require}{fault}Ok(shape)
        }}\n",
        name::reader(name)
    )?;
    Ok(())
}

/// Reads the members as they come.
fn print_loop_body(source: &Source<'_>, members: &[Member<'_>]) -> Result<String, Error> {
    let assignment = match members {
        [] => return Ok("while members.next(reader)?.is_some() {}".to_owned()),
        [only] => format!("{};", source.assignment(only)?),
        [all @ .., last] => {
            let mut arms = String::new();
            for (index, member) in all.iter().enumerate() {
                writeln!(arms, "{index} => {},", source.assignment(member)?)?;
            }
            format!("match index {{ {arms} _ => {}, }}", source.assignment(last)?)
        }
    };
    Ok(format!(
        "while let Some(index) = members.next(reader)? {{
            let at = at.member(MEMBERS, index);
            {assignment}
        }}"
    ))
}
