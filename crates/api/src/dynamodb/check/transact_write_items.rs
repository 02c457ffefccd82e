use super::parameters::{Placeholders, check_read_values};
use super::{Refuse, refuse_transaction};
use crate::violation::Violations;
use crate::{Act, Action, Error, TransactWriteItemsInput, limits};
use item::ValueError;

impl Refuse for TransactWriteItemsInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_transaction(violations)
    }
}

impl TransactWriteItemsInput {
    /// Checks the parameters of each action, values and sizes.
    pub fn check(&self) -> Result<(), Error> {
        let actions = self.transact_items.iter().map(|item| item.action()).collect::<Result<Vec<_>, _>>()?;
        for action in &actions {
            check_parameters(action, self.value_fault.as_ref()).map_err(Error::validation)?;
        }
        check_read_values(&self.value_fault)?;
        if actions.iter().any(is_put_too_large) {
            return Err(Error::item_too_large());
        }
        match actions.iter().map(size_bytes).sum::<usize>() > limits::TRANSACTION_BYTES_MAX {
            true => Err(Error::transaction_too_large()),
            false => Ok(()),
        }
    }
}

fn check_parameters(action: &Action<'_>, value_fault: Option<&ValueError>) -> Result<(), String> {
    let expressions = action.condition_expression.is_some() || matches!(action.act, Act::Update { .. });
    Placeholders {
        names: action.expression_attribute_names.as_ref(),
        names_usable: expressions,
        values: action.expression_attribute_values.as_ref(),
        values_usable: expressions,
        value_fault,
    }
    .check()
}

fn is_put_too_large(action: &Action<'_>) -> bool {
    matches!(action.act, Act::Put { item } if item.size_bytes() > limits::ITEM_BYTES_MAX)
}

/// The size of what the request holds. The stored items that it changes don't count.
fn size_bytes(action: &Action<'_>) -> usize {
    let values = action.expression_attribute_values.iter().flat_map(|values| values.values());
    action.act.attributes().size_bytes() + values.map(|value| value.as_ref().size_bytes()).sum::<usize>()
}
