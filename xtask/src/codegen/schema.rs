//! `generated/schema.rs`: what each shape consists of, for the protocols that a request's bytes alone do not
//! explain: a form has no types, and CBOR marks its times.

use std::fmt::Write as _;

use super::name::snake;
use super::{Error, Source};

pub fn print(source: &Source<'_>) -> Result<String, Error> {
    let Source { service, facts, reach } = source;
    let mut text = String::from(
        "use super::Operation;
        use crate::protocol::Shape;\n\n",
    );
    for name in reach.structures(facts) {
        let mut members = String::new();
        for member in facts.members(name)? {
            writeln!(members, "(\"{}\", {}),", member.name, source.description(member.shape)?)?;
        }
        writeln!(text, "static {}: Shape = Shape::Structure(&[{members}]);\n", constant(name))?;
    }
    let (mut inputs, mut outputs) = (String::new(), String::new());
    for name in service.operations {
        let operation = facts.operation(name)?;
        writeln!(inputs, "Operation::{name} => &{},", constant(&operation.input))?;
        let output = operation.output.as_ref().map(|output| format!("Some(&{})", constant(output)));
        writeln!(outputs, "Operation::{name} => {},", output.unwrap_or("None".to_owned()))?;
    }
    writeln!(
        text,
        "/// The shape of an operation's input.
        pub(crate) fn input(operation: Operation) -> &'static Shape {{ match operation {{ {inputs} }} }}

        /// The shape of an operation's output, if it has one.
        pub(crate) fn output(operation: Operation) -> Option<&'static Shape> {{
            match operation {{ {outputs} }}
        }}"
    )?;
    Ok(text)
}

impl Source<'_> {
    /// An expression of the type `&'static Shape`.
    fn description(&self, name: &str) -> Result<String, Error> {
        let shape = self.facts.shape(name)?;
        Ok(match shape.kind.as_str() {
            "structure" => format!("&{}", constant(name)),
            "list" => format!("&Shape::List({})", self.description(shape.element()?)?),
            "map" => format!("&Shape::Map({})", self.description(shape.value()?)?),
            "string" => "&Shape::Text".to_owned(),
            "boolean" => "&Shape::Boolean".to_owned(),
            "integer" | "long" => "&Shape::Integer".to_owned(),
            "double" | "float" => "&Shape::Double".to_owned(),
            "timestamp" => "&Shape::Timestamp".to_owned(),
            other => return Err(format!("{name} has the type {other}, which has no description").into()),
        })
    }
}

fn constant(name: &str) -> String {
    snake(name).trim_start_matches("r#").to_uppercase()
}
