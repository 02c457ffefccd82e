//! A running server, for tests that need an address.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::SystemTime;

/// On a free port; ended with its test. What it says stays in a file, whose end is shown if the test fails.
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

    pub fn on_postgres(url: &str) -> Server {
        Server::run(&["--postgres", url])
    }

    pub fn run(arguments: &[&str]) -> Server {
        Server::run_with(arguments, &[])
    }

    /// With these variables in its environment.
    pub fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        command.args(["serve", "--port", "0"]).args(arguments);
        command.stdout(Stdio::piped()).stderr(new_log());
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

    /// Waits until the process has ended by itself.
    pub fn wait(mut self) {
        self.process.wait().expect("the process ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The lines of a log that are shown.
const LINES_SHOWN: usize = 30;

thread_local! {
    /// What the servers of this test say, also those that have ended.
    static LOGS: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// A file for what a server of this test says, named after the test: in `$LODESTONE_EVIDENCE`, or among cargo's
/// temporary files. The next run replaces it.
fn new_log() -> File {
    static SHOW_LOGS: Once = Once::new();
    SHOW_LOGS.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            show_logs();
        }));
    });
    let folder = std::env::var_os("LODESTONE_EVIDENCE")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("servers"), PathBuf::from);
    fs::create_dir_all(&folder).expect("a folder for logs");
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("server").replace("::", "-");
    let path = LOGS.with_borrow_mut(|logs| {
        let path = folder.join(format!("{test}-{}.log", logs.len() + 1));
        logs.push(path.clone());
        path
    });
    File::create(path).expect("a new log")
}

/// Shows how the logs of this test end.
#[expect(clippy::print_stderr, reason = "libtest shows it below the failed test")]
fn show_logs() {
    for path in LOGS.with_borrow(Clone::clone) {
        let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.unwrap_or_else(|error| error.to_string());
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n");
        eprintln!("the last lines of {}:\n{shown}", path.display());
    }
}

/// One request on a connection of its own: the status and the whole answer.
pub fn post(url: &str, line: &str, headers: &str, body: &str) -> (u16, String) {
    try_post(url, line, headers, body).expect("it is answered")
}

/// The operator's token of a server that is started with this variable.
pub const OPERATOR: (&str, &str) = ("LODESTONE_OPERATOR_TOKEN", "a-token-of-this-test");

/// The same, signed with the operator's token.
pub fn operator_post(url: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    signed_post(url, path, headers, body, "lodestone-operator", OPERATOR.1)
}

/// The same, signed with a key.
#[expect(clippy::disallowed_methods, reason = "a signature contains the time")]
pub fn signed_post(
    url: &str,
    path: &str,
    headers: &str,
    body: &str,
    key: &str,
    secret: &str,
) -> (u16, String) {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(['-', ':'], "");
    let signed = [("host", "localhost".to_owned()), ("x-amz-date", now.clone())];
    let (access_key_id, secret_access_key) = (key.to_owned(), secret.to_owned());
    let credentials = client::Credentials { access_key_id, secret_access_key, session_token: None };
    let scope = ("us-east-1", "lodestone");
    let authorization = client::authorization(&credentials, scope, path, &signed, body.as_bytes());
    post(url, path, &format!("{headers}X-Amz-Date: {now}\r\nAuthorization: {authorization}\r\n"), body)
}

fn try_post(url: &str, line: &str, headers: &str, body: &str) -> io::Result<(u16, String)> {
    let address = url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    let request = format!(
        "POST {line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.get(9..12).and_then(|status| status.parse().ok());
    status.map(|status| (status, answer)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The answer to a request that must succeed.
pub fn call(url: &str, operation: &str, body: &str) -> String {
    let (status, answer) = try_call(url, operation, body).expect("it is answered");
    assert_eq!(status, 200, "{operation}: {answer}");
    answer
}

/// The status and the whole answer, if the server answers.
pub fn try_call(url: &str, operation: &str, body: &str) -> io::Result<(u16, String)> {
    let headers = format!(
        "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
         X-Amz-Date: 20261115T190203Z\r\nAuthorization: AWS4-HMAC-SHA256 \
         Credential=x/20261115/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n"
    );
    try_post(url, "/", &headers, body)
}
