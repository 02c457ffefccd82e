//! Lists the documents and the pictures on them, which `src/documents.rs` includes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The documents outside of `docs/`.
const AT_ROOT: [&str; 5] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let root = manifest.join("../..").canonicalize()?;
    let mut files: Vec<PathBuf> = AT_ROOT.iter().map(PathBuf::from).collect();
    walk(&root, Path::new("docs"), &mut files)?;
    files.sort();
    for file in &files {
        println!("cargo:rerun-if-changed={}", root.join(file).display());
    }
    let is_document = |file: &Path| file.extension().is_some_and(|extension| extension == "md");
    let (documents, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_document(file));
    let texts: Vec<String> =
        documents.iter().map(|file| fs::read_to_string(root.join(file))).collect::<Result<_, _>>()?;
    // There are more pictures than those that a document shows.
    let is_shown = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        texts.iter().any(|text| text.contains(&*name))
    };
    let pictures: Vec<PathBuf> = others.into_iter().filter(is_shown).collect();
    let mut code = String::new();
    write_table(&mut code, "DOCUMENTS: &[(&str, &str)]", "include_str", &root, &documents);
    write_table(&mut code, "PICTURES: &[(&str, &[u8])]", "include_bytes", &root, &pictures);
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("documents.rs"), code)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", root.join(folder).display());
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() { walk(root, &path, files)? } else { files.push(path) }
    }
    Ok(())
}

fn write_table(code: &mut String, name_and_type: &str, include: &str, root: &Path, files: &[PathBuf]) {
    let _ = writeln!(code, "static {name_and_type} = &[");
    for file in files {
        let _ = writeln!(code, "    ({file:?}, {include}!({:?})),", root.join(file));
    }
    let _ = writeln!(code, "];");
}
