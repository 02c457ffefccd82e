//! Records in DynamoDB JSON.

use std::collections::BTreeMap;

use item::json::{Jiter, ShapeError, read_item, read_text, skip};
use item::{Item, ItemRef, ValueError};
use jiter::{JiterError, Peek};

use super::{Change, LineFault, Members, WRITE_TIMESTAMP};

pub(super) fn write_item(item: ItemRef<'_>, out: &mut Vec<u8>) {
    write_member("{", "Item", item, out);
    out.push(b'}');
}

pub(super) fn write_change(change: &Change<'_>, out: &mut Vec<u8>) {
    let micros = change.write_timestamp_micros;
    out.extend_from_slice(
        format!("{{\"Metadata\":{{\"{WRITE_TIMESTAMP}\":{{\"N\":\"{micros}\"}}}}").as_bytes(),
    );
    write_member(",", "Keys", change.keys, out);
    for (name, image) in [("OldImage", change.old_image), ("NewImage", change.new_image)] {
        if let Some(image) = image {
            write_member(",", name, image, out);
        }
    }
    out.push(b'}');
}

fn write_member(before: &str, name: &str, item: ItemRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{before}\"{name}\":").as_bytes());
    item::json::write_item(item, out);
}

/// Reads the members of one record. Members of other names are skipped, and one that is null counts as absent.
pub(super) fn read(line: &[u8]) -> Result<Members, LineFault> {
    read_members(line).map_err(|fault| match fault {
        Fault::Value(error) if is_json(line) => LineFault::Refused(error.to_string()),
        Fault::Shape(error) if is_json(line) => LineFault::Refused(match error.0.as_str() {
            "" => "The record is not a JSON object".to_owned(),
            text => text.to_owned(),
        }),
        _ => LineFault::Unparseable("The line is not valid JSON".to_owned()),
    })
}

enum Fault {
    Shape(ShapeError),
    Value(ValueError),
}

impl From<ShapeError> for Fault {
    fn from(error: ShapeError) -> Fault {
        Fault::Shape(error)
    }
}

impl From<JiterError> for Fault {
    fn from(error: JiterError) -> Fault {
        Fault::Shape(error.into())
    }
}

impl From<ValueError> for Fault {
    fn from(error: ValueError) -> Fault {
        Fault::Value(error)
    }
}

fn read_members(line: &[u8]) -> Result<Members, Fault> {
    let mut json = Jiter::new(line);
    let mut members = Members::default();
    let mut name = json.next_object()?.map(Name::of);
    while let Some(member) = name {
        match (json.peek()?, member) {
            (Peek::Null, _) => json.known_null()?,
            (_, Name::Item) => members.item = Some(item(&mut json)?),
            (_, Name::Condition) => members.condition_expression = Some(read_text(&mut json)?.to_owned()),
            (_, Name::Names) => members.expression_attribute_names = Some(names(&mut json)?),
            (_, Name::Values) => members.expression_attribute_values = Some(item(&mut json)?),
            (_, Name::Metadata) => members.metadata = Some(item(&mut json)?),
            (_, Name::Keys) => members.keys = Some(item(&mut json)?),
            (_, Name::OldImage) => members.old_image = Some(item(&mut json)?),
            (_, Name::NewImage) => members.new_image = Some(item(&mut json)?),
            (_, Name::Other) => skip(&mut json)?,
        }
        name = json.next_key()?.map(Name::of);
    }
    json.finish()?;
    Ok(members)
}

enum Name {
    Item,
    Condition,
    Names,
    Values,
    Metadata,
    Keys,
    OldImage,
    NewImage,
    Other,
}

impl Name {
    fn of(name: &str) -> Name {
        match name {
            "Item" => Name::Item,
            "ConditionExpression" => Name::Condition,
            "ExpressionAttributeNames" => Name::Names,
            "ExpressionAttributeValues" => Name::Values,
            "Metadata" => Name::Metadata,
            "Keys" => Name::Keys,
            "OldImage" => Name::OldImage,
            "NewImage" => Name::NewImage,
            _ => Name::Other,
        }
    }
}

fn item(json: &mut Jiter<'_>) -> Result<Item, Fault> {
    Ok(read_item(json)??)
}

/// An object whose values are strings.
fn names(json: &mut Jiter<'_>) -> Result<BTreeMap<String, String>, Fault> {
    let mut names = BTreeMap::new();
    let mut next = json.next_object()?.map(str::to_owned);
    while let Some(name) = next {
        names.insert(name, read_text(json)?.to_owned());
        next = json.next_key()?.map(str::to_owned);
    }
    Ok(names)
}

/// Whether the whole line is one JSON value.
fn is_json(line: &[u8]) -> bool {
    let mut json = Jiter::new(line);
    skip(&mut json).is_ok() && json.finish().is_ok()
}
