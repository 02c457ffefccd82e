//! The list of all documents, beside each of them: the parts and links of `docs/README.md`.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::page::{escaped, resolved};
use super::{INDEX, is_served, text_of};

/// A part of the list, as in "Operate it".
struct Part {
    title: String,
    /// The text and path of each document.
    documents: Vec<(String, String)>,
}

/// The list on the page at a path; `up` leads from there to the root.
pub fn list(current: &str, up: &str) -> String {
    parts().iter().map(|part| part.shown(current, up)).collect()
}

/// The paths of all documents in the list.
#[cfg(test)]
pub fn paths() -> Vec<String> {
    parts().into_iter().flat_map(|part| part.documents).map(|(_, path)| path).collect()
}

impl Part {
    fn shown(&self, current: &str, up: &str) -> String {
        let items: String = self
            .documents
            .iter()
            .map(|(text, path)| {
                let mark = if path == current { " aria-current=\"page\"" } else { "" };
                format!("<li><a href=\"{up}{path}\"{mark}>{}</a></li>", escaped(text))
            })
            .collect();
        format!("<h2>{}</h2><ul>{items}</ul>", escaped(&self.title))
    }
}

/// Each heading of the index with the links below it.
fn parts() -> Vec<Part> {
    let (mut parts, mut text, mut target) = (Vec::<Part>::new(), String::new(), String::new());
    for event in Parser::new(text_of(INDEX).unwrap_or_default()) {
        match event {
            Event::Start(Tag::Heading { .. }) => text.clear(),
            Event::End(TagEnd::Heading(HeadingLevel::H2)) => {
                parts.push(Part { title: text.clone(), documents: Vec::new() });
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                text.clear();
                target = resolved(INDEX, &dest_url);
            }
            Event::End(TagEnd::Link) => {
                if let Some(part) = parts.last_mut().filter(|_| is_served(&target)) {
                    part.documents.push((text.clone(), target.clone()));
                }
            }
            Event::Text(more) | Event::Code(more) => text.push_str(&more),
            _ => {}
        }
    }
    parts
}
