//! `cargo xtask stand-in … serve …`: several servers on one PostgreSQL database that look like one `lodestone`.
//!
//! The clients' suites start `lodestone serve --in-memory` or `--data DIR`. Here each such place is a database of its
//! own, with servers in front that get the requests by turns, so the suites run on a cluster as they are. Other commands
//! are those of the real program.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout};
use tokio::signal::unix::{SignalKind, signal};

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 64 << 10;
/// How connections begin whose requests can't be told apart from outside: TLS, and HTTP/2.
const OPAQUE: [&[u8]; 2] = [&[0x16], b"PRI "];
/// The answer that asks for the rest of the request.
const CONTINUE: &[u8] = b"HTTP/1.1 100";

#[derive(clap::Args)]
pub struct StandInOptions {
    /// The program that it stands in for
    #[arg(long, value_name = "BINARY")]
    lodestone: PathBuf,
    /// A PostgreSQL server, by the URL of a database on which others can be made
    #[arg(long, value_name = "URL")]
    postgres: String,
    /// How many servers share each database
    #[arg(long)]
    servers: usize,
    /// The arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// A program that runs `lodestone` with these options, for tests that are given one.
pub fn write_script(script: &Path, lodestone: &Path, postgres: &str, servers: usize) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let own = std::env::current_exe()?;
    let (own, lodestone) = (own.display(), lodestone.display());
    let text = format!(
        "#!/bin/sh\nexec '{own}' stand-in --lodestone '{lodestone}' --postgres '{postgres}' --servers {servers} -- \"$@\"\n"
    );
    std::fs::write(script, text)?;
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

pub fn run(options: &StandInOptions) -> Result<()> {
    if options.arguments.first().is_none_or(|command| command != "serve") {
        return Err(Command::new(&options.lodestone).args(&options.arguments).exec().into());
    }
    // The servers end with the thread that started them, however it ends. So that is the main one.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(options))
}

/// What `serve` was asked for.
struct Request {
    /// None if the data is to be in memory.
    folder: Option<PathBuf>,
    port: u16,
    /// Everything else.
    rest: Vec<String>,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Request> {
        let mut request = Request { folder: None, port: 0, rest: Vec::new() };
        let mut arguments = arguments.iter().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} has no value"));
            match argument.as_str() {
                "--in-memory" => {}
                "--data" => request.folder = Some(PathBuf::from(value()?)),
                "--port" => request.port = value()?.parse()?,
                other => request.rest.push(other.to_owned()),
            }
        }
        Ok(request)
    }

    /// One name for each folder, and a new one for each memory.
    fn database(&self) -> String {
        let Some(folder) = &self.folder else { return format!("memory_{:016x}", fastrand::u64(..)) };
        let mut hasher = DefaultHasher::new();
        folder.hash(&mut hasher);
        format!("folder_{:016x}", hasher.finish())
    }
}

async fn serve(options: &StandInOptions) -> Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let request = Request::parse(&options.arguments)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, request.port)).await?;
    let url = make_database(&options.postgres, &request.database())?;
    let scratch = tempfile::tempdir()?;
    let backups = request.folder.as_deref().unwrap_or(scratch.path()).join("backups");
    let mut servers = Vec::new();
    for _ in 0..options.servers {
        servers.push(Server::start(options, &request, &url, &backups).await?);
    }
    let addresses: Arc<[SocketAddr]> = servers.iter().map(|server| server.address).collect();
    let (own, first) = (listener.local_addr()?.to_string(), servers[0].address.to_string());
    println!("{}", servers[0].ready_line.replace(&first, &own));
    tokio::spawn(async move { listen(listener, addresses).await });
    pass_on_output(&mut servers);
    terminated.recv().await;
    servers.iter().try_for_each(Server::ask_to_stop)?;
    for server in &mut servers {
        let status = server.process.wait().await?;
        ensure!(status.success(), "the server ended with {status}");
    }
    Ok(())
}

/// What servers print is read to its end, and that of the first is shown.
fn pass_on_output(servers: &mut [Server]) {
    for (number, server) in servers.iter_mut().enumerate() {
        let Some(mut output) = server.output.take() else { continue };
        tokio::spawn(async move {
            while let Ok(Some(line)) = output.next_line().await {
                if number == 0 {
                    // The reader of our output may have ended.
                    let _ = writeln!(io::stdout(), "{line}");
                }
            }
        });
    }
}

/// Makes a database, unless it is there; its URL.
fn make_database(postgres: &str, name: &str) -> Result<String> {
    let (server, _) = postgres.rsplit_once('/').context("the URL names a database")?;
    let made = Command::new("psql")
        .args(["--quiet", "--no-psqlrc", "--command", &format!("CREATE DATABASE {name}"), postgres])
        .output()?;
    let said = String::from_utf8_lossy(&made.stderr);
    let is_there = made.status.success() || (name.starts_with("folder") && said.contains("already exists"));
    ensure!(is_there, "CREATE DATABASE: {said}");
    Ok(format!("{server}/{name}"))
}

