//! The Debian package: the binary, a systemd unit with its user, the configuration, manuals and completions.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::Built;
use super::stage::{self, Stage};
use crate::command::{program, root, run};
use crate::tools;

/// Where systemd's unit may be judged to be more exposed.
const EXPOSURE_MAX: f64 = 2.0;

pub fn build(stage: &Stage, check: bool, scratch: &Path) -> Result<Built> {
    let tree = scratch.join("deb");
    put_files(stage, &tree)?;
    put_control(stage, &tree)?;
    let architecture = stage.architecture(["amd64", "arm64"]);
    let file = stage.to.join(format!("lodestone_{}_{architecture}.deb", stage.version));
    let packing: &[&str] = if stage.is_quick { &["-Zgzip", "-z1"] } else { &["-Zxz"] };
    run(program("dpkg-deb").args(["--root-owner-group"]).args(packing).arg("--build").arg(&tree).arg(&file))?;
    let first_answer_s = check.then(|| self::check(&file, scratch)).transpose()?;
    Ok(Built { files: vec![file], first_answer_s })
}

/// All that is installed, also by other packages of a Linux distribution.
pub fn put_files(stage: &Stage, tree: &Path) -> Result<()> {
    stage.put_binary(&tree.join("usr/bin/lodestone"))?;
    stage.put_text(
        &tree.join("usr/lib/systemd/system/lodestone.service"),
        &stage.text("systemd/lodestone.service")?,
    )?;
    stage.put_text(
        &tree.join("usr/lib/sysusers.d/lodestone.conf"),
        &stage.text("systemd/lodestone.sysusers")?,
    )?;
    stage.put_text(&tree.join("etc/lodestone/lodestone.yaml"), &configuration(stage)?)?;
    for (shell, path) in [
        ("bash", "usr/share/bash-completion/completions/lodestone"),
        ("zsh", "usr/share/zsh/vendor-completions/_lodestone"),
        ("fish", "usr/share/fish/vendor_completions.d/lodestone.fish"),
    ] {
        stage.put_text(&tree.join(path), &stage.said(&["completions", shell])?)?;
    }
    let manuals = tree.join("usr/share/man/man1");
    run(stage.program(&stage.binary).arg("man").arg(&manuals))?;
    run(program("sh").args(["-c", "gzip -9n *.1"]).current_dir(&manuals))?;
    let documents = tree.join("usr/share/doc/lodestone");
    stage.put_licences(&documents)?;
    stage.put_text(&documents.join("copyright"), COPYRIGHT)?;
    fs::copy(root().join("CHANGELOG.md"), documents.join("changelog"))?;
    run(program("gzip").arg("-9n").arg(documents.join("changelog")))
}

const COPYRIGHT: &str = "Lodestone is licensed under the MIT licence or the Apache licence 2.0, as you prefer.\n\
    See LICENSE-MIT and LICENSE-APACHE in this folder.\n";

/// All flags with their defaults, and what a service needs otherwise.
fn configuration(stage: &Stage) -> Result<String> {
    let ours = root().join("packages/deb/lodestone.yaml");
    let ours = ours.to_str().context("a path of text")?;
    stage.said(&["serve", "--config", ours, "--print-config"])
}

fn put_control(stage: &Stage, tree: &Path) -> Result<()> {
    let kibibytes = size(tree)?.div_ceil(1024);
    let control = stage.text("deb/control")?;
    let control = control
        .replace("{version}", &stage.version)
        .replace("{architecture}", stage.architecture(["amd64", "arm64"]))
        .replace("{installed_kib}", &kibibytes.to_string())
        .replace("{glibc}", &stage.glibc);
    let folder = tree.join("DEBIAN");
    stage.put_text(&folder.join("control"), &control)?;
    stage.put_text(&folder.join("conffiles"), "/etc/lodestone/lodestone.yaml\n")?;
    for script in ["postinst", "prerm", "postrm"] {
        let path = folder.join(script);
        stage.put_text(&path, &stage.text(&format!("deb/{script}"))?)?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn size(path: &Path) -> Result<u64> {
    if !path.is_dir() {
        return Ok(fs::symlink_metadata(path)?.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

/// Installs the package into a root of its own, and starts what the unit starts, with the paths below that root.
fn check(file: &Path, scratch: &Path) -> Result<f64> {
    tools::systemd()?;
    let root = scratch.join("deb-check");
    fs::create_dir_all(root.join("var/lib/dpkg/updates"))?;
    fs::create_dir_all(root.join("var/lib/dpkg/info"))?;
    for list in ["status", "available"] {
        fs::write(root.join("var/lib/dpkg").join(list), "")?;
    }
    // The C library and systemd are those of this machine.
    let mut dpkg = program("dpkg");
    dpkg.arg(format!("--root={}", root.display()));
    dpkg.args(["--force-script-chrootless", "--force-depends", "--force-not-root", "--install"]).arg(file);
    run(&mut dpkg)?;
    let users = fs::read_to_string(root.join("etc/passwd")).unwrap_or_default();
    ensure!(users.contains("lodestone:"), "the package has made no user: {users}");
    let unit = root.join("usr/lib/systemd/system/lodestone.service");
    let start = started_by(&fs::read_to_string(&unit)?).context("the unit starts the server")?;
    check_exposure(&unit)?;

    let below = |path: &str| root.join(path.trim_start_matches('/'));
    let command = below(&start[0]);
    let mut server = program(&command);
    for word in &start[1..] {
        if word.starts_with('/') {
            server.arg(below(word))
        } else {
            server.arg(word)
        };
    }
    server.args(["--port", "0", "--data"]).arg(below("/var/lib/lodestone/data"));
    stage::serve_once(&mut server, program(&command))
}

/// The words of the unit's command.
fn started_by(unit: &str) -> Option<Vec<String>> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    Some(line.split_whitespace().map(str::to_owned).collect())
}

/// How much of the system the unit leaves open, as systemd judges it: 10 is everything.
fn check_exposure(unit: &Path) -> Result<()> {
    let mut judge = program("systemd-analyze");
    judge.args(["security", "--offline=true", "--no-pager", "--json=off"]).arg(unit);
    let output = judge.output().context("systemd-analyze judges the unit")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let exposure = exposure(&text)
        .with_context(|| format!("no figure in: {text}{}", String::from_utf8_lossy(&output.stderr)))?;
    println!("The unit's exposure is {exposure}");
    ensure!(exposure < EXPOSURE_MAX, "the unit's exposure is {exposure}, and must be below {EXPOSURE_MAX}");
    Ok(())
}

fn exposure(text: &str) -> Option<f64> {
    let (_, figure) = text.split_once("Overall exposure level for")?;
    figure.split_once(": ")?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judgement_of_systemd_is_read() {
        let text = "  NAME  EXPOSURE\n\n→ Overall exposure level for lodestone.service: 1.3 OK 🙂\n";
        assert_eq!(exposure(text), Some(1.3));
        assert_eq!(exposure("Failed"), None);
    }

    #[test]
    fn the_command_of_a_unit_is_found() {
        let unit = "[Service]\nExecStart=/usr/bin/lodestone serve --config /etc/a.yaml\nUser=x\n";
        let words = started_by(unit).unwrap();
        assert_eq!(words, ["/usr/bin/lodestone", "serve", "--config", "/etc/a.yaml"]);
    }
}
