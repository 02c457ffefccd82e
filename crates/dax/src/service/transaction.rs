//! TransactGetItems and TransactWriteItems, which pass the caches by; what was written leaves the item cache.

use api::{
    ConditionCheck, Delete, Get, Put, ReturnValuesOnConditionCheckFailure, TransactGetItem,
    TransactGetItemsInput, TransactWriteItem, TransactWriteItemsInput, Update,
};
use item::Item;

use super::read::read_projection;
use super::write::is_certain;
use super::{Answer, Peer, Service};
use crate::answer;
use crate::attribute_list;
use crate::cache::{ItemKey, Writing};
use crate::expression::Placeholders;
use crate::refusal::Refusal;
use crate::request::{Action, Options, TransactGet, TransactWrite};

impl Service {
    pub(super) async fn transact_get_items(
        &self,
        peer: &Peer<'_>,
        gets: &[TransactGet<'_>],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:GetItem")?;
        let mut schemas = Vec::new();
        let mut projections = Vec::new();
        let mut transact_items = Vec::new();
        for asked in gets {
            let schema = self.schema(peer, asked.table).await?;
            projections.push(read_projection(asked.projection)?);
            let key = schema.read(asked.key)?;
            let get = Get { table_name: asked.table.to_owned(), key, ..Get::default() };
            transact_items.push(TransactGetItem { get });
            schemas.push(schema);
        }
        let input = TransactGetItemsInput {
            transact_items,
            return_consumed_capacity: options.return_consumed_capacity,
            ..TransactGetItemsInput::default()
        };
        let output = match self.send(peer.namespace, input).await {
            Ok(output) => output,
            Err(error) => return Err(Refusal::Transaction(Box::new((error, schemas)))),
        };
        let mut writer = answer::success();
        writer.array(2);
        let responses = output.responses.unwrap_or_default();
        writer.array(responses.len());
        for ((response, schema), projection) in responses.iter().zip(&schemas).zip(&projections) {
            match &response.item {
                Some(item) => {
                    answer::item(item.as_ref(), projection.as_ref(), schema, &self.lists, &mut writer)
                }
                None => writer.null(),
            }
        }
        answer::transaction_capacities(&output.consumed_capacity.unwrap_or_default(), &mut writer);
        Ok(writer)
    }

    pub(super) async fn transact_write_items(
        &self,
        peer: &Peer<'_>,
        writes: &[TransactWrite<'_>],
        options: &Options<'_>,
    ) -> Answer {
        let mut schemas = Vec::new();
        let mut transact_items = Vec::new();
        let mut written: Vec<(ItemKey, Action, Option<Item>)> = Vec::new();
        for asked in writes {
            peer.session.authorize(match asked.action {
                Action::Put => "dax:PutItem",
                Action::Update => "dax:UpdateItem",
                Action::Delete => "dax:DeleteItem",
                Action::ConditionCheck => "dax:ConditionCheckItem",
            })?;
            let schema = self.schema(peer, asked.table).await?;
            let key = schema.read(asked.key)?;
            let item = match (asked.action, asked.values) {
                (Action::Put, Some(values)) => {
                    Some(attribute_list::read_item(&self.lists, &key, values).await?)
                }
                (Action::Put, None) => Some(key.clone()),
                _ => None,
            };
            written.push((self.place(peer, asked.table, &key), asked.action, item.clone()));
            transact_items.push(transact_write_item(asked, key, item)?);
            schemas.push(schema);
        }
        let input = TransactWriteItemsInput {
            transact_items,
            client_request_token: options.client_request_token.map(str::to_owned),
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..TransactWriteItemsInput::default()
        };
        let changes = written.into_iter().filter(|(_, action, _)| *action != Action::ConditionCheck);
        let writing: Vec<(Writing<'_>, Action, Option<Item>)> =
            changes.map(|(place, action, item)| (self.caches.write(place), action, item)).collect();
        let output = match self.send(peer.namespace, input).await {
            Ok(output) => output,
            Err(error) => {
                if is_certain(error.kind) {
                    writing.into_iter().for_each(|(writing, ..)| writing.refused());
                }
                return Err(Refusal::Transaction(Box::new((error, schemas))));
            }
        };
        // A request with a token that was used before wrote nothing now, and what it wrote then may be changed since.
        let may_be_repeated = options.client_request_token.is_some();
        for (writing, action, item) in writing {
            match action {
                Action::Put | Action::Delete if !may_be_repeated => writing.written(item),
                // What an update made of its item isn't known here: the next read finds out.
                _ => drop(writing),
            }
        }
        let mut writer = answer::success();
        writer.array(3);
        writer.null();
        answer::transaction_capacities(&output.consumed_capacity.unwrap_or_default(), &mut writer);
        let schema = |table: &str| {
            let place = writes.iter().position(|write| write.table == table)?;
            schemas.get(place).map(|schema| &**schema)
        };
        answer::table_metrics(output.item_collection_metrics.as_ref(), schema, &mut writer);
        Ok(writer)
    }
}

fn transact_write_item(
    asked: &TransactWrite<'_>,
    key: Item,
    item: Option<Item>,
) -> Result<TransactWriteItem, Refusal> {
    let table_name = asked.table.to_owned();
    let mut placeholders = Placeholders::default();
    let update_expression = asked.update.map(|tree| placeholders.update(tree)).transpose()?;
    let condition_expression = asked.condition.map(|tree| placeholders.condition(tree)).transpose()?;
    let expression_attribute_names = placeholders.names();
    let expression_attribute_values = placeholders.values();
    let return_values_on_condition_check_failure =
        asked.returns_old_on_failure.then_some(ReturnValuesOnConditionCheckFailure::AllOld);
    let mut write = TransactWriteItem::default();
    match asked.action {
        Action::Put => {
            write.put = Some(Put {
                item: item.unwrap_or(key),
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
        Action::Update => {
            write.update = Some(Update {
                key,
                condition_expression,
                update_expression: update_expression.unwrap_or_default(),
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
        Action::Delete => {
            write.delete = Some(Delete {
                key,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
        Action::ConditionCheck => {
            write.condition_check = Some(ConditionCheck {
                key,
                condition_expression: condition_expression.unwrap_or_default(),
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
    }
    Ok(write)
}
