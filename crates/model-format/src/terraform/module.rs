//! Modules of a configuration, without a plan: what `terraform plan` would compute, as far as it follows from the
//! files. The result has the form of a plan's `values`, and is read like one.
//!
//! A local module is read from its folder, with the arguments of its call in place of its variables; `for_each`,
//! `count` and `dynamic` are carried out where their values are known. Of the modules of the registry one is known:
//! `terraform-aws-modules/dynamodb-table/aws`, whose arguments are those of the resource under similar names.

use hcl::eval::{Context, Evaluate, FuncArgs, FuncDef, ParamType};
use hcl::{Block, Body, Expression, Map, Value};
use model::diagnostic::listed;
use serde_json::{Value as Json, json};

use super::hcl::is_too_deep;
use super::{TABLE, scaling};

const DEPTH_MAX: usize = 8;
const MODULES_MAX: usize = 64;
/// Tables of one `count` or `for_each`.
const INSTANCES_MAX: usize = 100;
/// Locals may refer to each other.
const LOCALS_STEPS_MAX: usize = 8;
const TABLE_MODULE: &str = "terraform-aws-modules/dynamodb-table/aws";
/// Where a document says what was not read.
pub const NOTES: &str = "lodestone_notes";

/// The resources of a configuration and of its modules, in the form of a plan; `None` if no module of it has tables.
/// `load` gives the text of a folder's files, by its path from the configuration's own.
pub fn plan(text: &str, load: &dyn Fn(&str) -> Option<String>) -> Option<Json> {
    let mut expander = Expander { load, resources: Vec::new(), notes: Vec::new(), modules: 0, found: false };
    let root = parse(text)?;
    expander.module(&root, &Place { folder: ".", address: "", depth: 0 }, Map::new());
    expander.found.then(|| {
        let provider = json!({ "region": { "constant_value": region(&root) } });
        json!({
            "values": { "root_module": { "resources": expander.resources } },
            "configuration": { "provider_config": { "aws": { "expressions": provider } } },
            NOTES: expander.notes,
        })
    })
}

/// The Region of the provider without an alias.
fn region(root: &Body) -> Option<String> {
    let context = context(root, Map::new());
    let is_aws = |block: &&Block| {
        block.identifier.as_str() == "provider"
            && block.labels.first().is_some_and(|label| label.as_str() == "aws")
    };
    let mut providers =
        root.blocks().filter(is_aws).map(|block| values(&block.body, &context, &mut Vec::new()));
    let provider = providers.find(|provider| !provider.contains_key("alias"))?;
    provider.get("region")?.as_str().map(str::to_owned)
}

fn parse(text: &str) -> Option<Body> {
    (!is_too_deep(text)).then(|| hcl::parse(text).ok()).flatten()
}

struct Expander<'l> {
    load: &'l dyn Fn(&str) -> Option<String>,
    resources: Vec<Json>,
    notes: Vec<String>,
    modules: usize,
    /// Whether a module has a table.
    found: bool,
}

/// Where a module is: its folder, and its address with a dot behind it.
struct Place<'p> {
    folder: &'p str,
    address: &'p str,
    depth: usize,
}

