//! The site: the pages of `/docs/` as files, with a search that needs no server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::Built;
use super::stage::Stage;
use crate::command::{program, root, run};
use crate::tools;

pub fn build(stage: &Stage, check: bool, scratch: &Path) -> Result<Built> {
    let name = format!("lodestone-{}-site", stage.version);
    let site = scratch.join("site").join(&name);
    run(stage.program(&stage.binary).arg("docs").arg(&site))?;
    let python = tools::python(&root().join("packages/site/requirements.txt"))?;
    run(program(python.join("python")).args(["-m", "pagefind", "--silent", "--site"]).arg(&site))?;
    if check {
        check_links(&site)?;
    }
    let file = stage.to.join(format!("{name}.tar.gz"));
    let mut tar = program("tar");
    tar.args(["--owner=0", "--group=0", "--sort=name", "-czf"]).arg(&file);
    run(tar.arg("-C").arg(scratch.join("site")).arg(&name))?;
    Ok(Built { files: vec![file], first_answer_s: None })
}

/// Every link of every page leads to a file, and to a heading that is there.
fn check_links(site: &Path) -> Result<()> {
    let mut pages = BTreeMap::new();
    read_pages(site, &mut pages)?;
    let anchors: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path.as_path(), values(text, "id=\"").collect())).collect();
    let (mut dead, mut count) = (Vec::new(), 0);
    for (path, text) in &pages {
        for link in values(text, "href=\"").chain(values(text, "src=\"")) {
            count += 1;
            if !leads_somewhere(path, link, &anchors) {
                dead.push(format!("{}: {link}", path.strip_prefix(site)?.display()));
            }
        }
    }
    ensure!(count > 0, "the site has no links");
    ensure!(dead.is_empty(), "dead links in the site:\n{}", dead.join("\n"));
    println!("All {count} links of {} pages lead somewhere", pages.len());
    Ok(())
}

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

/// The values of an attribute that is written like this.
fn values<'a>(page: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

/// Whether a link of a page leads to another site, or to a file and its heading.
fn leads_somewhere(page: &Path, link: &str, anchors: &BTreeMap<&Path, BTreeSet<&str>>) -> bool {
    if link.contains("://") {
        return true;
    }
    let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = if target.is_empty() { page.to_owned() } else { resolved(page, target) };
    let has_anchor = anchor.is_empty() || anchors.get(file.as_path()).is_some_and(|ids| ids.contains(anchor));
    file.is_file() && has_anchor
}

/// The file that a link of a page means.
fn resolved(page: &Path, target: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in target.split('/') {
        match part {
            ".." => drop(path.pop()),
            "" | "." => {}
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_missing_files_and_headings_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put(
            "a.html",
            "<h1 id=\"top\"><a href=\"b.html#end\"><a href=\"#top\"><a href=\"https://a.example\">",
        );
        put("b.html", "<h2 id=\"end\"><img src=\"b.png\">");
        put("b.png", "");
        check_links(folder.path()).unwrap();
        put("b.html", "<h2 id=\"other\"><img src=\"c.png\">");
        let error = check_links(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a.html: b.html#end") && error.contains("b.html: c.png"), "{error}");
    }
}
