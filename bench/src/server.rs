//! A server process under measurement: started on a port of its own choice, ready when it has printed a
//! line with its endpoint, and killed when dropped.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Far beyond any healthy start, recovery after a crash included.
const READY_WITHIN: Duration = Duration::from_secs(30);

pub struct Server {
    process: Child,
    id: u32,
    pub address: SocketAddr,
}

impl Server {
    /// Starts `program` and waits for its ready line. Its log goes to `log`.
    pub async fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        log: Stdio,
    ) -> Result<Server> {
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let id = process.id().context("the server ended at once")?;
        let mut lines = BufReader::new(process.stdout.take().context("no standard output")?).lines();
        let address = tokio::time::timeout(READY_WITHIN, ready(&mut lines))
            .await
            .context("the server did not become ready in time")??;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Server { process, id, address })
    }

    /// Ends the process as a power cut would: SIGKILL, no farewell.
    pub async fn kill(mut self) -> Result<()> {
        self.process.kill().await.context("killing the server")
    }

    /// Processor time of all its threads so far, in user and kernel space.
    pub fn cpu_time(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id))?;
        cpu_time(&stat).context("reading the processor time of the server")
    }

    /// Memory it holds at the moment.
    pub fn resident_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id))?;
        resident_bytes(&status).context("reading the memory of the server")
    }
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
    let (_, after) = line.split_once("http://")?;
    let end = after.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(after.len());
    after[..end].parse().ok()
}

/// Fields 14 and 15 of `/proc/<pid>/stat`, in clock ticks of 10 ms. The second field, the program's name
/// in parentheses, may hold spaces: count from its end.
fn cpu_time(stat: &str) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut fields = after_name.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 10))
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
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
        check("at http://127.0.0.1:41234/, try: aws dynamodb …", Some("127.0.0.1:41234"));
        check("opening the data folder", None);
        check("http://", None);
    }

    #[test]
    fn processor_time_is_read_past_a_name_with_spaces() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 90 0 0 0 150 25 0 0 20 0 3 0 100 0 0";
        assert_eq!(cpu_time(stat), Some(Duration::from_millis(1750)));
        assert_eq!(cpu_time("7 (a"), None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2 * 1024 * 1024));
        assert_eq!(resident_bytes("Name:\tx\n"), None);
    }
}
