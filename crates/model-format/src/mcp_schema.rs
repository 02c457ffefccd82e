//! `schema.json` of the awslabs DynamoDB MCP server: entities with key templates, fields and patterns.

use item::Type;
use model::Model;
use model::draft::{Draft, fields_of};
use model::model::{
    ActionKind, AttributeKind, Consistency, Entity, EntityId, Index, KeySchema, Pattern, Projection, Read,
    TableId, Write, WriteVerb,
};
use model::predicate::{Operand, Operator, Term};
use model::table_shape::{TableSection, projection_of};
use model::template::Template;
use serde_json::{Map, Value, json};

use crate::document::{id, key_sides, list, put_key_sides, put_texts, required_list, required_text, texts};
use crate::operation::{operation, verb};
use crate::{Aspect, Format, JSON, Notes, Unreadable};

pub const FORMAT: Format = Format {
    name: "mcp-schema",
    title: "schema.json of the awslabs DynamoDB MCP server",
    syntax: &JSON,
    recognises: |document| document["tables"][0]["table_config"].is_object(),
    read: Some(read),
    write: Some(write),
    holds: &[&[
        Aspect::Tables,
        Aspect::WideKeys,
        Aspect::Entities,
        Aspect::Templates,
        Aspect::Patterns,
        Aspect::Consistency,
        // What has no place of a pattern's details is noted pattern by pattern.
        Aspect::Conditions,
    ]],
};

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let tables = required_list(document, "tables")?;
    let mut draft = Draft::new(tables.first().map_or("model", name_of));
    for shape in tables {
        let table = section(shape)?;
        for (name, entity) in shape["entities"].as_object().into_iter().flatten() {
            let fields = entity_fields(&table, entity);
            let read = |mapping: &&Value| {
                let index = mapping["name"].as_str().unwrap_or_default();
                fields.get("indexes").is_some_and(|entries| entries.get(index).is_some())
            };
            for mapping in list(&entity["gsi_mappings"]).filter(|mapping| !read(mapping)) {
                notes.add(format!(
                    "{name}: its gsi_mapping of {} is kept, but not read: the index is not in gsi_list, or a template of its key is missing",
                    mapping["name"]
                ));
            }
            draft.add_entity(name, &table.name, fields);
        }
        draft.add_described_table(table);
    }
    for shape in tables {
        for (name, entity) in shape["entities"].as_object().into_iter().flatten() {
            for pattern in list(&entity["access_patterns"]) {
                let id = id(&pattern["pattern_id"]);
                match pattern_fields(&table_keys(shape), name, entity, pattern, notes) {
                    Some(fields) => draft.add_pattern(&id, fields),
                    None => notes.add(format!("pattern {id} is kept, but a model has no word for it")),
                }
            }
        }
    }
    if list(&document["cross_table_access_patterns"]).next().is_some() {
        notes.add("cross_table_access_patterns are kept, but not read");
    }
    Ok(draft)
}

fn name_of(table: &Value) -> &str {
    table["table_config"]["table_name"].as_str().unwrap_or("model")
}

fn section(shape: &Value) -> Result<TableSection, Unreadable> {
    let config = &shape["table_config"];
    let name = required_text("a table", config, "table_name")?;
    let kind = |name: &str| {
        let entities = shape["entities"].as_object().into_iter().flat_map(Map::values);
        let mut fields = entities.flat_map(|entity| list(&entity["fields"]));
        let declared = fields.find(|field| field["name"] == name);
        match declared.and_then(|field| field["type"].as_str()) {
            Some("integer" | "decimal") => "number",
            _ => "string",
        }
    };
    let mut fields = key_sides(config, kind);
    if let Some(ttl) = config["ttl_attribute"].as_str() {
        fields.insert("ttl".to_owned(), ttl.into());
    }
    let index = |index: &Value| {
        let mut fields = key_sides(index, kind);
        let project = projection_of(index["projection"].as_str(), &index["included_attributes"]);
        fields.insert("project".to_owned(), project);
        Some((index["name"].as_str()?.to_owned(), Value::Object(fields)))
    };
    let indexes: Map<String, Value> = list(&shape["gsi_list"]).filter_map(index).collect();
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    Ok(TableSection { name: name.to_owned(), fields })
}