impl Expander<'_> {
    fn module(&mut self, body: &Body, place: &Place<'_>, arguments: Map<String, Value>) {
        let mut context = context(body, arguments);
        let mut tables = Map::new();
        for block in resources(body, TABLE) {
            let made = self.resource(block, place, &context);
            self.found |= place.depth > 0 && !made.is_empty();
            if let ([table], Some(label)) = (made.as_slice(), block.labels.get(1)) {
                tables.insert(label.as_str().to_owned(), table.clone());
            }
        }
        context.declare_var(TABLE, Value::Object(tables));
        for kind in [scaling::TARGET, scaling::POLICY] {
            let mut made = Map::new();
            for block in resources(body, kind) {
                let values = self.resource(block, place, &context);
                if let ([one], Some(label)) = (values.as_slice(), block.labels.get(1)) {
                    made.insert(label.as_str().to_owned(), one.clone());
                }
            }
            context.declare_var(kind, Value::Object(made));
        }
        for block in body.blocks().filter(|block| block.identifier.as_str() == "module") {
            self.call(block, place, &context);
        }
    }

    /// Adds each instance of a resource, and returns their values.
    fn resource(&mut self, block: &Block, place: &Place<'_>, context: &Context<'_>) -> Vec<Value> {
        let [kind, label] = block.labels.as_slice() else { return Vec::new() };
        let mut made = Vec::new();
        for (key, context) in self.instances(block, context, &format!("{}.{}", kind.as_str(), label.as_str()))
        {
            let address = format!("{}{}.{}{key}", place.address, kind.as_str(), label.as_str());
            let mut unknown = Vec::new();
            let mut values = values(&block.body, &context, &mut unknown);
            self.tell_unknown(&address, &unknown, "left out");
            if let Some(name) = values.get("name").cloned() {
                values.insert("id".to_owned(), name);
            }
            let value = Value::Object(values);
            let json = serde_json::to_value(&value).unwrap_or_default();
            self.resources.push(json!({
                "mode": "managed", "type": kind.as_str(), "name": label.as_str(), "address": address, "values": json,
            }));
            made.push(value);
        }
        made
    }

    /// The contexts of the instances that `count` or `for_each` makes, each with its key.
    fn instances<'c>(
        &mut self,
        block: &Block,
        context: &Context<'c>,
        name: &str,
    ) -> Vec<(String, Context<'c>)> {
        let attribute = |name: &str| block.body.attributes().find(|one| one.key.as_str() == name);
        let with = |name: &str, key: Value, value: Value| {
            let mut inner = context.clone();
            let members =
                if name == "count" { vec![("index", key)] } else { vec![("key", key), ("value", value)] };
            let members: Map<String, Value> =
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            inner.declare_var(name, Value::Object(members));
            inner
        };
        if let Some(count) = attribute("count") {
            let Some(count) = evaluated(&count.expr, context).and_then(|value| value.as_u64()) else {
                self.notes.push(format!("{name}: its `count` is not known; one is read"));
                return vec![("[0]".to_owned(), with("count", 0.into(), Value::Null))];
            };
            let numbers = 0..count.min(INSTANCES_MAX as u64);
            return numbers
                .map(|number| (format!("[{number}]"), with("count", number.into(), Value::Null)))
                .collect();
        }
        let Some(each) = attribute("for_each") else { return vec![(String::new(), context.clone())] };
        match evaluated(&each.expr, context).and_then(|value| entries(&value)) {
            Some(entries) => entries
                .into_iter()
                .take(INSTANCES_MAX)
                .map(|(key, value)| (format!("[\"{}\"]", text(&key)), with("each", key, value)))
                .collect(),
            None => {
                self.notes.push(format!("{name}: its `for_each` is not known, so nothing of it is read"));
                Vec::new()
            }
        }
    }

    fn tell_unknown(&mut self, of: &str, unknown: &[String], what: &str) {
        if !unknown.is_empty() {
            let names = listed(&unknown.iter().map(String::as_str).collect::<Vec<_>>());
            self.notes.push(format!("{of}: only a plan knows {names}: {what}"));
        }
    }

    fn call(&mut self, block: &Block, place: &Place<'_>, context: &Context<'_>) {
        let Some(label) = block.labels.first() else { return };
        let name = format!("{}module.{}", place.address, label.as_str());
        let source = block.body.attributes().find(|one| one.key.as_str() == "source");
        let source = source.and_then(|one| evaluated(&one.expr, context)).map(|value| text(&value));
        let Some(source) = source else { return };
        self.modules += 1;
        if self.modules > MODULES_MAX || place.depth >= DEPTH_MAX {
            self.notes.push(format!("{name}: there are too many modules to read"));
            return;
        }
        let is_local = source.starts_with("./") || source.starts_with("../");
        let folder = format!("{}/{source}", place.folder);
        let body = is_local.then(|| (self.load)(&folder)).flatten().and_then(|text| parse(&text));
        for (key, context) in self.instances(block, context, &name) {
            let mut unknown = Vec::new();
            let arguments = values(&block.body, &context, &mut unknown);
            self.tell_unknown(&format!("{name}{key}"), &unknown, "the module's default instead");
            let address = format!("{name}{key}.");
            match &body {
                Some(body) => {
                    let place = Place { folder: &folder, address: &address, depth: place.depth + 1 };
                    self.module(body, &place, arguments);
                }
                None if source.starts_with(TABLE_MODULE) => self.table_module(&address, arguments),
                None => self
                    .notes
                    .push(format!("{name}: its source {source} is not here, so nothing of it is read")),
            }
        }
    }

    /// The resource that the registry's module makes from its arguments.
    fn table_module(&mut self, address: &str, arguments: Map<String, Value>) {
        let mut table = Map::new();
        // Off by default, whatever the attribute is.
        let expires = arguments.get("ttl_enabled") == Some(&Value::Bool(true));
        let one = |name: &str, value: Value| {
            Value::Array(vec![Value::Object(Map::from_iter([(name.to_owned(), value)]))])
        };
        for (name, value) in arguments {
            match name.as_str() {
                "attributes" => table.insert("attribute".to_owned(), value),
                "global_secondary_indexes" => table.insert("global_secondary_index".to_owned(), value),
                "local_secondary_indexes" => table.insert("local_secondary_index".to_owned(), value),
                "replica_regions" => table.insert("replica".to_owned(), value),
                "point_in_time_recovery_enabled" => {
                    table.insert("point_in_time_recovery".to_owned(), one("enabled", value))
                }
                "server_side_encryption_enabled" => {
                    table.insert("server_side_encryption".to_owned(), one("enabled", value))
                }
                "ttl_attribute_name" => {
                    let ttl = [("attribute_name".to_owned(), value), ("enabled".to_owned(), expires.into())];
                    table.insert("ttl".to_owned(), Value::Array(vec![Value::Object(Map::from_iter(ttl))]))
                }
                "source" | "version" | "ttl_enabled" => None,
                _ => table.insert(name, value),
            };
        }
        // The module's own default.
        table.entry("billing_mode".to_owned()).or_insert_with(|| "PAY_PER_REQUEST".into());
        self.found = true;
        let values = serde_json::to_value(Value::Object(table)).unwrap_or_default();
        self.resources.push(json!({
            "mode": "managed", "type": TABLE, "name": "this", "address": format!("{address}{TABLE}.this"), "values": values,
        }));
    }
}

