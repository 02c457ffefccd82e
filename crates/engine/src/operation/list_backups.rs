//! ListBackups: backups by table, time and type, in the order of their creation.

use api::{BackupTypeFilter, Error, ListBackupsInput, ListBackupsOutput, TableName};

use super::authorization::access::{Access, Resource};
use super::backup_description::summary;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::backup::{Backup, BackupKind};
use crate::copies::records;
use crate::operation::Engine;

const PAGE_MAX: usize = 100;

pub(super) struct ListBackups;

impl Serve for ListBackups {
    type Input = ListBackupsInput;
    type Output = ListBackupsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r ListBackupsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListBackups", Resource::Any)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListBackupsInput,
    ) -> Result<ListBackupsOutput, Error> {
        input.check()?;
        let (lower, upper) = (input.time_range_lower_bound, input.time_range_upper_bound);
        if lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) {
            return Err(Error::validation(
                "Time range lower bound must be less than or equal to upper bound",
            ));
        }
        let mut backups =
            records::list::<Backup>(&*engine.store, &caller.namespace).await.map_err(fault::of_store)?;
        backups.retain(|backup| is_wanted(backup, &input));
        backups.sort_by(|left, right| (left.created_ms, &left.arn).cmp(&(right.created_ms, &right.arn)));
        if let Some(after) = &input.exclusive_start_backup_arn
            && let Some(place) = backups.iter().position(|backup| backup.arn == *after)
        {
            backups.drain(..=place);
        }
        let limit = input.limit.map_or(PAGE_MAX, |limit| limit as usize);
        let is_last = backups.len() <= limit;
        backups.truncate(limit);
        Ok(ListBackupsOutput {
            last_evaluated_backup_arn: backups.last().map(|backup| backup.arn.clone()).filter(|_| !is_last),
            backup_summaries: Some(backups.iter().map(summary).collect()),
        })
    }
}

fn is_wanted(backup: &Backup, input: &ListBackupsInput) -> bool {
    let name =
        input.table_name.as_deref().map(|name| TableName::parse(name).map_or(name, |parsed| parsed.name));
    let created = backup.created_ms as f64 / 1000.0;
    let kind = match input.backup_type.unwrap_or(BackupTypeFilter::User) {
        BackupTypeFilter::User => backup.kind == BackupKind::User,
        BackupTypeFilter::System => backup.kind == BackupKind::System,
        BackupTypeFilter::AwsBackup => false,
        BackupTypeFilter::All => true,
    };
    kind && name.is_none_or(|name| name == backup.table.name)
        && input.time_range_lower_bound.is_none_or(|lower| created >= lower)
        && input.time_range_upper_bound.is_none_or(|upper| created < upper)
}
