//! The tools: each is a command of the workbench, with what it takes.

use std::fs::File;
use std::io::Read;

use serde_json::{Map, Value, json};

/// The longest text that a tool reads from a file: other tools' files may be larger than models.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// One tool.
pub struct Tool {
    pub name: &'static str,
    /// The workbench's name of it.
    pub command: &'static str,
    about: &'static str,
    /// Texts that it takes, each as text or as the path of a file: the member of the text, of the path, and what it is.
    texts: &'static [(&'static str, &'static str, &'static str)],
    /// Further members that it can have: name, type and meaning.
    options: &'static [(&'static str, &'static str, &'static str)],
}

const MODEL: &[(&str, &str, &str)] = &[("text", "path", "the model file")];

pub const TOOLS: &[Tool] = &[
    Tool {
        name: "model_init",
        command: "init",
        about: "An example of a model file to start from.",
        texts: &[],
        options: &[],
    },
    Tool {
        name: "model_schema",
        command: "schema",
        about: "The JSON Schema of model files, with the meaning of every member.",
        texts: &[],
        options: &[],
    },
    Tool {
        name: "model_check",
        command: "check",
        about: "Find every problem of a model: what is wrong, where, why, and how to cure it. Run it after each change.",
        texts: MODEL,
        options: &[],
    },
    Tool {
        name: "model_explain",
        command: "explain",
        about: "Explain a rule of `model_check`, with examples.",
        texts: &[],
        options: &[("rule", "string", "the rule, as in R14")],
    },
    Tool {
        name: "model_plan",
        command: "plan",
        about: "The request that serves each access pattern: operation, index, key condition, units, and what is missing.",
        texts: MODEL,
        options: &[],
    },
    Tool {
        name: "model_prove",
        command: "prove",
        about: "Prove every access pattern by running it on a real engine in memory with generated data. Takes seconds.",
        texts: MODEL,
        options: &[],
    },
    Tool {
        name: "model_cost",
        command: "cost",
        about: "What the model costs each month on AWS: by pattern, by index, for every way to pay.",
        texts: MODEL,
        options: &[("region", "string", "whose prices apply; the model's by default")],
    },
    Tool {
        name: "model_heat",
        command: "heat",
        about: "Which partition keys are the busiest, and whether DynamoDB can serve them.",
        texts: MODEL,
        options: &[],
    },
    Tool {
        name: "model_design",
        command: "design",
        about: "Find keys and indexes for the entities and patterns of a model, with reasons and the next best designs. Takes seconds.",
        texts: MODEL,
        options: &[
            ("indexes", "string", "`overloaded` (entities share indexes, the default) or `named`"),
            (
                "headroom",
                "number",
                "the share of a partition's capacity that the busiest key may use; 0.7 by default",
            ),
        ],
    },
    Tool {
        name: "model_diff",
        command: "diff",
        about: "How to get from one model to another while the application runs: steps, time, cost, and what stands in the way.",
        texts: &[
            ("old", "old_path", "the model file as it is"),
            ("new", "new_path", "the model file as it should become"),
        ],
        options: &[
            ("rehearse", "boolean", "carry the steps out on a database in memory; takes seconds"),
            ("rate", "number", "write units each second that jobs may use; 500 by default"),
            ("region", "string", "whose prices apply; the model's by default"),
        ],
    },
    Tool {
        name: "model_import",
        command: "import",
        about: "Make a model from another tool's file: CloudFormation, Terraform, NoSQL Workbench, ElectroDB and others.",
        texts: &[("text", "path", "the other tool's file")],
        options: &[("from", "string", "its format; recognised by default")],
    },
    Tool {
        name: "model_export",
        command: "export",
        about: "Write a model in another tool's format: create-table, cloudformation, terraform and others.",
        texts: MODEL,
        options: &[("to", "string", "the format")],
    },
    Tool {
        name: "model_code",
        command: "code",
        about: "Each access pattern as requests and as code that runs.",
        texts: MODEL,
        options: &[("pattern", "string", "only this pattern")],
    },
];

/// Members that a tool can't do without.
const REQUIRED: [&str; 2] = ["rule", "to"];

impl Tool {
    /// As `tools/list` shows it.
    pub fn description(&self) -> Value {
        let mut properties = Map::new();
        for (text, path, about) in self.texts {
            properties.insert(
                (*text).to_owned(),
                json!({ "type": "string", "description": format!("The text of {about}") }),
            );
            let about = format!("The path of {about}, in place of `{text}`");
            properties.insert((*path).to_owned(), json!({ "type": "string", "description": about }));
        }
        for (name, kind, about) in self.options {
            properties.insert((*name).to_owned(), json!({ "type": kind, "description": about }));
        }
        let required: Vec<&str> =
            REQUIRED.into_iter().filter(|name| properties.contains_key(*name)).collect();
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
        })
    }

    /// The result as JSON, or a `message` that says why there is none.
    pub fn call(&self, arguments: &Value) -> Result<Value, Value> {
        let input = self.input(arguments).map_err(|problem| json!({ "message": problem }))?;
        match self.command {
            "init" => Ok(json!({ "model": model::STARTER })),
            command => studio::workbench(command, &input),
        }
    }

    /// The arguments, with texts in place of paths.
    fn input(&self, arguments: &Value) -> Result<Value, String> {
        let mut input = match arguments {
            Value::Object(members) => members.clone(),
            Value::Null => Map::new(),
            _ => return Err("`arguments` is an object".to_owned()),
        };
        for (text, path, about) in self.texts {
            match (input.contains_key(*text), input.remove(*path)) {
                (true, None) => {}
                (false, Some(Value::String(file))) => {
                    input.insert((*text).to_owned(), json!(read(&file)?));
                    input.insert("name".to_owned(), json!(file));
                }
                _ => return Err(format!("give either `{text}` or `{path}`: {about}")),
            }
        }
        Ok(Value::Object(input))
    }
}

fn read(path: &str) -> Result<String, String> {
    let problem = |error: std::io::Error| format!("{path}: {error}");
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes));
    if read.map_err(problem)? as u64 > TEXT_BYTES_MAX {
        return Err(format!("{path}: a file has at most {} MB", TEXT_BYTES_MAX >> 20));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path}: this is not text in UTF-8"))
}
