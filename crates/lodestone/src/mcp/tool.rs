//! The tools: each is a command of the workbench, or an operation of DynamoDB, with what it takes.

use std::fs::File;
use std::io::Read;

use api::Operation;
use model::{Source, results};
use serde_json::{Map, Value, json};

use super::operation;
use crate::connection::ConnectionArguments;
use crate::model::simulate;

/// The longest text that a tool reads from a file: other tools' files may be larger than models.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// One tool.
pub struct Tool {
    pub name: &'static str,
    pub work: ToolWork,
    about: &'static str,
    /// Texts that it takes, each as text or as the path of a file: the member of the text, of the path, and what it is.
    texts: &'static [(&'static str, &'static str, &'static str)],
    /// Further members that it can have: name, type and meaning.
    options: &'static [(&'static str, &'static str, &'static str)],
    required: &'static [&'static str],
}

/// What a tool does.
#[derive(Clone, Copy)]
pub enum ToolWork {
    /// A command of the workbench, by its name.
    Command(&'static str),
    /// An operation of DynamoDB on the database that the server was started for.
    Operation(Operation),
}

const MODEL: &[(&str, &str, &str)] = &[("text", "path", "the model file")];

pub const TOOLS: &[Tool] = &[
    Tool {
        name: "model_init",
        work: ToolWork::Command("init"),
        about: "An example of a model file to start from.",
        texts: &[],
        options: &[],
        required: &[],
    },
    Tool {
        name: "model_schema",
        work: ToolWork::Command("schema"),
        about: "The JSON Schema of model files, with the meaning of every member.",
        texts: &[],
        options: &[],
        required: &[],
    },
    Tool {
        name: "model_check",
        work: ToolWork::Command("check"),
        about: "Find every problem of a model: what is wrong, where, why, and how to cure it. Run it after each change.",
        texts: MODEL,
        options: &[],
        required: &[],
    },
    Tool {
        name: "model_explain",
        work: ToolWork::Command("explain"),
        about: "Explain a rule of `model_check`, with examples.",
        texts: &[],
        options: &[("rule", "string", "the rule, as in R14")],
        required: &["rule"],
    },
    Tool {
        name: "model_plan",
        work: ToolWork::Command("plan"),
        about: "The request that serves each access pattern: operation, index, key condition, units, and what is missing.",
        texts: MODEL,
        options: &[],
        required: &[],
    },
    Tool {
        name: "model_prove",
        work: ToolWork::Command("prove"),
        about: "Prove every access pattern by running it on a real engine in memory with generated data. Takes seconds.",
        texts: MODEL,
        options: &[],
        required: &[],
    },
    Tool {
        name: "model_cost",
        work: ToolWork::Command("cost"),
        about: "What the model costs each month on AWS: by pattern, by index, for every way to pay.",
        texts: MODEL,
        options: &[("region", "string", "whose prices apply; the model's by default")],
        required: &[],
    },
    Tool {
        name: "model_heat",
        work: ToolWork::Command("heat"),
        about: "Which partition keys are the busiest, and whether DynamoDB can serve them.",
        texts: MODEL,
        options: &[],
        required: &[],
    },
    Tool {
        name: "model_design",
        work: ToolWork::Command("design"),
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
        required: &[],
    },
    Tool {
        name: "model_diff",
        work: ToolWork::Command("diff"),
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
        required: &[],
    },
    Tool {
        name: "model_simulate",
        work: ToolWork::Command("simulate"),
        about: "Play the patterns over a day or a week with the database's own throttling: what is refused, which key is the hottest, what it costs.",
        texts: MODEL,
        options: &[
            ("traffic", "string", "day (the default), flat, week, spike or launch"),
            ("compare", "array", "ways to pay: on-demand, provisioned, aws-default, declared (the default)"),
            ("region", "string", "whose prices apply; the model's by default"),
        ],
        required: &[],
    },
    Tool {
        name: "model_import",
        work: ToolWork::Command("import"),
        about: "Make a model from another tool's file: CloudFormation, Terraform, NoSQL Workbench, ElectroDB and others.",
        texts: &[("text", "path", "the other tool's file")],
        options: &[("from", "string", "its format; recognised by default")],
        required: &[],
    },
    Tool {
        name: "model_export",
        work: ToolWork::Command("export"),
        about: "Write a model in another tool's format: create-table, cloudformation, terraform and others.",
        texts: MODEL,
        options: &[("to", "string", "the format")],
        required: &["to"],
    },
    Tool {
        name: "model_code",
        work: ToolWork::Command("code"),
        about: "Each access pattern as requests and as code that runs.",
        texts: MODEL,
        options: &[("pattern", "string", "only this pattern")],
        required: &[],
    },
    Tool {
        name: "table_list",
        work: ToolWork::Operation(Operation::ListTables),
        about: "The names of the database's tables: ListTables.",
        texts: &[],
        options: &[
            ("limit", "integer", "at most this many names"),
            ("start", "string", "`LastEvaluatedTableName` of the list before"),
        ],
        required: &[],
    },
    Tool {
        name: "table_describe",
        work: ToolWork::Operation(Operation::DescribeTable),
        about: "A table's keys, indexes, throughput, state, and number of items: DescribeTable.",
        texts: &[],
        options: &[TABLE],
        required: &["table"],
    },
    Tool {
        name: "item_get",
        work: ToolWork::Operation(Operation::GetItem),
        about: "An item by its key: GetItem.",
        texts: &[],
        options: &[
            TABLE,
            ("key", "object", "the key, in DynamoDB's JSON: {\"PK\": {\"S\": \"USER#1\"}}"),
            ("projection", "string", "ProjectionExpression"),
            NAMES,
            CONSISTENT,
        ],
        required: &["table", "key"],
    },
    Tool {
        name: "item_query",
        work: ToolWork::Operation(Operation::Query),
        about: "The items of one partition of a table or index: Query. At most 50 unless `limit` says otherwise.",
        texts: &[],
        options: &[
            TABLE,
            ("index", "string", "the index; the table itself by default"),
            ("key_condition", "string", "KeyConditionExpression: PK = :pk AND begins_with(SK, :sk)"),
            ("filter", "string", "FilterExpression"),
            ("projection", "string", "ProjectionExpression"),
            NAMES,
            VALUES,
            ("limit", "integer", "how many items are looked at"),
            ("forward", "boolean", "false for descending sort keys"),
            ("start", "object", "`LastEvaluatedKey` of the page before"),
            CONSISTENT,
        ],
        required: &["table", "key_condition", "values"],
    },
    Tool {
        name: "item_put",
        work: ToolWork::Operation(Operation::PutItem),
        about: "Write an item, if the condition holds: PutItem. Without a condition it replaces what is there.",
        texts: &[],
        options: &[
            TABLE,
            ("item", "object", "the whole item, in DynamoDB's JSON"),
            ("condition", "string", "ConditionExpression: attribute_not_exists(PK)"),
            NAMES,
            VALUES,
        ],
        required: &["table", "item"],
    },
];

type ToolOption = (&'static str, &'static str, &'static str);
const TABLE: ToolOption = ("table", "string", "the table's name");
const NAMES: ToolOption = ("names", "object", "ExpressionAttributeNames");
const VALUES: ToolOption = ("values", "object", "ExpressionAttributeValues: {\":pk\": {\"S\": \"USER#1\"}}");
const CONSISTENT: ToolOption = ("consistent", "boolean", "whether the read is strongly consistent");

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
        let (is_read, is_database) = (!self.writes(), matches!(self.work, ToolWork::Operation(_)));
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": self.required,
                "additionalProperties": false,
            },
            "outputSchema": self.output_schema(),
            "annotations": {
                "readOnlyHint": is_read, "idempotentHint": true, "openWorldHint": is_database,
            },
        })
    }

    /// Whether it changes the database.
    pub fn writes(&self) -> bool {
        matches!(self.work, ToolWork::Operation(Operation::PutItem))
    }

    /// What it answers with. DynamoDB's answers, and the schema of model files, are described elsewhere.
    fn output_schema(&self) -> Value {
        let known = match self.work {
            ToolWork::Command(command) => results::schema(command),
            ToolWork::Operation(_) => None,
        };
        known.unwrap_or_else(|| json!({ "type": "object" }))
    }

    /// The result as JSON, or a `message` that says why there is none.
    pub fn call(&self, arguments: &Value, database: &ConnectionArguments) -> Result<Value, Value> {
        let refused = |problem: String| json!({ "message": problem });
        let input = self.input(arguments).map_err(refused)?;
        match self.work {
            ToolWork::Command("schema") => studio::workbench("schema", &input),
            ToolWork::Command(command) => self::command(command, &input).map(results::versioned),
            ToolWork::Operation(operation) => {
                operation::carry_out(operation, &input, database).map_err(refused)
            }
        }
    }

    /// The arguments, with texts in place of paths.
    fn input(&self, arguments: &Value) -> Result<Value, String> {
        let mut input = match arguments {
            Value::Object(members) => members.clone(),
            Value::Null => Map::new(),
            _ => return Err("`arguments` is an object".to_owned()),
        };
        if let Some(unknown) = input.keys().find(|name| !self.arguments().any(|known| known == *name)) {
            let known: Vec<&str> = self.arguments().collect();
            return Err(format!("{} has no argument `{unknown}`; it takes {}", self.name, known.join(", ")));
        }
        if let Some(missing) = self.required.iter().find(|name| !input.contains_key(**name)) {
            return Err(format!("{} needs the argument `{missing}`", self.name));
        }
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

impl Tool {
    fn arguments(&self) -> impl Iterator<Item = &'static str> {
        let texts = self.texts.iter().flat_map(|(text, path, _)| [*text, *path]);
        texts.chain(self.options.iter().map(|(name, ..)| *name))
    }
}

fn command(command: &str, input: &Value) -> Result<Value, Value> {
    match command {
        "init" => Ok(json!({ "model": model::STARTER })),
        "simulate" => {
            let source = Source::new("model.yaml", input["text"].as_str().unwrap_or_default());
            let Some(model) = model::file::read(&source).model else {
                // It is refused as any other command refuses it.
                return studio::workbench("plan", input);
            };
            simulate::answer(&model, input).map_err(|problem| json!({ "message": problem }))
        }
        command => studio::workbench(command, input),
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
