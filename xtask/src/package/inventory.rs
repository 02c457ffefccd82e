//! What is in the binary: every crate and every package of the studio's pages, with its licence. As text with the licences
//! themselves, and as a bill of materials for tools (CycloneDX).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::command::{cargo, root};

/// A part of the binary that others have written.
struct Component {
    name: String,
    version: String,
    licence: String,
    /// The address by which tools know it, as in `pkg:cargo/bytes@1.11.0`.
    purl: String,
    /// Where its sources are, if they are on this machine.
    folder: Option<PathBuf>,
}

/// The files that a package has beside the binary.
pub struct Inventory {
    /// For people: each component, its licence, and the texts.
    pub licences: String,
    /// CycloneDX, in JSON.
    pub bill: Value,
}

pub fn take(version: &str) -> Result<Inventory> {
    let mut components = crates()?;
    components.extend(packages_of_studio()?);
    Ok(Inventory { licences: licences(&components), bill: bill(version, &components) })
}

/// The crates that the binary is linked from: dependencies for the build alone are left out.
fn crates() -> Result<Vec<Component>> {
    let output = cargo(["metadata", "--format-version=1", "--locked"]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let linked = linked(&metadata, "lodestone")?;
    let packages = metadata["packages"].as_array().context("cargo lists packages")?;
    let foreign = packages.iter().filter(|package| !package["source"].is_null());
    let used = foreign.filter(|package| linked.contains(package["id"].as_str().unwrap_or_default()));
    Ok(used.map(component).collect())
}

fn component(package: &Value) -> Component {
    let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("version"));
    let purl = format!("pkg:cargo/{name}@{version}");
    let folder = Path::new(&text("manifest_path")).parent().map(Path::to_owned);
    Component { licence: text("license"), purl, folder, name, version }
}

/// The identifiers of all packages that a package's normal dependencies lead to, on this platform.
fn linked<'a>(metadata: &'a Value, name: &str) -> Result<BTreeSet<&'a str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo resolves dependencies")?;
    let packages = metadata["packages"].as_array().context("cargo lists packages")?;
    let start = packages.iter().find(|package| package["name"] == name && package["source"].is_null());
    let mut waiting = vec![start.and_then(|package| package["id"].as_str()).context("the package is there")?];
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id);
        let dependencies = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
        let normal = dependencies.filter(|dependency| {
            dependency["dep_kinds"]
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        });
        waiting.extend(normal.filter_map(|dependency| dependency["pkg"].as_str()));
    }
    Ok(found)
}

/// What the studio's pages are bundled from.
fn packages_of_studio() -> Result<Vec<Component>> {
    let lock = root().join("crates/studio/ui/package-lock.json");
    let lock: Value = serde_json::from_str(&fs::read_to_string(lock)?)?;
    let packages = lock["packages"].as_object().context("a lock file lists packages")?;
    let bundled = packages.iter().filter(|(path, package)| !path.is_empty() && package["dev"] != true);
    let components = bundled.map(|(path, package)| {
        let name = path.rsplit("node_modules/").next().unwrap_or(path).to_owned();
        let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let purl = format!("pkg:npm/{}@{}", name.replace('@', "%40"), text("version"));
        Component { version: text("version"), licence: text("license"), purl, folder: None, name }
    });
    Ok(components.collect())
}

fn licences(components: &[Component]) -> String {
    let mut text = String::from("Lodestone contains these parts of others, each under its licence.\n\n");
    for Component { name, version, licence, .. } in components {
        text += &format!("{name} {version}: {licence}\n");
    }
    for component in components {
        for file in licence_files(component) {
            // Some are not UTF-8.
            let bytes = fs::read(&file).unwrap_or_default();
            let (name, version) = (&component.name, &component.version);
            let title = file.file_name().unwrap_or_default().to_string_lossy();
            text +=
                &format!("\n──── {name} {version}: {title}\n\n{}\n", String::from_utf8_lossy(&bytes).trim());
        }
    }
    text
}

fn licence_files(component: &Component) -> Vec<PathBuf> {
    let entries = component.folder.as_ref().and_then(|folder| fs::read_dir(folder).ok());
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|start| name.starts_with(start))
    };
    let mut files: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_licence)
        .collect();
    files.sort();
    files
}

fn bill(version: &str, components: &[Component]) -> Value {
    let listed: Vec<Value> = components
        .iter()
        .map(|component| {
            json!({
                "type": "library",
                "bom-ref": component.purl,
                "name": component.name,
                "version": component.version,
                "purl": component.purl,
                "licenses": [{ "expression": component.licence }],
            })
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "lodestone", "version": version } },
        "components": listed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_binary_is_listed_with_its_licence() {
        let Inventory { licences, bill } = take("1.2.3").unwrap();
        assert_eq!(bill["metadata"]["component"]["version"], "1.2.3");
        let components = bill["components"].as_array().unwrap();
        let has = |name: &str| components.iter().any(|component| component["name"] == name);
        assert!(has("tokio") && has("preact"), "what the server and the pages are made from");
        assert!(!has("proptest") && !has("lodestone"), "what tests use, and our own");
        for component in components {
            let licence = component["licenses"][0]["expression"].as_str().unwrap_or_default();
            assert!(!licence.is_empty(), "{component}");
        }
        assert!(licences.contains("──── tokio "), "the text itself");
    }
}
