//! The audit log of `lodestone serve`: where it is written, and what is in it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use server::{Audit, AuditFile, AuditLog};

const AUDIT: &str = "Who did what";
/// The file in a folder.
const FILE_NAME: &str = "audit.jsonl";

#[derive(Args)]
pub struct AuditArguments {
    /// Record every request in this file, or in audit.jsonl in this folder: who did what to which table, one line of
    /// JSON each. A folder that isn't there is made if its name ends in a slash
    ///
    /// Items are left out. When the file is 100 MiB large or a day old, it gets the time into its name and a new one
    /// is begun; the last 14 are kept. If it can't be written, requests are served and the lines are lost, which the
    /// log, the metrics and the server's own log say; --audit-required refuses them instead.
    #[arg(long, value_name = "FILE|DIR", help_heading = AUDIT)]
    audit: Option<PathBuf>,

    /// Record the bodies of requests too, and with them keys and items; those above 64 KiB are left out
    #[arg(long, requires = "audit", help_heading = AUDIT)]
    audit_bodies: bool,

    /// Refuse requests (503) while the audit log can't be written
    #[arg(long, requires = "audit", help_heading = AUDIT)]
    audit_required: bool,

    /// Begin a new file when it is so large, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..),
          requires = "audit", help_heading = AUDIT)]
    audit_max_size: u64,

    /// Begin a new file when it is so old, in hours
    #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=100_000),
          requires = "audit", help_heading = AUDIT)]
    audit_max_age: u64,

    /// How many of the earlier files are kept
    #[arg(long, value_name = "COUNT", default_value_t = 14, requires = "audit", help_heading = AUDIT)]
    audit_keep: usize,
}

/// An audit log that is being written.
pub struct Auditing {
    pub audit: Audit,
    log: Arc<AuditLog>,
}

impl AuditArguments {
    /// None if nothing is recorded.
    pub fn open(&self) -> Result<Option<Auditing>, String> {
        let Some(path) = &self.audit else { return Ok(None) };
        let path = file_of(path)?;
        let file = AuditFile {
            path: path.clone(),
            bytes_max: self.audit_max_size << 20,
            age_max: Duration::from_secs(self.audit_max_age * 60 * 60),
            kept: self.audit_keep,
        };
        let log = AuditLog::open(file).map_err(|error| {
            format!("can't write the audit log {}: {error}. Name another file with --audit", path.display())
        })?;
        let log = Arc::new(log);
        let audit = Audit::new(log.clone()).with_bodies(self.audit_bodies).required(self.audit_required);
        Ok(Some(Auditing { audit, log }))
    }
}

/// The file to write. A path that ends in a slash is a folder, and is made if it isn't there, for its owner alone.
fn file_of(path: &Path) -> Result<PathBuf, String> {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| format!("can't make the folder {} for --audit: {error}", path.display()))?;
    }
    Ok(if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() })
}

impl Auditing {
    /// Writes what is not yet written.
    pub async fn close(self) {
        let closing = tokio::task::spawn_blocking(move || self.log.close());
        if let Err(error) = closing.await {
            tracing::error!(%error, "the audit log could not be closed");
        }
    }
}
