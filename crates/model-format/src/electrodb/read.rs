//! Entities -> model.

use model::draft::Draft;
use model::table_shape::TableSection;
use serde_json::map::Entry;
use serde_json::{Map, Value, json};

use crate::document::texts;
use crate::javascript::{as_code, note_code, pattern};
use crate::{Notes, Unreadable};

/// The name of a table if the document has none.
const UNNAMED: &str = "table";

pub fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let entities = document["entities"].as_object();
    let entities = entities.ok_or_else(|| Unreadable("there are no `entities`".to_owned()))?;
    let service = entities.values().find_map(|one| one["model"]["service"].as_str());
    let mut draft = Draft::new(service.unwrap_or("model"));
    let mut collections: Vec<Collection> = Vec::new();
    let mut tables: Vec<&str> = entities.values().map(table_name).collect();
    tables.dedup();
    for name in tables {
        let own: Vec<&Value> = entities.values().filter(|one| table_name(one) == name).collect();
        if draft.entities_of(name).is_empty() {
            let table = section(name, &own)?;
            for schema in own {
                let entity = Entity { schema };
                let fields = entity.fields(&table, notes);
                let called = draft.add_entity(entity.name(), name, fields);
                entity.collect(&called, &mut collections);
                entity.asked(&called, &mut draft);
            }
            draft.add_table(table);
        }
    }
    collections.into_iter().for_each(|one| one.add_to(&mut draft));
    note_code(&document["entities"], &["condition", "validate"], notes);
    Ok(draft)
}

fn table_name(schema: &Value) -> &str {
    schema["table"].as_str().unwrap_or(UNNAMED)
}

/// Entities that are read together, as the pattern that reads them.
struct Collection {
    name: String,
    index: Option<String>,
    by: Vec<String>,
    entities: Vec<String>,
}

impl Collection {
    fn add_to(self, draft: &mut Draft) {
        let mut fields = Map::from_iter([("query".to_owned(), Value::from(self.entities))]);
        if !self.by.is_empty() {
            fields.insert("by".to_owned(), self.by.into());
        }
        if let Some(index) = self.index {
            fields.insert("index".to_owned(), index.into());
        }
        draft.add_pattern(&self.name, fields);
    }
}

fn section(name: &str, entities: &[&Value]) -> Result<TableSection, Unreadable> {
    let mut fields = Map::new();
    let mut indexes: Map<String, Value> = Map::new();
    for entity in entities.iter().map(|schema| Entity { schema }) {
        for access in entity.accesses() {
            let mut keys = access.key_sides();
            let Some(index) = access.index() else {
                keys.into_iter().for_each(|(side, key)| agree(fields.entry(side), key));
                continue;
            };
            let projected = project(&access.shape["projection"]);
            match indexes.get_mut(index) {
                Some(Value::Object(known)) => {
                    let projected = both(&known["project"], &projected);
                    known.insert("project".to_owned(), projected);
                    keys.into_iter().for_each(|(side, key)| agree(known.entry(side), key));
                }
                _ => {
                    keys.insert("project".to_owned(), projected);
                    indexes.insert(index.to_owned(), Value::Object(keys));
                }
            }
        }
    }
    let Some(partition) = fields.get("partition").cloned() else {
        return Err(Unreadable(format!(
            "no entity of table {name} has an index without a name: its own key"
        )));
    };
    // Only a local index shares the partition key of its table.
    for index in indexes.values_mut().filter_map(Value::as_object_mut) {
        if index.get("partition") == Some(&partition) && index.contains_key("sort") {
            index.shift_remove("partition");
            index.insert("type".to_owned(), "local".into());
        }
    }
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    Ok(TableSection { name: name.to_owned(), fields })
}

/// If entities give a key different types, it can only be text.
fn agree(known: Entry<'_>, key: Value) {
    let known = known.or_insert_with(|| key.clone());
    for (name, kind) in known.as_object_mut().into_iter().flatten() {
        if key.get(name).is_some_and(|other| other != kind) {
            *kind = "string".into();
        }
    }
}

fn project(projection: &Value) -> Value {
    match projection {
        Value::Array(names) => names.clone().into(),
        Value::String(word) if word.eq_ignore_ascii_case("keys_only") => "keys".into(),
        _ => "all".into(),
    }
}

