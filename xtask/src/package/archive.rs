//! The archive for machines without a package manager: the same files as the packages for distributions have.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Built;
use super::deb;
use super::stage::{self, Stage};
use crate::command::{program, root, run};

pub fn build(stage: &Stage, check: bool, scratch: &Path) -> Result<Built> {
    let architecture = stage.architecture(["x86_64", "aarch64"]);
    let name = format!("lodestone-{}-linux-{architecture}", stage.version);
    let tree = scratch.join("tarball").join(&name);
    deb::put_files(stage, &tree)?;
    fs::copy(root().join("README.md"), tree.join("README.md"))?;
    let file = stage.to.join(format!("{name}.tar.gz"));
    let level = if stage.is_quick { "-1" } else { "-9" };
    let mut tar = program("tar");
    tar.args(["--owner=0", "--group=0", "--sort=name", "-C"]).arg(scratch.join("tarball"));
    run(tar.arg("-I").arg(format!("gzip -n {level}")).arg("-cf").arg(&file).arg(&name))?;
    let first_answer_s = check.then(|| self::check(stage, &file, &name, scratch)).transpose()?;
    Ok(Built { files: vec![file], first_answer_s })
}

fn check(stage: &Stage, file: &Path, name: &str, scratch: &Path) -> Result<f64> {
    let empty = scratch.join("tarball-check");
    fs::create_dir_all(&empty)?;
    run(program("tar").arg("-xzf").arg(file).current_dir(&empty))?;
    let command = empty.join(name).join("usr/bin/lodestone");
    let mut server = stage.program(&command);
    server.args(["serve", "--in-memory", "--port", "0"]).current_dir(&empty);
    stage::serve_once(&mut server, stage.program(&command))
}
