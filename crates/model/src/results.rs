//! The JSON that commands of the workbench print with `--json`, and that tools of `lodestone mcp` answer with: its version,
//! and a JSON Schema of each.
//!
//! A version only gains members. A member that goes, or means something else, makes a new one. For people, `docs/json.md`;
//! a test holds what the commands print to the schemas.

use serde_json::{Map, Value, json};

/// The version of all results.
pub const VERSION: u64 = 1;

/// The commands whose results have a schema.
pub const COMMANDS: [&str; 14] = [
    "check", "code", "cost", "design", "diff", "explain", "export", "gate", "heat", "import", "init", "plan",
    "prove", "simulate",
];

/// A result with the member `version`.
pub fn versioned(mut result: Value) -> Value {
    if let Value::Object(members) = &mut result {
        members.insert("version".to_owned(), json!(VERSION));
    }
    result
}

/// The JSON Schema of what a command prints; none if there is no such command.
pub fn schema(command: &str) -> Option<Value> {
    let members = match command {
        "check" => vec![("file", text("The file that was checked")), ("findings", list(finding()))],
        "code" => vec![
            ("requests", object(vec![("model", text("The model's name")), ("patterns", list(requests()))])),
            ("cli", text("A shell script")),
            ("boto3", text("A Python module")),
            ("javascript", text("A JavaScript module")),
        ],
        "cost" => cost(),
        "design" => vec![
            ("model", text("The model file with keys")),
            (
                "price",
                object(vec![
                    ("reads", money("Dollars a month")),
                    ("writes", money("Dollars a month")),
                    ("storage", money("Dollars a month")),
                ]),
            ),
            ("total", money("Dollars a month")),
            ("notes", list(text("What to know of the design"))),
            ("complete", flag("Whether all designs were looked at")),
        ],
        "diff" => vec![
            ("steps", list(json!({ "type": "object", "description": "A step of the migration" }))),
            ("obstacles", list(json!({ "description": "What stands in the way" }))),
        ],
        "explain" => vec![
            ("rule", text("As in R14")),
            ("level", level()),
            ("title", text("What the rule finds")),
            ("page", text("Its page, in Markdown")),
        ],
        "export" => vec![
            ("format", text("The other tool's format")),
            ("text", text("The file")),
            ("notes", list(text("What the format can't hold"))),
        ],
        "gate" => gate(),
        "heat" => vec![
            ("headroom", number("The share of a partition that a key may use")),
            ("heat", list(heat())),
            ("forecasts", list(json!({ "type": "object", "description": "What grows towards a limit" }))),
        ],
        "import" => vec![
            ("format", text("The format that was read")),
            ("model", text("The model file")),
            ("notes", list(text("What could not be taken over"))),
        ],
        "init" => vec![("model", text("A model file to start from"))],
        "plan" => vec![("model", text("The model's name")), ("patterns", list(planned()))],
        "prove" => proof(),
        "simulate" => vec![("minutes", number("How long was played")), ("ways", list(way()))],
        _ => return None,
    };
    let mut schema = object(members);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(format!("What `{command}` answers, version {VERSION}"));
    Some(schema)
}

