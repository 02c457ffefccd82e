//! What all packages have in common: the stripped binary, its version, manuals, completions and licences.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::binary::{self, Architecture};
use super::inventory::{self, Inventory};
use crate::command::{self, program, root, run};

pub struct Stage {
    pub binary: PathBuf,
    pub version: String,
    /// Where packages go.
    pub to: PathBuf,
    /// Whether packing must be quick rather than good.
    pub is_quick: bool,
    /// The newest version of glibc that the binary asks for, as in `2.34`.
    pub glibc: String,
    /// What the binary is made from.
    pub inventory: Inventory,
    architecture: Architecture,
    given: PathBuf,
}

impl Stage {
    pub fn new(
        given: Option<&Path>,
        architecture: Architecture,
        scratch: &Path,
        to: &Path,
        is_quick: bool,
    ) -> Result<Stage> {
        let is_linked_by_zig = given.is_none();
        let given = match given {
            Some(path) => path.canonicalize().with_context(|| format!("finding {}", path.display()))?,
            None => binary::build(architecture)?,
        };
        let binary = scratch.join("lodestone");
        let foreign = architecture.name(["x86_64-linux-gnu-strip", "aarch64-linux-gnu-strip"]);
        let strip = if architecture.is_own() { "strip" } else { foreign };
        run(program(strip).arg("--strip-all").arg("-o").arg(&binary).arg(&given))?;
        let described = said(architecture.program(&binary).args(["version", "--json"]))?;
        let described: Value =
            serde_json::from_str(&described).context("asking the binary for its version")?;
        let version = described["version"].as_str().context("the binary has a version")?.to_owned();
        let (glibc, to) = (glibc_of(&binary)?, to.to_owned());
        ensure!(
            !is_linked_by_zig || runs_with(&glibc, binary::GLIBC),
            "the binary asks for glibc {glibc}, and is linked for {} and later",
            binary::GLIBC
        );
        let inventory = inventory::take(&version)?;
        Ok(Stage { binary, version, to, is_quick, glibc, inventory, architecture, given })
    }

    /// How large the binary is.
    pub fn line(&self) -> Result<String> {
        let size = |path: &Path| anyhow::Ok(fs::metadata(path)?.len() as f64 / 1e6);
        let (before, after) = (size(&self.given)?, size(&self.binary)?);
        Ok(format!("{after:8.1} MB  the binary, stripped ({before:.1} MB before), for glibc {}", self.glibc))
    }

    /// The text of a file of `packages/`.
    pub fn text(&self, path: &str) -> Result<String> {
        let path = root().join("packages").join(path);
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    }

    /// Copies the binary to a file, which can be run.
    pub fn put_binary(&self, to: &Path) -> Result<()> {
        let folder = to.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder)?;
        fs::copy(&self.binary, to).with_context(|| format!("copying the binary to {}", to.display()))?;
        Ok(())
    }

    /// Writes a file, and the folders that it is in.
    pub fn put_text(&self, to: &Path, text: &str) -> Result<()> {
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::write(to, text).with_context(|| format!("writing {}", to.display()))
    }

    /// Puts our licences and those of all parts into a folder.
    pub fn put_licences(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            fs::copy(root().join(name), folder.join(name))?;
        }
        self.put_text(&folder.join("LICENSE-PARTS"), &self.inventory.licences)
    }

    /// What the binary prints.
    pub fn said(&self, arguments: &[&str]) -> Result<String> {
        Ok(said(self.program(&self.binary).args(arguments))? + "\n")
    }

    /// The name of the architecture, as each kind of package has it: `x64`, `amd64`, `x86_64`.
    pub fn architecture(&self, names: [&'static str; 2]) -> &'static str {
        self.architecture.name(names)
    }

    /// What starts a copy of the binary on this machine.
    pub fn program(&self, copy: &Path) -> Command {
        self.architecture.program(copy)
    }

    /// The binary's shared libraries with its loader, as files of this machine.
    pub fn libraries(&self) -> Result<Vec<PathBuf>> {
        let mut needed = needed(&said(program("readelf").arg("--dynamic").arg(&self.binary))?);
        needed.push(self.architecture(["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"]).to_owned());
        let folders = match self.architecture.is_own() {
            true => self.architecture(["/lib64 /lib/x86_64-linux-gnu", "/lib /lib/aarch64-linux-gnu"]),
            false => self.architecture(["/usr/x86_64-linux-gnu/lib", "/usr/aarch64-linux-gnu/lib"]),
        };
        let find = |name: &String| {
            let mut paths = folders.split(' ').map(|folder| Path::new(folder).join(name));
            paths.find(|path| path.exists()).with_context(|| format!("there is no {name} in {folders}"))
        };
        needed.iter().map(find).collect()
    }
}

/// What a program prints, without the end of its last line.
pub fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| command::shown(command))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// The libraries in what `readelf --dynamic` prints.
fn needed(listed: &str) -> Vec<String> {
    let lines = listed.lines().filter(|line| line.contains("(NEEDED)"));
    let names = lines.filter_map(|line| line.split_once('[')?.1.strip_suffix(']'));
    names.filter(|name| !name.starts_with("ld-linux")).map(str::to_owned).collect()
}

