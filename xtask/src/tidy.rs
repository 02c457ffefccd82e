//! `cargo xtask tidy`: rules that the compiler does not check.
//!
//! A rule looks at one file and returns what is wrong with it; `layers`, `rooms` and `names` look at
//! crates as a whole, and `links` at all documents.
//! Generated files, lock files and the services' facts are not checked.

mod layers;
mod links;
mod names;
mod rooms;
mod source;
mod words;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::command::{program, root};

/// The complaint, if the file breaks the rule.
type Rule = fn(path: &str, text: &str) -> Option<String>;

const RULES: [Rule; 10] = [
    no_tab,
    clean_line_ends,
    nothing_left_to_do,
    crate_opens_with_an_account,
    no_machine_path,
    source::engine_has_one_clock_and_one_spawner,
    source::selects_are_biased,
    source::public_items_are_documented,
    source::modules_have_one_style,
    words::words_are_plain,
];

pub fn run() -> Result<()> {
    let files = files()?;
    let mut complaints: Vec<String> = files.iter().flat_map(|path| complaints(path)).collect();
    complaints.extend(layers::complaints()?);
    complaints.extend(rooms::complaints(files.iter().filter_map(|path| Some((&**path, read(path)?))))?);
    complaints.extend(unlisted_pages(&files, &read(INDEX).unwrap_or_default()));
    complaints
        .extend(files.iter().flat_map(|path| lost_files(path, &read(path).unwrap_or_default(), &files)));
    complaints.extend(names::complaints(files.iter().filter_map(|path| Some((&**path, read(path)?)))));
    let documents = files.iter().filter(|path| path.ends_with(".md"));
    complaints
        .extend(links::complaints(&all_files()?, documents.filter_map(|path| Some((&**path, read(path)?)))));
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    ensure!(complaints.is_empty(), "{} untidy places in {} files", complaints.len(), files.len());
    println!("{} files are tidy", files.len());
    Ok(())
}

/// The files that rules look at.
fn files() -> Result<Vec<String>> {
    Ok(all_files()?.into_iter().filter(|path| is_ours(path)).collect())
}

/// The files of the tree, also those that are not committed yet.
fn all_files() -> Result<Vec<String>> {
    let output = program("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("listing the files of the tree")?;
    ensure!(output.status.success(), "git does not list the files of the tree");
    let listed = String::from_utf8(output.stdout)?;
    Ok(listed.lines().map(str::to_owned).collect())
}

fn is_ours(path: &str) -> bool {
    let foreign = ["/facts/", "/generated/", "/seeds/", "/golden/folder-", "LICENSE-"];
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    !foreign.iter().any(|part| path.contains(part))
        && matches!(extension, Some("rs" | "toml" | "md" | "py" | "mjs" | "ts" | "tsx" | "json" | "txt"))
        && !path.ends_with("package-lock.json")
}

/// The text of a file. A file may be listed and already deleted.
fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

fn complaints(path: &str) -> Vec<String> {
    let Some(text) = read(path) else { return Vec::new() };
    RULES
        .iter()
        .filter_map(|rule| rule(path, &text))
        .map(|complaint| format!("{path}: {complaint}"))
        .collect()
}

/// The number of the first line for which `found` is true.
fn first_line(text: &str, found: impl Fn(&str) -> bool) -> Option<usize> {
    text.lines().position(found).map(|index| index + 1)
}

fn no_tab(_path: &str, text: &str) -> Option<String> {
    first_line(text, |line| line.contains('\t')).map(|line| format!("line {line} holds a tab"))
}

fn clean_line_ends(_path: &str, text: &str) -> Option<String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Some("the last line has no end".to_owned());
    }
    first_line(text, |line| line.ends_with([' ', '\r']))
        .map(|line| format!("line {line} ends in white space"))
}

