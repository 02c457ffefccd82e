//! `lodestone docs`: the documents as the files of a web site.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::page::{self, resolved};
use super::{DOCUMENTS, INDEX, PICTURES, STYLE, is_folder, text_of};

/// Write the documents of this version as a web site.
///
/// A running server has the same pages at /docs/.
#[derive(Args)]
pub struct WriteDocuments {
    /// The folder for index.html and the rest; made if it isn't there
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

const FIRST: &str = "README.md";
/// Where pages send what a reader searches for. On the site, Pagefind answers: it makes its files from the pages.
const SEARCH: (&str, &str) = ("docs/search.html", include_str!("search.html"));

impl WriteDocuments {
    pub fn run(self) -> Result<(), String> {
        write(&self.to)
            .map_err(|error| format!("can't write the documents to {}: {error}", self.to.display()))
    }
}

fn write(folder: &Path) -> io::Result<()> {
    let put = |path: &str, bytes: &[u8]| {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, bytes)
    };
    for (path, text) in DOCUMENTS {
        let page = with_files(path, &page::of(path, text));
        put(&file_of(path), page.as_bytes())?;
        if *path == FIRST {
            put("index.html", page.as_bytes())?;
        }
    }
    let folders: BTreeSet<&str> =
        DOCUMENTS.iter().filter_map(|(path, _)| Some(path.rsplit_once('/')?.0)).collect();
    for path in folders {
        let list = page::of_folder(path).unwrap_or_default();
        put(&file_of(path), with_files(path, &list).as_bytes())?;
    }
    PICTURES.iter().try_for_each(|(path, bytes)| put(path, bytes))?;
    put(STYLE.0, STYLE.1.as_bytes())?;
    put(SEARCH.0, with_files(SEARCH.0, &page::framed("Search", SEARCH.0, SEARCH.1)).as_bytes())
}

/// The file of a document, or of the list of a folder.
fn file_of(path: &str) -> String {
    format!("{}.html", path.strip_suffix(".md").unwrap_or(path))
}

/// A page whose links lead to files: `capacity.md#bursts` becomes `capacity.html#bursts`.
fn with_files(path: &str, page: &str) -> String {
    let mut links = page.split("href=\"");
    let mut changed = links.next().unwrap_or_default().to_owned();
    for rest in links {
        let (link, rest) = rest.split_once('"').unwrap_or((rest, ""));
        changed += &format!("href=\"{}\"{rest}", link_to_file(path, link));
    }
    changed.replace("docs/\" role=\"search\"", "docs/search.html\" role=\"search\"")
}

fn link_to_file(path: &str, link: &str) -> String {
    let (target, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
    let found = resolved(path, target);
    if target.is_empty() || target.contains("://") {
        link.to_owned()
    } else if found == "docs" {
        format!("{target}{}", file_of(INDEX.trim_start_matches("docs/")))
    } else if text_of(&found).is_some() || is_folder(&found) {
        format!("{}{anchor}", file_of(target.trim_end_matches('/')))
    } else {
        link.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files() {
        assert_eq!(link_to_file("docs/rules/R1.md", "../capacity.md#bursts"), "../capacity.html#bursts");
        assert_eq!(link_to_file("docs/README.md", "rules"), "rules.html");
        assert_eq!(link_to_file("docs/rules/R1.md", "../../docs/"), "../../docs/README.html");
        assert_eq!(link_to_file("README.md", "#licence"), "#licence");
        assert_eq!(link_to_file("README.md", "https://semver.org"), "https://semver.org");
        assert_eq!(link_to_file("README.md", "docs/style.css"), "docs/style.css");
    }
}
