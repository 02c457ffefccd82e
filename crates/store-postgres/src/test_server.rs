//! A throwaway PostgreSQL for tests, in a temporary folder and on a free loopback port.
//!
//! A keeper, a few lines of shell, sets up and runs the server and watches its own input. The other
//! end of that input is held by [`TestServer`]: when that is dropped, or when the test process ends in
//! whatever way, the keeper stops the server and removes the folder.
//!
//! Tests of one process share one server ([`TestServer::shared`]) and take a fresh database each.
//! Nothing is synced to disk: these servers are for behaviour, not for crashes.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::NoTls;

/// Where Debian puts the programs of PostgreSQL 15, the version that the tests are for.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const INSTALL: &str = "apt-get install --yes postgresql-15";

/// Below the range from which the kernel hands out ports, so that no outgoing connection takes ours.
const PORTS: Range<u16> = 20000..32768;
/// A port can be taken between looking and starting; so many times in a row it is something else.
const STARTS_MAX: u32 = 3;
/// A start takes two seconds; on a busy machine several.
const START_DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// Its arguments: where the programs are, the folder, the port. A shell without a terminal has its
/// background work ignore SIGQUIT, and PostgreSQL heeds it only once it is up; hence TERM before it.
const KEEPER: &str = r#"
exec 3<&0
"$1/initdb" -D "$2/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$2/output" 2>&1 && {
    "$1/postgres" -D "$2/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
        -c max_connections=300 -c shared_buffers=64MB -c fsync=off -c full_page_writes=off \
        </dev/null >>"$2/output" 2>&1 3<&- &
    server=$!
    { cat >/dev/null; kill -TERM $server; kill -QUIT $server; } <&3 2>/dev/null &
    wait $server
}
: >"$2/ended"
cat >/dev/null
rm -rf "$2"
"#;

/// A running PostgreSQL that ends with this value, or with the process.
pub struct TestServer {
    /// Of the maintenance database; a store takes one of its own from [`TestServer::create_database`].
    pub url: String,
    port: u16,
    folder: PathBuf,
    keeper: Child,
}

impl TestServer {
    /// The server of this test process, started by the first test that asks.
    pub fn shared() -> &'static TestServer {
        static SHARED: OnceLock<TestServer> = OnceLock::new();
        SHARED.get_or_init(TestServer::start)
    }

    /// A server of its own, for tests that treat it badly.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start; the message says what to do or what it said.
    pub fn start() -> TestServer {
        assert!(
            Path::new(PROGRAMS).join("initdb").exists(),
            "these tests need PostgreSQL 15 in {PROGRAMS}; `{INSTALL}` installs it, and `cargo xtask test` does so itself"
        );
        let mut attempt = 1;
        loop {
            let server = TestServer::spawn(free_port());
            match server.wait_until_ready() {
                Ok(()) => return server,
                Err(_) if attempt < STARTS_MAX => attempt += 1,
                Err(output) => panic!("PostgreSQL did not start:\n{output}"),
            }
        }
    }

    /// The URL of a new, empty database.
    pub async fn create_database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.expect("a connection");
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a new database");
        drop(client);
        connection.await.expect("the connection ends").expect("and in good order");
        url(self.port, &name)
    }

    fn spawn(port: u16) -> TestServer {
        let (folder, user) = create_folder();
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper", PROGRAMS]).arg(&folder).arg(port.to_string());
        keeper.current_dir(&folder).stdin(Stdio::piped());
        // Out of reach of the terminal's Ctrl-C, which would end the keeper before its work is done.
        keeper.process_group(0);
        if let Some((user, group)) = user {
            keeper.uid(user).gid(group);
        }
        TestServer { url: url(port, "postgres"), port, folder, keeper: keeper.spawn().expect("sh starts") }
    }

    /// PostgreSQL notes its state in the eighth line of its process file. An error is what it said.
    fn wait_until_ready(&self) -> Result<(), String> {
        let deadline = Instant::now() + START_DEADLINE;
        while Instant::now() < deadline && !self.folder.join("ended").exists() {
            let state = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
            if state.lines().nth(7).map(str::trim) == Some("ready") {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        Err(fs::read_to_string(self.folder.join("output")).unwrap_or_else(|error| error.to_string()))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // Nothing is left to be done about a keeper that cannot be waited for.
        let _ = self.keeper.wait();
    }
}

fn url(port: u16, database: &str) -> String {
    format!("postgresql://postgres@127.0.0.1:{port}/{database}")
}

/// An empty folder and whom its server shall run as: PostgreSQL refuses root, so tests that run as
/// root have it run as the user that came with the package.
fn create_folder() -> (PathBuf, Option<(u32, u32)>) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("lodestone-postgres-{}-{count}", std::process::id()));
    fs::create_dir(&path).expect("a new temporary folder");
    let we_are_root = fs::metadata(&path).expect("the folder just made").uid() == 0;
    let user = we_are_root.then(postgres_user);
    if let Some((user, group)) = user {
        chown(&path, Some(user), Some(group)).expect("the folder handed to the postgres user");
    }
    (path, user)
}

fn postgres_user() -> (u32, u32) {
    let accounts = fs::read_to_string("/etc/passwd").expect("the list of users");
    let account = accounts.lines().find_map(|line| line.strip_prefix("postgres:"));
    let mut fields = account.expect("the package makes a postgres user").split(':').skip(1);
    let mut number = || fields.next().and_then(|field| field.parse().ok()).expect("a user has two numbers");
    (number(), number())
}

/// Begins at a place of its own for each process, so that test processes seldom try the same ports.
fn free_port() -> u16 {
    let start = std::process::id() as usize * 31;
    let mut ports = PORTS.cycle().skip(start % PORTS.len()).take(PORTS.len());
    ports.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).expect("a free port")
}
