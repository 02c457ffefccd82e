//! `bench access`: what it costs the server to verify signatures and to ask policies.
//!
//! The same signed requests go to a server that is open and to one with an access file, in short turns, so that all
//! rows meet the same machine. Processor time is that of the server alone.

use std::borrow::Cow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::Credentials;
use serde_json::json;

use crate::connection::Connection;
use crate::contender::serve;
use crate::data::{self, Data, TABLE};
use crate::load::{Clients, Outcome, Until};
use crate::place::Place;
use crate::report::{self, number};
use crate::request::sign;
use crate::server::Server;
use crate::table;
use crate::workload::{Mix, Requests, Source, Workload};

const CONNECTIONS: usize = 8;
const ITEMS: u64 = 1000;
const TURNS: u32 = 16;

/// See what verified signatures and policies cost the server
#[derive(clap::Args, Clone, Debug)]
pub struct AccessOptions {
    /// How long each row is measured, all its turns together
    #[arg(long, default_value_t = 16.0)]
    pub seconds: f64,
    /// See only that everything works: a moment for each row
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

struct Row<'s> {
    title: &'static str,
    server: &'s Server,
    requests: Signed,
    outcome: Outcome,
    cpu: Duration,
}

impl Row<'_> {
    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.outcome.succeeded() as f64
    }

    async fn take_turn(&mut self, turn: Duration) -> Result<()> {
        let mut clients = Clients::connect(self.server.address, CONNECTIONS).await?;
        clients.drive(&self.requests, Until::Passed(turn / 8)).await?;
        let before = self.server.cpu_time()?;
        self.outcome.add_after(clients.drive(&self.requests, Until::Passed(turn)).await?)?;
        self.cpu += self.server.cpu_time()? - before;
        Ok(())
    }
}

pub async fn run(options: &AccessOptions) -> Result<()> {
    let folder = options.place.scratch()?;
    let lodestone = options.place.lodestone()?;
    let file = folder.path().join("access.yaml");
    // Requests of the administrator match one statement, those of the owner also a condition on their keys.
    let customers = json!({"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["CUSTOMER#*"]}});
    let owner = json!({"Version": "2012-10-17", "Statement": {
        "Effect": "Allow", "Action": "dynamodb:GetItem", "Condition": customers,
        "Resource": format!("arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"),
    }});
    std::fs::write(folder.path().join("owner.json"), owner.to_string())?;
    let administrator =
        add_user(&lodestone, &file, "administrator", "arn:aws:iam::aws:policy/AdministratorAccess")?;
    let owner = add_user(&lodestone, &file, "owner", "owner.json")?;

    for name in ["open", "guarded"] {
        fill(&lodestone, &folder.path().join(name)).await?;
    }
    let open = serve(&lodestone, ["--data".into(), folder.path().join("open")]).await?;
    let guarded = ["--data".into(), folder.path().join("guarded"), "--access".into(), file];
    let guarded = serve(&lodestone, guarded).await?;
    let row = |title, server, credentials: &Credentials| {
        anyhow::Ok(Row {
            title,
            server,
            requests: Signed::by(credentials),
            outcome: Outcome::empty()?,
            cpu: Duration::ZERO,
        })
    };
    let mut rows = [
        row("signatures are not verified", &open, &administrator)?,
        row("verified, and allowed by a statement", &guarded, &administrator)?,
        row("verified, and allowed by a statement with a condition on keys", &guarded, &owner)?,
    ];
    let (turns, seconds) = if options.quick { (1, 0.1) } else { (TURNS, options.seconds) };
    let turn = Duration::from_secs_f64(seconds / f64::from(turns));
    for _ in 0..turns {
        for row in &mut rows {
            row.take_turn(turn).await?;
        }
    }

    let text = markdown(&rows);
    println!("{text}");
    options.place.write(&[("access.md", &text)])?;
    for row in &rows {
        let (failures, title) = (&row.outcome.failures, row.title);
        ensure!(failures.count == 0, "{title}: {} requests failed: {:?}", failures.count, failures.first);
    }
    open.stop().await?;
    guarded.stop().await
}

/// Adds a user to the access file and returns the new key.
fn add_user(lodestone: &Path, file: &Path, user: &str, policy: &str) -> Result<Credentials> {
    let mut add = Command::new(lodestone);
    add.args(["access", "--file"]).arg(file).args(["add", user, "--policy", policy]);
    let added = add.output().context("starting `lodestone access`")?;
    ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let text = String::from_utf8(added.stdout)?;
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("export ")?.split_once('='));
        let found = lines.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned());
        found.with_context(|| format!("`lodestone access add` shows no {name}"))
    };
    Ok(Credentials {
        access_key_id: value("AWS_ACCESS_KEY_ID")?,
        secret_access_key: value("AWS_SECRET_ACCESS_KEY")?,
        session_token: None,
    })
}

/// Makes the table in a folder, through a server that is open.
async fn fill(lodestone: &Path, folder: &Path) -> Result<()> {
    let server = serve(lodestone, ["--data".into(), folder.to_owned()]).await?;
    let mut connection = Connection::open(server.address).await?;
    table::create(&mut connection, &data::table()).await?;
    let batches = Requests::of(Workload::Load, Data::new(ITEMS));
    Clients::connect(server.address, 1).await?.drive(&batches, Until::Walked).await?;
    server.stop().await
}

/// Gets of all items, signed in advance: a signature is valid for 15 minutes.
#[derive(Clone)]
struct Signed {
    requests: Arc<[Vec<u8>]>,
    next: Arc<AtomicUsize>,
}

impl Signed {
    fn by(credentials: &Credentials) -> Signed {
        let gets = Mix::of(&[Workload::Get], Data::new(ITEMS));
        let requests = (0..ITEMS).map(|_| sign(&gets.next().1, credentials)).collect();
        Signed { requests, next: Arc::default() }
    }
}

impl Source for Signed {
    fn next(&self) -> (Workload, Cow<'_, [u8]>) {
        let place = self.next.fetch_add(1, Relaxed) % self.requests.len();
        (Workload::Get, Cow::Borrowed(&self.requests[place]))
    }

    fn is_walked(&self) -> bool {
        self.next.load(Relaxed) >= self.requests.len()
    }
}

fn markdown(rows: &[Row<'_>]) -> String {
    let mut table = report::table(&["gets", "requests", "CPU of the server, µs a request", "more, µs"]);
    let open = rows.first().map_or(f64::NAN, Row::cpu_us);
    for row in rows {
        table.add_row([
            row.title.to_owned(),
            row.outcome.succeeded().to_string(),
            number(row.cpu_us()),
            number(row.cpu_us() - open),
        ]);
    }
    table.to_string()
}