fn entity_fields(table: &TableSection, entity: &Value) -> Map<String, Value> {
    let mut fields = Map::new();
    let templates = [&entity["pk_template"], &entity["sk_template"]];
    let key: Map<String, Value> = table
        .key_names()
        .into_iter()
        .zip(templates)
        .map(|(name, template)| {
            let own = format!("{{{name}}}");
            (name, template.as_str().filter(|text| !text.is_empty()).unwrap_or(&own).into())
        })
        .collect();
    fields.insert("key".to_owned(), Value::Object(key));
    let attribute = |field: &Value| {
        let kind = kind(field["type"].as_str().unwrap_or("string"));
        let described = match field["required"] == false {
            true => json!({ "type": kind, "optional": true }),
            false => json!(kind),
        };
        Some((field["name"].as_str()?.to_owned(), described))
    };
    let attributes: Map<String, Value> = list(&entity["fields"]).filter_map(attribute).collect();
    fields.insert("attributes".to_owned(), Value::Object(attributes));
    let index_keys = table.index_keys();
    let entry = |mapping: &Value| {
        let name = mapping["name"].as_str()?;
        let (_, names) = index_keys.iter().find(|(index, _)| index == name)?;
        let templates = texts(&mapping["pk_template"]).into_iter().chain(texts(&mapping["sk_template"]));
        let entry: Map<String, Value> =
            names.iter().zip(templates).map(|(key, template)| (key.clone(), template.into())).collect();
        (entry.len() == names.len()).then(|| (name.to_owned(), Value::Object(entry)))
    };
    let entries: Map<String, Value> = list(&entity["gsi_mappings"]).filter_map(entry).collect();
    if !entries.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(entries));
    }
    fields
}

fn kind(name: &str) -> &'static str {
    match name {
        "integer" | "decimal" => "number",
        "boolean" => "boolean",
        "uuid" => "uuid",
        "array" => "list",
        "object" => "map",
        _ => "string",
    }
}

/// The attributes that the table's own key has for an entity.
fn table_keys(shape: &Value) -> Vec<String> {
    let config = &shape["table_config"];
    [&config["partition_key"], &config["sort_key"]].into_iter().flat_map(texts).map(str::to_owned).collect()
}

/// What a pattern's parameters are for: each is known, part of a range, filtered by, or a new value.
fn pattern_fields(
    keys: &[String],
    name: &str,
    entity: &Value,
    pattern: &Value,
    notes: &mut Notes,
) -> Option<Map<String, Value>> {
    let operation = pattern["operation"].as_str()?;
    let verb = verb(operation)?;
    let mut fields = Map::new();
    if let Some(description) = pattern["description"].as_str() {
        fields.insert("description".to_owned(), description.into());
    }
    fields.insert(verb.to_owned(), name.into());
    let id = id(&pattern["pattern_id"]);
    let declared = |name: &str| list(&entity["fields"]).any(|field| field["name"] == name);
    let parameters = list(&pattern["parameters"]).filter_map(|one| one["name"].as_str());
    let mut parameters: Vec<&str> = parameters.collect();
    let filter = filter(&pattern["filter_expression"], &declared, &mut parameters);
    if let Some(range) = pattern["range_condition"].as_str() {
        match range_of(range, entity, pattern, &declared, &mut parameters) {
            Some(range) => {
                fields.insert("where".to_owned(), range.into());
            }
            None => notes.add(format!("pattern {id}: its range_condition `{range}` is kept, but not read")),
        }
    }
    match filter {
        Some(Ok(filter)) => {
            fields.insert("filter".to_owned(), filter.into());
        }
        Some(Err(())) => notes.add(format!("pattern {id}: its filter_expression is kept, but not read")),
        None => {}
    }
    let in_key = |name: &&str| {
        let templates = texts(&entity["pk_template"]).into_iter().chain(texts(&entity["sk_template"]));
        let mut named = templates.flat_map(fields_of).chain(keys.iter().cloned());
        named.any(|one| one == *name)
    };
    let (by, set): (Vec<&str>, Vec<&str>) = match verb {
        "update" => parameters.iter().copied().filter(|name| declared(name)).partition(in_key),
        _ => (parameters.iter().copied().filter(|name| declared(name)).collect(), Vec::new()),
    };
    if matches!(verb, "query" | "get" | "update" | "delete") && !by.is_empty() {
        fields.insert("by".to_owned(), by.into());
    }
    if !set.is_empty() {
        fields.insert("set".to_owned(), set.into());
    }
    if let Some(index) = pattern["index_name"].as_str() {
        fields.insert("index".to_owned(), index.into());
    }
    if let Some(strong) = pattern["consistent_read"].as_bool() {
        fields.insert("consistency".to_owned(), if strong { "strong" } else { "eventual" }.into());
    }
    Some(fields)
}