fn resources<'b>(body: &'b Body, kind: &'b str) -> impl Iterator<Item = &'b Block> {
    body.blocks().filter(move |block| {
        block.identifier.as_str() == "resource"
            && block.labels.first().is_some_and(|label| label.as_str() == kind)
    })
}

/// What expressions of a module may refer to: its variables and locals.
fn context(body: &Body, mut arguments: Map<String, Value>) -> Context<'static> {
    let mut context = Context::new();
    declare_functions(&mut context);
    for block in body.blocks().filter(|block| block.identifier.as_str() == "variable") {
        let Some(label) = block.labels.first().map(|label| label.as_str().to_owned()) else { continue };
        let default = block.body.attributes().find(|one| one.key.as_str() == "default");
        let default = default.and_then(|one| evaluated(&one.expr, &context));
        if let Some(default) = default.filter(|_| !arguments.contains_key(&label)) {
            arguments.insert(label, default);
        }
    }
    context.declare_var("var", Value::Object(arguments));
    let workspace = Map::from_iter([("workspace".to_owned(), Value::from("default"))]);
    context.declare_var("terraform", Value::Object(workspace));
    let locals = || body.blocks().filter(|block| block.identifier.as_str() == "locals");
    let mut known = Map::new();
    for _ in 0..LOCALS_STEPS_MAX {
        context.declare_var("local", Value::Object(known.clone()));
        let before = known.len();
        for one in locals().flat_map(|block| block.body.attributes()) {
            if let Some(value) = evaluated(&one.expr, &context) {
                known.insert(one.key.as_str().to_owned(), value);
            }
        }
        if known.len() == before {
            break;
        }
    }
    context
}

/// What an expression is, if the files say it. `try` is the first of its arguments that is known.
fn evaluated(expression: &Expression, context: &Context<'_>) -> Option<Value> {
    match expression {
        Expression::FuncCall(call) if call.name.name.as_str() == "try" => {
            call.args.iter().find_map(|argument| evaluated(argument, context))
        }
        other => other.evaluate(context).ok(),
    }
}

/// Arguments that every block may have, and that say nothing about a table.
const META: [&str; 7] = ["source", "version", "providers", "provider", "depends_on", "count", "for_each"];

