//! AttributeUpdates: changes of whole attributes. Unlike in UpdateExpression, ADD appends to lists too.

use std::collections::BTreeMap;

use api::{AttributeAction, AttributeValueUpdate, Error};
use expression::Update;
use expression::update::{Change, UpdateOperand};
use item::Type;

use super::fault::Fault;

/// The update that AttributeUpdates describe.
pub fn attribute_updates(updates: &BTreeMap<String, AttributeValueUpdate>) -> Result<Update, Error> {
    let changes = updates
        .iter()
        .map(|(attribute, update)| Ok((attribute.clone(), change(update)?)))
        .collect::<Result<Vec<(String, Change)>, Fault>>();
    Ok(Update::of_attributes(changes.map_err(Fault::in_write)?))
}

fn change(update: &AttributeValueUpdate) -> Result<Change, Fault> {
    let action = update.action.unwrap_or(AttributeAction::Put);
    let Some(value) = &update.value else {
        return match action {
            AttributeAction::Delete => Ok(Change::Remove),
            AttributeAction::Put | AttributeAction::Add => Err(Fault::ActionAlone),
        };
    };
    match (action, value.as_ref().kind()) {
        (AttributeAction::Put, _) => Ok(Change::Set(UpdateOperand::Value(value.clone()))),
        (AttributeAction::Add, Type::N | Type::L) => Ok(Change::Add(value.clone())),
        (AttributeAction::Add, kind) if kind.is_set() => Ok(Change::Add(value.clone())),
        (AttributeAction::Add, kind) => Err(Fault::AddType(kind)),
        (AttributeAction::Delete, kind) if kind.is_set() => Ok(Change::Delete(value.clone())),
        (AttributeAction::Delete, kind) => Err(Fault::DeleteType(kind)),
    }
}
