//! DescribeBackup: a backup and the table that it is of.

use api::{DescribeBackupInput, DescribeBackupOutput, Error};

use super::authorization::access::{Access, Resource};
use super::backup_description;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct DescribeBackup;

impl Serve for DescribeBackup {
    type Input = DescribeBackupInput;
    type Output = DescribeBackupOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeBackupInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeBackup", Resource::arn(&input.backup_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeBackupInput,
    ) -> Result<DescribeBackupOutput, Error> {
        input.check()?;
        let backup = backup_description::find(engine, caller, &input.backup_arn).await?;
        Ok(DescribeBackupOutput { backup_description: Some(backup_description::description(&backup)) })
    }
}