/// The newest version of glibc that a program's symbols name.
fn glibc_of(binary: &Path) -> Result<String> {
    let symbols = said(program("readelf").args(["--version-info", "--wide"]).arg(binary))?;
    newest_glibc(&symbols).context("the binary uses glibc")
}

fn newest_glibc(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let version = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        numbers(version)
    });
    versions.max().map(|(major, minor)| format!("{major}.{minor}"))
}

/// Whether a program that asks for one version of glibc runs with another.
fn runs_with(asked: &str, present: &str) -> bool {
    numbers(asked).is_some_and(|asked| numbers(present).is_some_and(|present| asked <= present))
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// No server takes nearly as long to start.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Docker kills a container that takes longer to stop.
const ENDED_WITHIN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// Starts a server by this command, asks for its health, stops it, and waits for its end. The time is that from the
/// start to the first answer.
pub fn serve_once(start: &mut Command, mut lodestone: Command) -> Result<f64> {
    serve_until(start, |url| run(lodestone.args(["health", "--endpoint-url", url])))
}

/// The same with another question. A server that is slow to end is killed, and that is an error.
pub fn serve_until(start: &mut Command, ask: impl FnOnce(&str) -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    let mut child = start.stdout(Stdio::piped()).spawn().with_context(|| command::shown(start))?;
    let answered = ready_url(&mut child).and_then(|url| {
        ask(&url)?;
        Ok(began.elapsed().as_secs_f64())
    });
    let stopped = Instant::now();
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)?;
    let status = ended(&mut child, ENDED_WITHIN)?;
    println!("Stopped within {:.2} s", stopped.elapsed().as_secs_f64());
    let answered = answered?;
    ensure!(status.success(), "stopped, the server ended with {status}");
    Ok(answered)
}

/// How a process ends. One that has not ended in time is killed.
fn ended(child: &mut Child, within: Duration) -> Result<ExitStatus> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            bail!("stopped, the server has not ended within {} s, and was killed", within.as_secs());
        }
        std::thread::sleep(PAUSE);
    }
}

/// The address in the ready line.
fn ready_url(child: &mut Child) -> Result<String> {
    let output = child.stdout.take().context("its output is ours")?;
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).context("the server is not ready")?;
        let ready = line.strip_prefix("lodestone is ready at ");
        if let Some(url) = ready.and_then(|rest| rest.split_whitespace().next()) {
            return Ok(url.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_is_found_by_number_and_not_by_text() {
        let symbols = "0x0010: Name: GLIBC_2.9  Flags: none\n0x0020: Name: GLIBC_2.34\n Name: GLIBC_2.2.5\n";
        assert_eq!(newest_glibc(symbols).as_deref(), Some("2.34"));
        assert_eq!(newest_glibc("no symbols"), None);
    }

    #[test]
    fn a_binary_runs_with_the_glibc_that_it_asks_for_and_with_later_ones() {
        assert!(runs_with("2.28", "2.28") && runs_with("2.9", "2.28") && runs_with("2.28", "3.0"));
        assert!(!runs_with("2.34", "2.28") && !runs_with("", "2.28"));
    }

    #[test]
    fn a_server_that_does_not_end_in_time_is_killed_and_is_an_error() {
        let start = |script: &str| program("sh").args(["-c", script]).spawn().expect("a shell");
        let mut endless = start("exec sleep 600");
        let error = ended(&mut endless, Duration::ZERO).expect_err("it has not ended");
        assert!(error.to_string().contains("has not ended within 0 s"), "{error}");
        assert!(endless.try_wait().expect("it is known").is_some(), "it was killed");
        let status = ended(&mut start("exit 3"), READY_WITHIN).expect("it ends");
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn libraries_are_read_from_the_dynamic_section() {
        let listed = " 0x01 (NEEDED)  Shared library: [libm.so.6]\n 0x01 (NEEDED)  Shared library: [ld-linux-x86-64.so.2]\n\
             0x0c (INIT)  0x1000\n";
        assert_eq!(needed(listed), ["libm.so.6"]);
    }
}
