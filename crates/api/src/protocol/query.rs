//! AWS's query protocol: a form in, XML out.
//!
//! A form's names are paths: `Dimensions.member.1.Name=TableName`. Elements of lists are `member.1`, those of maps
//! `entry.1.key` and `entry.1.value`.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use serde_json::{Map, Value as Json};

use super::Shape;

/// Steps of a path; the deepest shape has fewer.
const DEPTH_MAX: usize = 16;

/// The parameters of a form, as a tree of their paths.
#[derive(Default)]
pub(crate) struct Form {
    text: Option<String>,
    parts: BTreeMap<String, Form>,
}

impl Form {
    pub(crate) fn read(body: &[u8]) -> Form {
        let mut form = Form::default();
        for (path, text) in form_urlencoded::parse(body) {
            // A deeper parameter belongs to no shape.
            if path.split('.').count() <= DEPTH_MAX {
                let step = |form, step: &str| -> &mut Form {
                    let form: &mut Form = form;
                    form.parts.entry(step.to_owned()).or_default()
                };
                path.split('.').fold(&mut form, step).text = Some(text.into_owned());
            }
        }
        form
    }

    /// The text of a parameter without dots in its name.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.parts.get(name)?.text.as_deref()
    }

    /// The form as the JSON of a shape. Parameters that the shape doesn't have are left out.
    pub(crate) fn to_json(&self, shape: &Shape) -> Json {
        match shape {
            Shape::Structure(members) => {
                let part = |name: &str| self.parts.get(name);
                let members = members
                    .iter()
                    .filter_map(|(name, shape)| Some(((*name).to_owned(), part(name)?.to_json(shape))));
                Json::Object(members.collect())
            }
            Shape::List(element) => {
                Json::Array(self.numbered("member").iter().map(|form| form.to_json(element)).collect())
            }
            Shape::Map(value) => {
                let entry = |form: &&Form| {
                    let value = form.parts.get("value").map_or(Json::Null, |form| form.to_json(value));
                    Some((form.text("key")?.to_owned(), value))
                };
                Json::Object(self.numbered("entry").iter().filter_map(entry).collect())
            }
            scalar => scalar_to_json(self.text.as_deref().unwrap_or_default(), scalar),
        }
    }

    /// The parts `word.1`, `word.2` and so on in the order of their numbers.
    fn numbered(&self, word: &str) -> Vec<&Form> {
        let parts = self.parts.get(word).map(|form| &form.parts);
        let numbered = parts.into_iter().flatten();
        let mut numbered: Vec<(u64, &Form)> =
            numbered.filter_map(|(number, form)| Some((number.parse().ok()?, form))).collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, form)| form).collect()
    }
}

/// Text that is not of its type stays text, which the decoder refuses.
fn scalar_to_json(text: &str, shape: &Shape) -> Json {
    let json = match shape {
        Shape::Boolean => text.parse().ok().map(Json::Bool),
        Shape::Integer => text.parse::<i64>().ok().map(Json::from),
        Shape::Double => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Json::from),
        Shape::Timestamp => seconds(text).map(Json::from),
        _ => None,
    };
    json.unwrap_or_else(|| Json::String(text.to_owned()))
}

/// `2026-11-16T14:00:00Z`, or the seconds themselves.
fn seconds(text: &str) -> Option<f64> {
    let bare = text.strip_suffix("+00:00").unwrap_or(text);
    match humantime::parse_rfc3339_weak(bare) {
        Ok(time) => time.duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs_f64()),
        Err(_) => text.parse().ok().filter(|seconds: &f64| seconds.is_finite()),
    }
}

/// An XML document that is being written.
pub(crate) struct Xml(Writer<Vec<u8>>);

impl Xml {
    pub(crate) fn new() -> Xml {
        let mut writer = Writer::new(Vec::new());
        let written = writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
        written.expect("a Vec takes every byte");
        Xml(writer)
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0.into_inner()
    }

    /// An element with others in it.
    pub(crate) fn element(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        content: impl FnOnce(&mut Xml),
    ) {
        let element = self.0.create_element(name).with_attributes(attributes.iter().copied());
        let written = element.write_inner_content(|writer| {
            let mut inner = Xml(std::mem::replace(writer, Writer::new(Vec::new())));
            content(&mut inner);
            *writer = inner.0;
            Ok(())
        });
        written.map(drop).expect("a Vec takes every byte");
    }

    /// An element with text in it.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        let written = self.0.create_element(name).write_text_content(BytesText::new(text));
        written.map(drop).expect("a Vec takes every byte");
    }

    /// The members of a JSON object, each as an element.
    pub(crate) fn members(&mut self, members: &Map<String, Json>, shape: &Shape) {
        for (name, value) in members {
            self.value(name, value, shape.member(name).unwrap_or(&Shape::Text));
        }
    }

    fn value(&mut self, name: &str, value: &Json, shape: &Shape) {
        match (value, shape) {
            (Json::Null, _) => {}
            (Json::Array(elements), Shape::List(shape)) => self.element(name, &[], |xml| {
                for element in elements {
                    xml.value("member", element, shape);
                }
            }),
            (Json::Object(entries), Shape::Map(shape)) => self.element(name, &[], |xml| {
                for (key, value) in entries {
                    xml.element("entry", &[], |xml| {
                        xml.text("key", key);
                        xml.value("value", value, shape);
                    });
                }
            }),
            (Json::Object(members), shape) => self.element(name, &[], |xml| xml.members(members, shape)),
            (Json::Number(number), Shape::Timestamp) => {
                self.text(name, &time(number.as_f64().unwrap_or_default()));
            }
            (Json::String(text), _) => self.text(name, text),
            (other, _) => self.text(name, &other.to_string()),
        }
    }
}

/// `2026-11-16T14:00:00Z`, with milliseconds if there are any.
fn time(seconds: f64) -> String {
    let milliseconds = (seconds * 1000.0).round().max(0.0) as u64;
    let time = UNIX_EPOCH + Duration::from_millis(milliseconds);
    match milliseconds % 1000 {
        0 => humantime::format_rfc3339_seconds(time).to_string(),
        _ => humantime::format_rfc3339_millis(time).to_string(),
    }
}
