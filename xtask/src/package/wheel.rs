//! The wheel of PyPI: the binary, its command, and the fixtures for pytest.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Built;
use super::stage::{self, Stage};
use crate::command::{program, root, run};
use crate::evidence;
use crate::report::Report;
use crate::tools;

pub fn build(stage: &Stage, check: bool, scratch: &Path, report: &mut Report) -> Result<Built> {
    let python = tools::python(&root().join("packages/python/requirements.txt"))?;
    let project = scratch.join("python");
    let package = project.join("src/lodestone_db");
    fs::create_dir_all(&package)?;
    let source = root().join("packages/python");
    let manifest = fs::read_to_string(source.join("pyproject.toml"))?;
    fs::write(project.join("pyproject.toml"), with_version(&manifest, &stage.version))?;
    fs::copy(source.join("README.md"), project.join("README.md"))?;
    for entry in fs::read_dir(source.join("src/lodestone_db"))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), package.join(entry.file_name()))?;
        }
    }
    stage.put_licences(&project)?;
    stage.put_binary(&package.join("bin/lodestone"))?;

    let plain = scratch.join("wheel");
    let mut pip = program(python.join("pip"));
    pip.args(["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"])
        .arg(&plain)
        .arg(&project);
    run(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))?;
    // The program in it is for one platform, which setuptools can't know.
    let tag = platform_tag(stage);
    let made = plain.join(format!("lodestone_db-{}-py3-none-any.whl", stage.version));
    run(program(python.join("wheel")).args(["tags", "--platform-tag", &tag]).arg(&made).current_dir(&plain))?;
    let name = format!("lodestone_db-{}-py3-none-{tag}.whl", stage.version);
    let wheel = stage.to.join(&name);
    fs::copy(plain.join(&name), &wheel)?;
    let first_answer_s = check.then(|| self::check(&wheel, &python, scratch, report)).transpose()?;
    Ok(Built { files: vec![wheel], first_answer_s })
}

fn with_version(manifest: &str, version: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("version = ") {
            format!("version = \"{version}\"\n")
        } else {
            format!("{line}\n")
        }
    };
    manifest.lines().map(line).collect()
}

/// As PEP 600 names a platform by its oldest glibc.
fn platform_tag(stage: &Stage) -> String {
    format!("manylinux_{}_{}", stage.glibc.replace('.', "_"), stage.architecture(["x86_64", "aarch64"]))
}

/// Installs the wheel into an empty environment. For the fixtures' tests, that environment sees pytest and boto3 of the
/// one that has built the wheel.
fn check(wheel: &Path, python: &Path, scratch: &Path, report: &mut Report) -> Result<f64> {
    let environment = scratch.join("python-check");
    run(program(python.join("python")).args(["-m", "venv", "--without-pip"]).arg(&environment))?;
    let own = environment.join("bin/python");
    let mut pip = program(python.join("pip"));
    pip.arg("--python").arg(&own).args(["install", "--quiet", "--no-index", "--no-deps"]).arg(wheel);
    run(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))?;
    let command = environment.join("bin/lodestone");
    let first_answer = stage::serve_once(
        program(&command).args(["serve", "--in-memory", "--port", "0"]),
        program(&command),
    )?;
    let others = site_packages(python.parent().context("a folder has a parent")?)?;
    fs::write(site_packages(&environment)?.join("test-tools.pth"), format!("{}\n", others.display()))?;
    let tests = scratch.join("python-tests");
    fs::create_dir_all(&tests)?;
    fs::copy(root().join("packages/python/tests/test_fixtures.py"), tests.join("test_fixtures.py"))?;
    let junit = evidence::folder()?.join("wheel.xml");
    let mut pytest = program(&own);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", "--junitxml"]);
    let ran = run(pytest.arg(&junit).current_dir(&tests));
    report.add_junit(ran, &junit, "wheel", |_| "cargo xtask package --check wheel".to_owned())?;
    Ok(first_answer)
}

/// Where an environment has its packages.
fn site_packages(environment: &Path) -> Result<PathBuf> {
    let versions = fs::read_dir(environment.join("lib"))?;
    let folder = versions.filter_map(|entry| Some(entry.ok()?.path())).find(|path| path.is_dir());
    Ok(folder.context("an environment has a folder of its Python's version")?.join("site-packages"))
}