type Members = Vec<(&'static str, Value)>;

/// An object that has these members, and may have more.
fn object(members: Members) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

/// Further members, which are not always there.
fn with_optional(mut schema: Value, members: Members) -> Value {
    for (name, member) in members {
        schema["properties"][name] = member;
    }
    schema
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn text_or_null(description: &str) -> Value {
    json!({ "type": ["string", "null"], "description": description })
}

fn number(description: &str) -> Value {
    json!({ "type": "number", "description": description })
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// Null where a price is not known.
fn money(description: &str) -> Value {
    json!({ "type": ["number", "null"], "description": description })
}

fn level() -> Value {
    json!({ "enum": ["error", "warning", "info"] })
}

fn finding() -> Value {
    let position = object(vec![
        ("line", number("From 1")),
        ("column", number("From 1")),
        ("endLine", number("Where it ends")),
        ("endColumn", number("Behind its last character")),
    ]);
    with_optional(
        object(vec![("level", level()), ("message", text("What is wrong")), ("at", position)]),
        vec![
            ("rule", text_or_null("As in R14; none if the file can't be read")),
            ("why", text_or_null("The reason")),
            ("help", text_or_null("What to do")),
            ("allowed", text_or_null("The reason for which the file allows it")),
        ],
    )
}

fn requests() -> Value {
    with_optional(
        object(vec![("pattern", text("Its id")), ("operation", text("DynamoDB's operation"))]),
        vec![
            ("requests", list(json!({ "type": "object", "description": "A request as it is sent" }))),
            ("unsendable", text("Why there is no request")),
        ],
    )
}

fn cost() -> Members {
    let pattern = object(vec![
        ("pattern", text("Its id")),
        ("operation", text("DynamoDB's operation")),
        ("rate", number("Executions each second")),
        ("read_units", number("Of one execution")),
        ("write_units", number("Of one execution")),
        ("monthly", money("Dollars a month on demand")),
    ]);
    let way = with_optional(bill(), vec![("mode", text("on-demand, provisioned or reserved"))]);
    vec![
        ("region", text("Whose prices apply")),
        ("currency", text("Of all amounts")),
        ("prices", text("The date of the prices")),
        ("patterns", list(pattern)),
        ("declared", bill()),
        ("ways", list(way)),
    ]
}

fn bill() -> Value {
    let line = object(vec![("what", text("What is paid for")), ("amount", money("Dollars a month"))]);
    object(vec![("throughput", list(line.clone())), ("storage", list(line.clone())), ("other", list(line))])
}

fn gate() -> Members {
    let failure = object(vec![
        ("kind", json!({ "enum": ["new-finding", "not-proven", "max-cost", "max-heat", "no-migration"] })),
        ("message", text("What is worse than before")),
        ("rule", text_or_null("Of a new finding, as in R14")),
        ("line", number("Of the later version, from 1")),
    ]);
    let gone = object(vec![
        ("rule", text_or_null("As in R14")),
        ("level", level()),
        ("message", text("What was wrong")),
    ]);
    let findings =
        object(vec![("new", list(finding())), ("gone", list(gone)), ("accepted", list(finding()))]);
    let amount = object(vec![
        ("what", text("What is paid for")),
        ("was", number("Dollars a month")),
        ("is", number("Dollars a month")),
    ]);
    let cost = object(vec![
        ("was", money("Dollars a month; null without an earlier version")),
        ("is", number("Dollars a month")),
        ("complete", flag("Whether all prices are known")),
        ("lines", list(amount)),
    ]);
    let code = object(vec![
        ("language", text("As `model code` names it")),
        ("lines_added", number("How many")),
        ("lines_removed", number("How many")),
        ("patterns", list(text("Whose code differs"))),
    ]);
    vec![
        ("model", text("The model's name")),
        ("file", text("The later version")),
        ("passed", flag("Whether nothing is worse than allowed")),
        ("failures", list(failure)),
        ("alone", text_or_null("Why there is no earlier version, if there is none")),
        ("proofs", object(vec![("changes", list(proof_change()))])),
        ("findings", findings),
        ("cost", cost),
        ("heat", list(load_change())),
        ("conflicts", list(load_change())),
        ("migration", json!({ "type": ["object", "null"], "description": "As `diff` answers" })),
        ("code", list(code)),
    ]
}

fn proof_change() -> Value {
    object(vec![
        ("pattern", text_or_null("Its id; null for the data of all patterns")),
        ("was", text_or_null("The verdict before; null if it is new")),
        ("is", json!({ "enum": ["proven", "not proven", "elsewhere"] })),
        ("failures", list(text("What went wrong"))),
        ("worse", flag("Whether something fails that did not before")),
    ])
}

fn load_change() -> Value {
    let share = |when: &str| json!({ "type": ["number", "null"], "description": format!("The share of what is sustained, {when}") });
    object(vec![
        ("on", text("The table or index")),
        ("key", text("The partition key")),
        ("was", share("before")),
        ("is", share("now")),
        ("patterns", list(text("Where it comes from"))),
    ])
}

fn heat() -> Value {
    let key = object(vec![
        ("key", text("The partition key")),
        ("load", number("Its share of what a partition sustains, at the peak")),
        ("write", list(number("Write units each second, by hours"))),
        ("read", list(number("Read units each second, by hours"))),
    ]);
    object(vec![
        ("table", text("The table")),
        ("index", text_or_null("The index; null for the table itself")),
        ("keys", list(key)),
    ])
}

fn planned() -> Value {
    object(vec![
        ("id", text("The pattern")),
        ("operation", text("DynamoDB's operation")),
        ("source", text("The table or index")),
        ("gaps", list(text("What is missing"))),
    ])
}

fn proof() -> Members {
    let found = object(vec![("kind", text("Which kind of failure")), ("message", text("What happened"))]);
    let capacity =
        object(vec![("predicted", number("Units")), ("consumed", number("Units that were charged"))]);
    let pattern = object(vec![
        ("pattern", text("Its id")),
        ("line", number("Of the file")),
        ("operation", text("DynamoDB's operation")),
        ("source", text("The table or index")),
        ("verdict", json!({ "enum": ["proven", "not proven", "elsewhere"] })),
        ("tries", number("Executions with different values")),
        ("requests", number("The most requests of one try")),
        ("capacity", capacity),
        ("findings", list(found.clone())),
    ]);
    vec![
        ("model", text("The model's name")),
        ("proven", flag("Whether everything is")),
        ("items", number("How many every pattern was tried on")),
        ("findings", list(found)),
        ("patterns", list(pattern)),
    ]
}

fn way() -> Value {
    let side = object(vec![
        ("consumed", number("Units")),
        ("throttled", number("Units that were refused")),
        ("requests", number("How many")),
        ("refused", number("How many of them")),
    ]);
    let place = object(vec![("name", text("The table or index")), ("read", side.clone()), ("write", side)]);
    object(vec![
        ("way", text("How throughput is paid for")),
        ("price", money("Dollars for the time that was played")),
        ("price_month", money("Dollars a month")),
        ("places", list(place)),
    ])
}