/// `created_at >= :created_at`. The last parameters are the range's; what they are about is their own name, or the
/// first part of the sort key that is not known otherwise.
fn range_of(
    operator: &str,
    entity: &Value,
    pattern: &Value,
    declared: &impl Fn(&str) -> bool,
    parameters: &mut Vec<&str>,
) -> Option<String> {
    let count = if operator == "between" { 2 } else { 1 };
    let own = parameters.split_off(parameters.len().checked_sub(count)?);
    let mapping = list(&entity["gsi_mappings"]).find(|one| one["name"] == pattern["index_name"]);
    let sort = texts(&mapping.unwrap_or(entity)["sk_template"]).into_iter().flat_map(fields_of);
    let unknown = sort.into_iter().find(|name| !parameters.contains(&name.as_str()));
    let attribute = match own.first().filter(|name| declared(name)) {
        Some(name) => (*name).to_owned(),
        None => unknown?,
    };
    let first = own.first()?;
    match operator {
        "between" => Some(format!("{attribute} between :{first} and :{}", own.get(1)?)),
        "begins_with" | ">=" | "<=" | ">" | "<" => Some(format!("{attribute} {operator} :{first}")),
        _ => None,
    }
}

/// Comparisons that are joined by `AND`; anything else is not read. Its parameters are not known values.
fn filter(
    expression: &Value,
    declared: &impl Fn(&str) -> bool,
    parameters: &mut Vec<&str>,
) -> Option<Result<String, ()>> {
    let conditions = expression["conditions"].as_array()?;
    let own = |name: &str| {
        let named = |one: &Value| ["param", "param2"].iter().any(|member| one[*member] == name);
        conditions.iter().any(|one| named(one) || list(&one["params"]).any(|one| one == name))
    };
    parameters.retain(|name| !own(name));
    let joined = conditions.len() == 1 || expression["logical_operator"] != "OR";
    let term = |one: &Value| {
        let field = one["field"].as_str().filter(|field| declared(field))?;
        match (one["function"].as_str(), one.get("operator")) {
            (Some("attribute_exists"), None) => return Some(format!("exists {field}")),
            (Some("attribute_not_exists"), None) => return Some(format!("not exists {field}")),
            (Some(function @ ("begins_with" | "contains")), None) => {
                return Some(format!("{field} {function} :{}", one["param"].as_str()?));
            }
            (Some(_), _) => return None,
            (None, _) => {}
        }
        let operator = one["operator"].as_str()?;
        if operator == "in" {
            let values: Vec<String> = texts(&one["params"]).iter().map(|name| format!(":{name}")).collect();
            return (!values.is_empty()).then(|| format!("{field} in ({})", values.join(", ")));
        }
        let first = one["param"].as_str()?;
        match operator {
            "between" => Some(format!("{field} between :{first} and :{}", one["param2"].as_str()?)),
            "=" | "<>" | "<" | "<=" | ">" | ">=" => Some(format!("{field} {operator} :{first}")),
            _ => None,
        }
    };
    let terms: Option<Vec<String>> = conditions.iter().map(term).collect();
    Some(terms.filter(|_| joined).map(|terms| terms.join(" and ")).ok_or(()))
}

