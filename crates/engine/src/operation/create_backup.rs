//! CreateBackup: the items of a table as they are now, as files. The files are made in the background.

use std::sync::Arc;

use api::{CreateBackupInput, CreateBackupOutput, Error};

use super::authorization::access::{Access, Resource};
use super::backup_description::details;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::backup::{BackUp, Backup, BackupKind};
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

pub(super) struct CreateBackup;

impl Serve for CreateBackup {
    type Input = CreateBackupInput;
    type Output = CreateBackupOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r CreateBackupInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:CreateBackup", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: CreateBackupInput,
    ) -> Result<CreateBackupOutput, Error> {
        input.check()?;
        let not_found = || Error::table_not_found(&input.table_name);
        let table = engine
            .find(caller, &input.table_name)?
            .filter(|table| table.has_items())
            .ok_or_else(not_found)?;
        let random = engine.environment.random() as u32;
        let backup = begin(engine, &table, &input.backup_name, BackupKind::User, random).await?;
        Ok(CreateBackupOutput { backup_details: Some(details(&backup)) })
    }
}

/// The last backup of a table that is DELETING and has point-in-time recovery.
pub async fn of_deleted_table(engine: &Engine, table: &Arc<LiveTable>) -> Result<(), Error> {
    let name = format!("{}$DeletedTableBackup", table.name);
    begin(engine, table, &name, BackupKind::System, 0).await.map(|_| ())
}

async fn begin(
    engine: &Engine,
    table: &Arc<LiveTable>,
    name: &str,
    kind: BackupKind,
    random: u32,
) -> Result<Backup, Error> {
    engine.backups_place().map_err(fault::of_place)?;
    let created_ms = engine.environment.now_ms();
    let arn = format!("{}/backup/{}", table.arn(), transfer::id::operation_id(created_ms, random));
    let held = engine.hold_log(table, &arn).await.map_err(fault::of_store)?;
    let time_us = held.ok_or_else(|| Error::table_not_found(&table.name))?;
    let size = table.sizes.shown(table.space());
    let backup = Backup {
        arn,
        name: name.to_owned(),
        kind,
        table: table.table.clone(),
        time_us,
        created_ms,
        item_count: size.items,
        size_bytes: size.bytes,
        manifest: None,
        is_available: false,
    };
    engine.put_held(table, &backup).await.map_err(fault::of_store)?;
    engine.background.start(BackUp { copies: engine.copies.clone(), backup: backup.clone() });
    Ok(backup)
}