fn nothing_left_to_do(path: &str, text: &str) -> Option<String> {
    let marks = [concat!("todo", "!("), concat!("FIX", "ME"), concat!("XX", "X:")];
    let found = |line: &str| marks.iter().any(|mark| line.contains(mark));
    path.ends_with(".rs").then(|| first_line(text, found))?.map(|line| format!("line {line} is unfinished"))
}

fn crate_opens_with_an_account(path: &str, text: &str) -> Option<String> {
    let opens_crate = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    (opens_crate && !text.starts_with("//! ")).then(|| "a crate opens with `//!`: what it is".to_owned())
}

fn no_machine_path(_path: &str, text: &str) -> Option<String> {
    let folders =
        [concat!("/", "root/"), concat!("/", "home/"), concat!("/", "Users/"), concat!("/", "work/")];
    first_line(text, |line| folders.iter().any(|folder| line.contains(folder)))
        .map(|line| format!("line {line} names a folder of one machine"))
}

/// Where all documents are listed.
const INDEX: &str = "docs/README.md";

/// Documents that the index does not link to, so that a reader would not find them.
fn unlisted_pages(files: &[String], index: &str) -> Vec<String> {
    let pages = files.iter().filter_map(|path| path.strip_prefix("docs/")?.strip_suffix(".md"));
    let is_unlisted = |page: &&str| !page.contains('/') && !index.contains(&format!("]({page}.md)"));
    let complain = |page| format!("docs/{page}.md is not linked in {INDEX}");
    pages.filter(|page| *page != "README").filter(is_unlisted).map(complain).collect()
}

/// Files that the table of a crate or room names, and that are not there any more.
fn lost_files(path: &str, text: &str, files: &[String]) -> Vec<String> {
    let rows = text.lines().filter(|line| path.ends_with(".rs") && line.starts_with("//! | "));
    let named = rows.flat_map(|row| row.split('`').skip(1).step_by(2)).filter(|name| name.ends_with(".rs"));
    let is_there = |name: &str| {
        files.iter().any(|file| file.strip_suffix(name).is_some_and(|folder| folder.ends_with('/')))
            || files.iter().any(|file| file.replacen("/src/", "/", 1).ends_with(&format!("/{name}")))
    };
    named.filter(|name| !is_there(name)).map(|name| format!("{path}: there is no file {name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_index_does_not_list_is_found() {
        let files = ["docs/README.md", "docs/dax.md", "docs/rules/R1.md", "docs/new.md"].map(str::to_owned);
        assert_eq!(
            unlisted_pages(&files, "- [DAX](dax.md)"),
            ["docs/new.md is not linked in docs/README.md"]
        );
    }

    #[test]
    fn a_table_that_names_a_file_which_is_gone_is_found() {
        let files = ["crates/a/src/lib.rs", "crates/a/src/one.rs", "crates/b/src/two.rs"].map(str::to_owned);
        let text = "//! | what? | `one.rs`, `b/two.rs` |\n//! | where? | `three.rs` |\n// `four.rs`\n";
        assert_eq!(
            lost_files("crates/a/src/lib.rs", text, &files),
            ["crates/a/src/lib.rs: there is no file three.rs"]
        );
    }

    #[test]
    fn each_rule_finds_what_it_is_for_and_nothing_else() {
        let check = |rule: Rule, path: &str, bad: &str, good: &str| {
            assert!(rule(path, bad).is_some(), "{bad:?}");
            assert_eq!(rule(path, good), None, "{good:?}");
        };
        check(no_tab, "a.md", "a\n\tb\n", "a\n    b\n");
        check(clean_line_ends, "a.md", "a \n", "a\n");
        check(clean_line_ends, "a.md", "a", "");
        check(nothing_left_to_do, "a.rs", concat!("fn f() { todo", "!() }\n"), "fn f() {}\n");
        check(crate_opens_with_an_account, "crates/a/src/lib.rs", "fn f() {}\n", "//! What it is.\n");
        check(no_machine_path, "a.md", concat!("see /", "home/someone\n"), "see the home folder\n");
    }
}
