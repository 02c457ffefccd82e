//! `lodestone migrate`: moves everything from a data folder, or a database on PostgreSQL or FoundationDB, to another one.
//!
//! What is copied, and which of the two may be opened when, is the engine's (`engine/src/tables/migration.rs`). Here is
//! how the stores are reached. A folder that a server uses can't be opened: the walks go along checkpoints that the
//! server takes, and then the server is asked to hand the folder over (`POST /lodestone/hand-over`), which ends it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use engine::migration::{self, Move, Pass, PassProgress, SourceState};
use lodestone::{FoundationDb, OpenError, Options};
use serde_json::json;
use store::{Read, Store, StoreError};
use store_lsm::LsmStore;
use store_postgres::PostgresStore;
use tokio::time::Instant;

use crate::advice;
use crate::checkpoint::ask_server;
use crate::endpoint::EndpointArguments;
use crate::output::print;
use crate::progress::Progress;

/// Walks while the source is in use. Each finds less to do, unless clients write faster than it copies.
const PASSES_IN_USE_MAX: u32 = 5;
/// At most this many changes are copied in a moment: the source can be closed.
const FEW_CHANGES: u64 = 1000;
/// Where a server is asked to end and let go of its folder.
const HAND_OVER: &str = "/lodestone/hand-over";
/// How long a server may take to end, and how often is looked whether it has.
const HAND_OVER_TIME: Duration = Duration::from_secs(300);
const HAND_OVER_POLL: Duration = Duration::from_millis(20);
/// Beside the data folder, the checkpoint that is being copied.
const COPY_SUFFIX: &str = ".migrating";

/// Move everything from one data folder, or database on PostgreSQL or FoundationDB, to another one, also while servers
/// use it.
///
/// A first copy is made while the source is in use, and then what has changed since. Then the source is closed: its
/// servers end, and requests get errors that clients retry. What is left is copied, and everything in both is compared,
/// row by row and record by record. Then the target is ready to be served, and the source can't be opened any more.
/// The source is closed for about as long as it takes to read both: 100,000 items with an
/// index took 3 to 6 seconds in a debug build on 2 busy cores. It grows with the data.
///
/// If the command ends early, for whatever reason, run it again: it goes on. A target that holds anything but an
/// unfinished copy of the same source is refused.
///
/// Tables come along with their items, indexes, tags, policies, settings and streams, with all stream records at
/// their positions; and so do point-in-time recovery, what is known of backups, metrics, alarms, auto scaling and
/// triggers. What is not in the database stays where it is: the files of backups (`backups` in a data folder; name them to
/// the new server with --backups), the access file, the studio's models. Items are counted again.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone migrate /srv/db postgres://me@db/app                  from a folder that is not in use to PostgreSQL
  lodestone migrate /srv/db postgres://me@db/app --endpoint-url http://127.0.0.1:8000
                                                                  the same, while a server uses the folder
  lodestone migrate postgres://me@db/app /srv/db                  from PostgreSQL, in use or not, to a folder
  lodestone migrate postgres://me@db/app foundationdb:///etc/foundationdb/fdb.cluster?prefix=app
                                                                  from PostgreSQL to FoundationDB
  lodestone migrate --cancel /srv/db                              use the source again")]
pub struct MigrateStore {
    /// Where the data is: a data folder, postgres://user@host/database, or foundationdb://CLUSTER_FILE?prefix=NAME
    #[arg(value_parser = place)]
    source: Place,

    /// Where the data goes: an empty folder, made if it isn't there, or an empty database
    #[arg(value_parser = place, required_unless_present = "cancel")]
    target: Option<Place>,

    /// The server that uses the source, if that is a folder; it must run on this machine
    #[arg(long, alias = "endpoint", value_name = "URL")]
    endpoint_url: Option<String>,

    /// Make a copy: let the source be used again afterwards
    #[arg(long, conflicts_with = "cancel")]
    keep_source: bool,

