//! The binary under test, as the Rust SDK meets it: in memory, on a port of its own choice, ended with the test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region};

pub struct Lodestone {
    process: Child,
    endpoint: String,
}

impl Lodestone {
    pub fn start(options: &[&str]) -> Lodestone {
        let mut process = Command::new(binary())
            .args(["serve", "--in-memory", "--host", "127.0.0.1", "--port", "0"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stdout = process.stdout.take().expect("standard output is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a ready line");
        let endpoint = line.split_whitespace().find(|word| word.starts_with("http://"));
        let endpoint = endpoint.expect("the ready line has the address").to_owned();
        Lodestone { process, endpoint }
    }

    /// The tables of a model, with its example data.
    pub fn apply(&self, model: &str) {
        let place = ["--endpoint-url", &self.endpoint, "--region", "us-east-1"];
        lodestone(&[["model", "apply", model, "--samples"], place].concat());
    }

    /// How a client reaches the server. It tries once, so that a failure is seen and not repeated.
    pub fn config(&self, key: &Key) -> Builder {
        aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&self.endpoint)
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new(&key.id, &key.secret, None, None, "acceptance"))
            .retry_config(RetryConfig::disabled())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
    }
}

impl Drop for Lodestone {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Clone)]
pub struct Key {
    pub id: String,
    pub secret: String,
}

/// Adds a user to an access file, which need not exist; the new key.
pub fn add_user(file: &Path, user: &str, options: &[&str]) -> Key {
    let mut add = Command::new(binary());
    add.args(["access", "--file"]).arg(file).args(["add", user]).args(options);
    let added = add.output().expect("the binary starts");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let text = String::from_utf8(added.stdout).expect("the key is text");
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("export ")?.strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix('=')).expect("the key is shown").to_owned()
    };
    Key { id: value("AWS_ACCESS_KEY_ID"), secret: value("AWS_SECRET_ACCESS_KEY") }
}

/// What a command prints.
pub fn lodestone(arguments: &[&str]) -> String {
    let done = Command::new(binary()).args(arguments).output().expect("the binary starts");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("it prints text")
}

fn binary() -> PathBuf {
    std::env::var_os("LODESTONE").expect("LODESTONE names the binary").into()
}