/// The values of a block; nested blocks are in lists. What is not known is left out, and named in `unknown`.
fn values(body: &Body, context: &Context<'_>, unknown: &mut Vec<String>) -> Map<String, Value> {
    let mut values = Map::new();
    for one in body.attributes() {
        let name = one.key.as_str();
        match evaluated(&one.expr, context) {
            Some(value) => {
                values.insert(name.to_owned(), value);
            }
            None if META.contains(&name) => {}
            None => unknown.push(name.to_owned()),
        }
    }
    let mut add = |kind: &str, inner: Map<String, Value>| {
        let list = values.entry(kind.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(Value::Object(inner));
        }
    };
    for block in body.blocks() {
        let kind = block.identifier.as_str();
        match (kind, block.labels.first()) {
            ("dynamic", Some(label)) => {
                let Some(contexts) = dynamic(block, label.as_str(), context) else {
                    unknown.push(format!("dynamic {}", label.as_str()));
                    continue;
                };
                let content = block.body.blocks().find(|inner| inner.identifier.as_str() == "content");
                for (context, content) in contexts.iter().zip(content.into_iter().cycle()) {
                    add(label.as_str(), self::values(&content.body, context, unknown));
                }
            }
            ("lifecycle" | "timeouts" | "provisioner" | "connection", _) => {}
            (kind, _) => add(kind, self::values(&block.body, context, unknown)),
        }
    }
    values
}

/// The contexts of the blocks that a `dynamic` block makes; `None` if it is not known which.
fn dynamic<'c>(block: &Block, label: &str, context: &Context<'c>) -> Option<Vec<Context<'c>>> {
    let attribute = |name: &str| block.body.attributes().find(|one| one.key.as_str() == name);
    let iterator = attribute("iterator").map(|one| match &one.expr {
        Expression::Variable(name) => name.as_str().to_owned(),
        other => other.to_string(),
    });
    let iterator = iterator.unwrap_or_else(|| label.to_owned());
    let each = attribute("for_each").and_then(|one| evaluated(&one.expr, context));
    let entries = entries(&each?)?;
    let with = |(key, value): (Value, Value)| {
        let mut inner = context.clone();
        let members = Map::from_iter([("key".to_owned(), key), ("value".to_owned(), value)]);
        inner.declare_var(iterator.clone(), Value::Object(members));
        inner
    };
    Some(entries.into_iter().take(INSTANCES_MAX).map(with).collect())
}

