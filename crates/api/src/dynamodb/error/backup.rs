//! What is wrong with a backup, a restore, an export or an import.

use crate::{Error, ErrorKind};

impl Error {
    /// Point-in-time recovery is off, or not available at a time.
    pub fn recovery_unavailable(table: &str) -> Error {
        let message = format!("Point in time recovery is not enabled for table '{table}'");
        Error::new(ErrorKind::PointInTimeRecoveryUnavailable, message)
    }

    /// A time outside of what can be restored. All are in the form of ISO 8601, without the Z.
    pub fn restore_time_invalid(time: &str, earliest: &str, latest: &str) -> Error {
        let message = format!(
            "RestoreDateTime '{time}Z' must be within EarliestRestorableDateTime '{earliest}Z' and \
             LatestRestorableDateTime '{latest}Z'"
        );
        Error::new(ErrorKind::InvalidRestoreTime, message)
    }

    /// A restore to a name that is taken.
    pub fn restore_target_exists(name: &str) -> Error {
        Error::new(ErrorKind::TableAlreadyExists, format!("Table already exists: {name}"))
    }

    /// A restore to a table that is being restored.
    pub fn restore_target_in_use(name: &str, from: &str) -> Error {
        let message = format!("Table: {name} is already being restored from backup: {from}");
        Error::new(ErrorKind::TableInUse, message)
    }

    /// An index of a restore that the source does not have.
    pub fn restored_index_unknown(name: &str) -> Error {
        Error::validation(format!(
            "Index {name} does not match a secondary index that existed in the source table and cannot be \
             created during the restore operation"
        ))
    }

    /// The table is being copied, so it can't be deleted.
    pub fn table_being_copied(name: &str) -> Error {
        Error::new(
            ErrorKind::ResourceInUse,
            format!("Attempt to change a resource which is still in use: Table is being copied: {name}"),
        )
    }

    /// There is no such backup.
    pub fn backup_not_found(arn: &str) -> Error {
        Error::new(ErrorKind::BackupNotFound, format!("Backup not found: {arn}"))
    }

    /// The backup is being restored.
    pub fn backup_in_use(arn: &str) -> Error {
        Error::new(ErrorKind::BackupInUse, format!("Backup is being used to restore another table: {arn}"))
    }
}
