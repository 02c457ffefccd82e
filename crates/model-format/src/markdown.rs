//! A table of access patterns in Markdown, as they are listed before a design: one row a pattern, in plain English. It is
//! read into patterns and entities without keys, for `design`. Each row says what it was taken for, because words are
//! guessed at: `newest first` is an order by `createdAt`, `High` is 100 requests a second.

use std::collections::BTreeMap;

use model::table_shape::TableSection;
use serde_json::{Map, Value, json};

use crate::names::pascal;
use crate::{Draft, Format, Notes, Syntax, TEXT, Unreadable};

pub const FORMAT: Format = Format {
    name: "markdown",
    title: "a table of access patterns, in Markdown",
    syntax: &Syntax { parse: |text| Ok(json!({ "markdown": rows(text) })), print: TEXT.print },
    recognises: |document| document["markdown"].as_array().is_some_and(|rows| !rows.is_empty()),
    read: Some(read),
    write: None,
    holds: &[],
};

/// The attribute by which items are in the order of time.
const TIME: &str = "createdAt";
/// The attribute that an adjective is a value of: `open orders`.
const STATE: &str = "status";
/// What `top N` asks for.
const TOP: u64 = 100;
/// Words that say how much of an item is read, not what it is.
const PARTS: [&str; 6] = ["profile", "details", "detail", "record", "item", "data"];
/// Words before a noun that say nothing of it.
const FILLERS: [&str; 22] = [
    "a", "an", "the", "one", "single", "all", "every", "each", "some", "given", "its", "their", "his", "her",
    "recent", "latest", "top", "n", "public", "specific", "current", "new",
];
/// What items belong to by its value, not by an id of its own.
const VALUES: [&str; 11] =
    ["status", "state", "season", "category", "type", "day", "date", "month", "year", "region", "country"];

/// The rows of all tables that have a column for the access pattern, by their headings.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut found = Vec::new();
    let mut headings: Option<Vec<String>> = None;
    for line in text.lines().map(str::trim) {
        let Some(cells) = cells(line) else {
            headings = None;
            continue;
        };
        let is_rule =
            cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')) && !cell.is_empty());
        match &headings {
            _ if is_rule => {}
            None => headings = Some(cells.iter().map(|cell| column(cell).to_owned()).collect()),
            Some(names) if names.iter().any(|name| name == "pattern") => {
                found.push(names.iter().cloned().zip(cells).collect());
            }
            Some(_) => {}
        }
    }
    found
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.trim_end_matches('|');
    Some(inner.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
}

/// What a column is about, by its heading.
fn column(heading: &str) -> &'static str {
    let heading = heading.to_lowercase();
    let known = [
        ("pattern", "pattern"),
        ("query", "pattern"),
        ("question", "pattern"),
        ("freq", "rate"),
        ("rate", "rate"),
        ("#", "id"),
        ("id", "id"),
    ];
    known.iter().find(|(word, _)| heading.contains(word)).map_or("other", |(_, column)| column)
}

/// What a row says, as far as it is understood.
#[derive(Default)]
struct Asked {
    fields: Map<String, Value>,
    /// Each entity with the attributes that the pattern names.
    entities: BTreeMap<String, Map<String, Value>>,
}

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let rows = document["markdown"].as_array().cloned().unwrap_or_default();
    let mut draft = Draft::new("app");
    let mut entities: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut patterns = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let text = row["pattern"].as_str().unwrap_or_default();
        let id = row["id"].as_str().filter(|id| !id.is_empty()).map_or(format!("P{}", at + 1), str::to_owned);
        let Some(mut asked) = asked(text) else {
            notes.add(format!("`{id}` is not read: {text}"));
            continue;
        };
        let taken: Vec<String> =
            asked.fields.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect();
        let mut assumed = format!("`{id}`, «{text}», is taken for {}", taken.join(", "));
        if let Some((rate, words)) = row["rate"].as_str().and_then(rate) {
            assumed += &format!("; {words} for {rate}");
            asked.fields.insert("rate".to_owned(), rate.into());
        }
        notes.add(assumed);
        asked.fields.insert("description".to_owned(), text.into());
        for (name, attributes) in asked.entities {
            entities.entry(name).or_default().extend(attributes);
        }
        patterns.push((id, asked.fields));
    }
    if patterns.is_empty() {
        return Err(Unreadable(
            "there is no table with a column `Access pattern` whose rows can be read, as in `| A1 | Get a customer by id | High |`"
                .to_owned(),
        ));
    }
    for (name, attributes) in entities {
        let id = id_of(&name);
        notes.add(format!(
            "`{name}` is identified by `{id}`; how many there are and how large is not in the table"
        ));
        let mut fields = Map::from_iter([("id".to_owned(), Value::String(id))]);
        if !attributes.is_empty() {
            fields.insert("attributes".to_owned(), Value::Object(attributes));
        }
        draft.add_entity(&name, "app", fields);
    }
    draft.add_table(TableSection { name: "app".to_owned(), fields: Map::new() });
    patterns.into_iter().for_each(|(id, fields)| draft.add_pattern(&id, fields));
    Ok(draft)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `High` is kept as it is read in model files; `500 rps` and `500 per second` are `500/s`.
