//! A running server, for tests that need an address.

// Each test that includes this uses a part of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// On a free port; ended with its test.
pub struct Server {
    process: Child,
    pub url: String,
}

impl Server {
    /// With its data in memory.
    pub fn start(arguments: &[&str]) -> Server {
        Server::run(&[&["--in-memory"], arguments].concat())
    }

    pub fn on_folder(folder: &Path) -> Server {
        Server::run(&["--data", folder.to_str().expect("a path of text")])
    }

    pub fn run(arguments: &[&str]) -> Server {
        Server::run_with(arguments, &[])
    }

    /// With these variables in its environment.
    pub fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        command.args(["serve", "--port", "0"]).args(arguments).stdout(Stdio::piped());
        command.envs(variables.iter().copied());
        let mut process = command.spawn().expect("the server starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is ours");
        BufReader::new(output).read_line(&mut line).expect("it says that it is ready");
        let url = line.split_whitespace().find(|word| word.starts_with("http")).expect("its address");
        Server { process, url: url.to_owned() }
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
