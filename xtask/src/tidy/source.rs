//! Rules for our Rust sources: what the engine may not do by itself, and what must be documented.

/// What only one file of the engine may do: the words in the source, the file, and what to do instead.
const ENGINE_BANS: [(&[&str], &[&str], &str); 2] = [
    (
        &["::spawn(", ".spawn(", "spawn_blocking(", "spawn_local("],
        &["background.rs"],
        "start tasks through `background.rs`",
    ),
    (
        &["time::sleep(", "thread::sleep(", "Instant::now(", "SystemTime::now(", "time::interval("],
        &[],
        "take time from the environment",
    ),
];

/// Crates whose public items must say what they are.
const DOCUMENTED: [&str; 3] = ["crates/engine/src/", "crates/store/src/", "crates/api/src/"];

/// Functions whose name says it all: `run` is the operation that its file is named after.
const SELF_EXPLAINED: [&str; 4] = ["run", "new", "is_empty", "len"];

/// The engine starts no task and asks no clock outside the files that are there for it.
pub fn engine_has_one_clock_and_one_spawner(path: &str, text: &str) -> Option<String> {
    let file = path.strip_prefix("crates/engine/src/")?;
    ENGINE_BANS.iter().filter(|(_, allowed, _)| !allowed.contains(&file)).find_map(|(words, _, instead)| {
        let line = code_line(text, |line| words.iter().any(|word| line.contains(word)))?;
        Some(format!("line {line}: {instead}"))
    })
}

/// Crates that run in simulated worlds, which must be the same each time.
const SIMULATED: [&str; 2] = ["crates/engine/src/", "crates/triggers/src/"];

/// A `select!` looks at its branches in their order: otherwise tokio draws lots, which no seed decides.
pub fn selects_are_biased(path: &str, text: &str) -> Option<String> {
    if !SIMULATED.iter().any(|folder| path.starts_with(folder)) {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let unbiased =
        lines.windows(2).position(|pair| pair[0].ends_with("select! {") && pair[1] != "biased;")?;
    Some(format!("line {}: a `select!` begins with `biased;`", unbiased + 1))
}

/// A public item has a doc comment.
pub fn public_items_are_documented(path: &str, text: &str) -> Option<String> {
    let covered = path.ends_with(".rs") && DOCUMENTED.iter().any(|folder| path.starts_with(folder));
    // The names of conformance checks are sentences.
    if !covered || path.contains("/conformance/") {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let is_bare = |index: &usize| {
        let before = lines[..*index].iter().rev().find(|line| !is_attribute(line));
        is_public_item(lines[*index]) && !before.is_some_and(|line| line.starts_with("///"))
    };
    let bare = (0..lines.len()).find(is_bare)?;
    Some(format!("line {} is public and has no doc comment: {}", bare + 1, lines[bare]))
}

/// The module of a folder `x/` is the file `x.rs` beside it.
pub fn modules_have_one_style(path: &str, _text: &str) -> Option<String> {
    let folder = path.strip_suffix("/mod.rs")?;
    Some(format!("belongs into {folder}.rs"))
}

/// Attributes may be between an item and its comment.
fn is_attribute(line: &str) -> bool {
    ["#[", "$(#["].iter().any(|start| line.starts_with(start)) || line.ends_with(")]")
}

fn is_public_item(line: &str) -> bool {
    let kinds = ["fn ", "async fn ", "const fn ", "struct ", "enum ", "trait ", "const ", "type ", "static "];
    let Some(rest) = line.strip_prefix("pub ") else { return false };
    let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind));
    let says_it_all =
        |name: &str| SELF_EXPLAINED.contains(&name.split(['(', '<']).next().unwrap_or_default());
    name.is_some_and(|name| !says_it_all(name))
}

/// The number of the first line outside comments and unit tests that a test finds.
fn code_line(text: &str, found: impl Fn(&str) -> bool) -> Option<usize> {
    let code = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let mut code = code.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.find(|(_, line)| found(line)).map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_spawns_and_sleeps_only_where_it_may() {
        let rule = engine_has_one_clock_and_one_spawner;
        assert!(rule("crates/engine/src/write.rs", "tokio::spawn(work);\n").is_some());
        assert!(rule("crates/engine/src/write.rs", "let now = Instant::now();\n").is_some());
        assert_eq!(rule("crates/engine/src/background.rs", "tokio::spawn(work);\n"), None);
        assert_eq!(rule("crates/engine/src/write.rs", "// not tokio::spawn(work)\n"), None);
        assert_eq!(rule("crates/server/src/lib.rs", "tokio::spawn(work);\n"), None);
    }

    #[test]
    fn a_select_that_draws_lots_is_found() {
        let rule = selects_are_biased;
        let path = "crates/engine/src/wait.rs";
        assert!(rule(path, "tokio::select! {\n    () = one => {}\n}\n").is_some());
        assert_eq!(rule(path, "tokio::select! {\n    biased;\n    () = one => {}\n}\n"), None);
        assert_eq!(rule("crates/server/src/lib.rs", "tokio::select! {\n    () = one => {}\n}\n"), None);
    }

    #[test]
    fn a_module_is_a_file_beside_its_folder() {
        let rule = modules_have_one_style;
        assert!(rule("crates/store/src/log/mod.rs", "").is_some());
        assert_eq!(rule("crates/store/src/log.rs", ""), None);
    }

    #[test]
    fn a_public_item_without_a_comment_is_found() {
        let rule = public_items_are_documented;
        let path = "crates/store/src/lib.rs";
        assert!(rule(path, "pub fn get() {}\n").is_some());
        assert!(rule(path, "#[derive(Debug)]\npub struct Key;\n").is_some());
        assert_eq!(rule(path, "/// A key.\n#[derive(Debug)]\npub struct Key;\n"), None);
        assert_eq!(rule(path, "pub(crate) fn get() {}\n"), None);
    }
}
