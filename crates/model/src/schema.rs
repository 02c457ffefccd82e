//! The JSON Schema of model files, with which editors complete names and mark errors while one types.
//!
//! It describes the structure; only `file` knows what names mean and whether they exist. A test keeps the
//! two in agreement: the schema has exactly the fields that the readers ask for.

use serde_json::{Map, Value, json};

use crate::model::AttributeKind;

/// Fields and what each can be.
type Fields<'a> = &'a [(&'a str, Value)];

/// The JSON Schema of model files.
pub fn schema() -> Value {
    let mut schema = object(
        "A Lodestone model: tables, entities and access patterns",
        &[
            ("model", text("The name of the model")),
            ("description", text("What it is about")),
            ("region", text("The Region whose prices and limits apply, as in `us-east-1`")),
            ("stage", choice("Whether the data would be missed", &["production", "development"])),
            ("curves", map("Relative traffic of the 24 hours, by name", curve())),
            ("table", one_of("The table", &[json!({ "type": "string" }), reference("table")])),
            ("tables", map("Several tables, by name", reference("table"))),
            ("entities", map("What is stored, by name", nullable(reference("entity")))),
            ("indexes", map("The indexes of the one table, by name", reference("index"))),
            ("samples", samples()),
            ("relations", list("As in `Customer 1:N Order` or `User M:N Group via Membership`")),
            ("patterns", map("What is asked, by id", reference("pattern"))),
            ("rules", map("How rules are set: a level, or a level and numbers", rule_setting())),
            ("allow", allow()),
            (
                "kept",
                map(
                    "Parts of imported documents that a model can't express, by format; exports restore them",
                    json!({}),
                ),
            ),
        ],
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Lodestone model");
    schema["required"] = json!(["model"]);
    schema["$defs"] = json!({
        "table": table(),
        "index": index(),
        "capacity": capacity(),
        "entity": entity(),
        "entry": entry(),
        "attribute": attribute(),
        "step": step(),
        "pattern": pattern(),
        "expectation": expectation(),
    });
    schema
}

fn table() -> Value {
    object(
        "A table",
        &[
            ("name", text("Its name; the model's by default")),
            ("partition", key("The partition key")),
            ("sort", key("The sort key")),
            ("billing", choice("How it is paid for", &["on-demand", "provisioned"])),
            ("read", reference("capacity")),
            ("write", reference("capacity")),
            ("class", choice("Its storage class", &["standard", "infrequent-access"])),
            ("ttl", text("The attribute with the time, in epoch seconds, at which items expire")),
            ("stream", choice("What its stream holds", &["keys", "new", "old", "new-and-old"])),
            ("pitr", boolean("Whether any point of the last 35 days can be restored")),
            ("deletion-protection", boolean("Whether it refuses to be deleted")),
            (
                "encryption",
                choice("Whose key encrypts it", &["aws-owned", "aws-managed", "customer-managed"]),
            ),
            ("replicas", names("The other Regions of a global table")),
            ("owner", text("The team that owns it")),
            ("tags", map("Tags", scalar("A value"))),
            ("indexes", map("Its indexes, by name", reference("index"))),
            ("samples", samples()),
            ("allow", allow()),
        ],
    )
}

fn index() -> Value {
    object(
        "An index",
        &[
            ("type", choice("Global unless said otherwise", &["global", "local"])),
            ("partition", key("Its partition key, up to four attributes")),
            ("sort", key("Its sort key, up to four attributes")),
            ("project", names("`all`, `keys`, or the attributes it holds in addition to keys")),
            ("read", reference("capacity")),
            ("write", reference("capacity")),
            ("size", sizes("What its items take, if it was measured")),
            ("allow", allow()),
        ],
    )
}

fn capacity() -> Value {
    let scaling = object(
        "Units and how they scale",
        &[
            ("units", count("Provisioned units")),
            ("min", count("The fewest units of auto scaling")),
            ("max", count("The most units of auto scaling, or of on-demand")),
            ("target", percent("The utilisation that auto scaling aims at")),
            ("scale-in", text("The pause after scaling in, as in `60 s`")),
            ("scale-out", text("The pause after scaling out, as in `60 s`")),
        ],
    );
    one_of("Capacity units", &[count("Provisioned units"), scaling])
}

fn entity() -> Value {
    let attribute_names = json!({ "type": "array", "items": { "type": "string" } });
    let attributes = map("What items have, by name", nullable(reference("attribute")));
    object(
        "An entity",
        &[
            ("description", text("What it is")),
            ("table", text("The table that holds it, if there are several")),
            ("id", names("The attributes that identify an item, for `design`")),
            ("key", map("A template for each key attribute of the table", scalar("As in `ORDER#{orderId}`"))),
            ("attributes", one_of("What items have", &[attribute_names, attributes])),
            ("count", counts("How many there are, as in `1M` or `20 per Customer`", true)),
            ("size", sizes("How large an item is, as in `1 KB`")),
            ("growth", text("How many are added, as in `1M per month`")),
            ("expires", text("How long after its writing an item expires, as in `7 days`")),
            ("indexes", map("Its place in each index", reference("entry"))),
            ("owner", text("The team that owns it")),
            ("samples", samples()),
            ("allow", allow()),
        ],
    )
}

fn entry() -> Value {
    json!({
        "description": "A template for each key attribute of the index",
        "type": "object",
        "properties": { "when": text("Only items for which this holds are in it"), "allow": allow() },
        "additionalProperties": scalar("A template, as in `OPEN#{shard(orderId, 3)}`"),
    })
}

fn attribute() -> Value {
    let kinds: Vec<&str> = AttributeKind::ALL.into_iter().map(AttributeKind::name).collect();
    let kind = choice("Its type", &kinds);
    let shares = map("Its values and the share of each", percent("A share"));
    let values = json!({ "type": "array", "items": scalar("A value") });
    let details = object(
        "An attribute",
        &[
            ("type", kind.clone()),
            ("values", one_of("All its values", &[values.clone(), shares])),
            ("value", json!({ "description": "The one value it always has" })),
            ("optional", boolean("Whether items can be without it")),
            ("present", percent("The share of items that have it, if it is optional")),
            ("min", number("The smallest value")),
            ("max", number("The largest value")),
            ("size", sizes("How large a value is")),
            ("distinct", number("How many different values there are")),
            ("skew", text("How unevenly values occur: `top 30%`, `zipf 1.1` or `uniform`")),
            ("growth", text("How much is appended, as in `2 KB per day`")),
            ("copy-of", text("What it is a copy of, as in `Customer.name`")),
            ("sync", choice("Who keeps the copy right", &["stream", "transaction", "application", "never"])),
            ("allow", allow()),
        ],
    );
    one_of("A type, all values, or more", &[kind, values, details])
}

/// What a read or write can say, in a pattern or in a step of one.
fn action_fields() -> Vec<(&'static str, Value)> {
    let verb = |what: &str| names(&format!("{what}: the entity"));
    let changes = map("Attributes and their new values, as in `OPEN -> SHIPPED`", scalar("A value"));
    vec![
        ("get", verb("Read one item")),
        ("query", names("Read items of a partition: the entity, or several of a mixed collection")),
        ("scan", verb("Read everything")),
        ("create", verb("Write an item that must not exist yet")),
        ("put", verb("Write an item, whatever was there")),
        ("update", verb("Change an item")),
        ("delete", verb("Delete an item")),
        ("check", verb("In a transaction: require something of an item")),
        ("by", names("The attributes whose values are known")),
        ("where", text("Which items are wanted, as in `status = OPEN and createdAt >= :since`")),
        ("filter", text("What is dropped after reading")),
        ("order", names("The order of the result, as in `createdAt desc`")),
        ("limit", count("How many items at most")),
        ("returns", counts("How many items there are to be found", false)),
        ("paged", boolean("Whether the reader asks for the next page")),
        ("read", names("`all`, `keys`, `count`, or the attributes that are read")),
        ("knows", names("What the writer knows in addition to `by`")),
        ("set", one_of("Attributes that change", &[names("Attributes"), changes.clone()])),
        ("add", one_of("Counters that are added to", &[names("Attributes"), changes])),
        ("remove", names("Attributes that are removed")),
        ("if", text("The condition of the write, as in `version = :version` or `not exists`")),
        ("version", text("The attribute of optimistic locking")),
    ]
}

fn step() -> Value {
    let mut fields = action_fields();
    fields.push(("times", count("How many items")));
    let written = json!({ "type": "string", "description": "As in `create LineItem × 5`" });
    one_of("One read or write", &[written, object("A step", &fields)])
}

fn pattern() -> Value {
    let steps = |what: &str| {
        one_of(what, &[reference("step"), json!({ "type": "array", "items": reference("step") })])
    };
    let rate = object(
        "A rate",
        &[
            ("average", text("As in `800/s`")),
            ("peak", text("As in `3000/s`")),
            ("curve", one_of("The hours of the day", &[json!({ "type": "string" }), curve()])),
        ],
    );
    let cached = object(
        "A cache",
        &[
            ("ttl", text("How long it keeps an answer, as in `5 min`")),
            ("hit", percent("The share of reads that it answers; else it follows from the TTL")),
        ],
    );
    let expectations = json!({ "type": "array", "items": reference("expectation") });
    let mut fields = action_fields();
    fields.extend([
        ("description", text("What is asked, in words")),
        ("transact", steps("All or nothing")),
        ("batch", steps("Several in one request")),
        ("rate", one_of("How often, as in `800/s`", &[json!({ "type": "string" }), rate])),
        ("skew", text("How requests fall on keys: `top 30%`, `zipf 1.1` or `uniform`")),
        ("consistency", choice("How fresh reads must be", &["eventual", "strong"])),
        ("index", text("The index that must serve it")),
        ("fan-out", scalar("`allowed`, or the most requests it may take")),
        (
            "cached",
            one_of(
                "A cache, as in `5 min` (its TTL) or `90%` (what it answers)",
                &[json!({ "type": "string" }), cached],
            ),
        ),
        ("fails", percent("The share of writes whose condition fails")),
        ("external", text("Who serves it, if not the table")),
        ("request", json!({ "type": "object", "description": "The request as the application sends it" })),
        ("expect", one_of("Which sample rows come back", &[reference("expectation"), expectations])),
        ("allow", allow()),
    ]);
    object("An access pattern", &fields)
}

fn expectation() -> Value {
    object(
        "With these values given, exactly these rows come back, in this order",
        &[
            ("given", json!({ "type": "object", "description": "The values of `by` and of parameters" })),
            ("rows", names("Names of sample rows")),
        ],
    )
}

fn object(description: &str, fields: Fields<'_>) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn map(description: &str, values: Value) -> Value {
    json!({ "description": description, "type": "object", "additionalProperties": values })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn one_of(description: &str, choices: &[Value]) -> Value {
    json!({ "description": description, "anyOf": choices })
}

fn nullable(value: Value) -> Value {
    json!({ "anyOf": [value, { "type": "null" }] })
}

fn choice(description: &str, names: &[&str]) -> Value {
    json!({ "description": description, "enum": names })
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

fn scalar(description: &str) -> Value {
    json!({ "description": description, "type": ["string", "number", "boolean"] })
}

fn boolean(description: &str) -> Value {
    json!({ "description": description, "type": "boolean" })
}

/// A number, or one with a letter such as `20K`.
fn number(description: &str) -> Value {
    json!({ "description": description, "type": ["number", "string"], "pattern": "^-?[0-9._]+ *[KkMG]?$" })
}

fn count(description: &str) -> Value {
    json!({
        "description": description, "type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9._]+[KkMG]?$",
    })
}

fn percent(description: &str) -> Value {
    json!({ "description": description, "type": "string", "pattern": "^ *[0-9.]+ *% *$" })
}

fn names(description: &str) -> Value {
    let list = json!({ "type": "array", "items": scalar("A name") });
    json!({ "description": description, "anyOf": [scalar("A name"), list] })
}

fn list(description: &str) -> Value {
    json!({ "description": description, "type": "array", "items": { "type": "string" } })
}

/// One or several key attributes, with their types if they are not strings.
fn key(description: &str) -> Value {
    let typed = map("Attributes and their types", choice("A type", &["string", "number", "binary"]));
    json!({ "description": description, "anyOf": [names("An attribute, or several"), typed] })
}

fn sizes(description: &str) -> Value {
    let size = json!({ "type": "string", "pattern": "^ *[0-9._]+ *([Kk]|[Mm]|[Gg])?[Bb] *$" });
    let both = object("A size", &[("typical", size.clone()), ("max", size.clone())]);
    one_of(description, &[size, both])
}

fn counts(description: &str, per: bool) -> Value {
    let mut fields = vec![("typical", number("The usual number")), ("max", number("The largest number"))];
    if per {
        fields.push(("per", text("The entity that the count is for")));
    }
    one_of(description, &[scalar("A number"), object("A number", &fields)])
}

fn curve() -> Value {
    json!({ "type": "array", "items": { "type": "number" }, "minItems": 24, "maxItems": 24 })
}

fn samples() -> Value {
    let row = json!({ "type": "object" });
    one_of(
        "Literal rows, named or not",
        &[json!({ "type": "array", "items": row }), map("Rows by name", row.clone())],
    )
}

fn rule_setting() -> Value {
    let level = choice("A level", &["off", "info", "warning", "error"]);
    let setting = json!({
        "type": "object",
        "properties": { "level": level },
        "additionalProperties": number("A number of the rule"),
    });
    json!({ "anyOf": [level, setting] })
}

fn allow() -> Value {
    json!({
        "description": "Rules whose findings are accepted here, and why",
        "type": "object",
        "propertyNames": { "pattern": "^[Rr][0-9]+$" },
        "additionalProperties": { "type": "string", "minLength": 1 },
    })
}
