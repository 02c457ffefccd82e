//! Links of documents: the file and the heading that each names are there. Addresses of other sites are not asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Complaints about the links of all documents. `files` are all files of the tree, `documents` the Markdown ones.
pub fn complaints<'a>(
    files: &[String],
    documents: impl IntoIterator<Item = (&'a str, String)>,
) -> Vec<String> {
    let documents: BTreeMap<&str, String> = documents.into_iter().collect();
    let anchors: BTreeMap<&str, Vec<String>> =
        documents.iter().map(|(path, text)| (*path, anchors(text))).collect();
    // Files, and the folders that they are in.
    let paths: BTreeSet<&Path> = files.iter().flat_map(|file| Path::new(file).ancestors()).collect();
    let mut complaints = Vec::new();
    for (path, text) in &documents {
        for (line, link) in links(text) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let Some(found) = resolved(path, target) else { continue };
            let is_there = paths.contains(Path::new(&found));
            let has_anchor = anchor.is_empty()
                || anchors.get(&*found).is_none_or(|known| known.iter().any(|known| known == anchor));
            if !is_there || !has_anchor {
                complaints.push(format!("{path}: line {line}: there is no {link}"));
            }
        }
    }
    complaints
}

/// The path in the tree that a link means; `None` for another site.
fn resolved(document: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    if target.is_empty() {
        return Some(document.to_owned());
    }
    let mut path = PathBuf::from(Path::new(document).parent()?);
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_str().map(str::to_owned)
}

/// The lines outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// What `[…](…)` names, with its line. Code in a line has no links.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(
            targets.map(|(target, _)| (number, target.split(' ').next().unwrap_or_default().to_owned())),
        );
    }
    found
}

/// The anchors of a document's headings, as GitHub and mdBook name them.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug = slug(heading.trim());
        let again = (1..).map(|number| format!("{slug}-{number}"));
        let name = std::iter::once(slug.clone()).chain(again).find(|name| !anchors.contains(name));
        anchors.extend(name);
    }
    anchors
}

fn slug(heading: &str) -> String {
    let text: String =
        heading.split("](").map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
    let text = if heading.contains("](") { text } else { heading.to_owned() };
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<String> {
        let files = ["docs/a.md", "docs/b.md", "docs/rules/R1.md", "README.md"].map(str::to_owned);
        let other = "# B\n\n## `serve --port`: a port\n\n## Twice\n\n## Twice\n".to_owned();
        complaints(&files, [("docs/a.md", text.to_owned()), ("docs/b.md", other)])
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for text in [
            "[b](b.md), [up](../README.md), [folder](rules), [site](https://example.com/x)\n",
            "[part](b.md#serve---port-a-port) and [again](b.md#twice-1)\n",
            "# Here it is\n[own](#here-it-is)\n",
            "`[code](nowhere.md)`\n```\n[block](nowhere.md)\n```\n",
        ] {
            assert_eq!(check(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_line() {
        assert_eq!(check("a\n[c](c.md)\n"), ["docs/a.md: line 2: there is no c.md"]);
        assert_eq!(check("[b](b.md#none)\n"), ["docs/a.md: line 1: there is no b.md#none"]);
        assert_eq!(check("![picture](b.png)\n"), ["docs/a.md: line 1: there is no b.png"]);
    }
}
