//! Runs files of tests with Node's own runner.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::command::{self, TEST_PROGRAM_TIME_MAX, program, shown};
use crate::evidence;
use crate::report::{Report, Test};

/// Files of tests in one folder.
pub struct NodeTests<'a> {
    /// Where Node runs.
    pub folder: &'a Path,
    /// Names the evidence.
    pub name: &'a str,
    /// How many files run at the same time.
    pub width: usize,
    pub binary: &'a Path,
    /// Programs that the tests call, by the variable that names them.
    pub programs: Vec<(&'static str, PathBuf)>,
    /// The command that runs one file alone, but for its name.
    pub alone: &'a str,
}

impl NodeTests<'_> {
    /// Runs all files, also when one fails. What a file prints is shown when it has ended.
    pub fn run(&self, files: Vec<PathBuf>, report: &mut Report) -> Result<()> {
        ensure!(!files.is_empty(), "there are no tests in {}", self.folder.display());
        let ended = command::side_by_side(files, self.width, |file| (self.run_file(&file), file));
        let mut outcome = Ok(());
        for (ran, file) in ended {
            let name = file_name(&file);
            let alone = |_: &Test| format!("{} {name}", self.alone);
            let added = report.add_junit(ran, &self.junit(&file)?, &name, alone);
            outcome = outcome.and(added.with_context(|| name.clone()));
        }
        outcome
    }

    /// The file that Node's report on a file of tests goes to.
    fn junit(&self, file: &Path) -> Result<PathBuf> {
        let folder = evidence::folder()?.join(self.name);
        fs::create_dir_all(&folder)?;
        Ok(folder.join(file_name(file)).with_extension("xml"))
    }

    fn run_file(&self, file: &Path) -> Result<()> {
        let junit = self.junit(file)?;
        let mut node = program("node");
        node.args(["--test", "--test-reporter=spec", "--test-reporter-destination=stdout"]);
        node.arg("--test-reporter=junit").arg(format!("--test-reporter-destination={}", junit.display()));
        node.arg(file).current_dir(self.folder).env("LODESTONE", self.binary);
        node.envs(self.programs.iter().map(|(name, path)| (name, path)));
        node.env(evidence::VARIABLE, evidence::folder()?);
        let mut text = String::new();
        let status = command::run_by_lines(&mut node, TEST_PROGRAM_TIME_MAX, |line| {
            text += line.text();
            text.push('\n');
        })?;
        File::create(junit.with_extension("log"))?.write_all(text.as_bytes())?;
        print!("── {}\n{text}", file_name(file));
        let status = status.context("it hung and was killed")?;
        ensure!(status.success(), "{status}: {}", shown(&node));
        Ok(())
    }
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of tests in a folder, by name.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.is_file() && file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    Ok(files)
}
