//! DescribeBackup: a backup and the table that it is of.

use api::{DescribeBackupInput, DescribeBackupOutput, Error};

use super::backup_description;
use crate::{Caller, Engine};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DescribeBackupInput,
) -> Result<DescribeBackupOutput, Error> {
    input.check()?;
    let backup = backup_description::find(engine, caller, &input.backup_arn).await?;
    Ok(DescribeBackupOutput { backup_description: Some(backup_description::description(&backup)) })
}
