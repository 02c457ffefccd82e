//! `lodestone completions` and `lodestone man`: what a shell and a reader of manuals need to know of all commands.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};

use crate::command_line::Arguments;
use crate::output;

/// Print the completions of all commands for a shell.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone completions bash > /etc/bash_completion.d/lodestone
  lodestone completions zsh  > ~/.zfunc/_lodestone
  lodestone completions fish > ~/.config/fish/completions/lodestone.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Write the manual pages of all commands.
#[derive(Args)]
pub struct Man {
    /// The folder for lodestone.1, lodestone-serve.1 and so on; made if it isn't there
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

impl Completions {
    pub fn run(self) -> Result<(), String> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "lodestone", &mut text);
        output::print(&String::from_utf8_lossy(&text));
        Ok(())
    }
}

impl Man {
    pub fn run(self) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("can't write manuals to {}: {error}", self.to.display());
        fs::create_dir_all(&self.to).map_err(failed)?;
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        write_pages(&command, &self.to).map_err(failed)
    }
}

/// One page for a command, and one for each command below it.
fn write_pages(command: &Command, folder: &Path) -> std::io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    fs::write(folder.join(page.get_filename()), text)?;
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| write_pages(below, folder))
}
