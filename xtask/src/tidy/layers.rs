//! Each crate's dependencies on our other crates, compared with the one list in ARCHITECTURE.md.
//!
//! Tests may use any crate, so dev-dependencies are not looked at.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::command::{cargo, root};

/// The list starts behind this line of ARCHITECTURE.md and ends with the fence.
const LIST_START: &str = "```layers";

/// What a crate may depend on, by the crate's name.
type Layers = BTreeMap<String, BTreeSet<String>>;

/// Every dependency between our crates that the list does not allow, and every crate that it leaves out.
pub fn complaints() -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).context("reading ARCHITECTURE.md")?;
    Ok(differences(&allowed(&text)?, &present()?))
}

/// The list as the page has it: `engine -> store api …`, one crate a line.
fn allowed(text: &str) -> Result<Layers> {
    let list = text.split_once(LIST_START).and_then(|(_, rest)| rest.split_once("```"));
    let (list, _) = list.with_context(|| format!("ARCHITECTURE.md has no `{LIST_START}` block"))?;
    list.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let (name, known) = line.split_once("->").with_context(|| format!("no `->` in `{line}`"))?;
            Ok((name.trim().to_owned(), known.split_whitespace().map(str::to_owned).collect()))
        })
        .collect()
}

/// The dependencies that the crates of `crates/` really have on each other.
fn present() -> Result<Layers> {
    let output = cargo(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "cargo does not describe the workspace");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo lists no packages")?;
    let ours = |package: &&Value| text(&package["manifest_path"]).contains("/crates/");
    let names: BTreeSet<&str> = packages.iter().filter(ours).map(|package| text(&package["name"])).collect();
    let known = |package: &Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let in_product = dependencies.filter(|dependency| text(&dependency["kind"]) != "dev");
        in_product
            .map(|dependency| text(&dependency["name"]))
            .filter(|name| names.contains(name))
            .map(str::to_owned)
            .collect()
    };
    Ok(packages
        .iter()
        .filter(ours)
        .map(|package| (text(&package["name"]).to_owned(), known(package)))
        .collect())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn differences(allowed: &Layers, present: &Layers) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, known) in present {
        let Some(may_know) = allowed.get(name) else {
            complaints.push(format!("ARCHITECTURE.md: the layers leave out the crate `{name}`"));
            continue;
        };
        let forbidden = known.difference(may_know);
        complaints.extend(forbidden.map(|other| format!("crates/{name}: may not depend on `{other}`")));
    }
    let gone = allowed.keys().filter(|name| !present.contains_key(*name));
    complaints
        .extend(gone.map(|name| format!("ARCHITECTURE.md: the layers name `{name}`, which is no crate")));
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_the_list_does_not_allow_is_found() {
        let allowed = allowed("# Map\n```layers\nengine -> store api\nstore ->\ngone ->\n```\nMore").unwrap();
        let layers = |pairs: &[(&str, &[&str])]| -> Layers {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            pairs.iter().map(|(name, known)| ((*name).to_owned(), owned(known))).collect()
        };
        let present = layers(&[("engine", &["store"]), ("store", &["engine"]), ("new", &[])]);
        assert_eq!(
            differences(&allowed, &present),
            [
                "ARCHITECTURE.md: the layers leave out the crate `new`",
                "crates/store: may not depend on `engine`",
                "ARCHITECTURE.md: the layers name `gone`, which is no crate",
            ]
        );
    }
}
