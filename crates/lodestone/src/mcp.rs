//! `lodestone mcp`: the workbench as tools of the Model Context Protocol, on standard input and output.
//!
//! The protocol over pipes is one JSON-RPC message a line. Tools about models read model files and compute. Tools about
//! tables and items ask a database: the one that the server was started for, or the one at the usual address. What writes
//! is offered only if the server was started with `--allow-writes`. Requests are answered one after the other.

mod operation;
mod summary;
mod tool;

use std::io::{self, BufRead, Read, Write};

use clap::Args;
use serde_json::{Value, json};

use crate::connection::ConnectionArguments;
use tool::{TOOLS, Tool};

/// Offer the workbench to assistants (check, plan, prove, cost, heat, simulate, design, diff, import, export, code), and
/// the tables and items of a database.
///
/// A client starts it and speaks the Model Context Protocol with it on standard input and output. `docs/editors.md`
/// says how to set up clients. The database is only read, unless --allow-writes says otherwise.
#[derive(Args, Default)]
pub struct Mcp {
    /// Also offer the tools that change the database
    #[arg(long)]
    allow_writes: bool,

    #[command(flatten)]
    database: ConnectionArguments,
}

/// The versions of the protocol that are spoken, the newest first. They do not differ in what is used here.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// More than any request needs: two texts of the largest size that tools take, with every character escaped.
const MESSAGE_BYTES_MAX: u64 = 128 << 20;

const INSTRUCTIONS: &str = "Design DynamoDB tables from access patterns. A model is one YAML file: tables, entities \
with key templates, indexes, access patterns with rates. Begin with `model_init` for an example and `model_schema` for \
all members; describe entities and patterns without keys and let `model_design` find keys, or write keys yourself. \
`model_check` names problems and their cures, `model_explain` explains a rule, `model_prove` runs every pattern on a real \
engine, `model_simulate` shows what is throttled. Each of these takes the file's text, or the path of a file. `table_…` \
and `item_…` ask the database; values are in DynamoDB's JSON.";

impl Mcp {
    pub fn run(self) -> Result<(), String> {
        self.serve(&mut io::stdin().lock(), &mut io::stdout().lock()).map_err(|error| error.to_string())
    }

    /// Answers until the input ends.
    fn serve(&self, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.take(MESSAGE_BYTES_MAX).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            if read as u64 == MESSAGE_BYTES_MAX && !line.ends_with(b"\n") {
                let problem = format!("a message has at most {} MB", MESSAGE_BYTES_MAX >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Some(answer) = self.answer(&line) {
                writeln!(output, "{answer}")?;
                output.flush()?;
            }
        }
    }
}

/// JSON-RPC's numbers for what is wrong with a request.
#[derive(Clone, Copy)]
enum Code {
    Parse = -32700,
    Request = -32600,
    Method = -32601,
    Parameters = -32602,
}

impl Mcp {
    /// None to a notification, or to an answer: nothing is asked of clients.
    fn answer(&self, line: &[u8]) -> Option<Value> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return Some(failure(&Value::Null, Code::Parse, &error.to_string())),
        };
        let id = message.get("id")?;
        let Some(method) = message["method"].as_str() else {
            let is_answer = message.get("result").or(message.get("error")).is_some();
            return (!is_answer).then(|| failure(id, Code::Request, "a request has a method"));
        };
        Some(match self.called(method, &message["params"]) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, problem)) => failure(id, code, &problem),
        })
    }

    fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        TOOLS.iter().filter(|tool| self.allow_writes || !tool.writes())
    }

    fn called(&self, method: &str, params: &Value) -> Result<Value, (Code, String)> {
        match method {
            "initialize" => Ok(initialized(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": self.tools().map(Tool::description).collect::<Vec<_>>() })),
            "tools/call" => {
                let name = params["name"].as_str().unwrap_or_default();
                let tool = self.tool(name).map_err(|problem| (Code::Parameters, problem))?;
                Ok(self.result(tool, &params["arguments"]))
            }
            _ => Err((Code::Method, format!("`{method}` is not served"))),
        }
    }

    fn tool(&self, name: &str) -> Result<&'static Tool, String> {
        if let Some(tool) = self.tools().find(|tool| tool.name == name) {
            return Ok(tool);
        }
        if TOOLS.iter().any(|tool| tool.name == name) {
            return Err(format!("`{name}` writes: start `lodestone mcp` with --allow-writes"));
        }
        let known = self.tools().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
        Err(format!("there is no tool `{name}`; there are {known}"))
    }

    /// A tool that can't do what it is asked says why in its result, where the assistant sees it. Only a success has a
    /// structured result: that is what the tool's schema describes.
    fn result(&self, tool: &Tool, arguments: &Value) -> Value {
        let content = |text: String| json!([{ "type": "text", "text": text }]);
        match tool.call(arguments, &self.database) {
            Ok(done) => json!({
                "content": content(summary::summary(tool, &done)), "structuredContent": done, "isError": false,
            }),
            Err(problem) => json!({ "content": content(summary::problem(&problem)), "isError": true }),
        }
    }
}