    /// Let a source that was moved, or half moved, be used again. What was written to its target stays there
    #[arg(long, conflicts_with_all = ["target", "endpoint_url"])]
    cancel: bool,
}

/// Where a database is kept.
#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    Postgres(String),
    FoundationDb { cluster_file: PathBuf, prefix: String },
}

fn place(text: &str) -> Result<Place, String> {
    match text.split_once("://") {
        Some(("postgres" | "postgresql", _)) => Ok(Place::Postgres(text.to_owned())),
        Some(("foundationdb", rest)) => {
            let (file, parameters) = rest.split_once('?').unwrap_or((rest, ""));
            let prefix = match parameters.strip_prefix("prefix=") {
                Some(prefix) => prefix,
                None if parameters.is_empty() => FoundationDb::DEFAULT_PREFIX,
                None => return Err(format!("{parameters}: the one parameter is prefix=NAME")),
            };
            let cluster_file = std::path::absolute(file).map_err(|error| error.to_string())?;
            Ok(Place::FoundationDb { cluster_file, prefix: prefix.to_owned() })
        }
        Some(_) => Err("a place is a folder, postgres://user@host/database, or \
                        foundationdb://CLUSTER_FILE?prefix=NAME"
            .to_owned()),
        None => std::path::absolute(text).map(Place::Folder).map_err(|error| error.to_string()),
    }
}

impl Place {
    /// The name under which both stores keep the place. Places have different names, and no name holds a password.
    fn name(&self) -> String {
        match self {
            // Links are followed, so that one folder has one name.
            Place::Folder(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
            Place::Postgres(url) => {
                let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
                let address = rest.rsplit_once('@').map_or(rest, |(_, address)| address);
                // Options can choose a schema.
                let options = parameters.split('&').find(|parameter| parameter.starts_with("options="));
                let options = options.map(|options| format!("?{options}")).unwrap_or_default();
                format!("postgresql://{address}{options}")
            }
            Place::FoundationDb { cluster_file, prefix } => {
                let cluster = name_of_cluster(cluster_file);
                let cluster = cluster.unwrap_or_else(|| cluster_file.display().to_string());
                format!("foundationdb://{cluster}?prefix={prefix}")
            }
        }
    }

    async fn open(&self) -> Result<Arc<dyn Store>, OpenError> {
        Ok(match self {
            Place::Folder(path) => Arc::new(LsmStore::open(path, store_lsm::Options::default())?),
            Place::Postgres(url) => {
                Arc::new(PostgresStore::open(url, store_postgres::Options::default()).await?)
            }
            Place::FoundationDb { cluster_file, prefix } => {
                FoundationDb { cluster_file, prefix }.open(false).await?
            }
        })
    }

    /// Opens what must be there already.
    async fn open_source(&self) -> Result<Arc<dyn Store>, OpenError> {
        if let Place::Folder(folder) = self
            && !folder.join("store").is_dir()
        {
            return Err(store_lsm::OpenError::Missing { folder: folder.clone() }.into());
        }
        if let Place::FoundationDb { cluster_file, prefix } = self {
            return FoundationDb { cluster_file, prefix }.open(true).await;
        }
        self.open().await
    }

    /// The command that serves it. A password is left out.
    fn command(&self) -> String {
        let url = match self {
            Place::Folder(path) => return format!("lodestone serve --data '{}'", path.display()),
            Place::FoundationDb { cluster_file, prefix } => {
                let file = cluster_file.display();
                return format!("lodestone serve --foundationdb '{file}' --prefix '{prefix}'");
            }
            Place::Postgres(url) => url,
        };
        let (before, parameters) = url.split_once('?').unwrap_or((url, ""));
        let before = match before.rsplit_once('@') {
            Some((user, address)) => {
                let (scheme, user) = user.split_once("://").unwrap_or(("postgres", user));
                let user = user.split_once(':').map_or(user, |(user, _)| user);
                format!("{scheme}://{user}@{address}")
            }
            None => before.to_owned(),
        };
        let parameters =
            parameters.split('&').filter(|text| !text.is_empty() && !text.starts_with("password="));
        let parameters = parameters.collect::<Vec<_>>().join("&");
        let separator = if parameters.is_empty() { "" } else { "?" };
        format!("lodestone serve --postgres '{before}{separator}{parameters}'")
    }
}

/// What a cluster file calls its cluster, whatever its coordinators and the file are called.
fn name_of_cluster(cluster_file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(cluster_file).ok()?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    line.split_once('@').map(|(name, _)| name.to_owned())
}

/// A source as it is found.
enum Source {
    /// No other process uses it, or it can be shared.
    Open(Arc<dyn Store>),
    /// A server has the folder.
    Served { folder: PathBuf, url: String },
}

impl MigrateStore {
    pub fn run(self) -> Result<(), String> {
        store_lsm::raise_descriptor_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        runtime.block_on(async {
            match &self.target {
                Some(target) => self.migrate(target).await,
                None => self.cancel().await,
            }
        })
    }