struct Server {
    process: Child,
    address: SocketAddr,
    ready_line: String,
    /// What it prints after that line.
    output: Option<Lines<BufReader<ChildStdout>>>,
}

impl Server {
    async fn start(options: &StandInOptions, request: &Request, url: &str, backups: &Path) -> Result<Server> {
        // The tests may kill this process. `setpriv` is a part of every Debian.
        let mut command = tokio::process::Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(&options.lodestone);
        command.args(["serve", "--port", "0", "--postgres", url]).args(&request.rest);
        if !request.rest.iter().any(|argument| argument == "--backups") {
            command.arg("--backups").arg(backups);
        }
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let output = process.stdout.take().context("no standard output")?;
        let mut output = BufReader::new(output).lines();
        let Some(ready_line) = output.next_line().await? else {
            bail!("the server did not start: {}", process.wait().await?)
        };
        let address = ready_line.split("://").nth(1).and_then(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':'));
            rest[..end.unwrap_or(rest.len())].parse().ok()
        });
        let address = address.with_context(|| format!("no address in {ready_line:?}"))?;
        Ok(Server { process, address, ready_line, output: Some(output) })
    }

    fn ask_to_stop(&self) -> Result<()> {
        let id = self.process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(kill_process(id.context("the server ended by itself")?, Signal::TERM)?)
    }
}

/// Passes requests on, each to the next server.
async fn listen(listener: TcpListener, servers: Arc<[SocketAddr]>) -> io::Result<()> {
    let turn = Arc::new(AtomicUsize::new(0));
    loop {
        let (client, _) = listener.accept().await?;
        let (servers, turn) = (servers.clone(), turn.clone());
        // A connection that breaks is seen by the client.
        tokio::spawn(async move { pass_on(client, &servers, &turn).await });
    }
}

/// Passes on the requests of one connection. A client sends its next request when it has the answer to the last: so what
/// it sends after an answer is a new request, and nothing has to be parsed.
async fn pass_on(mut client: TcpStream, servers: &[SocketAddr], turn: &AtomicUsize) -> io::Result<()> {
    let (mut sent, mut answered) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    let connect = async || {
        let server = servers[turn.fetch_add(1, Ordering::Relaxed) % servers.len()];
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true).map(|()| stream)
    };
    client.set_nodelay(true)?;
    let mut length = client.read(&mut sent).await?;
    let is_opaque = OPAQUE.iter().any(|start| sent[..length].starts_with(start));
    let mut server = connect().await?;
    server.write_all(&sent[..length]).await?;
    let mut is_answered = false;
    while length > 0 {
        tokio::select! {
            read = client.read(&mut sent) => {
                length = read?;
                if length > 0 && is_answered && !is_opaque {
                    server = connect().await?;
                    is_answered = false;
                }
                server.write_all(&sent[..length]).await?;
            }
            read = server.read(&mut answered) => match read? {
                0 => return client.shutdown().await,
                length => {
                    client.write_all(&answered[..length]).await?;
                    is_answered = !answered[..length].starts_with(CONTINUE);
                }
            },
        }
    }
    // The client has sent everything, and may wait for the answer still.
    server.shutdown().await?;
    tokio::io::copy(&mut server, &mut client).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers every request with its number.
    async fn numbered(number: u8) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut request = [0; 4];
                    while stream.read_exact(&mut request).await.is_ok() {
                        stream.write_all(&[number]).await.unwrap();
                    }
                });
            }
        });
        address
    }

    #[tokio::test]
    async fn each_request_of_a_connection_goes_to_the_next_server() {
        let servers = Arc::from([numbered(1).await, numbered(2).await]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(listen(listener, servers));
        let mut client = TcpStream::connect(address).await.unwrap();
        let mut answers = Vec::new();
        for _ in 0..4 {
            client.write_all(b"asks").await.unwrap();
            answers.push(client.read_u8().await.unwrap());
        }
        assert_eq!(answers, [1, 2, 1, 2]);
    }

    #[test]
    fn a_folder_has_one_database_and_memory_a_new_one_each_time() {
        let parse = |text: &str| {
            let arguments: Vec<String> = text.split(' ').map(str::to_owned).collect();
            Request::parse(&arguments).unwrap()
        };
        let folder = parse("serve --host 127.0.0.1 --port 8000 --data /srv/db --dax 0");
        assert_eq!((folder.port, folder.rest.join(" ").as_str()), (8000, "--host 127.0.0.1 --dax 0"));
        assert_eq!(folder.database(), parse("serve --data /srv/db").database());
        assert_ne!(parse("serve --in-memory").database(), parse("serve --in-memory").database());
    }
}
