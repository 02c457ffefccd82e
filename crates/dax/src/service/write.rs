//! PutItem, UpdateItem, DeleteItem and BatchWriteItem: the table first, then the item cache.

use std::collections::BTreeMap;

use api::{
    BatchWriteItemInput, DeleteItemInput, DeleteRequest, Error, ErrorKind, PutItemInput, PutRequest,
    ReturnValue, UpdateItemInput, WriteRequest,
};
use item::Item;

use super::{Answer, Peer, Service};
use crate::answer::{self, Members};
use crate::attribute_list;
use crate::cache::Writing;
use crate::expression::Placeholders;
use crate::request::{Options, TableWrites};

impl Service {
    pub(super) async fn put_item(
        &self,
        peer: &Peer<'_>,
        table: &str,
        key: &[u8],
        values: &[u8],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:PutItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let item = attribute_list::read_item(&self.lists, &key, values).await?;
        let mut placeholders = Placeholders::default();
        let condition = options.condition.map(|tree| placeholders.condition(tree)).transpose()?;
        let input = PutItemInput {
            table_name: table.to_owned(),
            item: item.clone(),
            condition_expression: condition,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            return_values: options.return_values,
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..PutItemInput::default()
        };
        let writing = self.caches.write(self.place(peer, table, &key));
        let output = self.checked(peer, table, self.send(peer.namespace, input).await);
        let output = settle(output, writing, |writing, _| writing.written(Some(item)))?;
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        members.whole_attributes(output.attributes.as_ref(), &schema, &self.lists);
        members.item_collection_metrics(output.item_collection_metrics.as_ref(), &schema);
        members.consumed_capacity(output.consumed_capacity.as_ref());
        members.end();
        Ok(writer)
    }

    pub(super) async fn update_item(
        &self,
        peer: &Peer<'_>,
        table: &str,
        key: &[u8],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:UpdateItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let mut placeholders = Placeholders::default();
        let update = options.update.map(|tree| placeholders.update(tree)).transpose()?;
        let condition = options.condition.map(|tree| placeholders.condition(tree)).transpose()?;
        let asked = options.return_values.unwrap_or_default();
        // The cache needs the whole item even if the client asks for no attributes.
        let returned = if asked == ReturnValue::None { ReturnValue::AllNew } else { asked };
        let input = UpdateItemInput {
            table_name: table.to_owned(),
            key: key.clone(),
            update_expression: update,
            condition_expression: condition,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            return_values: Some(returned),
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..UpdateItemInput::default()
        };
        let writing = self.caches.write(self.place(peer, table, &key));
        let output = self.checked(peer, table, self.send(peer.namespace, input).await);
        let output = settle(output, writing, |writing, output| {
            if let (ReturnValue::AllNew, Some(item)) = (returned, &output.attributes) {
                writing.written(Some(item.clone()));
            }
        })?;
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        let attributes = output.attributes.as_ref();
        match asked {
            ReturnValue::None => {}
            ReturnValue::AllOld | ReturnValue::AllNew => {
                members.whole_attributes(attributes, &schema, &self.lists);
            }
            ReturnValue::UpdatedOld | ReturnValue::UpdatedNew => {
                members.updated_attributes(attributes, &self.lists)
            }
        }
        members.item_collection_metrics(output.item_collection_metrics.as_ref(), &schema);
        members.consumed_capacity(output.consumed_capacity.as_ref());
        members.end();
        Ok(writer)
    }

    pub(super) async fn delete_item(
        &self,
        peer: &Peer<'_>,
        table: &str,
        key: &[u8],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:DeleteItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let mut placeholders = Placeholders::default();
        let condition = options.condition.map(|tree| placeholders.condition(tree)).transpose()?;
        let input = DeleteItemInput {
            table_name: table.to_owned(),
            key: key.clone(),
            condition_expression: condition,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            return_values: options.return_values,
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..DeleteItemInput::default()
        };
        let writing = self.caches.write(self.place(peer, table, &key));
        let output = self.checked(peer, table, self.send(peer.namespace, input).await);
        let output = settle(output, writing, |writing, _| writing.written(None))?;
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        members.whole_attributes(output.attributes.as_ref(), &schema, &self.lists);
        members.item_collection_metrics(output.item_collection_metrics.as_ref(), &schema);
        members.consumed_capacity(output.consumed_capacity.as_ref());
        members.end();
        Ok(writer)
    }