    async fn cancel(&self) -> Result<(), String> {
        let source = self.source.open_source().await.map_err(explain)?;
        let cancelled = migration::cancel(&*source).await.map_err(|error| error.to_string());
        close(&*source).await?;
        cancelled?;
        let name = self.source.name();
        print(&format!("{name} can be used again: {}\n", self.source.command()));
        Ok(())
    }

    async fn migrate(&self, target: &Place) -> Result<(), String> {
        let (from, to) = (self.source.name(), target.name());
        if from == to {
            return Err("the source and the target are the same place".to_owned());
        }
        let source = self.find_source().await?;
        if let Source::Open(store) = &source {
            let state = migration::source_state(&**store, &to).await.map_err(|error| error.to_string())?;
            if state == SourceState::Moved && !is_unfinished(target).await? {
                print(&format!("{from} was moved to {to} before: there is nothing to do\n"));
                return close(&**store).await;
            }
        }
        let store = target.open().await.map_err(explain)?;
        let moved = self.move_into(&*store, source, &from, &to).await;
        let closed = close(&*store).await;
        let Moved { pass, closed_for } = moved?;
        closed?;
        print(&format!(
            "{from} was moved to {to}: {} rows and {} change records, all compared and equal\nchecksum of the rows {}\n\
             the source was closed for {:.1} s. To go on: {}\n",
            pass.rows,
            pass.records,
            pass.checksum,
            closed_for.as_secs_f64(),
            target.command(),
        ));
        Ok(())
    }

    async fn find_source(&self) -> Result<Source, String> {
        let taken = match self.source.open_source().await {
            Ok(store) => return Ok(Source::Open(store)),
            Err(OpenError::Folder(taken @ store_lsm::OpenError::Taken { .. })) => taken,
            Err(error) => return Err(explain(error)),
        };
        match (&self.source, &self.endpoint_url) {
            (Place::Folder(folder), Some(url)) => {
                Ok(Source::Served { folder: folder.clone(), url: url.clone() })
            }
            _ => Err(format!("{taken}. Name that server with --endpoint-url, or stop it.")),
        }
    }

    async fn move_into(
        &self,
        target: &dyn Store,
        source: Source,
        from: &str,
        to: &str,
    ) -> Result<Moved, String> {
        let moving = Move::begin(target, from).await.map_err(|error| error.to_string())?;
        let (source, closing) = match source {
            Source::Open(store) => {
                let walk = async |number| walk(&moving, &*store, number).await;
                match migration::is_served(&*store).await.map_err(failed)? {
                    true => walk_until_caught_up(walk).await?,
                    false => drop(walk(1).await?),
                }
                (store, Instant::now())
            }
            Source::Served { folder, url } => {
                let walk = async |number| walk_along_checkpoint(&moving, &folder, &url, number).await;
                walk_until_caught_up(walk).await?;
                let closing = Instant::now();
                (hand_over(&folder, &url, to).await.map_err(unfinished)?, closing)
            }
        };
        let moved = self.settle(moving, &*source, to).await;
        let closed = close(&*source).await;
        let pass = moved.map_err(unfinished)?;
        closed?;
        Ok(Moved { pass, closed_for: closing.elapsed() })
    }

