//! The action of a TransactWriteItem. The structure has four members, of which a request sets exactly one:
//! an [`Action`] is that one.

use std::collections::BTreeMap;

use item::{Item, ValueBuf};

use crate::{Error, ReturnValuesOnConditionCheckFailure, TransactWriteItem};

/// One action of a transaction, with the members that all four kinds have in common.
#[allow(missing_docs, reason = "members are named by the service")]
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    pub table_name: &'a str,
    pub act: Act<'a>,
    pub condition_expression: Option<&'a str>,
    pub expression_attribute_names: &'a Option<BTreeMap<String, String>>,
    pub expression_attribute_values: &'a Option<BTreeMap<String, ValueBuf>>,
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// What an action does, and to which item.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    Put { item: &'a Item },
    Delete { key: &'a Item },
    Update { key: &'a Item, update_expression: &'a str },
    ConditionCheck { key: &'a Item },
}

impl<'a> Act<'a> {
    /// The item of a put; for every other act, the key.
    pub fn attributes(self) -> &'a Item {
        match self {
            Act::Put { item } => item,
            Act::Delete { key } | Act::Update { key, .. } | Act::ConditionCheck { key } => key,
        }
    }
}

impl TransactWriteItem {
    /// The one action that is set. It is an error if none is set, or more than one.
    pub fn action(&self) -> Result<Action<'_>, Error> {
        match (&self.condition_check, &self.put, &self.delete, &self.update) {
            (Some(check), None, None, None) => Ok(Action {
                table_name: &check.table_name,
                act: Act::ConditionCheck { key: &check.key },
                condition_expression: Some(&check.condition_expression),
                expression_attribute_names: &check.expression_attribute_names,
                expression_attribute_values: &check.expression_attribute_values,
                return_values_on_condition_check_failure: check.return_values_on_condition_check_failure,
            }),
            (None, Some(put), None, None) => Ok(Action {
                table_name: &put.table_name,
                act: Act::Put { item: &put.item },
                condition_expression: put.condition_expression.as_deref(),
                expression_attribute_names: &put.expression_attribute_names,
                expression_attribute_values: &put.expression_attribute_values,
                return_values_on_condition_check_failure: put.return_values_on_condition_check_failure,
            }),
            (None, None, Some(delete), None) => Ok(Action {
                table_name: &delete.table_name,
                act: Act::Delete { key: &delete.key },
                condition_expression: delete.condition_expression.as_deref(),
                expression_attribute_names: &delete.expression_attribute_names,
                expression_attribute_values: &delete.expression_attribute_values,
                return_values_on_condition_check_failure: delete.return_values_on_condition_check_failure,
            }),
            (None, None, None, Some(update)) => Ok(Action {
                table_name: &update.table_name,
                act: Act::Update { key: &update.key, update_expression: &update.update_expression },
                condition_expression: update.condition_expression.as_deref(),
                expression_attribute_names: &update.expression_attribute_names,
                expression_attribute_values: &update.expression_attribute_values,
                return_values_on_condition_check_failure: update.return_values_on_condition_check_failure,
            }),
            (None, None, None, None) => Err(Error::validation(
                "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
            )),
            _ => Err(Error::validation("TransactItems can only contain one of Check, Put, Update or Delete")),
        }
    }
}