/// Unites the projections of several entities.
fn both(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            let more = other.iter().filter(|name| !one.contains(name));
            one.iter().chain(more).cloned().collect()
        }
        (names @ Value::Array(_), keys) | (keys, names @ Value::Array(_)) if keys == "keys" => names.clone(),
        (one, other) => {
            if one == "keys" {
                other.clone()
            } else {
                one.clone()
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Entity<'d> {
    schema: &'d Value,
}

/// One way to access an entity: by the table's key or by an index.
struct Access<'d> {
    entity: Entity<'d>,
    shape: &'d Value,
}

impl<'d> Entity<'d> {
    fn name(self) -> &'d str {
        self.schema["model"]["entity"].as_str().unwrap_or("Item")
    }

    fn accesses(self) -> impl Iterator<Item = Access<'d>> {
        let shapes = self.schema["indexes"].as_array().into_iter().flatten();
        shapes.map(move |shape| Access { entity: self, shape })
    }

    fn attribute(self, name: &str) -> &'d Value {
        &self.schema["attributes"][name]
    }

    /// The template of an attribute that is composed of others.
    fn made(self, name: &str) -> Option<&'d str> {
        self.attribute(name)["template"].as_str()
    }

    fn is_number(self, name: &str) -> bool {
        self.attribute(name)["type"] == "number"
    }

    fn fields(self, table: &TableSection, notes: &mut Notes) -> Map<String, Value> {
        let mut key = Map::new();
        let mut entries = Map::new();
        let mut in_key: Vec<&str> = Vec::new();
        for access in self.accesses() {
            let templates = access.templates(notes);
            match access.index() {
                None => {
                    in_key.extend(access.composite("pk").into_iter().chain(access.composite("sk")));
                    key = templates;
                }
                Some(index) => {
                    let entry = access.entry(templates, table, notes);
                    entry.map(|entry| entries.insert(index.to_owned(), Value::Object(entry)));
                }
            }
        }
        let declared = self.schema["attributes"].as_object().into_iter().flatten();
        let own = declared.filter(|(name, _)| self.made(name).is_none());
        let mut attributes: Map<String, Value> = own
            .map(|(name, shape)| (name.clone(), described(shape, in_key.contains(&name.as_str()))))
            .collect();
        for name in table.key_names().into_iter().filter(|name| !key.contains_key(name)) {
            attributes.entry(name).or_insert_with(|| "string".into());
        }
        table.fit_types(&mut attributes);
        self.tell(notes);
        let parts = [("key", key), ("attributes", attributes), ("indexes", entries)];
        let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
        parts.map(|(name, part)| (name.to_owned(), Value::Object(part))).collect()
    }

    fn collect(self, called: &str, collections: &mut Vec<Collection>) {
        for access in self.accesses() {
            let collection = &access.shape["collection"];
            for name in texts(collection) {
                if let Some(known) = collections.iter_mut().find(|one| one.name == name) {
                    known.entities.push(called.to_owned());
                    continue;
                }
                let plain = access.composite("pk").into_iter().filter(|name| self.made(name).is_none());
                collections.push(Collection {
                    name: name.to_owned(),
                    index: access.index().map(str::to_owned),
                    by: plain.map(str::to_owned).collect(),
                    entities: vec![called.to_owned()],
                });
            }
        }
    }

    /// An index is there to be asked: `task.byAssignee` queries by the composites of its partition key, and the
    /// table's own key gets one item.
    fn asked(self, called: &str, draft: &mut Draft) {
        for access in self.accesses() {
            let plain = |side: &str| -> Vec<&str> {
                access.composite(side).into_iter().filter(|name| self.made(name).is_none()).collect()
            };
            let (partition, sort) = (plain("pk"), plain("sk"));
            let name = access.shape["access"].as_str().or(access.index()).unwrap_or("primary");
            let mut add = |verb: &str, by: Vec<&str>| {
                let mut fields = Map::from_iter([(verb.to_owned(), Value::from(called))]);
                // A partition key without composites is a constant: nothing has to be known.
                if !by.is_empty() {
                    fields.insert("by".to_owned(), by.into());
                } else if verb == "get" {
                    return;
                }
                if let Some(index) = access.index() {
                    fields.insert("index".to_owned(), index.into());
                }
                draft.add_pattern(&format!("{called}.{verb}.{name}"), fields);
            };
            if access.index().is_none() {
                add("get", partition.iter().chain(&sort).copied().collect());
            }
            if access.index().is_some() || !sort.is_empty() {
                add("query", partition);
            }
        }
    }

    fn tell(self, notes: &mut Notes) {
        for (name, shape) in self.schema["attributes"].as_object().into_iter().flatten() {
            if let Some(field) = shape["field"].as_str().filter(|field| field != name) {
                notes.add(format!(
                    "{}.{name}: the model calls it so, though it is stored as `{field}`",
                    self.name()
                ));
            }
        }
    }
}

