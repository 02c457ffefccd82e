//! A request of the API -> what it asks, action by action. Values are borrowed; expressions are parsed.

use std::collections::BTreeMap;

use api::{KeysAndAttributes, Request, TransactWriteItem, WriteRequest};
use expression::{Condition, KeyCondition, Kind, Placeholders, Update};
use item::{Item, ValueBuf};
use model::model::Grouping;
use model::plan::{ReadOperation, WriteOperation};

/// What is known of a request before it is compared with a model.
pub enum Reading<'r> {
    /// It concerns no items, or DynamoDB refuses it.
    NotJudged,
    /// The guard can't compare it with a pattern; why not.
    Unread(&'static str),
    Asked(Asked<'r>),
}

/// A request on items.
pub struct Asked<'r> {
    pub grouping: Grouping,
    pub actions: Vec<AskedAction<'r>>,
}

pub struct AskedAction<'r> {
    /// As the request names it, without the ARN.
    pub table: &'r str,
    pub kind: AskedKind<'r>,
}

pub enum AskedKind<'r> {
    Read(AskedRead<'r>),
    Write(AskedWrite<'r>),
}

pub struct AskedRead<'r> {
    pub operation: ReadOperation,
    pub index: Option<&'r str>,
    pub by: ReadBy<'r>,
    pub filter: Option<Condition>,
    pub is_forward: bool,
    pub is_strong: bool,
    pub limit: Option<u64>,
}

/// What a read knows of the key.
pub enum ReadBy<'r> {
    Key(&'r Item),
    Range(KeyCondition),
    Nothing,
}

pub struct AskedWrite<'r> {
    pub operation: WriteOperation,
    /// The key; for a put, the whole item.
    pub item: &'r Item,
    pub condition: Option<Condition>,
    pub update: Option<Update>,
}

type Names = Option<BTreeMap<String, String>>;
type Values = Option<BTreeMap<String, ValueBuf>>;

const LEGACY: &str = "it uses parameters that expressions have replaced (KeyConditions, AttributeUpdates, Expected and \
    others)";
const PARTIQL: &str = "it is PartiQL";

/// Reads a request. One that is not well-formed is not judged: the database refuses it with its own error.
pub fn read(request: &Request) -> Reading<'_> {
    let asked = match request {
        Request::ExecuteStatement(_) | Request::BatchExecuteStatement(_) | Request::ExecuteTransaction(_) => {
            return Reading::Unread(PARTIQL);
        }
        _ if is_legacy(request) => return Reading::Unread(LEGACY),
        Request::TransactWriteItems(input) => {
            grouped(Grouping::Transaction, input.transact_items.iter().map(transacted))
        }
        Request::TransactGetItems(input) => {
            let gets = input.transact_items.iter().map(|one| get(&one.get.table_name, &one.get.key, false));
            grouped(Grouping::Transaction, gets.map(Some))
        }
        Request::BatchGetItem(input) => {
            grouped(Grouping::Batch, input.request_items.iter().flat_map(|(table, keys)| gets(table, keys)))
        }
        Request::BatchWriteItem(input) => {
            let writes = input.request_items.iter();
            let writes = writes.flat_map(|(table, all)| all.iter().map(move |one| batched(table, one)));
            grouped(Grouping::Batch, writes)
        }
        single => {
            self::single(single).map(|action| Asked { grouping: Grouping::Single, actions: vec![action] })
        }
    };
    asked.map_or(Reading::NotJudged, Reading::Asked)
}

fn is_legacy(request: &Request) -> bool {
    match request {
        Request::Query(input) => input.key_conditions.is_some() || input.query_filter.is_some(),
        Request::Scan(input) => input.scan_filter.is_some(),
        Request::PutItem(input) => input.expected.is_some(),
        Request::DeleteItem(input) => input.expected.is_some(),
        Request::UpdateItem(input) => input.expected.is_some() || input.attribute_updates.is_some(),
        _ => false,
    }
}

fn grouped<'r>(
    grouping: Grouping,
    actions: impl Iterator<Item = Option<AskedAction<'r>>>,
) -> Option<Asked<'r>> {
    let actions: Vec<AskedAction<'r>> = actions.collect::<Option<_>>()?;
    (!actions.is_empty()).then_some(Asked { grouping, actions })
}

fn single(request: &Request) -> Option<AskedAction<'_>> {
    match request {
        Request::GetItem(input) => {
            Some(get(&input.table_name, &input.key, input.consistent_read == Some(true)))
        }
        Request::Query(input) => query(input),
        Request::Scan(input) => scan(input),
        Request::PutItem(input) => {
            let condition = condition(
                input.condition_expression.as_deref(),
                &input.expression_attribute_names,
                &input.expression_attribute_values,
            )?;
            Some(write(&input.table_name, WriteOperation::PutItem, &input.item, condition))
        }
        Request::DeleteItem(input) => {
            let condition = condition(
                input.condition_expression.as_deref(),
                &input.expression_attribute_names,
                &input.expression_attribute_values,
            )?;
            Some(write(&input.table_name, WriteOperation::DeleteItem, &input.key, condition))
        }
        Request::UpdateItem(input) => update(
            &input.table_name,
            &input.key,
            input.update_expression.as_deref(),
            input.condition_expression.as_deref(),
            (&input.expression_attribute_names, &input.expression_attribute_values),
        ),
        _ => None,
    }
}

