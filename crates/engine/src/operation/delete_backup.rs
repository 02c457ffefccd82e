//! DeleteBackup: forgets a backup and removes its files.

use api::{
    BackupDescription, BackupDetails, BackupStatus, DeleteBackupInput, DeleteBackupOutput, Error, ErrorKind,
};

use super::authorization::access::{Access, Resource};
use super::backup_description;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::backup::{Backup, BackupKind, remove_files};
use crate::copies::records;
use crate::operation::Engine;

pub(super) struct DeleteBackup;

impl Serve for DeleteBackup {
    type Input = DeleteBackupInput;
    type Output = DeleteBackupOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r DeleteBackupInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DeleteBackup", Resource::arn(&input.backup_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DeleteBackupInput,
    ) -> Result<DeleteBackupOutput, Error> {
        input.check()?;
        let arn = &input.backup_arn;
        let backup = backup_description::find(engine, caller, arn).await?;
        if backup.kind == BackupKind::System {
            return Err(Error::validation(format!("System backups can't be deleted: {arn}")));
        }
        if !backup.is_available || backup_description::is_being_restored(engine, arn) {
            return Err(Error::new(
                ErrorKind::BackupInUse,
                format!("Backup is being used to restore table: {arn}"),
            ));
        }
        records::remove::<Backup>(&*engine.store, &caller.namespace, arn).await.map_err(fault::of_store)?;
        remove_files(engine, arn).await;
        let description = backup_description::description(&backup);
        let details = description
            .backup_details
            .map(|details| BackupDetails { backup_status: BackupStatus::Deleted, ..details });
        Ok(DeleteBackupOutput {
            backup_description: Some(BackupDescription { backup_details: details, ..description }),
        })
    }
}
