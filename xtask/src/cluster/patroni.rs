//! Three PostgreSQL servers under Patroni, with etcd to elect the leader, on free loopback ports.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ::bench::process;
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::wait::WAIT;

/// Where Debian puts the programs of PostgreSQL.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const NODES: usize = 3;
const POLL: Duration = Duration::from_millis(200);

/// The cluster ends with this value.
pub struct Cluster {
    folder: PathBuf,
    /// The user and group of PostgreSQL if we are root: it refuses to run as root.
    user: Option<(u32, u32)>,
    _etcd: Child,
    nodes: Vec<Node>,
}

struct Node {
    /// None while it is dead.
    patroni: Option<Child>,
    postgres_port: u16,
    patroni_port: u16,
}

impl Cluster {
    pub async fn start(folder: &Path) -> Result<Cluster> {
        let user = postgres_user(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        let [client, peer] = [free_port()?, free_port()?];
        let etcd_folder = folder.join("etcd");
        make_folder(&etcd_folder, user)?;
        let mut etcd = Command::new("etcd");
        etcd.arg("--data-dir").arg(etcd_folder.join("data")).args([
            // Patroni's package for Debian speaks the older protocol.
            "--enable-v2=true".to_owned(),
            format!("--listen-client-urls=http://127.0.0.1:{client}"),
            format!("--advertise-client-urls=http://127.0.0.1:{client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
        ]);
        let etcd = spawn(etcd, &folder.join("etcd.log"), user)?;
        let mut nodes = Vec::new();
        for number in 0..NODES {
            let node = Node { patroni: None, postgres_port: free_port()?, patroni_port: free_port()? };
            make_folder(&node_folder(folder, number), user)?;
            fs::write(configuration_file(folder, number), node.configuration(folder, number, client))?;
            nodes.push(node);
        }
        let mut cluster = Cluster { folder: folder.to_owned(), user, _etcd: etcd, nodes };
        for number in 0..NODES {
            cluster.start_node(number)?;
        }
        cluster.until_it_has_a_synchronous_standby().await?;
        Ok(cluster)
    }

    /// The address for a server: it names all nodes, and the server uses the one that can be written to.
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.postgres_port)).collect();
        format!("postgres://postgres@{}/postgres?target_session_attrs=read-write", hosts.join(","))
    }

    /// Kills everything of the node that leads. Returns its number.
    pub async fn kill_leader(&mut self) -> Result<usize> {
        let leader = self.member("leader").await?.context("the cluster has no leader")?;
        let node = &mut self.nodes[leader];
        let mut patroni = node.patroni.take().context("the leader runs")?;
        patroni.kill().await?;
        let postmaster = postmaster_of(&self.folder, leader).context("the leader has a process")?;
        // All at once, as when the machine fails: the server's own processes would otherwise end in good order.
        let mut processes = vec![postmaster];
        processes.extend(process::children_of(postmaster)?);
        for process in processes {
            let process = Pid::from_raw(process).context("a process number")?;
            // One that has ended by itself in the meantime is as dead.
            let _ = kill_process(process, Signal::KILL);
        }
        Ok(leader)
    }

    /// Starts a node that was killed, and waits until the next leader can be killed.
    pub async fn start_again(&mut self, number: usize) -> Result<()> {
        self.start_node(number)?;
        self.until_it_has_a_synchronous_standby().await
    }

    fn start_node(&mut self, number: usize) -> Result<()> {
        let mut patroni = Command::new("patroni");
        patroni.arg(configuration_file(&self.folder, number));
        let log = self.folder.join(format!("node{number}.log"));
        self.nodes[number].patroni = Some(spawn(patroni, &log, self.user)?);
        Ok(())
    }

    async fn until_it_has_a_synchronous_standby(&self) -> Result<()> {
        let deadline = Instant::now() + WAIT;
        loop {
            let standby = self.member("sync_standby").await;
            if let (Ok(Some(_)), Ok(Some(_))) = (&standby, self.member("leader").await) {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the cluster has no synchronous standby: {standby:?}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// The node that has this role and runs, as the first Patroni that answers says.
    async fn member(&self, role: &str) -> Result<Option<usize>> {
        let living = self.nodes.iter().filter(|node| node.patroni.is_some());
        let mut answer = None;
        for node in living {
            if let Ok(state) = node.cluster_state().await {
                answer = Some(state);
                break;
            }
        }
        let state = answer.context("no Patroni answers")?;
        let members = state["members"].as_array().context("a list of members")?;
        let runs = |member: &&Value| matches!(member["state"].as_str(), Some("running" | "streaming"));
        let member = members.iter().filter(runs).find(|member| member["role"] == role);
        let name = member.and_then(|member| member["name"].as_str());
        Ok(name.and_then(|name| name.strip_prefix("node")?.parse().ok()))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            // Patroni dies with its handle. Its server would outlive it.
            drop(node.patroni.take());
            if let Some(process) = postmaster_of(&self.folder, number).and_then(Pid::from_raw) {
                let _ = kill_process(process, Signal::QUIT);
            }
        }
    }
}

impl Node {
    async fn cluster_state(&self) -> Result<Value> {
        let request = "GET /cluster HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let asking = async {
            let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.patroni_port)).await?;
            tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await?;
            let mut answer = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut answer).await?;
            anyhow::Ok(answer)
        };
        let answer = tokio::time::timeout(Duration::from_secs(5), asking).await??;
        let (_, body) = answer.split_once("\r\n\r\n").context("an answer with a body")?;
        Ok(serde_json::from_str(body)?)
    }

    /// The leader's lease lasts `ttl` seconds; this is the longest that a dead leader goes unnoticed.
    fn configuration(&self, folder: &Path, number: usize, etcd_port: u16) -> String {
        let (data, own) = (node_folder(folder, number).join("data"), node_folder(folder, number));
        let (data, own) = (data.display(), own.display());
        let (postgres_port, patroni_port) = (self.postgres_port, self.patroni_port);
        format!(
            "scope: lodestone
name: node{number}
etcd: {{host: '127.0.0.1:{etcd_port}'}}
restapi: {{listen: '127.0.0.1:{patroni_port}', connect_address: '127.0.0.1:{patroni_port}'}}
bootstrap:
  dcs:
    ttl: 10
    loop_wait: 2
    retry_timeout: 3
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 100, shared_buffers: 32MB, wal_log_hints: 'on'}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}]
  pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
