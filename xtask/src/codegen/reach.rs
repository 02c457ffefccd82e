//! The shapes that the served operations use.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::{Error, Service};

#[derive(Default)]
pub struct Reach {
    /// Every shape to print, and the operations that use it.
    pub shapes: BTreeMap<String, BTreeSet<String>>,
    /// Shapes that are part of an input. Only these are held to the constraints of the facts: a client takes
    /// what the server sends.
    constrained: BTreeSet<String>,
    /// Inputs with an AttributeValue somewhere in them.
    pub with_values: BTreeSet<String>,
    inputs: BTreeMap<String, String>,
    outputs: BTreeMap<String, String>,
    /// Outputs of more than one operation: they do not say which of them answered, so no client reads them.
    shared_outputs: BTreeSet<String>,
}

impl Reach {
    pub fn of(facts: &Facts, service: &Service) -> Result<Reach, Error> {
        let mut reach = Reach::default();
        for name in service.operations {
            let operation = facts.operation(name)?;
            let input = shapes_of(facts, service, &operation.input)?;
            let output = match &operation.output {
                Some(output) => shapes_of(facts, service, output)?,
                None => BTreeSet::new(),
            };
            if input.contains("AttributeValue") {
                reach.with_values.insert(operation.input.clone());
            }
            for shape in input.union(&output) {
                reach.shapes.entry(shape.clone()).or_default().insert((*name).to_owned());
            }
            reach.constrained.extend(input);
            reach.inputs.insert(operation.input.clone(), (*name).to_owned());
            if let Some(output) = &operation.output
                && reach.outputs.insert(output.clone(), (*name).to_owned()).is_some()
            {
                reach.shared_outputs.insert(output.clone());
            }
        }
        reach.shapes.retain(|shape, _| !service.borrowed.contains(&shape.as_str()));
        Ok(reach)
    }

    /// The structures to print, by name. An AttributeValue is a type of the `item` crate.
    pub fn structures<'r>(&'r self, facts: &'r Facts) -> impl Iterator<Item = &'r str> {
        let is_structure = |name: &&String| facts.shapes[*name].kind == "structure";
        self.shapes.keys().filter(is_structure).map(String::as_str).filter(|name| *name != "AttributeValue")
    }

    /// Whether somebody reads the shape.
    pub fn is_read(&self, shape: &str) -> bool {
        !self.shared_outputs.contains(shape)
    }

    /// The enumerations to print, by name.
    pub fn enumerations<'r>(&'r self, facts: &'r Facts) -> impl Iterator<Item = &'r str> {
        self.shapes.keys().filter(|name| !facts.shapes[*name].values.is_empty()).map(String::as_str)
    }

    pub fn is_constrained(&self, shape: &str) -> bool {
        self.constrained.contains(shape)
    }

    /// One line that says where the shape occurs.
    pub fn describe(&self, shape: &str) -> String {
        if let Some(operation) = self.inputs.get(shape) {
            return format!("The input of {operation}.");
        }
        if let Some(operation) = self.outputs.get(shape) {
            return format!("The output of {operation}.");
        }
        let users: Vec<&str> = self.shapes[shape].iter().map(String::as_str).collect();
        match users.as_slice() {
            [first, second, third, _, ..] => format!("Used by {first}, {second}, {third} and others."),
            [first @ .., last] if !first.is_empty() => format!("Used by {} and {last}.", first.join(", ")),
            _ => format!("Used by {}.", users.join("")),
        }
    }
}

/// The shape and every shape that it is made of, but nothing inside an AttributeValue or a borrowed shape.
fn shapes_of(facts: &Facts, service: &Service, name: &str) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        let is_opaque = name == "AttributeValue" || service.borrowed.contains(&name.as_str());
        if found.insert(name.clone()) && !is_opaque {
            open.extend(facts.shape(&name)?.parts().cloned());
        }
    }
    Ok(found)
}