fn rate(text: &str) -> Option<(String, &str)> {
    const WORDS: [(&str, &str); 3] = [("high", "100/s"), ("medium", "10/s"), ("low", "1/s")];
    let lower = text.to_lowercase();
    if let Some((_, rate)) = WORDS.iter().find(|(word, _)| lower.starts_with(word)) {
        return Some(((*rate).to_owned(), text));
    }
    let digits: String = lower.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let unit =
        lower[digits.len()..].trim().trim_start_matches(['/', ' ']).trim_start_matches("per ").to_owned();
    let unit = match unit.as_str() {
        "s" | "sec" | "second" | "rps" | "qps" | "tps" | "req/s" => "s",
        "min" | "minute" => "min",
        "h" | "hour" => "h",
        "day" | "d" => "day",
        _ => return None,
    };
    (!digits.is_empty()).then(|| (format!("{digits}/{unit}"), text))
}

fn asked(text: &str) -> Option<Asked> {
    let lower = text.to_lowercase();
    // What is in brackets explains.
    let outside: String =
        lower.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
    let (main, rest) = outside.split_once(',').unwrap_or((&outside, ""));
    let words: Vec<&str> = main.split_whitespace().map(|word| word.trim_matches(['.', '"', '`'])).collect();
    let (verb, words) = words.split_first()?;
    match *verb {
        "create" | "add" | "insert" | "place" | "register" | "put" => created(words),
        "update" | "change" | "set" | "rename" => updated(words),
        "delete" | "remove" => {
            let (entity, _) = noun(words)?;
            Some(Asked::of("delete", &entity))
        }
        "get" | "fetch" | "find" | "show" | "look" | "lookup" | "list" | "read" | "query" | "retrieve" => {
            let words = if words.first() == Some(&"up") { &words[1..] } else { words };
            found(*verb == "list", words, rest)
        }
        _ => None,
    }
}

impl Asked {
    fn of(verb: &str, entity: &str) -> Asked {
        let fields = Map::from_iter([(verb.to_owned(), entity.into())]);
        Asked { fields, entities: BTreeMap::from([(entity.to_owned(), Map::new())]) }
    }

    fn attribute(&mut self, entity: &str, name: &str, kind: Value) {
        if name != id_of(entity) {
            self.entities.entry(entity.to_owned()).or_default().entry(name.to_owned()).or_insert(kind);
        }
    }
}

/// `order + line items atomically`.
fn created(words: &[&str]) -> Option<Asked> {
    let parts = words.split(|word| matches!(*word, "+" | "and" | "with"));
    let names: Vec<(String, bool)> = parts.filter_map(noun).collect();
    let (first, _) = names.first()?;
    if names.len() == 1 {
        return Some(Asked::of("create", first));
    }
    let mut asked = Asked::of("create", first);
    let step = |(name, several): &(String, bool)| match several {
        true => Value::String(format!("create {name} × 3")),
        false => Value::String(format!("create {name}")),
    };
    asked.fields = Map::from_iter([("transact".to_owned(), names.iter().map(step).collect())]);
    for (name, _) in &names[1..] {
        asked.attribute(name, &id_of(first), "string".into());
    }
    Some(asked)
}

/// `order status`.
fn updated(words: &[&str]) -> Option<Asked> {
    let words = telling(words);
    let entity = entity_of(possessed(words.first()?));
    let mut asked = Asked::of("update", &entity);
    let changed = camel(&words[1..].join(" "));
    let changed = if changed.is_empty() { STATE.to_owned() } else { changed };
    asked.fields.insert("by".to_owned(), id_of(&entity).into());
    asked.fields.insert("set".to_owned(), json!([changed]));
    asked.attribute(&entity, &changed, "string".into());
    Some(asked)
}

