//! `Orders.build(AccessPattern).entities(…).pattern(…)` -> patterns: the key that the function makes is compared
//! with the key's template, which shows the value of each attribute.

use std::collections::BTreeMap;

use model::draft::Draft;
use model::table_shape::TableSection;
use serde_json::{Map, Value, json};

use super::read::Entity;
use super::schema::Program;
use crate::Notes;
use crate::javascript::as_code;
use crate::javascript::expression::{Function, Step, chain, source};

pub fn read(
    program: &Program<'_>,
    tables: &BTreeMap<&str, &TableSection>,
    entities: &[Entity],
    draft: &mut Draft,
    notes: &mut Notes,
) {
    for (name, text) in program.constants.iter().filter(|(_, text)| text.contains("AccessPattern")) {
        let Some(steps) = chain(text) else { continue };
        let [owner, build, rest @ ..] = steps.as_slice() else { continue };
        if build.name != "build" || build.first().and_then(as_code) != Some("AccessPattern") {
            continue;
        }
        let of = |step: &str| rest.iter().rev().find(|one| one.name == step);
        let table =
            entities.iter().find(|one| one.id == owner.name).map_or(owner.name.as_str(), |one| &one.table);
        let listed: Vec<&str> =
            of("entities").map(|step| step.given().iter().filter_map(as_code).collect()).unwrap_or_default();
        let is_asked = |one: &&Entity| match (one.id == owner.name, listed.is_empty()) {
            (is_owner, _) if owner.name != table => is_owner,
            (_, true) => one.table == table,
            (_, false) => listed.contains(&one.id.as_str()),
        };
        let asked: Vec<&Entity> = entities.iter().filter(is_asked).collect();
        let Some(section) = tables.get(table) else { continue };
        match fields(&asked, section, of("pattern"), of("options"), name, notes) {
            Some(mut fields) => {
                let described = of("meta").and_then(Step::first).map(|meta| meta["description"].clone());
                if let Some(description) = described.filter(Value::is_string) {
                    fields.insert("description".to_owned(), description);
                }
                draft.add_pattern(name, fields);
            }
            None => notes
                .add(format!("access pattern {name}: its keys are not those of its entities, or computed")),
        }
    }
}

fn fields(
    asked: &[&Entity],
    table: &TableSection,
    pattern: Option<&Step>,
    options: Option<&Step>,
    name: &str,
    notes: &mut Notes,
) -> Option<Map<String, Value>> {
    let function = Function::parse(as_code(pattern?.first()?)?)?;
    let returned = function.returned()?;
    let value = |member: &str| match returned.get(member) {
        Some(value) => source(value),
        None => returned.contains_key(&format!("...{member}")).then(|| member.to_owned()),
    };
    let index = returned.get("index").and_then(Value::as_str);
    let (partition, sort) = keys(table, index)?;
    let first = asked.first()?;
    let given = function.template(&value("partition")?)?;
    let mut known = Known::default();
    known.lay(&given, &first.template(&partition)?)?;
    // All of them are in that partition.
    let is_whole = |one: &&Entity| {
        let rest = one.template(&partition).and_then(|template| Known::default().lay(&given, &template));
        rest.is_some_and(|rest| !rest.more)
    };
    asked.iter().all(is_whole).then_some(())?;
    let mut free = sort.as_ref().and_then(|sort| first.template(sort)).map(|text| field_names(&text));
    if let Some(range) = returned.get("range") {
        let template = first.template(sort.as_ref()?)?;
        known.range(range, &function, &template)?;
    }
    // A sparse index holds nothing else.
    for condition in index.and_then(|index| first.conditions.get(index)).into_iter().flatten() {
        let of =
            |text: &str| text.strip_prefix("exists ").unwrap_or(text).split(' ').next().map(str::to_owned);
        let about = of(condition).unwrap_or_default();
        let is_known =
            known.by.contains(&about) || known.conditions.iter().any(|one| of(one) == Some(about.clone()));
        if !is_known {
            known.conditions.push(condition.clone());
        }
    }
    free.iter_mut().for_each(|free| free.retain(|name| !known.by.contains(name)));
    let entities: Vec<&str> = asked.iter().map(|one| one.name.as_str()).collect();
    let mut fields = Map::from_iter([("query".to_owned(), json!(entities))]);
    if !known.by.is_empty() {
        fields.insert("by".to_owned(), json!(known.by));
    }
    if !known.conditions.is_empty() {
        fields.insert("where".to_owned(), known.conditions.join(" and ").into());
    }
    if let Some(index) = index {
        fields.insert("index".to_owned(), index.into());
    }
    for (option, value) in options.and_then(Step::first).and_then(Value::as_object).into_iter().flatten() {
        let by = free.as_ref().and_then(|free| free.first());
        match (option.as_str(), value, by) {
            ("limit", Value::Number(_), _) => fields.insert("limit".to_owned(), value.clone()),
            ("reverse", Value::Bool(true), Some(by)) => {
                fields.insert("order".to_owned(), format!("{by} desc").into())
            }
            ("reverse" | "consistent", Value::Bool(false), _) => None,
            ("consistent", Value::Bool(true), _) => fields.insert("consistency".to_owned(), "strong".into()),
            ("attributes", Value::Array(_), _) => fields.insert("read".to_owned(), value.clone()),
            _ => {
                notes.add(format!("access pattern {name}: its option `{option}` is not read"));
                None
            }
        };
    }
    Some(fields)
}