fn failure(id: &Value, code: Code, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": message } })
}

fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.into_iter().find(|version| *version == asked).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "lodestone", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(message: Value) -> Option<Value> {
        Mcp::default().answer(message.to_string().as_bytes())
    }

    fn call(name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        asked(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
            .expect("an answer")
    }

    #[test]
    fn a_version_that_is_not_known_is_answered_with_the_newest() {
        let initialize = |version: &str| {
            let params = json!({ "protocolVersion": version, "capabilities": {} });
            let answer =
                asked(json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params }));
            answer.expect("an answer")["result"]["protocolVersion"].clone()
        };
        assert_eq!(initialize("2024-11-05"), "2024-11-05");
        assert_eq!(initialize("2999-01-01"), VERSIONS[0]);
    }

    #[test]
    fn every_message_is_answered_or_needs_no_answer() {
        let server = Mcp::default();
        let code = |line: &str| server.answer(line.as_bytes()).map(|answer| answer["error"]["code"].clone());
        assert_eq!(code("{"), Some(json!(-32700)));
        assert_eq!(code(r#"{"id":1}"#), Some(json!(-32600)));
        assert_eq!(code(r#"{"id":1,"method":"resources/list"}"#), Some(json!(-32601)));
        assert_eq!(code(r#"{"id":1,"method":"tools/call"}"#), Some(json!(-32602)));
        assert_eq!(code(r#"{"method":"notifications/initialized"}"#), None);
        assert_eq!(code(r#"{"id":1,"result":{}}"#), None);
        assert_eq!(code("[]"), None);
    }

    #[test]
    fn lines_are_answered_until_the_input_ends() {
        let mut output = Vec::new();
        let mut input: &[u8] = b"{\"id\":1,\"method\":\"ping\"}\n\n{\"id\":2,\"method\":\"ping\"}";
        Mcp::default().serve(&mut input, &mut output).expect("the input ends");
        assert_eq!(String::from_utf8_lossy(&output).lines().count(), 2);
    }

    #[test]
    fn a_tool_takes_text_or_a_path_and_nothing_else() {
        let checked = call("model_check", json!({ "text": model::STARTER }));
        assert_eq!(checked["result"]["isError"], false, "{checked}");
        assert_eq!(checked["result"]["structuredContent"]["readable"], true);
        let with_unknown = json!({ "text": model::STARTER, "modell": "" });
        for arguments in [
            json!({}),
            json!({ "path": "/nowhere/model.yaml" }),
            json!({ "text": "", "path": "" }),
            json!(7),
            with_unknown,
        ] {
            let refused = call("model_check", arguments);
            assert_eq!(refused["result"]["isError"], true, "{refused}");
        }
    }

    #[test]
    fn what_is_no_model_is_refused_with_its_problems() {
        let refused = call("model_cost", json!({ "text": "model: x\nentitties: {}\n" }));
        let text = refused["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("entitties") && text.contains("did you mean"), "{text}");
    }

    #[test]
    fn what_writes_is_offered_only_if_it_is_allowed() {
        let names = |server: &Mcp| server.tools().map(|tool| tool.name).collect::<Vec<_>>();
        let (reader, writer) = (Mcp::default(), Mcp { allow_writes: true, ..Mcp::default() });
        assert!(names(&reader).contains(&"item_query") && !names(&reader).contains(&"item_put"));
        assert!(names(&writer).contains(&"item_put"));
        let refused = call("item_put", json!({}));
        assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("--allow-writes")));
    }

    #[test]
    fn every_tool_says_what_it_answers_with() {
        for tool in TOOLS {
            let description = tool.description();
            assert_eq!(description["outputSchema"]["type"], "object", "{}", tool.name);
        }
    }
}
