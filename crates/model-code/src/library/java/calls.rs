//! The class that calls each method once, with values of the example data.

use std::fmt::Write as _;

use super::layout::{JavaCode, call, line, plain};
use super::names::Java;
use super::values::{literal, string};
use super::{imports, name_of_calls};
use crate::library::call::{Argument, Call, Row};
use crate::library::{Body, Kind, Library, ParameterKind, WrittenFunction};

pub fn calls(library: &Library, calls: &[Call]) -> String {
    let java = Java::new(library);
    let (class, name) = (&java.class, name_of_calls(&java));
    let kind = format!("Map<String, Function<{class}, Object>>");
    let mut text = String::new();
    for (call, position, _, written) in library.called(calls) {
        text.push_str(&java.call(call, &java.functions[position], written));
    }
    let text = format!(
        "/** Each method of {{@link {class}}} with values of the example data. */\n\
         public final class {name} {{\n    private {name}() {{}}\n\n    \
         /** The calls, by the names of their patterns. */\n    public static {kind} calls() {{\n        \
         {kind} calls = new LinkedHashMap<>();\n{text}        return calls;\n    }}\n}}\n"
    );
    format!("package {};\n\n{}\n{text}", java.package, imports(&text))
}

impl Java<'_> {
    /// A statement that adds the call of a pattern.
    fn call(&self, one: &Call, method: &str, written: &WrittenFunction) -> String {
        let arguments = one.arguments.iter().zip(&written.parameters).map(|(argument, parameter)| {
            let kind = match &parameter.kind {
                ParameterKind::Value { kind, .. } => *kind,
                _ => Kind::Text,
            };
            self.argument(argument, kind)
        });
        let arguments: Vec<JavaCode> = arguments.collect();
        let open = format!("calls.put({}, library -> ", string(&one.pattern));
        let called = |before: &str, close: &str| {
            call(format!("{before}library.{method}("), arguments.clone(), close.to_owned())
        };
        match written.body {
            Body::Read(_) | Body::BatchGet { .. } | Body::TransactionGet { .. } => {
                line(&called(&open, "));"), 2)
            }
            _ => {
                let mut text = format!("        {open}{{\n");
                text.push_str(&line(&called("", ");"), 3));
                let _ = write!(text, "            return null;\n        }});\n");
                text
            }
        }
    }

    fn argument(&self, argument: &Argument, kind: Kind) -> JavaCode {
        match argument {
            Argument::Value(value) => literal(value, kind),
            Argument::Record(row) => self.row(row),
            Argument::Records(rows) => call("List.of(", rows.iter().map(|row| self.row(row)).collect(), ")"),
            Argument::Limit(limit) => plain(limit.to_string()),
            Argument::Start => plain("null"),
        }
    }

    fn row(&self, row: &Row) -> JavaCode {
        let fields = self.library.record(&row.record).map(|record| record.fields.as_slice());
        let values = fields.unwrap_or_default().iter().zip(&row.values).map(|(field, value)| {
            value.as_ref().map_or_else(|| plain("null"), |value| literal(value, field.kind))
        });
        let name = format!("new {}.{}(", self.class, self.record(&row.record));
        call(name, values.collect(), ")")
    }
}
