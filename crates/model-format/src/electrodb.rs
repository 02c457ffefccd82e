//! ElectroDB's entities. JSON, object literals and modules are read; a module is written. Keys are written as
//! `template`s in their own case. A part of a key that no ElectroDB template can express (a shard, a day) becomes a
//! hidden attribute that watches its source attribute and has the part's own `template`.

mod read;
mod write;

use serde_json::{Map, Value, json};

use crate::{Aspect, Format, Syntax, Unreadable, javascript, kept};

pub const FORMAT: Format = Format {
    name: "electrodb",
    title: "ElectroDB's entities, as a module or JSON",
    syntax: &SYNTAX,
    recognises: |document| document["entities"].is_object(),
    read: Some(|document, notes| read::read(&kept::unwrapped(document), notes)),
    write: Some(|model, notes| with_listed_indexes(write::write(model, notes))),
    holds: &[&[
        Aspect::Tables,
        Aspect::LocalIndexes,
        Aspect::WideKeys,
        Aspect::Entities,
        Aspect::Templates,
        Aspect::Sparse,
        Aspect::Choices,
    ]],
};

const SYNTAX: Syntax =
    Syntax { parse: |text| entities(&javascript::parse(text)?).map(with_listed_indexes), print: module };

/// The name of the table's own key among the indexes.
const PRIMARY: &str = "primary";

/// Every entity of the document under its name: the document itself, an element, or a member of a member.
fn entities(document: &Value) -> Result<Value, Unreadable> {
    let mut found = Map::new();
    let mut add = |value: &Value| {
        if let Some(name) = value["model"]["entity"].as_str().filter(|_| is_entity(value)) {
            found.insert(name.to_owned(), value.clone());
        }
    };
    add(document);
    for inner in members(document) {
        add(inner);
        members(inner).for_each(&mut add);
    }
    if found.is_empty() {
        return Err(Unreadable(
            "there is no object with `model.entity`, `attributes` and `indexes`".to_owned(),
        ));
    }
    Ok(json!({ "entities": found }))
}

fn members(value: &Value) -> impl Iterator<Item = &Value> {
    let members = value.as_object().into_iter().flat_map(Map::values);
    members.chain(value.as_array().into_iter().flatten())
}

fn is_entity(value: &Value) -> bool {
    value["attributes"].is_object() && value["indexes"].is_object()
}

/// Lists indexes by their names in the database instead of those in the program, which the model doesn't
/// know; and treats the parts of a key as one value.
fn with_listed_indexes(mut document: Value) -> Value {
    for entity in document["entities"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        let Some(accesses) = entity["indexes"].as_object() else { continue };
        let listed = accesses.iter().map(|(access, shape)| {
            let name = shape["index"].as_str().unwrap_or(PRIMARY);
            let mut index = Map::from_iter([
                ("name".to_owned(), name.into()),
                ("access".to_owned(), access.as_str().into()),
            ]);
            let members = shape.as_object().into_iter().flatten();
            index.extend(members.map(|(name, member)| (name.clone(), member.clone())));
            for side in ["pk", "sk"] {
                index.get_mut(side).into_iter().for_each(|key| *key = kept::whole(key.take()));
            }
            Value::Object(index)
        });
        entity["indexes"] = listed.collect();
    }
    document
}

/// The inverse: the form that ElectroDB uses.
fn with_named_indexes(mut entities: Value) -> Value {
    for entity in entities.as_object_mut().into_iter().flat_map(Map::values_mut) {
        let listed = entity["indexes"].as_array().cloned().unwrap_or_default();
        let named = listed.into_iter().filter_map(|mut index| {
            let members = index.as_object_mut()?;
            members.shift_remove("name");
            Some((members.shift_remove("access")?.as_str()?.to_owned(), index))
        });
        entity["indexes"] = Value::Object(named.collect());
    }
    entities
}

fn module(document: &Value) -> String {
    let entities = with_named_indexes(kept::unwrapped(&document["entities"]));
    let entities = javascript::print(&entities, 0);
    let hash = if entities.contains("crc32(") { "import { crc32 } from \"node:zlib\";\n" } else { "" };
    format!(
        r#"import {{ Entity, Service }} from "electrodb";
{hash}
// The schema of each entity.
export const entities = {entities};

// All of them with a client. `options` are the library's, such as another `table`.
export const connect = (client, options = {{}}) => {{
  const connected = ([name, schema]) => [name, new Entity(schema, {{ client, ...options }})];
  return new Service(Object.fromEntries(Object.entries(entities).map(connected)));
}};
"#
    )
}