fn write(model: &Model, notes: &mut Notes) -> Value {
    let tables: Vec<Value> = model.table_ids().filter_map(|id| table(model, id, notes)).collect();
    json!({ "tables": tables })
}

fn table(model: &Model, id: TableId, notes: &mut Notes) -> Option<Value> {
    let table = model.table(id);
    let Some(key) = &table.key else {
        notes.add(format!("table {} has no keys yet", table.name.value));
        return None;
    };
    let keys = table.indexes.iter().map(|index| &index.key).chain([key]).flat_map(KeySchema::attributes);
    for binary in keys.filter(|key| key.kind == Type::B) {
        notes.add(format!("key {} is binary, for which this format has no word", binary.name));
    }
    let mut config = json!({ "table_name": table.name.value });
    put_key_sides(&mut config, &key.partition, &key.sort);
    let mut shape = json!({ "table_config": config });
    let indexes: Vec<Value> = table.global_indexes().map(index).collect();
    if !indexes.is_empty() {
        shape["gsi_list"] = indexes.into();
    }
    let entities: Map<String, Value> = model
        .entities_of(id)
        .map(|(id, entity)| (entity.name.value.clone(), entity_shape(model, id, entity, notes)))
        .collect();
    shape["entities"] = Value::Object(entities);
    Some(shape)
}

fn index(index: &Index) -> Value {
    let mut shape = json!({ "name": index.name.value });
    put_key_sides(&mut shape, &index.key.partition, &index.key.sort);
    match &index.projection.value {
        Projection::All => shape["projection"] = "ALL".into(),
        Projection::Keys => shape["projection"] = "KEYS_ONLY".into(),
        Projection::Include(names) => {
            shape["projection"] = "INCLUDE".into();
            shape["included_attributes"] = names.iter().map(|name| name.value.clone()).collect();
        }
    }
    shape
}

fn entity_shape(model: &Model, id: EntityId, entity: &Entity, notes: &mut Notes) -> Value {
    let table = model.table_of(entity);
    let mut shape = json!({ "entity_type": entity.name.value.to_uppercase() });
    for (name, template) in ["pk_template", "sk_template"].into_iter().zip(entity.key_templates()) {
        shape[name] = template.to_string().into();
    }
    let mapping = |entry: &model::model::IndexEntry| {
        let templates = |templates: &[Template]| templates.iter().map(Template::to_string).collect();
        let mut mapping = json!({ "name": table.index(entry.index).name.value });
        put_texts(&mut mapping, "pk_template", templates(&entry.partition));
        put_texts(&mut mapping, "sk_template", templates(&entry.sort));
        mapping
    };
    let mappings: Vec<Value> = entity.entries.iter().map(mapping).collect();
    if !mappings.is_empty() {
        shape["gsi_mappings"] = mappings.into();
    }
    let field = |one: &model::model::Attribute| json!({ "name": one.name, "type": field_type(one.kind), "required": !one.optional });
    shape["fields"] = entity.attributes.values().map(field).collect();
    let is_of = |pattern: &&Pattern| match pattern.actions.first().map(|action| &action.kind) {
        Some(ActionKind::Read(read)) => read.entities.first().is_some_and(|first| first.value == id),
        Some(ActionKind::Write(write)) => write.entity.value == id,
        None => false,
    };
    let patterns = model.patterns.iter().filter(is_of);
    shape["access_patterns"] = patterns.filter_map(|one| pattern(one, entity, notes)).collect();
    shape
}

fn field_type(kind: AttributeKind) -> &'static str {
    match kind {
        AttributeKind::Number => "decimal",
        AttributeKind::Epoch | AttributeKind::EpochMillis => "integer",
        AttributeKind::Boolean => "boolean",
        AttributeKind::Uuid => "uuid",
        AttributeKind::List
        | AttributeKind::StringSet
        | AttributeKind::NumberSet
        | AttributeKind::BinarySet => "array",
        AttributeKind::Map => "object",
        _ => "string",
    }
}

