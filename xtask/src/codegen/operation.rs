//! `generated/operation.rs`: the `Operation`, `Request` and `Response` enums, and what ties an operation's
//! input to its output.

use std::fmt::Write as _;

use super::facts::Operation;
use super::name::reader;
use super::{Error, Source};

/// The arms of each printed `match` and the variants of each enum, one line an operation.
#[derive(Default)]
struct Lines {
    variants: String,
    all: String,
    names: String,
    from_names: String,
    requests: String,
    operations: String,
    decodes: String,
    checks: String,
    request_encodes: String,
    responses: String,
    response_encodes: String,
    conversions: String,
}

pub fn print(source: &Source<'_>) -> Result<String, Error> {
    let mut lines = Lines::default();
    for name in source.service.operations {
        lines.add(source, name)?;
    }
    let Lines {
        variants,
        all,
        names,
        from_names,
        requests,
        operations,
        decodes,
        checks,
        request_encodes,
        responses,
        response_encodes,
        conversions,
    } = lines;
    Ok(format!(
        "#![allow(missing_docs, reason = \"operations are named by the service\")]

        use super::decode as read;
        use super::*;
        use crate::decode::{{answer, decode}};
        use crate::encode::Encode;
        use crate::{{Error, Input}};

        /// An operation that is served.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation {{ {variants} }}

        impl Operation {{
            /// Every operation that is served.
            pub const ALL: &[Operation] = &[{all}];

            /// The name as it is written after the dot in `X-Amz-Target`.
            pub fn name(self) -> &'static str {{ match self {{ {names} }} }}

            /// The inverse of [`Operation::name`].
            pub fn from_target_name(name: &str) -> Option<Operation> {{
                Some(match name {{ {from_names} _ => return None }})
            }}
        }}

        /// A request whose JSON types and constraints are right. Its `check` comes next.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Request {{ {requests} }}

        impl Request {{
            /// The operation that is asked for.
            pub fn operation(&self) -> Operation {{ match self {{ {operations} }} }}

            /// Reads a request's body. A wrong JSON type or a broken constraint is an error, in the
            /// service's words.
            pub fn decode(operation: Operation, body: &[u8]) -> Result<Request, Error> {{
                Ok(match operation {{ {decodes} }})
            }}

            /// Applies the rules that need neither a table nor the meaning of an expression.
            pub fn check(&self) -> Result<(), Error> {{ match self {{ {checks} }} }}

            /// Appends the body that [`Request::decode`] reads.
            pub fn write_json(&self, out: &mut Vec<u8>) {{ match self {{ {request_encodes} }} }}
        }}

        /// The answer to a request.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Response {{ {responses} }}

        impl Response {{
            /// Appends the body.
            pub fn write_json(&self, out: &mut Vec<u8>) {{ match self {{ {response_encodes} }} }}
        }}

        {conversions}"
    ))
}

impl Lines {
    fn add(&mut self, source: &Source<'_>, name: &str) -> Result<(), Error> {
        let operation = source.facts.operation(name)?;
        let input = &operation.input;
        writeln!(self.variants, "{name},")?;
        writeln!(self.all, "Operation::{name},")?;
        writeln!(self.names, "Operation::{name} => \"{name}\",")?;
        writeln!(self.from_names, "\"{name}\" => Operation::{name},")?;
        writeln!(self.requests, "{name}(Box<{input}>),")?;
        writeln!(self.operations, "Request::{name}(_) => Operation::{name},")?;
        writeln!(self.checks, "Request::{name}(input) => input.check(),")?;
        writeln!(self.request_encodes, "Request::{name}(input) => input.encode(out),")?;
        writeln!(
            self.decodes,
            "Operation::{name} => Request::{name}(Box::new(decode(body, read::{})?)),",
            reader(input)
        )?;
        match &operation.output {
            Some(output) => {
                writeln!(self.responses, "{name}(Box<{output}>),")?;
                writeln!(self.response_encodes, "Response::{name}(output) => output.encode(out),")?;
            }
            None => {
                writeln!(self.responses, "{name},")?;
                writeln!(self.response_encodes, "Response::{name} => {{}}")?;
            }
        }
        self.conversions.push_str(&conversions(source, name, operation)?);
        Ok(())
    }
}

/// How an operation's input and output become a `Request` and a `Response`. A few operations share a shape
/// with another operation: such a shape does not say which of them is meant and gets no conversion.
fn conversions(source: &Source<'_>, name: &str, operation: &Operation) -> Result<String, Error> {
    let mut shapes = Vec::new();
    for served in source.service.operations {
        let Operation { input, output } = source.facts.operation(served)?;
        shapes.extend([Some(input), output.as_ref()].into_iter().flatten());
    }
    let is_own = |shape: &String| shapes.iter().filter(|other| **other == shape).count() == 1;
    let mut text = String::new();
    if let Some(output) = operation.output.as_ref().filter(|output| is_own(output)) {
        writeln!(
            text,
            "impl From<{output}> for Response {{
                fn from(output: {output}) -> Response {{ Response::{name}(Box::new(output)) }}
            }}\n"
        )?;
    }
    if is_own(&operation.input) {
        text.push_str(&input_impl(name, operation));
    }
    Ok(text)
}

fn input_impl(name: &str, operation: &Operation) -> String {
    let input = &operation.input;
    let (output, arm, body, read) = match &operation.output {
        Some(output) => (
            output.as_str(),
            format!("Response::{name}(output) => Some(*output)"),
            "body",
            format!("answer(body, read::{})", reader(output)),
        ),
        None => ("()", format!("Response::{name} => Some(())"), "_body", "Ok(())".to_owned()),
    };
    format!(
        "impl Input for {input} {{
            type Output = {output};
            type Request = Request;
            type Response = Response;
            fn into_request(self) -> Request {{ Request::{name}(Box::new(self)) }}
            fn output(response: Response) -> Option<{output}> {{
                match response {{ {arm}, _ => None }}
            }}
            fn read_output({body}: &[u8]) -> Result<{output}, Error> {{ {read} }}
        }}\n\n"
    )
}
