//! The package for Fedora, RHEL and their relatives: the same files as the Debian package has.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::stage::{self, Stage};
use super::{Built, deb};
use crate::command::{program, run};
use crate::tools;

pub fn build(stage: &Stage, check: bool, scratch: &Path) -> Result<Built> {
    tools::rpm()?;
    let (tree, work) = (scratch.join("rpm-tree"), scratch.join("rpm"));
    deb::put_files(stage, &tree)?;
    let mut files = Vec::new();
    list(&tree, &tree, &mut files)?;
    files.retain(|file| !file.starts_with("/etc/"));
    files.sort();
    let spec = stage
        .text("rpm/lodestone.spec")?
        .replace("{version}", &stage.version)
        .replace("{tree}", tree.to_str().context("a path of text")?)
        .replace("{files}", &files.join("\n"));
    stage.put_text(&work.join("lodestone.spec"), &spec)?;
    let architecture = stage.architecture(["x86_64", "aarch64"]);
    let payload = if stage.is_quick { "w1.gzdio" } else { "w9.xzdio" };
    let mut rpmbuild = program("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--target", architecture]);
    rpmbuild.arg("--define").arg(format!("_topdir {}", work.display()));
    rpmbuild.arg("--define").arg(format!("_binary_payload {payload}"));
    run(rpmbuild.arg(work.join("lodestone.spec")))?;
    let name = format!("lodestone-{}-1.{architecture}.rpm", stage.version);
    let file = stage.to.join(&name);
    fs::copy(work.join("RPMS").join(architecture).join(&name), &file)?;
    let first_answer_s = check.then(|| self::check(&file, scratch)).transpose()?;
    Ok(Built { files: vec![file], first_answer_s })
}

/// All files of a tree, as they are called when it is the root.
fn list(tree: &Path, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(tree, &path, files)?;
        } else {
            files.push(format!("/{}", path.strip_prefix(tree)?.display()));
        }
    }
    Ok(())
}

/// Installs the package into a root of its own. Its scripts need a shell there, so they are left out; the unit and the
/// user are tried with the Debian package.
fn check(file: &Path, scratch: &Path) -> Result<f64> {
    let root = scratch.join("rpm-check");
    fs::create_dir_all(&root)?;
    run(program("rpm").arg("--root").arg(&root).args(["--install", "--nodeps", "--noscripts"]).arg(file))?;
    let command = root.join("usr/bin/lodestone");
    let mut server = program(&command);
    server.args(["serve", "--port", "0", "--config"]).arg(root.join("etc/lodestone/lodestone.yaml"));
    server.arg("--data").arg(root.join("var/lib/lodestone/data"));
    stage::serve_once(&mut server, program(&command))
}
