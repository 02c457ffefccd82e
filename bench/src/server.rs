//! A server process under measurement: started on loopback, ready when it says so or answers, and killed
//! when dropped.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

use crate::{process, progress};

/// Far longer than any healthy start, recovery after a crash included, also on a machine that is ten times slower.
pub const READY_WITHIN: Duration = Duration::from_secs(300);
/// How long a server without requests may stay busy before it is measured anyway.
const AT_REST_WITHIN: Duration = Duration::from_secs(300);

pub struct Server {
    process: Child,
    id: u32,
    pub address: SocketAddr,
    /// Deleted when the server ends.
    _folder: Option<TempDir>,
}

impl Server {
    /// Starts `program` and waits for its ready line. Its log goes to `log`.
    pub async fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        log: Stdio,
    ) -> Result<Server> {
        let mut process = spawn(program, arguments, Stdio::piped(), log)?;
        let id = process.id().context("the server ended at once")?;
        let mut lines = BufReader::new(process.stdout.take().context("no standard output")?).lines();
        let address = tokio::time::timeout(READY_WITHIN, ready(&mut lines))
            .await
            .context("the server did not become ready in time")??;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Server { process, id, address, _folder: None })
    }

    /// Starts `program`, which was given a port of loopback to listen on, and waits until it does.
    pub async fn start_on<A: AsRef<OsStr>>(
        port: u16,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Server> {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        Server::run_on(port, command).await
    }

    /// Like [`Server::start_on`], for a command that says more than its arguments.
    pub async fn run_on(port: u16, command: Command) -> Result<Server> {
        let process = spawned(command)?;
        let id = process.id().context("the server ended at once")?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = Server { process, id, address, _folder: None };
        let deadline = Instant::now() + READY_WITHIN;
        while TcpStream::connect(server.address).await.is_err() {
            if let Some(status) = server.process.try_wait()? {
                bail!("the server ended before it was ready: {status}");
            }
            ensure!(Instant::now() < deadline, "the server did not become ready in time");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// A folder that the server needs, to be deleted with it.
    pub fn keeping(mut self, folder: Option<TempDir>) -> Server {
        self._folder = folder;
        self
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Asks the process to stop and waits until it has.
    pub async fn stop(mut self) -> Result<()> {
        self.signal(Signal::SIGTERM)?;
        self.process.wait().await.context("waiting for the server to end")?;
        Ok(())
    }

    /// Stops its threads, whatever they do, until [`Server::resume`].
    pub fn pause(&self) -> Result<()> {
        self.signal_all(Signal::SIGSTOP)
    }

    pub fn resume(&self) -> Result<()> {
        self.signal_all(Signal::SIGCONT)
    }

    /// Waits until background work is done: until the server takes hardly any CPU time for a second.
    pub async fn come_to_rest(&self) -> Result<()> {
        let spinner = progress::spinner("waiting for the server to come to rest");
        let deadline = Instant::now() + AT_REST_WITHIN;
        loop {
            let before = self.cpu_time()?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            if self.cpu_time()? - before < Duration::from_millis(30) || Instant::now() > deadline {
                spinner.finish_and_clear();
                return Ok(());
            }
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        kill(self.pid(), signal).with_context(|| format!("sending {signal} to the server"))
    }

    /// Signals the process, and then those that it has started.
    fn signal_all(&self, signal: Signal) -> Result<()> {
        self.signal(signal)?;
        for child in process::children_of(self.pid().as_raw())? {
            // One that has ended in the meantime needs no signal.
            let _ = kill(Pid::from_raw(child), signal);
        }
        Ok(())
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.id.cast_signed())
    }

    /// Ends the process as a power cut would: SIGKILL, without a shutdown.
    pub async fn kill(mut self) -> Result<()> {
        self.process.kill().await.context("killing the server")
    }

    /// Processor time of all its threads so far, and of all processes that it has started, those that ended included, in
    /// user and kernel space.
    pub fn cpu_time(&self) -> Result<Duration> {
        let main = self.pid();
        let time = cpu_time_of(main).context("reading the processor time of the server")?;
        let of_ended = process::time_of_ended_children_of(main.as_raw())?;
        // One that ends in between is missed.
        let of_living = process::children_of(main.as_raw())?.into_iter().map(Pid::from_raw).map(cpu_time_of);
        Ok(time + of_ended + of_living.filter_map(Result::ok).sum::<Duration>())
    }

    /// The memory that its main process holds now.
    pub fn resident_bytes(&self) -> Result<u64> {
        self.memory_bytes("VmRSS:")
    }

    /// The most memory it has held since it was started.
    pub fn resident_bytes_max(&self) -> Result<u64> {
        self.memory_bytes("VmHWM:")
    }

    fn memory_bytes(&self, field: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id))?;
        memory_bytes(&status, field).context("reading the memory of the server")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that is stopped does not notice that the one that started it has ended.
        if let Some(running) = self.process.id() {
            process::kill_with_children(running);
        }
    }
}

/// Of one process, to the nanosecond.
fn cpu_time_of(process: Pid) -> nix::Result<Duration> {
    Ok(clock_getcpuclockid(process)?.now()?.into())
}

fn spawn<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
    output: Stdio,
    log: Stdio,
) -> Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdout(output).stderr(log);
    spawned(command)
}

fn spawned(mut command: Command) -> Result<Child> {
    let spawned = command.stdin(Stdio::null()).kill_on_drop(true).spawn();
    spawned.with_context(|| format!("starting {:?}", command.as_std().get_program()))
}

async fn ready(lines: &mut Lines<BufReader<ChildStdout>>) -> Result<SocketAddr> {
    while let Some(line) = lines.next_line().await? {
        if let Some(address) = endpoint(&line) {
            return Ok(address);
        }
    }
    bail!("the server ended before it was ready")
}

/// The address in a line such as `… http://127.0.0.1:8000 …`.
fn endpoint(line: &str) -> Option<SocketAddr> {
    let (_, after) = line.split_once("http://").or_else(|| line.split_once("https://"))?;
    let end = after.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(after.len());
    after[..end].parse().ok()
}

fn memory_bytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_found_in_the_ready_line() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(endpoint(line), expected.map(|text| text.parse().unwrap()), "{line}");
        };
        check("ready at http://127.0.0.1:8000", Some("127.0.0.1:8000"));
        check("ready at https://127.0.0.1:8000 (in memory)", Some("127.0.0.1:8000"));
        check("at http://127.0.0.1:41234/, try: aws dynamodb …", Some("127.0.0.1:41234"));
        check("opening the data folder", None);
        check("http://", None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        assert_eq!(memory_bytes("Name:\tx\nVmRSS:\t    2048 kB\n", "VmRSS:"), Some(2 * 1024 * 1024));
        assert_eq!(memory_bytes("Name:\tx\n", "VmRSS:"), None);
    }
}