fn query(input: &api::QueryInput) -> Option<AskedAction<'_>> {
    let (names, values) = (&input.expression_attribute_names, &input.expression_attribute_values);
    let text = input.key_condition_expression.as_deref()?;
    let by = KeyCondition::parse(text, &mut Placeholders::new(names.as_ref(), values.as_ref())).ok()?;
    let read = AskedRead {
        operation: ReadOperation::Query,
        index: input.index_name.as_deref(),
        by: ReadBy::Range(by),
        filter: filter(input.filter_expression.as_deref(), names, values)?,
        is_forward: input.scan_index_forward != Some(false),
        is_strong: input.consistent_read == Some(true),
        limit: input.limit.and_then(|limit| u64::try_from(limit).ok()),
    };
    Some(AskedAction { table: table(&input.table_name), kind: AskedKind::Read(read) })
}

fn scan(input: &api::ScanInput) -> Option<AskedAction<'_>> {
    let (names, values) = (&input.expression_attribute_names, &input.expression_attribute_values);
    let read = AskedRead {
        operation: ReadOperation::Scan,
        index: input.index_name.as_deref(),
        by: ReadBy::Nothing,
        filter: filter(input.filter_expression.as_deref(), names, values)?,
        is_forward: true,
        is_strong: input.consistent_read == Some(true),
        limit: input.limit.and_then(|limit| u64::try_from(limit).ok()),
    };
    Some(AskedAction { table: table(&input.table_name), kind: AskedKind::Read(read) })
}

fn get<'r>(name: &'r str, key: &'r Item, is_strong: bool) -> AskedAction<'r> {
    let read = AskedRead {
        operation: ReadOperation::GetItem,
        index: None,
        by: ReadBy::Key(key),
        filter: None,
        is_forward: true,
        is_strong,
        limit: None,
    };
    AskedAction { table: table(name), kind: AskedKind::Read(read) }
}

fn gets<'r>(name: &'r str, keys: &'r KeysAndAttributes) -> impl Iterator<Item = Option<AskedAction<'r>>> {
    let is_strong = keys.consistent_read == Some(true);
    keys.keys.iter().map(move |key| Some(get(name, key, is_strong)))
}

fn batched<'r>(name: &'r str, write: &'r WriteRequest) -> Option<AskedAction<'r>> {
    let put = write.put_request.as_ref().map(|put| (WriteOperation::PutItem, &put.item));
    let delete = || write.delete_request.as_ref().map(|delete| (WriteOperation::DeleteItem, &delete.key));
    let (operation, item) = put.or_else(delete)?;
    Some(self::write(name, operation, item, None))
}

fn transacted(one: &TransactWriteItem) -> Option<AskedAction<'_>> {
    if let Some(put) = &one.put {
        let (names, values) = (&put.expression_attribute_names, &put.expression_attribute_values);
        let condition = condition(put.condition_expression.as_deref(), names, values)?;
        return Some(write(&put.table_name, WriteOperation::PutItem, &put.item, condition));
    }
    if let Some(delete) = &one.delete {
        let (names, values) = (&delete.expression_attribute_names, &delete.expression_attribute_values);
        let condition = condition(delete.condition_expression.as_deref(), names, values)?;
        return Some(write(&delete.table_name, WriteOperation::DeleteItem, &delete.key, condition));
    }
    if let Some(check) = &one.condition_check {
        let (names, values) = (&check.expression_attribute_names, &check.expression_attribute_values);
        let condition = condition(Some(&check.condition_expression), names, values)?;
        return Some(write(&check.table_name, WriteOperation::ConditionCheck, &check.key, condition));
    }
    let one = one.update.as_ref()?;
    update(
        &one.table_name,
        &one.key,
        Some(&one.update_expression),
        one.condition_expression.as_deref(),
        (&one.expression_attribute_names, &one.expression_attribute_values),
    )
}

fn update<'r>(
    name: &'r str,
    key: &'r Item,
    update: Option<&str>,
    condition: Option<&str>,
    (names, values): (&Names, &Values),
) -> Option<AskedAction<'r>> {
    let parse = |text| Update::parse(text, &mut Placeholders::new(names.as_ref(), values.as_ref())).ok();
    let parsed = match update {
        Some(text) => Some(parse(text)?),
        None => None,
    };
    let mut action = write(name, WriteOperation::UpdateItem, key, self::condition(condition, names, values)?);
    if let AskedKind::Write(write) = &mut action.kind {
        write.update = parsed;
    }
    Some(action)
}

fn write<'r>(
    name: &'r str,
    operation: WriteOperation,
    item: &'r Item,
    condition: Option<Condition>,
) -> AskedAction<'r> {
    let write = AskedWrite { operation, item, condition, update: None };
    AskedAction { table: table(name), kind: AskedKind::Write(write) }
}

/// `None` if it can't be parsed.
fn condition(text: Option<&str>, names: &Names, values: &Values) -> Option<Option<Condition>> {
    parsed(Kind::Condition, text, names, values)
}

fn filter(text: Option<&str>, names: &Names, values: &Values) -> Option<Option<Condition>> {
    parsed(Kind::Filter, text, names, values)
}

fn parsed(kind: Kind, text: Option<&str>, names: &Names, values: &Values) -> Option<Option<Condition>> {
    let Some(text) = text else { return Some(None) };
    let mut placeholders = Placeholders::new(names.as_ref(), values.as_ref());
    Condition::parse(kind, text, &mut placeholders).ok().map(Some)
}

/// The name in an ARN, or the name itself.
fn table(name: &str) -> &str {
    match name.starts_with("arn:") {
        true => name.split_once(":table/").map_or(name, |(_, name)| name),
        false => name,
    }
}
