//! The rooms of the engine: what each imports of the others, compared with the one list in ARCHITECTURE.md.
//!
//! The list is in order: a room may know only rooms that are before it in the list, so no cycle can be written down. Unit tests
//! may use the whole engine. The files beside the rooms (`lib.rs`, `options.rs`, …) are above all of them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use crate::command::root;

/// The list starts behind this line of ARCHITECTURE.md and ends with the fence.
const LIST_START: &str = "```rooms";
const ENGINE: &str = "crates/engine/src/";
/// What the crate shows of `host`, for every room.
const SHARED: [&str; 3] = ["Environment", "Namespace", "Sleep"];

/// What a room may import, by the room's name.
type Rooms = BTreeMap<String, Vec<String>>;

/// Every import that the list does not allow, and every folder of the engine that it leaves out.
pub fn complaints<'a>(files: impl Iterator<Item = (&'a str, String)>) -> Result<Vec<String>> {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).context("reading ARCHITECTURE.md")?;
    let rooms = rooms(&page)?;
    Ok(files.flat_map(|(path, text)| complaints_about(&rooms, path, &text)).collect())
}

/// The list as the page has it: `commit -> base log …`, one room a line.
fn rooms(page: &str) -> Result<Rooms> {
    let list = page.split_once(LIST_START).and_then(|(_, rest)| rest.split_once("```"));
    let (list, _) = list.with_context(|| format!("ARCHITECTURE.md has no `{LIST_START}` block"))?;
    let mut rooms = Rooms::new();
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        let (name, known) = line.split_once("->").with_context(|| format!("no `->` in `{line}`"))?;
        let known: Vec<String> = known.split_whitespace().map(str::to_owned).collect();
        for other in &known {
            ensure!(rooms.contains_key(other), "{}: `{other}` is not before it in the list", name.trim());
        }
        rooms.insert(name.trim().to_owned(), known);
    }
    Ok(rooms)
}

fn complaints_about(rooms: &Rooms, path: &str, text: &str) -> Vec<String> {
    let Some(place) = path.strip_prefix(ENGINE).filter(|place| !place.ends_with("/tests.rs")) else {
        return Vec::new();
    };
    let (room, is_folder) = match place.split_once('/') {
        Some((room, _)) => (room, true),
        None => (place.trim_end_matches(".rs"), false),
    };
    let Some(known) = rooms.get(room) else {
        let complaint = format!("{path}: `{room}` is no room of ARCHITECTURE.md");
        return is_folder.then_some(complaint).into_iter().collect();
    };
    let mut names = imported(text);
    names.sort_unstable();
    names.dedup();
    let is_allowed = |name: &&str| *name == room || known.iter().any(|other| other == name);
    names
        .into_iter()
        .filter(|name| !SHARED.contains(name) && !is_allowed(name))
        .map(|name| format!("{path}: the room `{room}` may not know `{name}`"))
        .collect()
}

/// The first names of all paths that begin at the crate's root, outside comments and unit tests.
fn imported(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\n").next().unwrap_or_default();
    let starts = code.match_indices("crate::").filter(|(at, _)| {
        let line = code[..*at].lines().next_back().unwrap_or_default();
        !line.trim_start().starts_with("//") && !line.ends_with(is_word)
    });
    let mut names = Vec::new();
    for (at, start) in starts {
        let rest = &code[at + start.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(first_names(group)),
            None => names.push(first_name(rest)),
        }
    }
    names
}

/// The first names of the paths in a group, up to its end. Groups inside it belong to a path.
fn first_names(group: &str) -> Vec<&str> {
    let (mut names, mut depth) = (vec![first_name(group.trim_start())], 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(first_name(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    // A comma may end the group.
    names.retain(|name| !name.is_empty());
    names
}

fn first_name(path: &str) -> &str {
    path.split(|letter| !is_word(letter)).next().unwrap_or(path)
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Map\n```rooms\nbase ->\ntables -> base\ncommit -> base tables\n```\nMore";

    fn found(path: &str, text: &str) -> Vec<String> {
        complaints_about(&rooms(PAGE).unwrap(), &format!("{ENGINE}{path}"), text)
    }

    #[test]
    fn an_import_of_a_room_above_is_found() {
        let complaint = "crates/engine/src/tables/catalog.rs: the room `tables` may not know `commit`";
        for text in [
            "use crate::commit::Plan;\n",
            "use crate::{Namespace, commit};\n",
            "use crate::{\n    base::{key, table},\n    commit::Plan,\n};\n",
            "fn f(plan: &crate::commit::Plan) {}\n",
        ] {
            assert_eq!(found("tables/catalog.rs", text), [complaint], "{text}");
        }
        assert_eq!(found("base.rs", "use crate::tables;\n").len(), 1, "a room's page is in the room");
    }

    #[test]
    fn what_is_on_top_is_known_to_no_room() {
        assert_eq!(found("commit/attempt.rs", "use crate::Engine;\n").len(), 1);
        assert!(found("lib.rs", "use crate::commit::Plan;\n").is_empty());
    }

    #[test]
    fn rooms_below_comments_and_tests_are_allowed() {
        let text = "// crate::commit\nuse crate::base::key;\nuse crate::tables::Tables;\nuse crate::Namespace;\n\
                    #[cfg(test)]\nmod tests {\n    use crate::commit::Plan;\n}\n";
        assert!(found("tables/catalog.rs", text).is_empty());
    }

    #[test]
    fn a_folder_without_a_place_in_the_list_is_found() {
        assert_eq!(
            found("attic/box.rs", ""),
            ["crates/engine/src/attic/box.rs: `attic` is no room of ARCHITECTURE.md"]
        );
    }

    #[test]
    fn a_cycle_cannot_be_written_down() {
        let cycle = "```rooms\nbase -> tables\ntables -> base\n```";
        assert_eq!(rooms(cycle).unwrap_err().to_string(), "base: `tables` is not before it in the list");
    }
}
