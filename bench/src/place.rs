//! Which binary is measured, and where results and data go.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

#[derive(clap::Args, Clone, Debug, Default)]
pub struct Place {
    /// Another binary than this tree's
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// Where the report is written and data is kept during the run, on the disk that is to be measured
    /// [default: `bench` in the target folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Place {
    /// The binary that was asked for, or the one that was built with this program.
    pub fn lodestone(&self) -> Result<PathBuf> {
        let path = match &self.lodestone {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("lodestone"),
        };
        ensure!(path.exists(), "there is no {}; give the binary with --lodestone", path.display());
        Ok(path)
    }

    pub fn output(&self) -> Result<PathBuf> {
        let folder = match &self.output {
            Some(folder) => folder.clone(),
            None => {
                let this = std::env::current_exe()?;
                this.ancestors().nth(2).context("this program is in no target folder")?.join("bench")
            }
        };
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(folder)
    }

    /// An empty folder that is deleted at the end.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        tempfile::Builder::new()
            .prefix("data-")
            .tempdir_in(self.output()?)
            .context("making a folder for data")
    }

    /// Writes reports and prints where they are.
    pub fn write(&self, files: &[(&str, &str)]) -> Result<()> {
        let folder = self.output()?;
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
            println!("Written: {}", path.display());
        }
        Ok(())
    }
}
