//! The npm packages: `lodestone-db`, and one with the binary for this platform.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Built;
use super::stage::{self, Stage};
use crate::command::{program, root, run};
use crate::node_tests::NodeTests;
use crate::report::Report;
use crate::tools;

const NAME: &str = "lodestone-db";

pub fn build(stage: &Stage, check: bool, scratch: &Path, report: &mut Report) -> Result<Built> {
    let architecture = stage.architecture(["x64", "arm64"]);
    let platform = format!("{NAME}-linux-{architecture}");
    let packages =
        [main_package(stage, &scratch.join("npm").join(NAME))?, platform_package(stage, scratch, &platform)?];
    let files = [NAME, &platform].map(|name| stage.to.join(format!("{name}-{}.tgz", stage.version)));
    for folder in packages {
        let level = if stage.is_quick { "1" } else { "9" };
        let mut pack = tools::npm(&["pack", "--silent"])?;
        run(pack
            .arg("--pack-destination")
            .arg(&stage.to)
            .current_dir(folder)
            .env("npm_config_compression_level", level))?;
    }
    let first_answer_s = check.then(|| self::check(&files, scratch, report)).transpose()?;
    Ok(Built { files: files.to_vec(), first_answer_s })
}

/// The package that users name: launcher, fixtures, types.
fn main_package(stage: &Stage, folder: &Path) -> Result<PathBuf> {
    copy_tree(&root().join("packages/npm").join(NAME), folder)?;
    let file = folder.join("package.json");
    let mut package: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    package["version"] = stage.version.clone().into();
    let platforms = package["optionalDependencies"].as_object_mut().context("it has platforms")?;
    platforms.values_mut().for_each(|version| *version = stage.version.clone().into());
    fs::write(&file, format!("{package:#}\n"))?;
    stage.put_licences(folder)?;
    Ok(folder.to_owned())
}

fn platform_package(stage: &Stage, scratch: &Path, name: &str) -> Result<PathBuf> {
    let folder = scratch.join("npm").join(name);
    stage.put_binary(&folder.join("bin/lodestone"))?;
    stage.put_licences(&folder)?;
    let package = json!({
        "name": name,
        "version": stage.version,
        "description": format!("The program of {NAME} for Linux with glibc {} or later", stage.glibc),
        "license": "MIT OR Apache-2.0",
        "os": ["linux"],
        "cpu": [stage.architecture(["x64", "arm64"])],
        "libc": ["glibc"],
        "files": ["bin", "LICENSE-*"],
    });
    fs::write(folder.join("package.json"), format!("{package:#}\n"))?;
    Ok(folder)
}

/// Installs both packages into an empty project, and runs the tests of launcher and fixtures there. The packages of the
/// test runners are in the folder above, where Node finds them, so that the project has what users get and nothing else.
fn check(files: &[PathBuf], scratch: &Path, report: &mut Report) -> Result<f64> {
    let tests = root().join("packages/npm/test");
    tools::node_modules(&tests)?;
    let above = scratch.join("npm-check");
    let project = above.join("project");
    copy_tree(&tests, &project)?;
    fs::write(project.join("package.json"), "{\"private\": true, \"type\": \"module\"}\n")?;
    fs::remove_file(project.join("package-lock.json"))?;
    std::os::unix::fs::symlink(tests.join("node_modules"), above.join("node_modules"))?;
    let mut install = tools::npm(&["install", "--no-audit", "--no-fund", "--offline"])?;
    run(install.args(files).current_dir(&project))?;

    let command = project.join("node_modules/.bin/lodestone-db");
    let first_answer = stage::serve_once(
        program(&command).args(["serve", "--in-memory", "--port", "0"]).current_dir(&project),
        program(&command),
    )?;
    let node_tests = NodeTests {
        folder: &project,
        name: "npm",
        width: 1,
        binary: &command,
        programs: Vec::new(),
        alone: "cargo xtask package --check npm",
    };
    node_tests.run(vec![project.join("launcher.test.mjs"), project.join("guard.test.mjs")], report)?;
    for runner in [["vitest", "run"].as_slice(), &["jest", "--ci"]] {
        let runner_path = above.join("node_modules/.bin").join(runner[0]);
        run(program(runner_path).args(&runner[1..]).current_dir(&project)).context(runner[0])?;
    }
    check_types(&above.join("node_modules/.bin/tsc"), &project)?;
    check_action(scratch, &project)?;
    Ok(first_answer)
}

/// Modules of both kinds that use the package have the types that they expect, and mistakes are found.
fn check_types(compiler: &Path, project: &Path) -> Result<()> {
    let options = "--noEmit --strict --module nodenext --target es2022 --skipLibCheck --types";
    let mut compile = program(compiler);
    compile.args(options.split(' ')).args(["", "types.ts", "types.cts"]);
    run(compile.current_dir(project)).context("the types of the package")
}

/// Starts the server as the action for GitHub does, in a step that ends before the server is used.
fn check_action(scratch: &Path, project: &Path) -> Result<()> {
    let temporary = scratch.join("action");
    fs::create_dir_all(&temporary)?;
    std::os::unix::fs::symlink(project, temporary.join("lodestone"))?;
    let mut step = program("bash");
    step.arg(root().join("packages/action/start.sh")).current_dir(&temporary);
    step.env("RUNNER_TEMP", &temporary).envs([("PORT", "0"), ("ARGUMENTS", "--in-memory")]);
    for file in ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"] {
        step.env(file, temporary.join(file));
    }
    run(&mut step)?;
    let said = fs::read_to_string(temporary.join("GITHUB_OUTPUT"))?;
    let output = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let (endpoint, server) = output("endpoint=").zip(output("pid=")).context("the step has outputs")?;
    let model = root().join("examples/models/m01-shop.yaml");
    let mut prove = program(project.join("node_modules/.bin/lodestone"));
    prove.args(["model", "apply", "--prove", "--endpoint-url", &endpoint]).arg(model);
    let proven = run(&mut prove);
    run(program("kill").arg(server))?;
    let variables = fs::read_to_string(temporary.join("GITHUB_ENV"))?;
    ensure!(variables.contains(&format!("AWS_ENDPOINT_URL_DYNAMODB={endpoint}\n")), "{variables}");
    proven
}

/// Copies a folder, but for what npm has installed in it.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_name() == "node_modules" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
