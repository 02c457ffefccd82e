//! DescribeContinuousBackups: the answer for a table that never had point-in-time recovery.

use api::{
    ContinuousBackupsDescription, ContinuousBackupsStatus, DescribeContinuousBackupsInput,
    DescribeContinuousBackupsOutput, Error, PointInTimeRecoveryDescription, PointInTimeRecoveryStatus,
};

use crate::{Caller, Engine};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DescribeContinuousBackupsInput,
) -> Result<DescribeContinuousBackupsOutput, Error> {
    input.check()?;
    engine.find(caller, &input.table_name)?.ok_or_else(|| Error::table_not_found(&input.table_name))?;
    Ok(DescribeContinuousBackupsOutput {
        continuous_backups_description: Some(ContinuousBackupsDescription {
            continuous_backups_status: ContinuousBackupsStatus::Enabled,
            point_in_time_recovery_description: Some(PointInTimeRecoveryDescription {
                point_in_time_recovery_status: Some(PointInTimeRecoveryStatus::Disabled),
                ..PointInTimeRecoveryDescription::default()
            }),
        }),
    })
}