/// The keys and values of what `for_each` is given; in a set they are the same.
fn entries(value: &Value) -> Option<Vec<(Value, Value)>> {
    match value {
        Value::Array(elements) => {
            let key = |(position, one): (usize, &Value)| match one {
                Value::String(_) => one.clone(),
                _ => position.into(),
            };
            Some(elements.iter().enumerate().map(|one| (key(one), one.1.clone())).collect())
        }
        Value::Object(members) => {
            Some(members.iter().map(|(key, value)| (Value::from(key.as_str()), value.clone())).collect())
        }
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The functions that configurations of tables use most. With any other an expression is not known.
fn declare_functions(context: &mut Context<'_>) {
    let functions: [(&str, hcl::eval::Func); 19] = [
        ("merge", merge),
        ("concat", concat),
        ("toset", first),
        ("tolist", first),
        ("tomap", first),
        ("tostring", |arguments| Ok(text(&first(arguments)?).into())),
        ("lower", |arguments| Ok(text(&first(arguments)?).to_lowercase().into())),
        ("upper", |arguments| Ok(text(&first(arguments)?).to_uppercase().into())),
        ("compact", |arguments| elements(arguments, |all| all.retain(|one| !is_nothing(one)))),
        ("distinct", |arguments| elements(arguments, distinct)),
        ("flatten", |arguments| elements(arguments, |all| *all = flat(std::mem::take(all)))),
        ("length", length),
        ("replace", replace),
        ("join", join),
        ("format", format),
        ("lookup", lookup),
        ("coalesce", coalesce),
        ("keys", |arguments| part(arguments, |(key, _)| key)),
        ("values", |arguments| part(arguments, |(_, value)| value)),
    ];
    for (name, function) in functions {
        context.declare_func(name, FuncDef::builder().variadic_param(ParamType::Any).build(function));
    }
}

fn first(arguments: FuncArgs) -> Result<Value, String> {
    arguments.into_values().into_iter().next().ok_or_else(|| "an argument is missing".to_owned())
}

/// A list, changed.
fn elements(arguments: FuncArgs, change: fn(&mut Vec<Value>)) -> Result<Value, String> {
    match first(arguments)? {
        Value::Array(mut elements) => {
            change(&mut elements);
            Ok(Value::Array(elements))
        }
        _ => Err("not a list".to_owned()),
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

fn distinct(elements: &mut Vec<Value>) {
    let mut seen: Vec<Value> = Vec::new();
    elements.retain(|one| {
        let is_new = !seen.contains(one);
        seen.extend(is_new.then(|| one.clone()));
        is_new
    });
}

/// As deep as the text was nested, which is bounded.
fn flat(elements: Vec<Value>) -> Vec<Value> {
    let inner = |one| match one {
        Value::Array(elements) => flat(elements),
        other => vec![other],
    };
    elements.into_iter().flat_map(inner).collect()
}

fn length(arguments: FuncArgs) -> Result<Value, String> {
    match first(arguments)? {
        Value::Array(elements) => Ok(elements.len().into()),
        Value::Object(members) => Ok(members.len().into()),
        Value::String(text) => Ok(text.chars().count().into()),
        _ => Err("has no length".to_owned()),
    }
}

/// Texts alone: a pattern between slashes is not known.
fn replace(arguments: FuncArgs) -> Result<Value, String> {
    let arguments: Vec<String> = arguments.into_values().iter().map(text).collect();
    match arguments.as_slice() {
        [text, what, with] if !what.starts_with('/') => Ok(text.replace(what.as_str(), with).into()),
        _ => Err("not known".to_owned()),
    }
}

fn part(arguments: FuncArgs, part: fn((Value, Value)) -> Value) -> Result<Value, String> {
    let entries = entries(&first(arguments)?).ok_or("not a map")?;
    Ok(Value::Array(entries.into_iter().map(part).collect()))
}

fn merge(arguments: FuncArgs) -> Result<Value, String> {
    let mut merged = Map::new();
    for one in arguments.into_values() {
        match one {
            Value::Object(members) => merged.extend(members),
            Value::Null => {}
            _ => return Err("not a map".to_owned()),
        }
    }
    Ok(Value::Object(merged))
}

fn concat(arguments: FuncArgs) -> Result<Value, String> {
    let lists = arguments.into_values().into_iter().map(|one| match one {
        Value::Array(elements) => Ok(elements),
        _ => Err("not a list".to_owned()),
    });
    Ok(Value::Array(lists.collect::<Result<Vec<_>, _>>()?.concat()))
}

fn join(arguments: FuncArgs) -> Result<Value, String> {
    let mut arguments = arguments.into_values().into_iter();
    let separator = text(&arguments.next().ok_or("an argument is missing")?);
    let parts: Vec<String> = arguments
        .flat_map(|one| match one {
            Value::Array(elements) => elements,
            other => vec![other],
        })
        .map(|one| text(&one))
        .collect();
    Ok(parts.join(&separator).into())
}

/// `%s`, `%d` and `%v` alone.
fn format(arguments: FuncArgs) -> Result<Value, String> {
    let mut arguments = arguments.into_values().into_iter();
    let pattern = text(&arguments.next().ok_or("an argument is missing")?);
    let mut out = String::new();
    let mut rest = pattern.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let verb = after.chars().next().filter(|verb| "sdv".contains(*verb)).ok_or("an unknown verb")?;
        out.push_str(&text(&arguments.next().ok_or("an argument is missing")?));
        rest = &after[verb.len_utf8()..];
    }
    Ok((out + rest).into())
}

fn lookup(arguments: FuncArgs) -> Result<Value, String> {
    let mut arguments = arguments.into_values().into_iter();
    let (map, key) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let found = map.as_object().and_then(|members| members.get(&text(&key))).filter(|found| !found.is_null());
    found.cloned().or_else(|| arguments.next()).ok_or_else(|| "no such key".to_owned())
}

fn coalesce(arguments: FuncArgs) -> Result<Value, String> {
    let mut values = arguments.into_values().into_iter();
    let found = values.find(|one| !one.is_null() && one.as_str() != Some(""));
    found.ok_or_else(|| "all are null".to_owned())
}