impl<'d> Access<'d> {
    fn index(&self) -> Option<&'d str> {
        self.shape["index"].as_str()
    }

    fn is_composite(&self) -> bool {
        self.shape["type"] == "composite"
    }

    /// The attributes that one side of the key consists of.
    fn composite(&self, side: &str) -> Vec<&'d str> {
        let key = &self.shape[side];
        match key["template"].as_str() {
            Some(template) => {
                template.split("${").skip(1).filter_map(|one| Some(one.split_once('}')?.0)).collect()
            }
            None => texts(key.get("composite").unwrap_or(&key["facets"])),
        }
    }

    /// Whether this side of the key is an attribute under its own name.
    fn is_natural(&self, side: &str) -> bool {
        let key = &self.shape[side];
        let only = self.composite(side);
        let [only] = only.as_slice() else { return false };
        let alone = key["template"].as_str().is_none_or(|template| template == format!("${{{only}}}"));
        alone && key["field"] == *only && !self.entity.attribute(only).is_null()
    }

    /// `partition` and `sort`, each with types.
    fn key_sides(&self) -> Map<String, Value> {
        let side = |(member, side): (&str, &str)| {
            let key = self.shape.get(member)?;
            let typed: Map<String, Value> = if self.is_composite() {
                let kind = |name: &str| if self.entity.is_number(name) { "number" } else { "string" };
                self.composite(member).into_iter().map(|name| (name.to_owned(), kind(name).into())).collect()
            } else {
                let kind = if self.is_numeric(member) { "number" } else { "string" };
                Map::from_iter([(key["field"].as_str()?.to_owned(), kind.into())])
            };
            (!typed.is_empty()).then_some((side.to_owned(), Value::Object(typed)))
        };
        [("pk", "partition"), ("sk", "sort")].into_iter().filter_map(side).collect()
    }

    fn is_numeric(&self, side: &str) -> bool {
        let only = self.composite(side);
        let [only] = only.as_slice() else { return false };
        let template = self.shape[side]["template"].as_str();
        let alone = template.map_or_else(|| self.is_natural(side), |text| text == format!("${{{only}}}"));
        let cast = &self.shape[side]["cast"];
        *cast == "number" || (alone && cast.is_null() && self.entity.is_number(only))
    }

    /// A template for each key attribute that is not one of the entity's own.
    fn templates(&self, notes: &mut Notes) -> Map<String, Value> {
        let sides = ["pk", "sk"].into_iter().filter(|side| self.shape.get(side).is_some());
        let sides = sides.filter(|side| !self.is_composite() && !self.is_natural(side));
        let made = sides.filter_map(|side| {
            let field = self.shape[side]["field"].as_str()?;
            Some((field.to_owned(), self.template(side, notes).into()))
        });
        made.collect()
    }

    fn entry(
        &self,
        templates: Map<String, Value>,
        table: &TableSection,
        notes: &mut Notes,
    ) -> Option<Map<String, Value>> {
        let keys = table.key_names();
        let mut entry: Map<String, Value> =
            templates.into_iter().filter(|(name, _)| !keys.contains(name)).collect();
        match (self.shape["when"].as_str(), self.shape.get("condition")) {
            (Some(when), _) => {
                entry.insert("when".to_owned(), when.into());
            }
            (None, Some(_)) => notes.add(format!(
                "{}, index {}: its condition is code, so the model takes it that all items are in it",
                self.entity.name(),
                self.index().unwrap_or_default()
            )),
            (None, None) => {}
        }
        (!entry.is_empty()).then_some(entry)
    }

    fn template(&self, side: &str, notes: &mut Notes) -> String {
        let key = &self.shape[side];
        if let ([only], true) = (self.composite(side).as_slice(), self.is_numeric(side)) {
            return format!("{{{only}}}");
        }
        let lower = match key["casing"].as_str() {
            None | Some("lower" | "default") => true,
            Some("none") => false,
            Some(other) => {
                notes.add(format!("{}: the model has no word for casing `{other}`", self.entity.name()));
                false
            }
        };
        let case = |text: &str| if lower { text.to_lowercase() } else { text.to_owned() };
        let literal = |text: &str| case(text).replace('{', "{{").replace('}', "}}");
        let Some(template) = key["template"].as_str() else {
            let (prefix, postfix) = self.affixes(side);
            let fields = self.composite(side).into_iter().map(|name| {
                let label = self.entity.attribute(name)["label"].as_str().unwrap_or(name);
                format!("{}{}", literal(&format!("#{label}_")), self.field(name, lower, notes))
            });
            return format!("{}{}{}", literal(&prefix), fields.collect::<String>(), literal(&postfix));
        };
        let mut pieces = template.split("${");
        let mut text = pieces.next().map(literal).unwrap_or_default();
        for piece in pieces {
            let (name, rest) = piece.split_once('}').unwrap_or((piece, ""));
            text += &self.field(name, lower, notes);
            text += &literal(rest);
        }
        text
    }

    /// What ElectroDB adds to a key without a template: the service before the partition key, the
    /// collection and the entity before the sort key.
    fn affixes(&self, side: &str) -> (String, String) {
        let model = &self.entity.schema["model"];
        let text = |name: &str| model[name].as_str().unwrap_or_default();
        let collections = texts(&self.shape["collection"]);
        let mark = if collections.is_empty() { "$" } else { "#" };
        let entity = format!("{mark}{}_{}", text("entity"), text("version"));
        let collection = match collections.is_empty() {
            true => String::new(),
            false => format!("${}", collections.join("#")),
        };
        let (before, after) = match self.shape["type"] == "clustered" {
            true => (collection, entity),
            false => (format!("{collection}{entity}"), String::new()),
        };
        let scope = self.shape["scope"].as_str().map(|scope| format!("_{scope}")).unwrap_or_default();
        match (side, self.shape.get("sk")) {
            ("pk", Some(_)) => (format!("${}{scope}", text("service")), String::new()),
            ("pk", None) => (format!("${}{before}{after}{scope}", text("service")), String::new()),
            _ => (before, after),
        }
    }

    /// `{rating:08}`, `{lower(name)}`, or the template of a hidden attribute that was made for the key.
    fn field(&self, name: &str, lower: bool, notes: &mut Notes) -> String {
        if let Some(template) = self.entity.made(name) {
            return template.to_owned();
        }
        let attribute = self.entity.attribute(name);
        let text = attribute["type"] == "string" || attribute["type"].is_array();
        let value = if lower && text { format!("lower({name})") } else { name.to_owned() };
        let padding = &attribute["padding"];
        match padding["length"].as_u64() {
            Some(width) if padding["char"] == "0" && (value != name || self.entity.is_number(name)) => {
                format!("{{{value}:0{width}}}")
            }
            Some(_) => {
                notes.add(format!("{}.{name}: the model pads numbers only, with zeros", self.entity.name()));
                format!("{{{value}}}")
            }
            None => format!("{{{value}}}"),
        }
    }
}

fn described(shape: &Value, in_key: bool) -> Value {
    let mut attribute = json!({ "type": kind(shape) });
    let choices = shape["type"].as_array().map(Vec::as_slice).unwrap_or_default();
    match choices {
        [only] if only.is_string() && *only == shape["default"] => attribute["value"] = only.clone(),
        several if !several.is_empty() && several.iter().all(Value::is_string) => {
            attribute["values"] = several.to_vec().into();
        }
        _ => {}
    }
    if shape["required"] != true && !in_key && shape.get("default").is_none() {
        attribute["optional"] = true.into();
    }
    attribute
}

fn kind(shape: &Value) -> &'static str {
    let form = as_code(&shape["validate"]).and_then(pattern::kind_of);
    match shape["type"].as_str() {
        Some("number") => "number",
        Some("boolean") => "boolean",
        Some("list") => "list",
        Some("map" | "any") => "map",
        Some("set") if shape["items"] == "number" => "number-set",
        Some("set") => "string-set",
        _ => form.map_or("string", |kind| kind.name()),
    }
}
