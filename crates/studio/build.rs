//! Bundles `ui/` with esbuild and writes the table of files that `src/page.rs` includes.
//!
//! Everything happens inside `OUT_DIR`: the sources are copied there, npm installs what the lock file names, and
//! `ui/bundle.mjs` writes the bundle and `assets.rs`. Node is not needed to build Lodestone: without it, or
//! without a network the first time, the studio is a plain page and cargo shows a warning.
//! `LODESTONE_STUDIO` decides: `off` leaves the studio out, `required` makes a failure an error, and a folder
//! is used as a finished bundle.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NODE_MAJOR_MIN: u32 = 20;
/// npm gives up by itself after its retries, unless the network drops packets silently.
const NPM_TIME_MAX: Duration = Duration::from_secs(60);
const NONE: &str =
    "static FILES: &[Asset] = &[];\nstatic ENTRY: Option<Entry> = None;\nconst ICON: &str = \"\";\n";

fn main() {
    let ui = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("ui");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-env-changed=LODESTONE_STUDIO");
    for part in ["src", "bundle.mjs", "package.json", "package-lock.json"] {
        println!("cargo:rerun-if-changed={}", ui.join(part).display());
    }
    let choice = env::var("LODESTONE_STUDIO").unwrap_or_default();
    let made = match choice.as_str() {
        "off" => Err("it is off".to_owned()),
        "" | "required" => bundle(&ui, &out),
        folder => taken(Path::new(folder), &out),
    };
    let Err(reason) = made else { return };
    assert!(
        choice.is_empty() || choice == "off",
        "LODESTONE_STUDIO={choice}: the studio can't be built: {reason}"
    );
    if choice != "off" {
        println!("cargo:warning=built without the studio's pages: {reason}");
    }
    fs::write(out.join("assets.rs"), NONE).expect("OUT_DIR can be written");
}

fn bundle(ui: &Path, out: &Path) -> Result<(), String> {
    node_is_new_enough()?;
    let work = out.join("ui");
    let sources = work.join("src");
    if sources.exists() {
        fs::remove_dir_all(&sources).map_err(text_of)?;
    }
    copy(&ui.join("src"), &sources).map_err(text_of)?;
    for file in ["bundle.mjs", "package.json"] {
        fs::copy(ui.join(file), work.join(file)).map_err(text_of)?;
    }
    install(ui, &work)?;
    let ended =
        Command::new("node").arg("bundle.mjs").arg(out).current_dir(&work).output().map_err(text_of)?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(format!("esbuild: {}", String::from_utf8_lossy(&ended.stderr))),
    }
}

/// Takes a bundle that was made elsewhere, with its `assets.rs`.
fn taken(folder: &Path, out: &Path) -> Result<(), String> {
    copy(folder, out).map_err(|error| format!("{}: {error}", folder.display()))
}

fn node_is_new_enough() -> Result<(), String> {
    let found =
        Command::new("node").arg("--version").output().map_err(|_| "Node is not installed".to_owned())?;
    let version = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major.is_some_and(|major| major >= NODE_MAJOR_MIN) {
        true => Ok(()),
        false => Err(format!("Node {NODE_MAJOR_MIN} or later is needed, and this is {version}")),
    }
}

/// Runs npm only if the lock file is not the one that is installed.
fn install(ui: &Path, work: &Path) -> Result<(), String> {
    let lock = fs::read(ui.join("package-lock.json")).map_err(text_of)?;
    let installed = work.join("installed-lock.json");
    if fs::read(&installed).is_ok_and(|known| known == lock) {
        return Ok(());
    }
    fs::write(work.join("package-lock.json"), &lock).map_err(text_of)?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(["--prefer-offline", "--fetch-retries=1", "--fetch-timeout=20000"])
        .current_dir(work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(work.join("npm.log")).map_err(text_of)?);
    let mut child = npm.spawn().map_err(|_| "npm is not installed".to_owned())?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(text_of)? {
            break status;
        }
        if began.elapsed() > NPM_TIME_MAX {
            child.kill().and_then(|()| child.wait()).map_err(text_of)?;
            return Err(format!("npm did not fetch its packages within {} s", NPM_TIME_MAX.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if !status.success() {
        let log = fs::read_to_string(work.join("npm.log")).unwrap_or_default();
        let first = log.lines().find(|line| line.contains("error")).unwrap_or("npm ci failed");
        return Err(format!("npm can't fetch its packages ({first})"));
    }
    fs::write(installed, lock).map_err(text_of)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.path().extension() != Some(OsStr::new("map")) {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn text_of(error: impl std::fmt::Display) -> String {
    error.to_string()
}
