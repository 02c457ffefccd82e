//! `lodestone verify`: checks a data folder, or a database on PostgreSQL or FoundationDB, from its first row to its last.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use lodestone::{Database, FoundationDb, OpenError, Options, Storage, Verification};
use store::Store;
use store_postgres::PostgresStore;

use crate::advice;

/// Check a data folder, or a database on PostgreSQL or FoundationDB: every item readable and in its place, every index equal to its table.
///
/// Nothing is changed. The exit status is 1 if anything is wrong. A folder must not be in use, and each of its files is
/// checked too.
///
/// A PostgreSQL database may be in use: everything is read as it was at one moment, while servers go on. The URL may
/// name a standby. Until the command ends, PostgreSQL keeps rows that were replaced in the meantime. Its own files are
/// checked by its own tools, such as pg_amcheck.
///
/// A FoundationDB cluster may be in use, too. Until the command ends, every write also keeps what it replaces.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone verify --data /srv/db
  lodestone verify --postgres postgres://me@db/app
  lodestone verify --foundationdb /etc/foundationdb/fdb.cluster")]
pub struct Verify {
    /// The folder that holds the data
    #[arg(long, value_name = "DIR", default_value = "lodestone-data")]
    data: PathBuf,

    /// The PostgreSQL database that holds the data, e.g. postgres://user@host/database
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    postgres: Option<String>,

    /// What answers there: postgres, citus, yugabyte or cockroach [default: found out by asking]
    #[arg(long, value_name = "ENGINE", requires = "postgres")]
    postgres_engine: Option<store_postgres::Engine>,

    /// Check the data that is in a FoundationDB cluster, by the file that names the cluster
    #[arg(long, value_name = "CLUSTER_FILE", conflicts_with_all = ["data", "postgres"])]
    foundationdb: Option<PathBuf>,

    /// The name of the database in the FoundationDB cluster: several can share one [default: lodestone]
    #[arg(long, value_name = "NAME", requires = "foundationdb")]
    prefix: Option<String>,
}

impl Verify {
    #[expect(clippy::print_stdout, reason = "the findings are what the command is there to say")]
    pub fn run(self) -> Result<(), String> {
        if self.is_folder() {
            verify_files(&self.data)?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        let found = runtime.block_on(self.verify()).map_err(|error| advice::about_opening(&error))?;
        for fault in &found.reports {
            println!("{fault}");
        }
        println!(
            "{} tables, {} items, {} index rows: {} faults",
            found.tables, found.items, found.index_rows, found.faults
        );
        match (found.faults, self.is_folder()) {
            (0, _) => Ok(()),
            (_, true) => Err(
                "the data is damaged. `lodestone repair` makes indexes again; restore the rest from a copy"
                    .into(),
            ),
            (_, false) => Err("the data is damaged; restore it from a copy".into()),
        }
    }

    fn is_folder(&self) -> bool {
        self.postgres.is_none() && self.foundationdb.is_none()
    }

    /// A folder is opened as a server would, in a temporary copy. A database that servers share is only read.
    async fn verify(&self) -> Result<Verification, OpenError> {
        let Some(store) = self.open_shared().await? else {
            let storage = Storage::Scratch { path: &self.data };
            let database = Database::open_with(storage, Options::default()).await?;
            let found = database.verify().await?;
            database.close().await?;
            return Ok(found);
        };
        let found = engine::verify(&*store).await?;
        store.close().await?;
        Ok(found)
    }

    /// A store that servers share, opened for reading; none if the data is in a folder.
    async fn open_shared(&self) -> Result<Option<Arc<dyn Store>>, OpenError> {
        if let Some(cluster_file) = &self.foundationdb {
            let prefix = self.prefix.as_deref().unwrap_or(FoundationDb::DEFAULT_PREFIX);
            return FoundationDb { cluster_file, prefix }.open(true).await.map(Some);
        }
        let Some(url) = &self.postgres else { return Ok(None) };
        let (engine, is_read_only) = (self.postgres_engine, true);
        let options = store_postgres::Options { engine, is_read_only, ..Default::default() };
        Ok(Some(Arc::new(PostgresStore::open(url, options).await?)))
    }
}

/// Reads every byte of every file.
#[expect(clippy::print_stdout, reason = "the findings are what the command is there to say")]
fn verify_files(folder: &Path) -> Result<(), String> {
    if !folder.is_dir() {
        return Err(format!("there is no folder {}. Name the data folder with --data.", folder.display()));
    }
    let found = store_lsm::verify(folder).map_err(|error| advice::about_opening(&OpenError::from(error)))?;
    for finding in &found.findings {
        println!("{}: {}", finding.file, finding.what);
    }
    println!(
        "{} tables of the tree with {} rows, {} log segments with {} records: {} damaged files",
        found.tables,
        found.table_rows,
        found.log_segments,
        found.log_records,
        found.findings.len()
    );
    match found.findings.is_empty() {
        true => Ok(()),
        false => Err("files are damaged. `lodestone repair` tells what can be saved and saves it".into()),
    }
}
