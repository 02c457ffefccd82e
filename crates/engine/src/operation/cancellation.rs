//! Why a transaction was cancelled: one reason for each of its actions, in their order.

use api::{CancellationCode, CancellationReason, Error};

/// What the actions' results say: all conditions that failed, or the first fault of the request. An error
/// that no action is to blame for is the answer itself.
pub fn of_results<T>(results: Vec<Result<T, Error>>) -> Error {
    let mut reasons = Vec::with_capacity(results.len());
    for result in results {
        match result.map_or_else(CancellationReason::try_from, |_| Ok(CancellationReason::default())) {
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

/// Other transactions are under way on the items at these positions.
pub fn of_conflicts(actions: usize, conflicts: &[usize]) -> Error {
    let result = |position| match conflicts.contains(&position) {
        true => Err(Error::transaction_conflict()),
        false => Ok(()),
    };
    of_results((0..actions).map(result).collect())
}