    /// Closes the source, copies the rest, compares everything, and opens the target.
    async fn settle(&self, moving: Move<'_>, source: &dyn Store, to: &str) -> Result<Pass, String> {
        let is_served = migration::is_served(source).await.map_err(failed)?;
        migration::pause(source, to).await.map_err(failed)?;
        let closed = Instant::now();
        let progress = Progress::new();
        let pass =
            moving.settle(source, &mut |at| tell(&progress, "copying the rest and comparing", at)).await;
        let pass = pass.map_err(failed)?;
        drop(progress);
        if is_served {
            // A server that was expelled notices with its next sign of life, and goes on reading until then.
            tokio::time::sleep_until(closed + Options::default().member_silence / 5).await;
        }
        migration::release(source, to, self.keep_source).await.map_err(|error| error.to_string())?;
        moving.finish().await.map_err(failed)?;
        Ok(pass)
    }
}

struct Moved {
    pass: Pass,
    closed_for: Duration,
}

/// Whether the target is still to be finished. One that can't be opened is being served.
async fn is_unfinished(target: &Place) -> Result<bool, String> {
    let store = match target.open().await {
        Err(OpenError::Folder(store_lsm::OpenError::Taken { .. })) => return Ok(false),
        opened => opened.map_err(explain)?,
    };
    let is_arriving = migration::is_arriving(&*store).await.map_err(failed);
    close(&*store).await?;
    is_arriving
}

/// Walks along the source while it is in use, until little is left to be copied.
async fn walk_until_caught_up(walk: impl AsyncFn(u32) -> Result<Pass, String>) -> Result<(), String> {
    let mut changed_before = u64::MAX;
    for number in 1..=PASSES_IN_USE_MAX {
        let changed = walk(number).await?.changed;
        if changed <= FEW_CHANGES || changed > changed_before / 2 {
            break;
        }
        changed_before = changed;
    }
    Ok(())
}

async fn walk(moving: &Move<'_>, source: &dyn Read, number: u32) -> Result<Pass, String> {
    let progress = Progress::new();
    let what = if number == 1 { "copying" } else { "copying what has changed" };
    let pass = moving.pass(source, &mut |at| tell(&progress, what, at)).await.map_err(failed)?;
    drop(progress);
    print(&format!(
        "pass {number}: {} rows, {} change records; {} copied\n",
        pass.rows, pass.records, pass.changed
    ));
    Ok(pass)
}

/// Walks along a copy of the folder that the server makes. The copy is beside the folder and shares its files.
async fn walk_along_checkpoint(
    moving: &Move<'_>,
    folder: &Path,
    url: &str,
    number: u32,
) -> Result<Pass, String> {
    let mut copy = folder.as_os_str().to_owned();
    copy.push(COPY_SUFFIX);
    let copy = PathBuf::from(copy);
    remove_copy(&copy)?;
    ask_server(url, &copy).await?;
    let walked = async {
        let store =
            LsmStore::open(&copy, store_lsm::Options::default()).map_err(|error| explain(error.into()))?;
        let walked = walk(moving, &store, number).await;
        close(&store).await.and(walked)
    };
    let walked = walked.await;
    remove_copy(&copy)?;
    walked
}

/// Removes a checkpoint, also one that an earlier run has left. Anything else stays.
fn remove_copy(copy: &Path) -> Result<(), String> {
    let failed = |error| format!("{} can't be removed: {error}", copy.display());
    let entries = match std::fs::read_dir(copy) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        if !["lock", "store", "store.new"].iter().any(|ours| name == *ours) {
            return Err(format!("{} is in the way: it holds {}", copy.display(), name.display()));
        }
    }
    std::fs::remove_dir_all(copy).map_err(failed)
}

