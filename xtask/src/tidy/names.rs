//! Within a crate, a type name is used once: a reader who sees it, or searches for it, finds one thing.
//!
//! What counts is a `struct`, `enum`, `union`, `trait` or `type` that other files can use: it has some `pub`, and
//! begins at the left margin of a file below `src/`. So private types, types inside functions and inline modules, and
//! tests do not count. Generated files do not count either: their names are those of the services, each in its module.

use std::collections::BTreeMap;

/// Every name that two files of a crate declare.
pub fn complaints<'f>(files: impl Iterator<Item = (&'f str, String)>) -> Vec<String> {
    let mut declared: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (path, text) in files.filter(|(path, _)| path.ends_with(".rs")) {
        let Some((krate, _)) = path.split_once("/src/") else { continue };
        for name in text.lines().filter_map(public_type) {
            declared.entry((krate.to_owned(), name.to_owned())).or_default().push(path.to_owned());
        }
    }
    let repeated = declared.into_iter().filter(|(_, files)| files.len() > 1);
    repeated
        .map(|((krate, name), files)| format!("{krate}: `{name}` is declared in {}", files.join(", ")))
        .collect()
}

/// The name of the type that a line declares for other files.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let rest = rest.strip_prefix(' ')?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let kinds = ["struct ", "enum ", "union ", "trait ", "type "];
    let declaration = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    declaration.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)]) -> Vec<String> {
        complaints(files.iter().map(|(path, text)| (*path, (*text).to_owned())))
    }

    #[test]
    fn a_name_that_two_files_of_a_crate_declare_is_found() {
        let reader = ("crates/store/src/log.rs", "pub(crate) struct Reader<'a> {\n");
        assert_eq!(
            check(&[reader, ("crates/store/src/page/read.rs", "pub trait Reader {\n")]),
            ["crates/store: `Reader` is declared in crates/store/src/log.rs, crates/store/src/page/read.rs"]
        );
    }

    #[test]
    fn other_crates_private_types_and_tests_may_repeat_it() {
        let reader = ("crates/store/src/log.rs", "pub struct Reader;\n");
        assert!(check(&[reader, ("crates/item/src/log.rs", "pub struct Reader;\n")]).is_empty());
        assert!(check(&[reader, ("crates/store/src/page.rs", "struct Reader;\n")]).is_empty());
        assert!(check(&[reader, ("crates/store/src/page.rs", "    pub struct Reader;\n")]).is_empty());
        assert!(check(&[reader, ("crates/store/tests/page.rs", "pub struct Reader;\n")]).is_empty());
        assert!(check(&[reader, ("crates/store/src/page.rs", "pub struct ReaderOfPages;\n")]).is_empty());
    }
}
