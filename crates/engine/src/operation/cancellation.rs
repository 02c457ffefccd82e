//! Why a transaction was cancelled: one reason for each of its actions, in their order.

use api::{CancellationCode, CancellationReason, Error};

/// The cancellation for the results of the actions: it lists all conditions that failed, or else the first
/// action that is invalid. An error that is not that of one action is returned as it is.
pub fn of_results<T, E: Into<Error>>(results: Vec<Result<T, E>>) -> Error {
    let mut reasons = Vec::with_capacity(results.len());
    for result in results {
        let reason = match result {
            Ok(_) => Ok(CancellationReason::default()),
            Err(error) => CancellationReason::try_from(error.into()),
        };
        match reason {
            Ok(reason) => reasons.push(reason),
            Err(error) => return error,
        }
    }
    let is_invalid = |reason: &CancellationReason| reason.code == CancellationCode::ValidationError;
    if let Some(first) = reasons.iter().position(is_invalid) {
        let others = reasons.iter_mut().enumerate().filter(|(position, _)| *position != first);
        others.for_each(|(_, reason)| *reason = CancellationReason::default());
    }
    Error::transaction_canceled(reasons)
}

/// The cancellation of a transaction with this number of actions, because other transactions are under way on the items
/// at these positions.
pub fn of_conflicts(actions: usize, conflicts: &[usize]) -> Error {
    let result = |position| match conflicts.contains(&position) {
        true => Err(Error::transaction_conflict()),
        false => Ok(()),
    };
    of_results((0..actions).map(result).collect())
}
