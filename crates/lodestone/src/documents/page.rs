//! A document as a page.

use std::borrow::Cow;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::{DOCUMENTS, contents, is_served, title};

/// The page of a document.
pub fn of(path: &str, text: &str) -> String {
    framed(&title(text), path, &rendered(path, text))
}

/// A list of the documents in a folder; `None` if there are none.
pub fn of_folder(folder: &str) -> Option<String> {
    let start = format!("{folder}/");
    let mut entries: Vec<(&str, String)> = DOCUMENTS
        .iter()
        .filter_map(|(path, text)| Some((path.strip_prefix(&start)?, title(text))))
        .filter(|(name, _)| !name.contains('/'))
        .collect();
    // R2 comes before R10.
    entries.sort_by_key(|(name, _)| (name.len(), *name));
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let items: String = entries
        .iter()
        .map(|(file, title)| format!("<li><a href=\"{name}/{file}\">{}</a></li>", escaped(title)))
        .collect();
    (!entries.is_empty()).then(|| framed(name, folder, &format!("<h1>{name}</h1><ul>{items}</ul>")))
}

/// A page with this content, beside the list of all. Its links go up from where the document is.
pub fn framed(title: &str, path: &str, content: &str) -> String {
    let up = "../".repeat(path.matches('/').count());
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} · Lodestone</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"stylesheet\" href=\"{up}docs/style.css\"></head>\
         <body><header><a href=\"{up}docs/\">Lodestone {version}</a>\
         <form action=\"{up}docs/\" role=\"search\"><input type=\"search\" name=\"q\" aria-label=\"Search the documents\" \
         placeholder=\"Search\"></form></header><div><nav>{contents}</nav><main data-pagefind-body>{content}</main></div></body></html>",
        title = escaped(title),
        contents = contents::list(path, &up),
        version = env!("CARGO_PKG_VERSION"),
    )
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn rendered(path: &str, text: &str) -> String {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut events: Vec<Event<'_>> = parser.collect();
    name_headings(&mut events);
    drop_dead_links(path, &mut events);
    let mut page = String::with_capacity(text.len() * 2);
    html::push_html(&mut page, events.into_iter().map(without_markup));
    page
}

/// Documents have no HTML of their own: what looks like it is text.
fn without_markup(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    }
}

/// Gives headings the anchors that links name.
fn name_headings(events: &mut [Event<'_>]) {
    let mut taken: Vec<String> = Vec::new();
    for at in 0..events.len() {
        if !matches!(events[at], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let rest = events[at..].iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let text: String = rest
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(&**text),
                _ => None,
            })
            .collect();
        let name = anchor(&text, &taken);
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[at] {
            *id = Some(CowStr::from(name.clone()));
        }
        taken.push(name);
    }
}

/// As GitHub names a heading. One that occurs again gets a number.
pub fn anchor(heading: &str, taken: &[String]) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    let slug = kept.collect::<String>().to_lowercase().replace(' ', "-");
    let again = (1..=taken.len()).map(|number| format!("{slug}-{number}"));
    let free = std::iter::once(slug.clone()).chain(again).find(|name| !taken.contains(name));
    free.unwrap_or(slug)
}

/// Turns links to what is not served (sources, examples) into text.
fn drop_dead_links(path: &str, events: &mut Vec<Event<'_>>) {
    let mut is_dropped = Vec::new();
    events.retain(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => {
            let is_dead = is_dead(path, dest_url);
            is_dropped.push(is_dead);
            !is_dead
        }
        Event::End(TagEnd::Link) => !is_dropped.pop().unwrap_or(false),
        _ => true,
    });
}

fn is_dead(path: &str, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or_default();
    !target.is_empty() && !target.contains("://") && !is_served(&resolved(path, target))
}

/// The path in the source that a document's link means.
pub fn resolved(path: &str, target: &str) -> String {
    let mut parts: Vec<Cow<'_, str>> = path.split('/').map(Cow::from).collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            other => parts.push(other.into()),
        }
    }
    parts.join("/")
}