/// Asks the server to end, and takes its folder.
async fn hand_over(folder: &Path, url: &str, to: &str) -> Result<Arc<dyn Store>, String> {
    let server = EndpointArguments::at(url);
    server.ask_operator_server(HAND_OVER, HAND_OVER_TIME, &json!({"to": to})).await?;
    let began = Instant::now();
    loop {
        match LsmStore::open(folder, store_lsm::Options::default()) {
            Ok(store) => return Ok(Arc::new(store)),
            Err(store_lsm::OpenError::Taken { .. }) if began.elapsed() < HAND_OVER_TIME => {
                tokio::time::sleep(HAND_OVER_POLL).await;
            }
            Err(error) => return Err(explain(error.into())),
        }
    }
}

async fn close(store: &dyn Store) -> Result<(), String> {
    store.close().await.map_err(failed)
}

fn tell(progress: &Progress, what: &str, at: PassProgress) {
    let text = format!("{what}, {} rows", at.rows);
    // Thousandths: the bar has 30 places.
    progress.count(&text, (at.millionths / 1000) as usize, 1000);
}

fn failed(error: StoreError) -> String {
    error.to_string()
}

fn explain(error: OpenError) -> String {
    advice::about_opening(&error)
}

/// What to do after a failure while the source is closed.
fn unfinished(reason: String) -> String {
    format!(
        "{reason}. The source is closed: run the same command again to finish, or `lodestone migrate --cancel SOURCE` \
         to go on there"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_and_served_without_its_password() {
        let name = |text: &str| place(text).expect("a place").name();
        assert_eq!(name("postgres://me:secret@db:5432/app?sslmode=require"), "postgresql://db:5432/app");
        assert_eq!(name("postgresql://one,two/app"), "postgresql://one,two/app");
        assert_eq!(
            name("postgres://db/app?password=secret&options=-csearch_path%3Da"),
            "postgresql://db/app?options=-csearch_path%3Da"
        );
        let command = |text: &str| place(text).expect("a place").command();
        assert_eq!(
            command("postgres://me:secret@db:5432/app?sslmode=require&password=secret"),
            "lodestone serve --postgres 'postgres://me@db:5432/app?sslmode=require'"
        );
        assert_eq!(command("postgres://one,two/app"), "lodestone serve --postgres 'postgres://one,two/app'");
        assert_eq!(command("/srv/db"), "lodestone serve --data '/srv/db'");
        assert!(Path::new(&name("some/folder")).is_absolute());
        assert!(place("http://localhost:8000").is_err());
    }

    #[test]
    fn a_database_on_foundationdb_is_named_by_its_cluster_and_not_by_the_file_that_names_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = ["one", "two"].map(|file| folder.path().join(file).display().to_string());
        std::fs::write(&places[0], "# made by hand\n\ntest:x1@10.0.0.1:4500\n").expect("a file is written");
        std::fs::write(&places[1], "test:x1@10.0.0.2:4500,10.0.0.3:4500").expect("a file is written");
        let named = |text: String| place(&text).expect("a place");
        let name = |text: String| named(text).name();
        assert_eq!(name(format!("foundationdb://{}", places[0])), "foundationdb://test:x1?prefix=lodestone");
        assert_eq!(
            name(format!("foundationdb://{}?prefix=app", places[1])),
            "foundationdb://test:x1?prefix=app"
        );
        let command = named(format!("foundationdb://{}?prefix=app", places[1])).command();
        assert_eq!(command, format!("lodestone serve --foundationdb '{}' --prefix 'app'", places[1]));
        assert!(place("foundationdb:///fdb.cluster?name=app").is_err());
    }
}
