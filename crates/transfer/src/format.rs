//! Records as lines of text: one item or one change a line, in DynamoDB JSON or in Ion.
//!
//! Both formats are read into the same [`Members`]; what a record must have is decided once, behind that.

pub mod ion;
mod json;

use std::collections::BTreeMap;

use item::{Item, ItemRef};

/// The two formats of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    DynamodbJson,
    Ion,
}

/// Which images the lines of an incremental export have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewType {
    NewImage,
    NewAndOldImages,
}

/// What happened to one item within the time of an incremental export: its first old image and its last new one.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub write_timestamp_micros: u64,
    pub keys: ItemRef<'a>,
    pub old_image: Option<ItemRef<'a>>,
    pub new_image: Option<ItemRef<'a>>,
}

/// A change that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    pub write_timestamp_micros: u64,
    pub keys: Item,
    pub old_image: Option<Item>,
    pub new_image: Option<Item>,
}

/// An item to put, and for bulk puts the condition that comes with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutRecord {
    pub item: Item,
    pub condition_expression: Option<String>,
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    pub expression_attribute_values: Option<Item>,
}

/// Why a line is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It is not in the format at all, so the lines behind it can't be trusted either.
    #[error("{0}")]
    Unparseable(String),
    /// It breaks a rule; the lines behind it may be right.
    #[error("{0}")]
    Refused(String),
}

/// All members that a record can have.
#[derive(Default)]
struct Members {
    item: Option<Item>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<BTreeMap<String, String>>,
    expression_attribute_values: Option<Item>,
    metadata: Option<Item>,
    keys: Option<Item>,
    old_image: Option<Item>,
    new_image: Option<Item>,
}

const WRITE_TIMESTAMP: &str = "WriteTimestampMicros";

impl Format {
    /// As in `ExportFormat` and `outputFormat`.
    pub fn name(self) -> &'static str {
        match self {
            Format::DynamodbJson => "DYNAMODB_JSON",
            Format::Ion => "ION",
        }
    }

    /// The inverse of [`Format::name`].
    pub fn from_name(name: &str) -> Option<Format> {
        [Format::DynamodbJson, Format::Ion].into_iter().find(|format| format.name() == name)
    }

    /// How the names of data files end.
    pub fn file_extension(self) -> &'static str {
        match self {
            Format::DynamodbJson => "json.gz",
            Format::Ion => "ion.gz",
        }
    }

    /// Appends the line of an item in a full export.
    pub fn write_item(self, item: ItemRef<'_>, out: &mut Vec<u8>) {
        match self {
            Format::DynamodbJson => json::write_item(item, out),
            Format::Ion => ion::write_item(item, out),
        }
        out.push(b'\n');
    }

    /// Appends the line of a change, with the images that it has.
    pub fn write_change(self, change: &Change<'_>, out: &mut Vec<u8>) {
        match self {
            Format::DynamodbJson => json::write_change(change, out),
            Format::Ion => ion::write_change(change, out),
        }
        out.push(b'\n');
    }

    /// Whether the line holds no record.
    pub fn is_blank(self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        line.is_empty() || (self == Format::Ion && line == ion::VERSION_MARKER)
    }

    /// Reads `{"Item":…}`, perhaps with a condition beside it.
    pub fn read_put(self, line: &[u8]) -> Result<PutRecord, LineFault> {
        let members = self.read(line)?;
        Ok(PutRecord {
            item: members.item.ok_or_else(|| missing("Item"))?,
            condition_expression: members.condition_expression,
            expression_attribute_names: members.expression_attribute_names,
            expression_attribute_values: members.expression_attribute_values,
        })
    }

    /// Reads a line of an incremental export.
    pub fn read_change(self, line: &[u8]) -> Result<ChangeRecord, LineFault> {
        let members = self.read(line)?;
        let micros = members.metadata.as_ref().and_then(|metadata| metadata.get(WRITE_TIMESTAMP));
        let micros = micros.and_then(|micros| micros.as_number()?.to_string().parse().ok());
        Ok(ChangeRecord {
            write_timestamp_micros: micros.ok_or_else(|| missing("WriteTimestampMicros"))?,
            keys: members.keys.ok_or_else(|| missing("Keys"))?,
            old_image: members.old_image,
            new_image: members.new_image,
        })
    }

    fn read(self, line: &[u8]) -> Result<Members, LineFault> {
        match self {
            Format::DynamodbJson => json::read(line),
            Format::Ion => ion::read(line),
        }
    }
}

fn missing(member: &str) -> LineFault {
    LineFault::Refused(format!("The record has no {member}"))
}

impl ViewType {
    /// As in `ExportViewType` and `outputView`.
    pub fn name(self) -> &'static str {
        match self {
            ViewType::NewImage => "NEW_IMAGE",
            ViewType::NewAndOldImages => "NEW_AND_OLD_IMAGES",
        }
    }

    /// The inverse of [`ViewType::name`].
    pub fn from_name(name: &str) -> Option<ViewType> {
        [ViewType::NewImage, ViewType::NewAndOldImages].into_iter().find(|view| view.name() == name)
    }
}

impl<'a> Change<'a> {
    /// The change as a view shows it; `None` for an item that was neither there before nor afterwards.
    pub fn seen_as(self, view: ViewType) -> Option<Change<'a>> {
        let existed = self.old_image.is_some() || self.new_image.is_some();
        let old_image = self.old_image.filter(|_| view == ViewType::NewAndOldImages);
        existed.then_some(Change { old_image, ..self })
    }
}