/// The key attributes of the table or of an index.
fn keys(table: &TableSection, index: Option<&str>) -> Option<(String, Option<String>)> {
    let of = |fields: &Value, side: &str| fields[side].as_object().and_then(|key| key.keys().next().cloned());
    let whole = Value::Object(table.fields.clone());
    match index {
        None => Some((of(&whole, "partition")?, of(&whole, "sort"))),
        Some(index) => {
            let fields = &whole["indexes"][index];
            Some((of(fields, "partition").or_else(|| of(&whole, "partition"))?, of(fields, "sort")))
        }
    }
}

/// What a pattern knows.
#[derive(Default)]
struct Known {
    by: Vec<String>,
    conditions: Vec<String>,
}

/// Where the given text ends in a template.
struct Rest {
    /// The last attribute, if the text ends with its value.
    last: Option<String>,
    /// The template goes on.
    more: bool,
}

/// A character of a template, or a field of it.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(char),
    Field(String),
}

fn tokens(template: &str) -> Vec<Token> {
    let (mut found, mut rest) = (Vec::new(), template.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                found.push(Token::Text(c));
            }
            '{' => found.push(Token::Field(rest.by_ref().take_while(|c| *c != '}').collect())),
            c => found.push(Token::Text(c)),
        }
    }
    found
}

/// `lower(id)` -> `id`.
fn attribute(field: &str) -> String {
    model::draft::fields_of(&format!("{{{field}}}")).pop().unwrap_or_default()
}

fn field_names(template: &str) -> Vec<String> {
    model::draft::fields_of(template)
}

impl Known {
    /// Lays a text with parameters beside a template; `None` if they do not fit.
    fn lay(&mut self, given: &str, template: &str) -> Option<Rest> {
        let (given, template) = (tokens(given), tokens(template));
        let mut given = given.iter().peekable();
        let mut last = None;
        for (position, token) in template.iter().enumerate() {
            if given.peek().is_none() {
                return Some(Rest { last, more: true });
            }
            last = None;
            match token {
                Token::Text(_) => (given.next() == Some(token)).then_some(())?,
                Token::Field(field) => {
                    let name = attribute(field);
                    if let Some(Token::Field(_)) = given.peek() {
                        given.next();
                        self.by.push(name.clone());
                        last = Some(name);
                        continue;
                    }
                    let end = template.get(position + 1);
                    let mut value = String::new();
                    while let Some(Token::Text(c)) = given.peek().filter(|one| Some(**one) != end) {
                        value.push(*c);
                        given.next();
                    }
                    self.conditions.push(format!("{name} = {value}"));
                }
            }
        }
        given.peek().is_none().then_some(Rest { last, more: false })
    }

    /// The condition on the sort key.
    fn range(&mut self, range: &Value, function: &Function, template: &str) -> Option<()> {
        let laid =
            |known: &mut Known, value: &Value| known.lay(&function.template(&source(value)?)?, template);
        let [(operator, value)] = range.as_object()?.iter().collect::<Vec<_>>()[..] else { return None };
        if operator == "between" {
            let [low, high] = value.as_array()?.as_slice() else { return None };
            laid(&mut Known::default(), high)?;
            let name = laid(self, low)?.last?;
            self.by.retain(|one| *one != name);
            self.conditions.push(format!("{name} between :{name}From and :{name}To"));
            return Some(());
        }
        let Rest { last, more } = laid(self, value)?;
        let sign = match operator.as_str() {
            "eq" if !more => return Some(()),
            // It ends with a word, which says of which entity the items are.
            "beginsWith" if last.is_none() => return Some(()),
            "beginsWith" => "begins_with",
            "gte" => ">=",
            "gt" => ">",
            "lte" => "<=",
            "lt" => "<",
            _ => return None,
        };
        let name = last?;
        self.by.retain(|one| *one != name);
        self.conditions.push(format!("{name} {sign} :{name}"));
        Some(())
    }
}
