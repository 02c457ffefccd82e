use super::parameters::check_read_values;
use super::{Refuse, check_table_names};
use crate::violation::{Constraint, Violation, Violations};
use crate::{BatchWriteItemInput, Error, WriteRequest, limits};
use item::ValueError;

impl Refuse for BatchWriteItemInput {
    fn refuse(&self, violations: Violations) -> Error {
        let is_empty = |violation: &Violation| {
            violation.member == "requestItems" && violation.constraint == Constraint::LengthMin(1)
        };
        if violations.iter().any(is_empty) {
            return Error::validation("The requestItems parameter is required for BatchWriteItem");
        }
        Error::violations(violations.iter().map(wording))
    }
}

/// The number of a table's requests is a constraint on the map's values. The requests can be megabytes:
/// the message leaves them out.
fn wording(violation: &Violation) -> String {
    let table = violation.member.strip_prefix("requestItems.").and_then(|rest| rest.strip_suffix(".member"));
    match (table, &violation.constraint) {
        (Some(table), Constraint::LengthMin(_) | Constraint::LengthMax(_)) => format!(
            "Value '{{{table}=[...]}}' at 'requestItems' failed to satisfy constraint: Map value must satisfy \
             constraint: [{}, {}]",
            Constraint::LengthMax(limits::BATCH_WRITE_REQUESTS_MAX),
            Constraint::LengthMin(1),
        ),
        _ => violation.to_string(),
    }
}

impl BatchWriteItemInput {
    /// Checks table names, values, each put or delete, and their number.
    pub fn check(&self) -> Result<(), Error> {
        check_table_names(self.request_items.keys())?;
        check_read_values(&self.value_fault)?;
        let requests = || self.request_items.values().flatten();
        requests().try_for_each(check_request)?;
        match requests().count() > limits::BATCH_WRITE_REQUESTS_MAX {
            true => Err(Error::batch_too_large("BatchWriteItem")),
            false => Ok(()),
        }
    }
}

/// A request is a put or a delete. The service uses the messages for an AttributeValue's types.
fn check_request(request: &WriteRequest) -> Result<(), Error> {
    match (&request.put_request, &request.delete_request) {
        (None, None) => Err(Error::validation(ValueError::NoType.to_string())),
        (Some(_), Some(_)) => Err(Error::validation(ValueError::ManyTypes.to_string())),
        (Some(put), None) if put.item.size_bytes() > limits::ITEM_BYTES_MAX => Err(Error::item_too_large()),
        _ => Ok(()),
    }
}