fn found(is_list: bool, words: &[&str], rest: &str) -> Option<Asked> {
    let cut = words
        .iter()
        .position(|word| ["by", "for", "in", "of", "across", "with", "from", "on"].contains(word));
    let (what, how) = words.split_at(cut.unwrap_or(words.len()));
    // `newest first` may follow without a comma.
    let what_end = what.iter().position(|word| *word == "newest" || *word == "oldest").unwrap_or(what.len());
    let (noun_words, order_words) = what.split_at(what_end);
    let (entity, several) = noun(noun_words)?;
    let several = several || is_list;
    let mut asked = Asked::of(if several { "query" } else { "get" }, &entity);
    let mut by: Vec<String> = Vec::new();
    let owner = noun_words.iter().find(|word| word.ends_with("'s")).map(|word| entity_of(possessed(word)));
    by.extend(owner.filter(|owner| *owner != entity).map(|owner| id_of(&owner)));
    for part in clauses(how) {
        let (word, named) = (part[0], &part[1..]);
        match (word, telling(named).as_slice()) {
            (_, []) | ("across" | "on", _) => {}
            ("with", _) => {
                let (part, _) = noun(named)?;
                asked.fields = Map::from_iter([("query".to_owned(), json!([entity, part]))]);
                asked.attribute(&part, &id_of(&entity), "string".into());
                by.push(id_of(&entity));
            }
            ("by", ["id"]) => by.push(id_of(&entity)),
            ("by", names) => by.push(camel(&names.join(" "))),
            (_, [one]) if VALUES.contains(one) => by.push((*one).to_owned()),
            (_, names) => by.push(id_of(&entity_of(names[0]))),
        }
    }
    if by.is_empty() && !several {
        by.push(id_of(&entity));
    }
    by.dedup();
    for name in &by {
        asked.attribute(&entity, name, "string".into());
    }
    if let Some(state) = adjective(noun_words) {
        asked.fields.insert("where".to_owned(), format!("{STATE} = {}", state.to_uppercase()).into());
        asked.attribute(&entity, STATE, "string".into());
    }
    if !by.is_empty() {
        asked.fields.insert("by".to_owned(), if by.len() == 1 { by[0].as_str().into() } else { json!(by) });
    } else if several {
        asked.fields.insert("fan-out".to_owned(), "allowed".into());
    }
    let order = format!("{} {rest}", order_words.join(" "));
    let ranked =
        rest.split_once("ranked by ").or(rest.split_once("sorted by ")).map(|(_, name)| camel(name.trim()));
    let ordered = match (ranked, order.contains("newest"), order.contains("oldest")) {
        (Some(name), ..) => Some((format!("{name} desc"), name, Value::from("number"))),
        (None, true, _) => Some((format!("{TIME} desc"), TIME.to_owned(), "timestamp".into())),
        (None, _, true) => Some((TIME.to_owned(), TIME.to_owned(), "timestamp".into())),
        _ => None,
    };
    if let Some((order, name, kind)) = ordered {
        asked.fields.insert("order".to_owned(), order.into());
        asked.attribute(&entity, &name, kind);
    }
    if noun_words.contains(&"top") {
        asked.fields.insert("limit".to_owned(), TOP.into());
    }
    Some(asked)
}

/// `in a status for a customer` -> `in a status`, `for a customer`.
fn clauses<'w>(words: &'w [&'w str]) -> Vec<&'w [&'w str]> {
    let begins = |word: &&str| ["by", "for", "in", "of", "across", "with", "from", "on"].contains(word);
    let starts: Vec<usize> = (0..words.len()).filter(|at| begins(&words[*at])).collect();
    let ends = starts.iter().skip(1).copied().chain([words.len()]);
    starts.iter().zip(ends).map(|(start, end)| &words[*start..end]).collect()
}

/// The entity that words name, and whether there are several of it.
fn noun(words: &[&str]) -> Option<(String, bool)> {
    let mut named = telling(words);
    let is_line_item = named.ends_with(&["line", "items"]) || named.ends_with(&["line", "item"]);
    while named.len() > 1 && !is_line_item && named.last().is_some_and(|word| PARTS.contains(word)) {
        named.pop();
    }
    let last = *named.last()?;
    let name = if is_line_item { format!("line {last}") } else { possessed(last).to_owned() };
    let several = last.ends_with('s') && !last.ends_with("'s") && !last.ends_with("ss");
    Some((entity_of(&name), several))
}

/// The words that say what is meant.
fn telling<'w>(words: &[&'w str]) -> Vec<&'w str> {
    words.iter().copied().filter(|word| !FILLERS.contains(word) && *word != "atomically").collect()
}

/// A word in front of the noun: `open orders`.
fn adjective<'w>(words: &[&'w str]) -> Option<&'w str> {
    match telling(words).as_slice() {
        ["line", _] => None,
        // `order details` is an order.
        [_, part] if PARTS.contains(part) => None,
        [adjective, noun] if !adjective.ends_with("'s") && noun.ends_with('s') => Some(adjective),
        _ => None,
    }
}

fn possessed(word: &str) -> &str {
    word.strip_suffix("'s").unwrap_or(word)
}

/// `line items` -> `LineItem`, `matches` -> `Match`, `categories` -> `Category`.
fn entity_of(name: &str) -> String {
    let singular = match name {
        name if name.ends_with("ies") => format!("{}y", &name[..name.len() - 3]),
        name if ["ches", "shes", "sses", "xes"].iter().any(|end| name.ends_with(end)) => {
            name[..name.len() - 2].to_owned()
        }
        name if name.ends_with('s') && !name.ends_with("ss") && !name.ends_with("us") => {
            name[..name.len() - 1].to_owned()
        }
        name => name.to_owned(),
    };
    pascal(&singular)
}

/// `user id` -> `userId`.
fn camel(words: &str) -> String {
    let name = pascal(words);
    let mut characters = name.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_lowercase).collect();
    first + characters.as_str()
}

fn id_of(entity: &str) -> String {
    camel(entity) + "Id"
}
