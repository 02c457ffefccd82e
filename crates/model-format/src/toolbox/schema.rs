//! The schema of an entity: `item({ id: string().key(), … }).and(…)` -> its attributes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::Notes;
use crate::javascript::expression::{Function, Step, chain, string};
use crate::javascript::{as_code, pattern};

/// Constants may be defined by other constants, but not for ever.
const DEPTH_MAX: usize = 16;

/// The constants of the program, by name.
pub struct Program<'p> {
    pub constants: &'p BTreeMap<String, String>,
}

/// An attribute as its schema describes it.
#[derive(Clone, Debug, Default)]
pub struct Attribute {
    pub name: String,
    /// Its name in the database.
    pub stored: String,
    /// The model's word for its type.
    pub kind: &'static str,
    pub is_key: bool,
    pub is_optional: bool,
    pub values: Vec<Value>,
    pub constant: Option<Value>,
    /// The function that makes it of other attributes.
    pub link: Option<String>,
    /// What is stored before and after its value.
    pub around: (String, String),
    /// What is said of it and not read.
    pub unread: Vec<String>,
}

impl Program<'_> {
    /// The value of a constant or of its member (`EntityNames.Order`), if this is its name; else the value itself.
    pub fn resolved(&self, value: &Value) -> Value {
        let constant = as_code(value).and_then(|name| self.constants.get(name));
        let text = constant.and_then(|text| string(text));
        let member = || as_code(value).and_then(|name| self.member(name));
        text.map(Value::from).or_else(member).unwrap_or_else(|| value.clone())
    }

    fn member(&self, name: &str) -> Option<Value> {
        let (object, member) = name.split_once('.')?;
        let literal = self.constants.get(object)?.trim();
        let literal = literal.strip_suffix("as const").unwrap_or(literal);
        let members = crate::javascript::parse(literal).ok()?;
        members.get(member).filter(|found| found.is_string()).cloned()
    }

    /// The steps of a chain, from its beginning: a constant is replaced by its own chain.
    pub fn steps(&self, text: &str) -> Option<Vec<Step>> {
        let mut steps = chain(text)?;
        for _ in 0..DEPTH_MAX {
            let first = steps.first()?;
            let Some(constant) = self.constants.get(&first.name).filter(|_| first.arguments.is_none()) else {
                return Some(unprefixed(steps));
            };
            let mut whole = chain(constant.split(" as const").next().unwrap_or(constant))?;
            whole.extend(steps.drain(1..));
            steps = whole;
        }
        None
    }

    /// The attributes of a schema; `None` if it is computed.
    pub fn attributes(&self, of: &str, schema: &Value, notes: &mut Notes) -> Option<Vec<Attribute>> {
        let steps = self.steps(as_code(schema)?)?;
        let (first, rest) = steps.split_first()?;
        if !matches!(first.name.as_str(), "item" | "schema" | "map") {
            return None;
        }
        let mut attributes = self.described(of, first.first()?.as_object()?, notes, 0);
        for step in rest {
            let named = |one: &Attribute| step.given().iter().any(|name| *name == one.name.as_str());
            match step.name.as_str() {
                "and" => {
                    let function = step.first().and_then(as_code).and_then(Function::parse);
                    let returned = function.and_then(|function| function.returned());
                    let members = returned.or_else(|| step.first()?.as_object().cloned());
                    for one in self.described(of, &members.unwrap_or_default(), notes, 0) {
                        attributes.retain(|known| known.name != one.name);
                        attributes.push(one);
                    }
                }
                "pick" => attributes.retain(named),
                "omit" => attributes.retain(|one| !named(one)),
                other => notes.add(format!("{of}: `{other}` of its schema is not read")),
            }
        }
        Some(attributes)
    }

    fn described(
        &self,
        of: &str,
        members: &Map<String, Value>,
        notes: &mut Notes,
        depth: usize,
    ) -> Vec<Attribute> {
        let mut found = Vec::new();
        for (name, value) in members {
            let Some(code) = as_code(value) else {
                notes.add(format!("{of}.{name} is no attribute of the library's"));
                continue;
            };
            if let Some(spread) = code.strip_prefix("...") {
                let literal = self.constants.get(spread.trim());
                let literal = literal.and_then(|text| crate::javascript::parse(text).ok());
                match literal.as_ref().and_then(Value::as_object).filter(|_| depth < DEPTH_MAX) {
                    Some(members) => found.extend(self.described(of, members, notes, depth + 1)),
                    None => notes.add(format!("{of}: `{code}` is computed by the program, and not read")),
                }
                continue;
            }
            // `{ name }` is short for `{ name: name }`.
            let name = if name.starts_with("...") { code } else { name.as_str() };
            match self.steps(code).and_then(|steps| attribute(name, &steps)) {
                Some(one) => found.push(one),
                None => notes.add(format!("{of}.{name} is computed by the program, and not read: {code}")),
            }
        }
        found
    }
}

