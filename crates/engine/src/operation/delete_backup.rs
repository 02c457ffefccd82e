//! DeleteBackup: forgets a backup and removes its files.

use api::{
    BackupDescription, BackupDetails, BackupStatus, DeleteBackupInput, DeleteBackupOutput, Error, ErrorKind,
};

use super::backup_description;
use crate::backup::{Backup, BackupKind};
use crate::{Caller, Engine, fault, records};

pub async fn run(
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
    if backup.manifest.is_none() || backup_description::is_being_restored(engine, arn) {
        return Err(Error::new(
            ErrorKind::BackupInUse,
            format!("Backup is being used to restore table: {arn}"),
        ));
    }
    records::remove::<Backup>(&*engine.store, &caller.namespace, arn).await.map_err(fault::of_store)?;
    remove_files(engine, &backup).await;
    let description = backup_description::description(&backup);
    let details = description
        .backup_details
        .map(|details| BackupDetails { backup_status: BackupStatus::Deleted, ..details });
    Ok(DeleteBackupOutput {
        backup_description: Some(BackupDescription { backup_details: details, ..description }),
    })
}

/// The backup is forgotten already. Files that can't be removed only take room, so that is no error.
async fn remove_files(engine: &Engine, backup: &Backup) {
    let Some(folder) = backup.manifest.as_deref().and_then(|manifest| manifest.rsplit_once('/')) else {
        return;
    };
    let removed = async {
        let bucket = engine.backups_place()?;
        for object in bucket.list(&format!("{}/", folder.0)).await? {
            bucket.delete(&object.key).await?;
        }
        Ok::<_, transfer::PlaceError>(())
    };
    if let Err(error) = removed.await {
        tracing::warn!(%error, backup = backup.arn, "the files of a deleted backup were not removed");
    }
}
