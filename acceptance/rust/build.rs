//! Writes the modules of all models in Rust, with the binary under test, so that a test can call their functions.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=LODESTONE");
    let binary = PathBuf::from(env::var_os("LODESTONE").expect("LODESTONE names the binary"));
    println!("cargo:rerun-if-changed={}", binary.display());
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    let mut modules = String::new();
    let mut calls = String::new();
    let mut paths = String::new();
    for path in models() {
        println!("cargo:rerun-if-changed={}", path.display());
        let name = name_of(&path);
        for (module, options) in [(name.clone(), [].as_slice()), (format!("{name}_calls"), &["--calls"])] {
            let source = folder.join(format!("{module}.rs"));
            fs::write(&source, code(&binary, &path, options)).expect("the module is written");
            let _ = writeln!(modules, "#[path = {source:?}]\npub mod {module};");
        }
        let _ = writeln!(
            calls,
            "        {name:?} => {name}_calls::call(client, pattern).await.map_err(|why| why.to_string()),"
        );
        let _ = writeln!(paths, "    ({name:?}, {path:?}),");
    }
    let text = format!(
        "{modules}\npub const MODELS: &[(&str, &str)] = &[\n{paths}];\n\n\
         pub async fn call(client: &Client, model: &str, pattern: &str) -> Result<Option<String>, String> {{\n    \
         match model {{\n{calls}        _ => Ok(None),\n    }}\n}}\n"
    );
    fs::write(folder.join("models.rs"), text).expect("the list is written");
}

/// The example models, and one with all kinds of attributes and requests.
fn models() -> Vec<PathBuf> {
    // Clones share a folder for builds, so the folder is not that of the build script's own compilation.
    let root =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the package")).join("../..");
    let folder = root.join("examples/models");
    println!("cargo:rerun-if-changed={}", folder.display());
    let found = fs::read_dir(folder).expect("there are example models");
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.expect("a file").path()).collect();
    paths.push(root.join("acceptance/models/every-kind.yaml"));
    paths.sort();
    paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect()
}

/// The module's name, which the calls use: `model: page-views` is `page_views`.
fn name_of(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("the model is a text");
    let name = text.lines().find_map(|line| line.strip_prefix("model: ")).expect("the model has a name");
    name.trim().replace('-', "_")
}

fn code(binary: &Path, model: &Path, options: &[&str]) -> Vec<u8> {
    let mut command = Command::new(binary);
    command.args(["model", "code"]).arg(model).args(["--language", "rust"]).args(options);
    let done = command.output().expect("the binary starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}
