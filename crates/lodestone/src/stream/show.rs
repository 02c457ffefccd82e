//! A change record as people read it: what happened, to which item, and the attributes that differ.

use api::streams::{OperationType, Record, StreamRecord};
use item::{Item, ItemRef, ValueRef, View};

use crate::moment;

/// How much of a value is shown.
const VALUE_CHARACTERS_MAX: usize = 200;
/// The principal of deletions by time to live.
const SERVICE: &str = "dynamodb.amazonaws.com";

const GREEN: anstyle::Style = colour(anstyle::AnsiColor::Green);
const YELLOW: anstyle::Style = colour(anstyle::AnsiColor::Yellow);
const RED: anstyle::Style = colour(anstyle::AnsiColor::Red);
const DIM: anstyle::Style = anstyle::Style::new().dimmed();

const fn colour(colour: anstyle::AnsiColor) -> anstyle::Style {
    anstyle::Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// One line for the record and one for each attribute that differs, with colours.
pub fn record(record: &Record) -> String {
    let change = record.dynamodb.clone().unwrap_or_default();
    let (name, style) = match record.event_name {
        Some(OperationType::Insert) => ("INSERT", GREEN),
        Some(OperationType::Modify) => ("MODIFY", YELLOW),
        Some(OperationType::Remove) => ("REMOVE", RED),
        None => ("?", DIM),
    };
    let time = change.approximate_creation_date_time.map(moment::shown).unwrap_or_default();
    let key = change.keys.as_ref().map(|keys| attributes(keys.as_ref())).unwrap_or_default();
    let principal = record.user_identity.as_ref().and_then(|identity| identity.principal_id.as_deref());
    let expired = if principal == Some(SERVICE) { "  (time to live)" } else { "" };
    let mut text = format!("{DIM}{time}{DIM:#}  {style}{name}{style:#}  {key}{expired}\n");
    for line in lines(&change) {
        let style = line.style();
        text.push_str(&format!("    {style}{}{style:#}\n", line.text()));
    }
    text
}

/// An attribute of an item, or an entry of a map within it, before and after.
#[derive(Debug, PartialEq)]
struct Line {
    path: String,
    old: Option<String>,
    new: Option<String>,
    /// Whether the stream has only one of the two images, so that there is no difference to show.
    is_alone: bool,
}

impl Line {
    fn style(&self) -> anstyle::Style {
        match (&self.old, &self.new) {
            _ if self.is_alone => DIM,
            (None, _) => GREEN,
            (_, None) => RED,
            _ => YELLOW,
        }
    }

    fn text(&self) -> String {
        let path = &self.path;
        match (&self.old, &self.new) {
            (None, Some(value)) | (Some(value), None) if self.is_alone => format!("= {path}: {value}"),
            (Some(old), Some(new)) => format!("~ {path}: {old} → {new}"),
            (None, new) => format!("+ {path}: {}", new.as_deref().unwrap_or_default()),
            (Some(old), None) => format!("- {path}: {old}"),
        }
    }
}

/// What differs between the images, without the key.
fn lines(change: &StreamRecord) -> Vec<Line> {
    use api::StreamViewType::{NewImage, OldImage};
    let nothing = Item::default();
    let [old, new] = [&change.old_image, &change.new_image].map(|image| image.as_ref().unwrap_or(&nothing));
    let mut lines = Vec::new();
    differences("", old.as_ref(), new.as_ref(), &mut lines);
    let is_key = |line: &Line| change.keys.as_ref().is_some_and(|keys| keys.get(&line.path).is_some());
    lines.retain(|line| !is_key(line));
    let is_alone = matches!(change.stream_view_type, Some(NewImage | OldImage));
    lines.iter_mut().for_each(|line| line.is_alone = is_alone);
    lines
}

/// Adds what differs, in the order of names: what is gone or other, then what is new.
fn differences(prefix: &str, old: ItemRef<'_>, new: ItemRef<'_>, lines: &mut Vec<Line>) {
    let path = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
    let line = |name: &str, old: Option<ValueRef<'_>>, new: Option<ValueRef<'_>>| Line {
        path: path(name),
        old: old.map(value),
        new: new.map(value),
        is_alone: false,
    };
    for (name, before) in old.iter() {
        match new.get(name) {
            Some(after) if after == before => {}
            Some(after) => match (before.as_map(), after.as_map()) {
                (Some(before), Some(after)) => differences(&path(name), before, after, lines),
                _ => lines.push(line(name, Some(before), Some(after))),
            },
            None => lines.push(line(name, Some(before), None)),
        }
    }
    for (name, after) in new.iter().filter(|(name, _)| old.get(name).is_none()) {
        lines.push(line(name, None, Some(after)));
    }
}

/// `Artist: "Nina Simone", Year: 1964`.
fn attributes(item: ItemRef<'_>) -> String {
    let each: Vec<String> = item.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect();
    each.join(", ")
}

/// A value, cut where it is long.
fn value(value: ValueRef<'_>) -> String {
    let text = plain(value);
    match text.char_indices().nth(VALUE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A value as in JSON; sets and binary values have forms of their own.
fn plain(value: ValueRef<'_>) -> String {
    let each = |list: item::ListRef<'_>| list.iter().map(plain).collect::<Vec<_>>().join(", ");
    match value.view() {
        View::S(text) => serde_json::Value::from(text).to_string(),
        View::N(number) => number.to_string(),
        View::B(bytes) => format!("<{} bytes>", bytes.len()),
        View::Bool(value) => value.to_string(),
        View::Null => "null".to_owned(),
        View::Ss(set) | View::Ns(set) | View::Bs(set) => format!("{{{}}}", each(set)),
        View::L(list) => format!("[{}]", each(list)),
        View::M(map) => format!("{{{}}}", attributes(map)),
    }
}

#[cfg(test)]
mod tests {
    use api::StreamViewType;
    use api::streams::Identity;
    use item::Value;

    use super::*;

    fn song(attributes: &[(&str, Value)]) -> Item {
        attributes.iter().map(|(name, value)| (*name, value.clone())).collect()
    }

    /// The record as it is printed, without colours.
    fn check(name: OperationType, old: Option<Item>, new: Option<Item>, expected: &str) {
        let view = Some(StreamViewType::NewAndOldImages);
        let change = StreamRecord {
            approximate_creation_date_time: Some(120.0),
            keys: Some(song(&[("Artist", "Nina".into())])),
            old_image: old,
            new_image: new,
            stream_view_type: view,
            ..Default::default()
        };
        let shown = Record { event_name: Some(name), dynamodb: Some(change), ..Default::default() };
        assert_eq!(plain_text(&shown), expected);
    }

    fn plain_text(shown: &Record) -> String {
        anstream::adapter::strip_str(&record(shown)).to_string()
    }

    #[test]
    fn only_what_differs_is_shown() {
        let old = song(&[
            ("Artist", "Nina".into()),
            ("Plays", 7.into()),
            ("Label", "Philips".into()),
            ("Home", Value::map([("city", "Paris"), ("country", "France")])),
            ("Born", 1933.into()),
        ]);
        let new = song(&[
            ("Artist", "Nina".into()),
            ("Plays", 8.into()),
            ("Tags", Value::string_set(["jazz", "soul"])),
            ("Home", Value::map([("city", "Carry"), ("country", "France")])),
            ("Born", 1933.into()),
        ]);
        let expected = "1970-01-01T00:02:00Z  MODIFY  Artist: \"Nina\"\n    ~ Home.city: \"Paris\" → \"Carry\"\n    \
                        - Label: \"Philips\"\n    ~ Plays: 7 → 8\n    + Tags: {\"jazz\", \"soul\"}\n";
        check(OperationType::Modify, Some(old), Some(new), expected);
    }

    #[test]
    fn an_insert_shows_what_is_new_and_a_removal_what_is_gone() {
        let item = song(&[("Artist", "Nina".into()), ("Plays", 7.into())]);
        let time = "1970-01-01T00:02:00Z";
        let expected = format!("{time}  INSERT  Artist: \"Nina\"\n    + Plays: 7\n");
        check(OperationType::Insert, None, Some(item.clone()), &expected);
        let expected = format!("{time}  REMOVE  Artist: \"Nina\"\n    - Plays: 7\n");
        check(OperationType::Remove, Some(item), None, &expected);
    }

    #[test]
    fn with_one_image_nothing_is_called_new() {
        let change = StreamRecord {
            keys: Some(song(&[("Artist", "Nina".into())])),
            new_image: Some(song(&[("Plays", 7.into())])),
            stream_view_type: Some(StreamViewType::NewImage),
            ..Default::default()
        };
        let shown =
            Record { event_name: Some(OperationType::Modify), dynamodb: Some(change), ..Default::default() };
        assert_eq!(plain_text(&shown), "  MODIFY  Artist: \"Nina\"\n    = Plays: 7\n");
    }

    #[test]
    fn a_deletion_by_time_to_live_is_named() {
        let identity =
            Identity { principal_id: Some(SERVICE.to_owned()), r#type: Some("Service".to_owned()) };
        let shown = Record {
            event_name: Some(OperationType::Remove),
            user_identity: Some(identity),
            ..Default::default()
        };
        assert!(plain_text(&shown).contains("(time to live)"));
    }

    #[test]
    fn long_values_are_cut() {
        let long = song(&[("Text", "é".repeat(VALUE_CHARACTERS_MAX).into())]);
        let shown = value(long.get("Text").expect("it is there"));
        assert_eq!(shown.chars().count(), VALUE_CHARACTERS_MAX + 1);
        assert!(shown.ends_with('…'));
    }
}
