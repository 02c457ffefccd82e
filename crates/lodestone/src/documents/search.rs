//! The search through all documents.

use super::page::{anchor, escaped};
use super::{DOCUMENTS, title};

/// How many places are listed.
const PLACES_MAX: usize = 60;
/// How much of a place is shown.
const SHOWN_CHARS: usize = 240;

/// The words of `?q=…`, in lower case; `None` if nothing is asked for.
pub fn words(query: Option<&str>) -> Option<Vec<String>> {
    let (_, text) = form_urlencoded::parse(query?.as_bytes()).find(|(name, _)| name == "q")?;
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    (!words.is_empty()).then_some(words)
}

/// A section of a document in which all words occur.
struct Place {
    title: String,
    /// Relative to `/docs/`.
    link: String,
    excerpt: String,
    /// Better places have more words in their heading.
    rank: usize,
}

pub fn results(words: &[String]) -> String {
    let mut places: Vec<Place> =
        DOCUMENTS.iter().flat_map(|(path, text)| places(path, text, words)).collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.rank));
    let asked = escaped(&words.join(" "));
    if places.is_empty() {
        return format!("<h1>Search</h1><p>Nothing has all of: {asked}</p>");
    }
    let items: String = places.iter().take(PLACES_MAX).map(Place::item).collect();
    format!("<h1>{asked}</h1><ul>{items}</ul>")
}

fn places(path: &str, text: &str, words: &[String]) -> Vec<Place> {
    let mut taken = Vec::new();
    let mut found = Vec::new();
    for section in sections(text) {
        let heading =
            section.lines().next().unwrap_or_default().trim_start_matches('#').trim().replace('`', "");
        let name = anchor(&heading, &taken);
        let lower = section.to_lowercase();
        if words.iter().all(|word| lower.contains(word)) {
            let in_heading = heading.to_lowercase();
            let rank = words.iter().filter(|word| in_heading.contains(*word)).count();
            let line = lower.lines().position(|line| words.iter().any(|word| line.contains(word)));
            let excerpt = section.lines().nth(line.unwrap_or_default()).unwrap_or_default();
            let excerpt = excerpt.chars().take(SHOWN_CHARS).collect();
            let link = path.strip_prefix("docs/").map_or_else(|| format!("../{path}"), str::to_owned);
            found.push(Place {
                title: place_title(text, &heading),
                link: format!("{link}#{name}"),
                excerpt,
                rank,
            });
        }
        taken.push(name);
    }
    found
}

fn place_title(text: &str, heading: &str) -> String {
    let title = title(text);
    if title == heading { title } else { format!("{title}: {heading}") }
}

/// A document, cut before each heading. A `#` in a block of code is none.
fn sections(text: &str) -> Vec<&str> {
    let (mut starts, mut at, mut is_code) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        is_code ^= line.starts_with("```");
        if line.starts_with('#') && !is_code {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

impl Place {
    fn item(&self) -> String {
        let Place { title, link, excerpt, .. } = self;
        format!("<li><a href=\"{link}\">{}</a><p>{}</p></li>", escaped(title), escaped(excerpt))
    }
}
