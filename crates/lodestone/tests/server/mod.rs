//! A running server, for tests that need an address.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// On a free port, in memory; ended with its test.
pub struct Server {
    process: Child,
    pub url: String,
}

impl Server {
    pub fn start(arguments: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        command.args(["serve", "--in-memory", "--port", "0"]).args(arguments).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the server starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is ours");
        BufReader::new(output).read_line(&mut line).expect("it says that it is ready");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("its address");
        Server { process, url: url.to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
