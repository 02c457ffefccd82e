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
/// Another process can take a port between looking and starting. After this many times in a row, something
/// else is wrong.
const STARTS_MAX: u32 = 3;
/// A start takes two seconds; on a busy machine several.
const START_DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// Its arguments: where the programs are, the folder, the port, and further settings. A shell without a
/// terminal has its background work ignore SIGQUIT, and PostgreSQL handles it only once it is up. So TERM is
/// sent before it. While the file `again` exists, a server that ends is started again.
const KEEPER: &str = r#"
exec 3<&0
programs=$1 folder=$2 port=$3
shift 3
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=test" \
        -keyout "$folder/authority.key" -out "$folder/authority.pem" &&
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
        -keyout "$folder/server.key" -out "$folder/server.csr" &&
    echo subjectAltName=DNS:localhost >"$folder/names" &&
    openssl x509 -req -in "$folder/server.csr" -CA "$folder/authority.pem" -CAkey "$folder/authority.key" \
        -CAcreateserial -days 2 -extfile "$folder/names" -out "$folder/server.pem" &&
    openssl x509 -req -in "$folder/server.csr" -CA "$folder/authority.pem" -CAkey "$folder/authority.key" \
        -CAcreateserial -days 2 -out "$folder/old.pem" &&
    chmod 600 "$folder/server.key"
}
{
    "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync
    case "$*" in *ssl=on*) authority ;; esac
} >"$folder/output" 2>&1
{
    cat >/dev/null
    rm -f "$folder/again"
    server=$(head -n 1 "$folder/data/postmaster.pid")
    kill -TERM "$server"
    kill -QUIT "$server"
} <&3 2>/dev/null &
while :; do
    "$programs/postgres" -D "$folder/data" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
        -c max_connections=300 -c shared_buffers=64MB -c fsync=off -c full_page_writes=off "$@" \
        </dev/null >>"$folder/output" 2>&1 3<&-
    [ -e "$folder/again" ] || break
    sleep 0.1
done
: >"$folder/ended"
cat >/dev/null
rm -rf "$folder"
"#;

/// Names a database of the tests' own, on any cluster, on which [`TestServer::shared`] makes a schema for each test.
const URL_VARIABLE: &str = "LODESTONE_POSTGRES_URL";

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

    /// The URL of a new, empty database for one test: on the shared server, or on the one that
    /// `LODESTONE_POSTGRES_URL` names.
    pub async fn fresh_database() -> String {
        match std::env::var(URL_VARIABLE) {
            Ok(url) => create_schema(&url).await,
            Err(_) => TestServer::shared().create_database().await,
        }
    }

    /// A server of its own, for tests that treat it badly.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start; the message says what to do or what it said.
    pub fn start() -> TestServer {
        TestServer::start_with(&[])
    }

    /// The same with TLS. Its certificate is for `localhost`; [`TestServer::authority`] signed it.
    pub fn start_with_tls() -> TestServer {
        TestServer::start_with(&["ssl=on", "ssl_cert_file=../server.pem", "ssl_key_file=../server.key"])
    }

    /// With TLS, and a certificate of version 1, as openssl makes it without extensions.
    pub fn start_with_old_certificate() -> TestServer {
        TestServer::start_with(&["ssl=on", "ssl_cert_file=../old.pem", "ssl_key_file=../server.key"])
    }

    /// The file of the root certificate.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// Ends the server's main process with SIGKILL. The others notice and end too.
    pub fn kill(&self) {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).expect("a running server");
        let process = file.lines().next().expect("its number").to_owned();
        let killed = Command::new("kill").args(["-KILL", &process]).status().expect("kill starts");
        assert!(killed.success(), "the server could be killed");
    }

    /// From now on, a server that ends is started again.
    pub fn restart_when_it_ends(&self) {
        fs::write(self.folder.join("again"), "").expect("a new file");
    }

    fn start_with(settings: &[&str]) -> TestServer {
        assert!(
            Path::new(PROGRAMS).join("initdb").exists(),
            "these tests need PostgreSQL 15 in {PROGRAMS}; `{INSTALL}` installs it, and `cargo xtask test` does so itself"
        );
        let mut attempt = 1;
        loop {
            let server = TestServer::spawn(free_port(), settings);
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

    fn spawn(port: u16, settings: &[&str]) -> TestServer {
        let (folder, user) = create_folder();
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper", PROGRAMS]).arg(&folder).arg(port.to_string());
        keeper.args(settings.iter().flat_map(|setting| ["-c", setting]));
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

/// A schema of its own is as good as a database, and any engine can make one on all its nodes.
async fn create_schema(url: &str) -> String {
    let name = format!("test_{:016x}", getrandom::u64().expect("a random number"));
    let store = crate::address::Address::parse(url).expect("the URL in LODESTONE_POSTGRES_URL");
    let (client, connection) = store.connect(&store.config).await.expect("a connection");
    tokio::spawn(connection);
    client.batch_execute(&format!("CREATE SCHEMA {name}")).await.expect("a new schema");
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}options=-csearch_path%3D{name}")
}

fn url(port: u16, database: &str) -> String {
    format!("postgresql://postgres@127.0.0.1:{port}/{database}")
}

/// An empty folder, and the user and group of its server: PostgreSQL refuses to run as root, so tests that run
/// as root start it as the user that came with the package.
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