postgresql:
  listen: '127.0.0.1:{postgres_port}'
  connect_address: '127.0.0.1:{postgres_port}'
  data_dir: '{data}'
  bin_dir: {PROGRAMS}
  pgpass: '{own}/pgpass'
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: postgres}}
    rewind: {{username: postgres}}
  parameters: {{unix_socket_directories: ''}}
"
        )
    }
}

/// One PostgreSQL as it comes, with every commit synced unless a setting says otherwise. It ends with this value.
pub struct Single {
    port: u16,
    postgres: Child,
}

impl Single {
    pub async fn start(folder: &Path, settings: &[&str]) -> Result<Single> {
        let user = postgres_user(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        let own = folder.join("single");
        make_folder(&own, user)?;
        let mut initdb = Command::new(format!("{PROGRAMS}/initdb"));
        initdb
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"])
            .arg(own.join("data"));
        let log = folder.join("postgres.log");
        let made = spawn(initdb, &log, user)?.wait().await?;
        ensure!(made.success(), "initdb: {made}, see {}", log.display());
        let port = free_port()?;
        let mut postgres = Command::new(format!("{PROGRAMS}/postgres"));
        postgres.args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-p",
            &port.to_string(),
        ]);
        postgres
            .args(["-c", "shared_buffers=128MB", "-c", "max_connections=200", "-D"])
            .arg(own.join("data"))
            .args(settings.iter().flat_map(|setting| ["-c", setting]));
        let single = Single { port, postgres: spawn(postgres, &log, user)? };
        let deadline = Instant::now() + WAIT;
        let is_ready = || {
            let answer = std::process::Command::new(format!("{PROGRAMS}/pg_isready"))
                .args(["--quiet", "--host=127.0.0.1", "--port", &port.to_string()])
                .status();
            answer.is_ok_and(|status| status.success())
        };
        while !is_ready() {
            ensure!(Instant::now() < deadline, "PostgreSQL did not start, see {}", log.display());
            tokio::time::sleep(POLL).await;
        }
        Ok(single)
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Processor time of all its processes so far, those that ended included.
    pub fn cpu_time(&self) -> Result<Duration> {
        let postmaster = self.postgres.id().context("PostgreSQL runs")?.cast_signed();
        let of_ended = process::time_of(postmaster)? + process::time_of_ended_children_of(postmaster)?;
        // One that ends in between is missed.
        let of_living = process::children_of(postmaster)?.into_iter().map(process::time_of);
        Ok(of_ended + of_living.filter_map(Result::ok).sum::<Duration>())
    }
}

/// The main process of a node's server. While Patroni repairs a server in single-user mode, its file has the number
/// with a minus.
fn postmaster_of(folder: &Path, number: usize) -> Option<i32> {
    let text = fs::read_to_string(node_folder(folder, number).join("data/postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok().map(i32::abs)
}

fn node_folder(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("node{number}"))
}

fn configuration_file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("node{number}.yml"))
}

fn make_folder(path: &Path, user: Option<(u32, u32)>) -> Result<()> {
    fs::create_dir(path)?;
    if let Some((user, group)) = user {
        chown(path, Some(user), Some(group))?;
    }
    Ok(())
}

fn spawn(mut command: Command, log: &Path, user: Option<(u32, u32)>) -> Result<Child> {
    let log = fs::OpenOptions::new().create(true).append(true).open(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true).current_dir("/");
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command.spawn().with_context(|| format!("starting {:?}", command.as_std().get_program()))
}

/// The user that came with the package, if we are root.
fn postgres_user(folder: &Path) -> Result<Option<(u32, u32)>> {
    if fs::metadata(folder)?.uid() != 0 {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd")?;
    let account = accounts.lines().find_map(|line| line.strip_prefix("postgres:"));
    let mut numbers = account.context("there is no postgres user")?.split(':').skip(1).map(str::parse);
    let mut number = || numbers.next().context("a user has two numbers");
    Ok(Some((number()??, number()??)))
}

pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