/// The functions that make a schema.
const MAKERS: [&str; 15] = [
    "item", "schema", "map", "string", "number", "boolean", "binary", "set", "list", "tuple", "record",
    "any", "anyOf", "nul", "null",
];

/// `s.string()` is `string()`: the library exports its functions under one name, too.
fn unprefixed(mut steps: Vec<Step>) -> Vec<Step> {
    let is_prefix = matches!(
        steps.as_slice(),
        [first, second, ..] if first.arguments.is_none() && second.arguments.is_some()
            && MAKERS.contains(&second.name.as_str())
    );
    if is_prefix {
        steps.remove(0);
    }
    steps
}

fn attribute(name: &str, steps: &[Step]) -> Option<Attribute> {
    let (first, rest) = steps.split_first()?;
    let inner = first.first().and_then(as_code).and_then(chain).map(unprefixed);
    let inner = inner.and_then(|steps| Some(steps.first()?.name.clone()));
    let kind = match first.name.as_str() {
        "string" => "string",
        "number" => "number",
        "boolean" => "boolean",
        "binary" => "binary",
        "set" => match inner.as_deref() {
            Some("number") => "number-set",
            Some("binary") => "binary-set",
            _ => "string-set",
        },
        "list" | "tuple" => "list",
        "map" | "record" | "any" | "anyOf" | "nul" | "null" => "map",
        _ => return None,
    };
    let mut made = Attribute { name: name.to_owned(), stored: name.to_owned(), kind, ..Attribute::default() };
    // Properties can be given at once: `string({ key: true, savedAs: 'pk' })`.
    let properties = first.given().last().filter(|one| as_code(one).is_none() && first.name != "map");
    let properties = properties.and_then(Value::as_object);
    for (name, value) in properties.into_iter().flatten() {
        made.apply(name, std::slice::from_ref(value));
    }
    rest.iter().for_each(|step| made.apply(&step.name, step.given()));
    Some(made)
}

impl Attribute {
    fn apply(&mut self, step: &str, given: &[Value]) {
        let first = given.first();
        match (step, first) {
            ("key", _) => self.is_key = first != Some(&Value::Bool(false)),
            ("optional", _) => self.is_optional = true,
            ("required", _) => self.is_optional = first.is_some_and(|word| word == "never"),
            ("savedAs", Some(Value::String(name))) => self.stored.clone_from(name),
            ("enum", Some(_)) if given.iter().all(is_scalar) => self.values = given.to_vec(),
            ("const", Some(value)) if is_scalar(value) => self.constant = Some(value.clone()),
            ("default" | "putDefault" | "keyDefault", Some(value)) if is_scalar(value) => {
                match self.is_key || self.values.as_slice() == std::slice::from_ref(value) {
                    true => self.constant = Some(value.clone()),
                    false => self.unread.push("default".to_owned()),
                }
            }
            ("default" | "putDefault", Some(value))
                if as_code(value)
                    .is_some_and(|code| code.replace(' ', "") == "()=>newDate().toISOString()") =>
            {
                self.kind = "timestamp";
            }
            ("link" | "putLink" | "keyLink", Some(value)) => {
                self.link = as_code(value).map(str::to_owned);
            }
            ("transform", Some(value)) if self.wrap(value) => {}
            ("validate" | "putValidate", Some(value)) => {
                let tested = as_code(value).and_then(|code| code.split_once("=>"));
                let tested = tested.and_then(|(_, code)| code.trim().split_once(".test("));
                match tested.and_then(|(expression, _)| pattern::kind_of(expression)) {
                    Some(kind) => self.kind = kind.name(),
                    None => self.unread.push("validate".to_owned()),
                }
            }
            _ => self.unread.push(step.to_owned()),
        }
    }

    /// `prefix('USER')` and `suffix('V1')` are parts of a key.
    fn wrap(&mut self, transformer: &Value) -> bool {
        let steps = as_code(transformer).and_then(chain);
        let Some([step]) = steps.as_deref() else { return false };
        let Some(text) = step.first().and_then(Value::as_str) else { return false };
        let options = step.given().get(1);
        let delimiter = options.map_or(Some("#"), |options| options["delimiter"].as_str());
        let Some(delimiter) = delimiter else { return false };
        match step.name.as_str() {
            "prefix" => self.around.0 = format!("{text}{delimiter}{}", self.around.0),
            "suffix" => self.around.1 = format!("{}{delimiter}{text}", self.around.1),
            _ => return false,
        }
        true
    }
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}