    pub(super) async fn batch_write_item(
        &self,
        peer: &Peer<'_>,
        tables: &[TableWrites<'_>],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:BatchWriteItem")?;
        let mut schemas = BTreeMap::new();
        let mut request_items: BTreeMap<String, Vec<WriteRequest>> = BTreeMap::new();
        let mut written: Vec<(&str, Item, Option<Item>)> = Vec::new();
        for asked in tables {
            let schema = self.schema(peer, asked.table).await?;
            let requests = request_items.entry(asked.table.to_owned()).or_default();
            for (key, values) in &asked.writes {
                let key = schema.read(key)?;
                let item = match values {
                    Some(values) => Some(attribute_list::read_item(&self.lists, &key, values).await?),
                    None => None,
                };
                let delete = item.is_none().then(|| DeleteRequest { key: key.clone() });
                let put = item.clone().map(|item| PutRequest { item });
                requests.push(WriteRequest { delete_request: delete, put_request: put });
                written.push((asked.table, key, item));
            }
            schemas.insert(asked.table, schema);
        }
        let input = BatchWriteItemInput {
            request_items,
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..BatchWriteItemInput::default()
        };
        let writing: Vec<Writing<'_>> =
            written.iter().map(|(table, key, _)| self.caches.write(self.place(peer, table, key))).collect();
        let output = match self.send(peer.namespace, input).await {
            Ok(output) => output,
            Err(error) => {
                if is_certain(error.kind) {
                    writing.into_iter().for_each(Writing::refused);
                }
                return Err(error.into());
            }
        };
        let unprocessed = output.unprocessed_items.unwrap_or_default();
        for (writing, (table, key, item)) in writing.into_iter().zip(written) {
            let schema = &schemas[table];
            let is_same = |request: &WriteRequest| match (&request.put_request, &request.delete_request) {
                (Some(put), _) => schema.key_of(put.item.as_ref()) == key,
                (None, Some(delete)) => delete.key == key,
                (None, None) => false,
            };
            match unprocessed.get(table).is_some_and(|requests| requests.iter().any(is_same)) {
                true => writing.refused(),
                false => writing.written(item),
            }
        }

        let mut writer = answer::success();
        writer.map(unprocessed.len());
        for (table, requests) in &unprocessed {
            writer.text(table);
            writer.array(2 * requests.len());
            let schema = &schemas[table.as_str()];
            for request in requests {
                let put = request.put_request.as_ref().map(|put| &put.item);
                let key = put.or(request.delete_request.as_ref().map(|delete| &delete.key));
                let key = key.and_then(|item| schema.bytes_of(item.as_ref()));
                writer.bytes(&key.unwrap_or_default());
                match put {
                    Some(item) => {
                        writer.nested(|writer| self.lists.write_item(item.as_ref(), schema, writer))
                    }
                    None => writer.null(),
                }
            }
        }
        let capacities = output.consumed_capacity.unwrap_or_default();
        writer.array(capacities.len());
        capacities.iter().for_each(|capacity| answer::consumed_capacity(capacity, &mut writer));
        let schema = |table: &str| schemas.get(table).map(|schema| &**schema);
        answer::table_metrics(output.item_collection_metrics.as_ref(), schema, &mut writer);
        Ok(writer)
    }
}

/// Tells the cache how a write ended.
fn settle<'c, T>(
    output: Result<T, Error>,
    writing: Writing<'c>,
    written: impl FnOnce(Writing<'c>, &T),
) -> Result<T, Error> {
    match output {
        Ok(output) => {
            written(writing, &output);
            Ok(output)
        }
        Err(error) => {
            if is_certain(error.kind) {
                writing.refused();
            }
            Err(error)
        }
    }
}

/// Whether an error says that nothing was written.
pub(super) fn is_certain(kind: ErrorKind) -> bool {
    !matches!(kind, ErrorKind::InternalServerError | ErrorKind::ServiceUnavailable)
}
