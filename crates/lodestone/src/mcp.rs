//! `lodestone mcp`: the workbench as tools of the Model Context Protocol, on standard input and output.
//!
//! The protocol over pipes is one JSON-RPC message a line. A tool reads model files and computes; none writes anything,
//! and no database is asked but the one in memory that `model_prove` fills. Requests are answered one after the other.

mod summary;
mod tool;

use std::io::{self, BufRead, Read, Write};

use clap::Args;
use serde_json::{Value, json};

use tool::{TOOLS, Tool};

/// Offer the workbench to assistants: check, plan, prove, cost, heat, design, diff, import, export, code.
///
/// A client starts it and speaks the Model Context Protocol with it on standard input and output. `docs/editors.md`
/// says how to set up clients.
#[derive(Args)]
pub struct Mcp {}

/// The versions of the protocol that are spoken, the newest first. They do not differ in what is used here.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// More than any request needs: two texts of the largest size that tools take, with every character escaped.
const MESSAGE_BYTES_MAX: u64 = 128 << 20;

const INSTRUCTIONS: &str = "Design DynamoDB tables from access patterns. A model is one YAML file: tables, entities \
with key templates, indexes, access patterns with rates. Begin with `model_init` for an example and `model_schema` for \
all members; describe entities and patterns without keys and let `model_design` find keys, or write keys yourself. \
`model_check` names problems and their cures, `model_explain` explains a rule, `model_prove` runs every pattern on a real \
engine. Each tool takes the file's text, or the path of a file.";

impl Mcp {
    pub fn run(self) -> Result<(), String> {
        serve(&mut io::stdin().lock(), &mut io::stdout().lock()).map_err(|error| error.to_string())
    }
}

/// Answers until the input ends.
fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
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
        if let Some(answer) = answer(&line) {
            writeln!(output, "{answer}")?;
            output.flush()?;
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

/// None to a notification, or to an answer: nothing is asked of clients.
fn answer(line: &[u8]) -> Option<Value> {
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => return Some(failure(&Value::Null, Code::Parse, &error.to_string())),
    };
    let id = message.get("id")?;
    let Some(method) = message["method"].as_str() else {
        let is_answer = message.get("result").or(message.get("error")).is_some();
        return (!is_answer).then(|| failure(id, Code::Request, "a request has a method"));
    };
    Some(match called(method, &message["params"]) {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, problem)) => failure(id, code, &problem),
    })
}

fn failure(id: &Value, code: Code, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": message } })
}

fn called(method: &str, params: &Value) -> Result<Value, (Code, String)> {
    match method {
        "initialize" => Ok(initialized(params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": TOOLS.iter().map(Tool::description).collect::<Vec<_>>() })),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let tool = TOOLS.iter().find(|tool| tool.name == name);
            let tool = tool.ok_or_else(|| {
                let known = TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
                (Code::Parameters, format!("there is no tool `{name}`; there are {known}"))
            })?;
            Ok(result(tool, &params["arguments"]))
        }
        _ => Err((Code::Method, format!("`{method}` is not served"))),
    }
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

/// A tool that can't do what it is asked says why in its result, where the assistant sees it.
fn result(tool: &Tool, arguments: &Value) -> Value {
    let (done, is_error) = match tool.call(arguments) {
        Ok(done) => (done, false),
        Err(problem) => (problem, true),
    };
    let text = if is_error { summary::problem(&done) } else { summary::summary(tool.command, &done) };
    json!({ "content": [{ "type": "text", "text": text }], "structuredContent": done, "isError": is_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(message: Value) -> Option<Value> {
        answer(message.to_string().as_bytes())
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
        let code = |line: &str| answer(line.as_bytes()).map(|answer| answer["error"]["code"].clone());
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
        serve(&mut input, &mut output).expect("the input ends");
        assert_eq!(String::from_utf8_lossy(&output).lines().count(), 2);
    }

    #[test]
    fn a_tool_takes_text_or_a_path_and_nothing_else() {
        let checked = call("model_check", json!({ "text": model::STARTER }));
        assert_eq!(checked["result"]["isError"], false, "{checked}");
        assert_eq!(checked["result"]["structuredContent"]["readable"], true);
        for arguments in
            [json!({}), json!({ "path": "/nowhere/model.yaml" }), json!({ "text": "", "path": "" }), json!(7)]
        {
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
}