fn pattern(pattern: &Pattern, entity: &Entity, notes: &mut Notes) -> Option<Value> {
    let Some(operation) = operation(pattern).filter(|_| pattern.external.is_none()) else {
        notes.add(format!("pattern {} is left out: it is not one request for one entity", pattern.id.value));
        return None;
    };
    let id = &pattern.id.value;
    // Numbers are ids here; other ids stay text.
    let id: Value = id.parse::<u64>().map_or_else(|_| id.as_str().into(), Value::from);
    let mut shape =
        json!({ "pattern_id": id, "name": format!("pattern_{}", pattern.id.value.to_lowercase()) });
    if let Some(description) = &pattern.description {
        shape["description"] = description.as_str().into();
    }
    shape["operation"] = operation.into();
    if let Some(index) = &pattern.index {
        shape["index_name"] = index.value.as_str().into();
    }
    if let Some(consistency) = &pattern.consistency {
        shape["consistent_read"] = (consistency.value == Consistency::Strong).into();
    }
    let mut parameters = Parameters { entity, list: Vec::new() };
    match &pattern.actions.first()?.kind {
        ActionKind::Read(read) => put_read(&mut shape, read, pattern, &mut parameters, notes),
        ActionKind::Write(write) => put_write(write, pattern, &mut parameters, notes),
    }
    shape["parameters"] = parameters.list.into();
    shape["return_type"] = match operation {
        "Query" | "Scan" => "entity_list",
        "DeleteItem" => "success_flag",
        _ => "single_entity",
    }
    .into();
    Some(shape)
}

/// The parameters of a pattern, each once.
struct Parameters<'m> {
    entity: &'m Entity,
    list: Vec<Value>,
}

impl Parameters<'_> {
    /// Adds one that is compared with an attribute, or is its new value.
    fn add(&mut self, name: &str, attribute: &str) {
        let kind = self.entity.attribute(attribute).map_or("string", |one| field_type(one.kind));
        if !self.list.iter().any(|one| one["name"] == name) {
            self.list.push(json!({ "name": name, "type": kind }));
        }
    }

    /// The name of an operand's parameter. A value that the model gives is the caller's to give here.
    fn operand(&mut self, operand: &Operand, attribute: &str, id: &str, notes: &mut Notes) -> String {
        let name = match operand {
            Operand::Parameter(name) => name.clone(),
            Operand::Literal(value) => {
                notes.add(format!(
                    "pattern {id}: the value `{value}` of {attribute} is a parameter, for the caller to give"
                ));
                attribute.to_owned()
            }
        };
        self.add(&name, attribute);
        name
    }
}

/// What is known, then what is filtered by, then the range of the sort key: the reader takes the last for that.
fn put_read(
    shape: &mut Value,
    read: &Read,
    pattern: &Pattern,
    parameters: &mut Parameters<'_>,
    notes: &mut Notes,
) {
    let id = &pattern.id.value;
    read.by.iter().for_each(|name| parameters.add(name, name));
    let terms: Vec<&Term> = read.conditions.iter().flat_map(|conditions| &conditions.terms).collect();
    for term in terms.iter().filter(|term| term.operator == Operator::Equal) {
        if let Some(operand) = term.operands.first() {
            // Known values are named like their attribute.
            let named = Operand::Parameter(term.attribute.value.clone());
            let is_literal = matches!(operand, Operand::Literal(_));
            parameters.operand(if is_literal { operand } else { &named }, &term.attribute, id, notes);
        }
    }
    let mut conditions = Vec::new();
    for term in read.filter.iter().flat_map(|filter| &filter.terms) {
        match condition(term, id, parameters, notes) {
            Some(condition) => conditions.push(condition),
            None => notes.add(format!("pattern {id}: its filter `{term}` has no place")),
        }
    }
    let mut ranged = terms.into_iter().filter(|term| term.operator != Operator::Equal);
    if let Some(term) = ranged.next() {
        let is_range = term.operator.is_range() && shape["operation"] == "Query";
        match is_range {
            true => {
                shape["range_condition"] = term.operator.name().into();
                put_range(term, id, parameters, notes);
            }
            false => notes.add(format!("pattern {id}: its condition `{term}` has no place")),
        }
    }
    for term in ranged {
        notes.add(format!("pattern {id}: its condition `{term}` has no place"));
    }
    if !conditions.is_empty() {
        shape["filter_expression"] = json!({ "conditions": conditions, "logical_operator": "AND" });
    }
    let details = [
        ("order", !read.order.is_empty()),
        ("limit", read.limit.is_some()),
        ("returns", read.returns.is_some()),
        ("read", read.attributes.is_some()),
        ("paged", read.paged.is_some()),
        ("expect", !pattern.expect.is_empty()),
        ("cached", pattern.cached.is_some()),
    ];
    let missed: Vec<&str> =
        details.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect();
    if !missed.is_empty() {
        notes.add(format!("pattern {id}: this format has no place for {}", missed.join(", ")));
    }
}

/// The bounds of a range. Their first is named like the attribute, unless it is a bound of its own (`:created_from`).
fn put_range(term: &Term, id: &str, parameters: &mut Parameters<'_>, notes: &mut Notes) {
    for operand in &term.operands {
        let name = match (operand, term.operands.len()) {
            (Operand::Parameter(_), 1) => Operand::Parameter(term.attribute.value.clone()),
            (operand, _) => operand.clone(),
        };
        parameters.operand(&name, &term.attribute, id, notes);
    }
}

/// A comparison of a filter.
fn condition(term: &Term, id: &str, parameters: &mut Parameters<'_>, notes: &mut Notes) -> Option<Value> {
    let field = term.attribute.value.as_str();
    if field.is_empty() {
        return None;
    }
    let mut operand =
        |position: usize| Some(parameters.operand(term.operands.get(position)?, field, id, notes));
    match term.operator {
        Operator::Exists => Some(json!({ "field": field, "function": "attribute_exists" })),
        Operator::NotExists => Some(json!({ "field": field, "function": "attribute_not_exists" })),
        Operator::BeginsWith | Operator::Contains => {
            Some(json!({ "field": field, "function": term.operator.name(), "param": operand(0)? }))
        }
        Operator::Between => Some(json!({
            "field": field, "operator": "between", "param": operand(0)?, "param2": operand(1)?,
        })),
        // Several values that the model gives would all be the same parameter.
        Operator::In if term.operands.iter().any(|one| matches!(one, Operand::Literal(_))) => None,
        Operator::In => {
            let names: Option<Vec<String>> = (0..term.operands.len()).map(operand).collect();
            Some(json!({ "field": field, "operator": "in", "params": names? }))
        }
        _ => Some(json!({ "field": field, "operator": term.operator.name(), "param": operand(0)? })),
    }
}

/// What identifies the item, and the new values.
fn put_write(write: &Write, pattern: &Pattern, parameters: &mut Parameters<'_>, notes: &mut Notes) {
    let id = &pattern.id.value;
    write.by.iter().for_each(|name| parameters.add(name, name));
    if write.verb == WriteVerb::Update {
        for change in write.set.iter().chain(&write.add) {
            parameters.add(&change.attribute, &change.attribute);
        }
    }
    let details = [
        ("add", !write.add.is_empty()),
        ("remove", !write.remove.is_empty()),
        ("if", write.condition.is_some()),
        ("version", write.version.is_some()),
        ("knows", !write.knows.is_empty()),
        ("fails", pattern.fails.is_some()),
    ];
    let missed: Vec<&str> =
        details.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect();
    if !missed.is_empty() {
        notes.add(format!("pattern {id}: this format has no place for {}", missed.join(", ")));
    }
}
