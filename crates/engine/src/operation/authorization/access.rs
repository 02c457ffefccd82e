//! Which actions on which resources a request needs.
//!
//! Most operations need the action of their name on the table that they name. Those that differ are batches (one for
//! each table), transactions (by item), PartiQL (by statement), what reads an index, and what makes or restores tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::{Act, Request, Select, streams};
use expression::partiql::{Returning, SelectList, Statement};
use item::{Item, ValueBuf};

use super::super::{shard_iterator::ShardIterator, statement};
use super::table;
use crate::Namespace;

/// One action on one resource.
#[derive(Default)]
pub struct Access<'r> {
    pub action: &'static str,
    pub resource: Resource<'r>,
    /// What the condition keys are made of.
    pub detail: Detail<'r>,
}

/// What an action is about.
#[derive(Default)]
pub enum Resource<'r> {
    /// Nothing in particular: `*`.
    #[default]
    Any,
    /// A table, by its name or ARN.
    Table(Cow<'r, str>),
    /// An index; the table by its name or ARN.
    Index { table: Cow<'r, str>, index: Cow<'r, str> },
    /// A stream, a backup and so on.
    Arn(Cow<'r, str>),
}

/// The parts of a request that condition keys look at. Absent parts are empty.
#[derive(Default)]
pub struct Detail<'r> {
    /// The items and keys of items that the request names.
    pub items: Vec<&'r Item>,
    /// The attributes that older parameters name.
    pub listed: Vec<&'r str>,
    pub names: Option<&'r BTreeMap<String, String>>,
    pub values: Option<&'r BTreeMap<String, ValueBuf>>,
    pub condition: Option<&'r str>,
    pub filter: Option<&'r str>,
    pub key_condition: Option<&'r str>,
    pub key_conditions: Option<&'r BTreeMap<String, api::Condition>>,
    pub projection: Option<&'r str>,
    pub update: Option<&'r str>,
    pub statement: Option<Statement>,
    pub select: Option<&'static str>,
    pub return_values: Option<&'static str>,
    pub return_consumed_capacity: Option<&'static str>,
    pub enclosing_operation: Option<&'static str>,
    /// The tags that the request adds; those that it removes have no value.
    pub tags: Vec<(&'r str, Option<&'r str>)>,
}

impl<'r> Access<'r> {
    fn new(action: &'static str, resource: Resource<'r>) -> Access<'r> {
        Access { action, resource, detail: Detail::default() }
    }

    fn with(self, detail: Detail<'r>) -> Access<'r> {
        Access { detail, ..self }
    }

    /// Whether the action reads or changes a resource's policy.
    pub fn is_about_policies(&self) -> bool {
        self.action.ends_with("ResourcePolicy")
    }
}

/// What restoring a table and adding a replica do with the new table.
const DATA_ACTIONS: [&str; 7] = [
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:UpdateItem",
];

/// All that a request needs.
pub fn of_request<'r>(request: &'r Request, namespace: &Namespace) -> Vec<Access<'r>> {
    let one = |action, resource| vec![Access::new(action, resource)];
    match request {
        Request::ListTables(_) => one("dynamodb:ListTables", Resource::Any),
        Request::DescribeLimits(_) => one("dynamodb:DescribeLimits", Resource::Any),
        Request::DescribeEndpoints(_) => one("dynamodb:DescribeEndpoints", Resource::Any),
        Request::CreateGlobalTable(_) => one("dynamodb:CreateGlobalTable", Resource::Any),
        Request::DescribeGlobalTable(_) => one("dynamodb:DescribeGlobalTable", Resource::Any),
        Request::DescribeGlobalTableSettings(_) => one("dynamodb:DescribeGlobalTableSettings", Resource::Any),
        Request::ListGlobalTables(_) => one("dynamodb:ListGlobalTables", Resource::Any),
        Request::UpdateGlobalTable(_) => one("dynamodb:UpdateGlobalTable", Resource::Any),
        Request::UpdateGlobalTableSettings(_) => one("dynamodb:UpdateGlobalTableSettings", Resource::Any),
        Request::ListBackups(_) => one("dynamodb:ListBackups", Resource::Any),
        Request::ListContributorInsights(_) => one("dynamodb:ListContributorInsights", Resource::Any),
        Request::DescribeContributorInsights(input) => one(
            "dynamodb:DescribeContributorInsights",
            source(&input.table_name, input.index_name.as_deref()),
        ),
        Request::UpdateContributorInsights(input) => {
            one("dynamodb:UpdateContributorInsights", source(&input.table_name, input.index_name.as_deref()))
        }
        Request::EnableKinesisStreamingDestination(input) => {
            one("dynamodb:EnableKinesisStreamingDestination", table(&input.table_name))
        }
        Request::DisableKinesisStreamingDestination(input) => {
            one("dynamodb:DisableKinesisStreamingDestination", table(&input.table_name))
        }
        Request::DescribeKinesisStreamingDestination(input) => {
            one("dynamodb:DescribeKinesisStreamingDestination", table(&input.table_name))
        }
        Request::UpdateKinesisStreamingDestination(input) => {
            one("dynamodb:UpdateKinesisStreamingDestination", table(&input.table_name))
        }
        Request::CreateTable(input) => create_table(input),
        Request::DescribeTable(input) => one("dynamodb:DescribeTable", table(&input.table_name)),
        Request::UpdateTable(input) => update_table(input, namespace),
        Request::DescribeTableReplicaAutoScaling(input) => {
            one("dynamodb:DescribeTableReplicaAutoScaling", table(&input.table_name))
        }
        Request::UpdateTableReplicaAutoScaling(input) => {
            one("dynamodb:UpdateTableReplicaAutoScaling", table(&input.table_name))
        }
        Request::DeleteTable(input) => one("dynamodb:DeleteTable", table(&input.table_name)),
        Request::TagResource(input) => {
            let tags = input.tags.iter().map(|tag| (tag.key.as_str(), Some(tag.value.as_str()))).collect();
            let access = Access::new("dynamodb:TagResource", arn(&input.resource_arn));
            vec![access.with(Detail { tags, ..Detail::default() })]
        }
        Request::UntagResource(input) => {
            let tags = input.tag_keys.iter().map(|key| (key.as_str(), None)).collect();
            let access = Access::new("dynamodb:UntagResource", arn(&input.resource_arn));
            vec![access.with(Detail { tags, ..Detail::default() })]
        }
        Request::ListTagsOfResource(input) => one("dynamodb:ListTagsOfResource", arn(&input.resource_arn)),
        Request::UpdateTimeToLive(input) => one("dynamodb:UpdateTimeToLive", table(&input.table_name)),
        Request::DescribeTimeToLive(input) => one("dynamodb:DescribeTimeToLive", table(&input.table_name)),
        Request::DescribeContinuousBackups(input) => {
            one("dynamodb:DescribeContinuousBackups", table(&input.table_name))
        }
        Request::UpdateContinuousBackups(input) => {
            one("dynamodb:UpdateContinuousBackups", table(&input.table_name))
        }
        Request::RestoreTableToPointInTime(input) => {
            let source = input.source_table_arn.as_deref().or(input.source_table_name.as_deref());
            restore(
                "dynamodb:RestoreTableToPointInTime",
                source.map_or(Resource::Any, table),
                &input.target_table_name,
            )
        }
        Request::RestoreTableFromBackup(input) => {
            restore("dynamodb:RestoreTableFromBackup", arn(&input.backup_arn), &input.target_table_name)
        }
        Request::CreateBackup(input) => one("dynamodb:CreateBackup", table(&input.table_name)),
        Request::DescribeBackup(input) => one("dynamodb:DescribeBackup", arn(&input.backup_arn)),
        Request::DeleteBackup(input) => one("dynamodb:DeleteBackup", arn(&input.backup_arn)),
        Request::ExportTableToPointInTime(input) => {
            one("dynamodb:ExportTableToPointInTime", arn(&input.table_arn))
        }
        Request::DescribeExport(input) => one("dynamodb:DescribeExport", arn(&input.export_arn)),
        Request::ListExports(input) => {
            one("dynamodb:ListExports", input.table_arn.as_deref().map_or(Resource::Any, arn))
        }
        Request::ImportTable(input) => {
            one("dynamodb:ImportTable", table(&input.table_creation_parameters.table_name))
        }
        Request::DescribeImport(input) => one("dynamodb:DescribeImport", arn(&input.import_arn)),
        Request::ListImports(input) => {
            one("dynamodb:ListImports", input.table_arn.as_deref().map_or(Resource::Any, arn))
        }
        Request::StartBulkPutItems(input) => one("dynamodb:StartBulkPutItems", table(&input.table_name)),
        Request::DescribeBulkOperation(input) => {
            one("dynamodb:DescribeBulkOperation", arn(&input.bulk_operation_arn))
        }
        Request::ListBulkOperations(_) => one("dynamodb:ListBulkOperations", Resource::Any),
        Request::CancelBulkOperation(input) => {
            one("dynamodb:CancelBulkOperation", arn(&input.bulk_operation_arn))
        }
        Request::PutResourcePolicy(input) => one("dynamodb:PutResourcePolicy", arn(&input.resource_arn)),
        Request::GetResourcePolicy(input) => one("dynamodb:GetResourcePolicy", arn(&input.resource_arn)),
        Request::DeleteResourcePolicy(input) => {
            one("dynamodb:DeleteResourcePolicy", arn(&input.resource_arn))
        }
        Request::PutItem(input) => vec![put_item(input)],
        Request::GetItem(input) => vec![get_item(input)],
        Request::UpdateItem(input) => vec![update_item(input)],
        Request::DeleteItem(input) => vec![delete_item(input)],
        Request::Query(input) => vec![query(input)],
        Request::Scan(input) => vec![scan(input)],
        // DynamoDB's condition keys are not part of such a request.
        Request::SearchVectors(input) => {
            one("dynamodb:SearchVectors", source(&input.table_name, Some(&input.index_name)))
        }
        Request::BatchGetItem(input) => batch_get_item(input),
        Request::BatchWriteItem(input) => batch_write_item(input),
        Request::TransactGetItems(input) => transact_get_items(input),
        Request::TransactWriteItems(input) => transact_write_items(input),
        Request::ExecuteStatement(input) => {
            parsed(&input.statement, input.parameters.as_ref(), None).into_iter().collect()
        }
        Request::ExecuteTransaction(input) => {
            let enclosing = Some("ExecuteTransaction");
            let statements = input.transact_statements.iter();
            statements.filter_map(|it| parsed(&it.statement, it.parameters.as_ref(), enclosing)).collect()
        }
        // Each statement has its own answer, so each is asked about when it is planned.
        Request::BatchExecuteStatement(_) => Vec::new(),
    }
}

/// What a request to DynamoDB Streams needs.
pub fn of_streams_request(request: &streams::Request) -> Access<'_> {
    match request {
        streams::Request::ListStreams(_) => Access::new("dynamodb:ListStreams", Resource::Any),
        streams::Request::DescribeStream(input) => {
            Access::new("dynamodb:DescribeStream", arn(&input.stream_arn))
        }
        streams::Request::GetShardIterator(input) => {
            Access::new("dynamodb:GetShardIterator", arn(&input.stream_arn))
        }
        streams::Request::GetRecords(input) => {
            // What is no iterator is about no stream, and is refused for that.
            let stream = ShardIterator::parse(&input.shard_iterator).map(|iterator| iterator.stream_arn);
            let resource = stream.map_or(Resource::Any, |stream| Resource::Arn(Cow::Owned(stream)));
            Access::new("dynamodb:GetRecords", resource)
        }
    }
}

fn arn(text: &str) -> Resource<'_> {
    Resource::Arn(Cow::Borrowed(text))
}

/// An index if one is named: a policy for the table alone does not cover it.
fn source<'r>(name: &'r str, index: Option<&'r str>) -> Resource<'r> {
    match index {
        Some(index) => Resource::Index { table: Cow::Borrowed(name), index: Cow::Borrowed(index) },
        None => table(name),
    }
}

fn create_table(input: &api::CreateTableInput) -> Vec<Access<'_>> {
    let named = || table(&input.table_name);
    let tags: Vec<_> =
        input.tags.iter().flatten().map(|tag| (tag.key.as_str(), Some(tag.value.as_str()))).collect();
    let detail = || Detail { tags: tags.clone(), ..Detail::default() };
    let mut accesses = vec![Access::new("dynamodb:CreateTable", named()).with(detail())];
    if !tags.is_empty() {
        accesses.push(Access::new("dynamodb:TagResource", named()).with(detail()));
    }
    if input.resource_policy.is_some() {
        accesses.push(Access::new("dynamodb:PutResourcePolicy", named()));
    }
    if let Some(source) = &input.global_table_source_arn {
        accesses.push(Access::new("dynamodb:CreateTableReplica", arn(source)));
        accesses.push(Access::new("dynamodb:AssociateTableReplica", arn(source)));
    }
    accesses
}

fn update_table<'r>(input: &'r api::UpdateTableInput, namespace: &Namespace) -> Vec<Access<'r>> {
    let named = || table(&input.table_name);
    let in_region = |region: &str| {
        let there = Namespace::new(namespace.account.clone(), region);
        let name = input.table_name.rsplit('/').next().unwrap_or(&input.table_name);
        Resource::Arn(Cow::Owned(there.table_arn(name)))
    };
    let mut accesses = vec![Access::new("dynamodb:UpdateTable", named())];
    for update in input.replica_updates.iter().flatten() {
        if let Some(create) = &update.create {
            accesses.push(Access::new("dynamodb:CreateTableReplica", named()));
            let actions = std::iter::once("dynamodb:CreateTable").chain(DATA_ACTIONS);
            accesses.extend(actions.map(|action| Access::new(action, in_region(&create.region_name))));
        }
        if update.delete.is_some() || update.disassociate.is_some() {
            accesses.push(Access::new("dynamodb:DeleteTableReplica", named()));
        }
    }
    for update in input.global_table_witness_updates.iter().flatten() {
        if update.create.is_some() {
            accesses.push(Access::new("dynamodb:CreateGlobalTableWitness", named()));
        }
        if update.delete.is_some() {
            accesses.push(Access::new("dynamodb:DeleteGlobalTableWitness", named()));
        }
    }
    accesses
}

fn restore<'r>(action: &'static str, from: Resource<'r>, target: &'r str) -> Vec<Access<'r>> {
    let on_target = DATA_ACTIONS.into_iter().map(|action| Access::new(action, table(target)));
    std::iter::once(Access::new(action, from)).chain(on_target).collect()
}

/// Select always has a value: what was asked for, or what that comes to.
fn select(asked: Option<Select>, is_projected: bool) -> Option<&'static str> {
    Some(match asked {
        Some(asked) => asked.as_str(),
        None if is_projected => Select::SpecificAttributes.as_str(),
        None => Select::AllAttributes.as_str(),
    })
}

fn return_values(asked: Option<api::ReturnValue>) -> Option<&'static str> {
    Some(asked.unwrap_or(api::ReturnValue::None).as_str())
}

fn capacity(asked: Option<api::ReturnConsumedCapacity>) -> Option<&'static str> {
    Some(asked.unwrap_or(api::ReturnConsumedCapacity::None).as_str())
}

/// The attributes that maps and lists of older parameters name.
fn listed<'r>(
    attributes: Option<&'r Vec<String>>,
    maps: impl IntoIterator<Item = Option<Box<dyn Iterator<Item = &'r String> + 'r>>>,
) -> Vec<&'r str> {
    let of_maps = maps.into_iter().flatten().flatten();
    attributes.into_iter().flatten().chain(of_maps).map(String::as_str).collect()
}

fn keys<T>(map: Option<&BTreeMap<String, T>>) -> Option<Box<dyn Iterator<Item = &String> + '_>> {
    map.map(|map| Box::new(map.keys()) as Box<dyn Iterator<Item = &String>>)
}

fn get_item(input: &api::GetItemInput) -> Access<'_> {
    let is_projected = input.projection_expression.is_some() || input.attributes_to_get.is_some();
    Access::new("dynamodb:GetItem", table(&input.table_name)).with(Detail {
        items: vec![&input.key],
        listed: listed(input.attributes_to_get.as_ref(), []),
        names: input.expression_attribute_names.as_ref(),
        projection: input.projection_expression.as_deref(),
        select: select(None, is_projected),
        return_consumed_capacity: capacity(input.return_consumed_capacity),
        ..Detail::default()
    })
}

fn put_item(input: &api::PutItemInput) -> Access<'_> {
    Access::new("dynamodb:PutItem", table(&input.table_name)).with(Detail {
        items: vec![&input.item],
        listed: listed(None, [keys(input.expected.as_ref())]),
        names: input.expression_attribute_names.as_ref(),
        values: input.expression_attribute_values.as_ref(),
        condition: input.condition_expression.as_deref(),
        return_values: return_values(input.return_values),
        return_consumed_capacity: capacity(input.return_consumed_capacity),
        ..Detail::default()
    })
}

fn update_item(input: &api::UpdateItemInput) -> Access<'_> {
    Access::new("dynamodb:UpdateItem", table(&input.table_name)).with(Detail {
        items: vec![&input.key],
        listed: listed(None, [keys(input.expected.as_ref()), keys(input.attribute_updates.as_ref())]),
        names: input.expression_attribute_names.as_ref(),
        values: input.expression_attribute_values.as_ref(),
        condition: input.condition_expression.as_deref(),
        update: input.update_expression.as_deref(),
        return_values: return_values(input.return_values),
        return_consumed_capacity: capacity(input.return_consumed_capacity),
        ..Detail::default()
    })
}

fn delete_item(input: &api::DeleteItemInput) -> Access<'_> {
    Access::new("dynamodb:DeleteItem", table(&input.table_name)).with(Detail {
        items: vec![&input.key],
        listed: listed(None, [keys(input.expected.as_ref())]),
        names: input.expression_attribute_names.as_ref(),
        values: input.expression_attribute_values.as_ref(),
        condition: input.condition_expression.as_deref(),
        return_values: return_values(input.return_values),
        return_consumed_capacity: capacity(input.return_consumed_capacity),
        ..Detail::default()
    })
}

fn query(input: &api::QueryInput) -> Access<'_> {
    let is_projected = input.projection_expression.is_some() || input.attributes_to_get.is_some();
    let maps = [keys(input.query_filter.as_ref()), keys(input.key_conditions.as_ref())];
    Access::new("dynamodb:Query", source(&input.table_name, input.index_name.as_deref())).with(Detail {
        listed: listed(input.attributes_to_get.as_ref(), maps),
        names: input.expression_attribute_names.as_ref(),
        values: input.expression_attribute_values.as_ref(),
        filter: input.filter_expression.as_deref(),
        key_condition: input.key_condition_expression.as_deref(),
        key_conditions: input.key_conditions.as_ref(),
        projection: input.projection_expression.as_deref(),
        select: select(input.select, is_projected),
        return_consumed_capacity: capacity(input.return_consumed_capacity),
        ..Detail::default()
    })
}

fn scan(input: &api::ScanInput) -> Access<'_> {
    let is_projected = input.projection_expression.is_some() || input.attributes_to_get.is_some();
    Access::new("dynamodb:Scan", source(&input.table_name, input.index_name.as_deref())).with(Detail {
        listed: listed(input.attributes_to_get.as_ref(), [keys(input.scan_filter.as_ref())]),
        names: input.expression_attribute_names.as_ref(),
        values: input.expression_attribute_values.as_ref(),
        filter: input.filter_expression.as_deref(),
        projection: input.projection_expression.as_deref(),
        select: select(input.select, is_projected),
        return_consumed_capacity: capacity(input.return_consumed_capacity),
        ..Detail::default()
    })
}

fn batch_get_item(input: &api::BatchGetItemInput) -> Vec<Access<'_>> {
    input
        .request_items
        .iter()
        .map(|(name, request)| {
            let is_projected = request.projection_expression.is_some() || request.attributes_to_get.is_some();
            Access::new("dynamodb:BatchGetItem", table(name)).with(Detail {
                items: request.keys.iter().collect(),
                listed: listed(request.attributes_to_get.as_ref(), []),
                names: request.expression_attribute_names.as_ref(),
                projection: request.projection_expression.as_deref(),
                select: select(None, is_projected),
                return_consumed_capacity: capacity(input.return_consumed_capacity),
                ..Detail::default()
            })
        })
        .collect()
}

fn batch_write_item(input: &api::BatchWriteItemInput) -> Vec<Access<'_>> {
    input
        .request_items
        .iter()
        .map(|(name, writes)| {
            let puts = writes.iter().filter_map(|write| write.put_request.as_ref()).map(|put| &put.item);
            let deletes = writes.iter().filter_map(|write| write.delete_request.as_ref()).map(|it| &it.key);
            Access::new("dynamodb:BatchWriteItem", table(name)).with(Detail {
                items: puts.chain(deletes).collect(),
                return_consumed_capacity: capacity(input.return_consumed_capacity),
                ..Detail::default()
            })
        })
        .collect()
}

fn transact_get_items(input: &api::TransactGetItemsInput) -> Vec<Access<'_>> {
    input
        .transact_items
        .iter()
        .map(|item| {
            let get = &item.get;
            Access::new("dynamodb:GetItem", table(&get.table_name)).with(Detail {
                items: vec![&get.key],
                names: get.expression_attribute_names.as_ref(),
                projection: get.projection_expression.as_deref(),
                select: select(None, get.projection_expression.is_some()),
                return_consumed_capacity: capacity(input.return_consumed_capacity),
                enclosing_operation: Some("TransactGetItems"),
                ..Detail::default()
            })
        })
        .collect()
}

/// An item with no action or with two is refused by the operation itself.
fn transact_write_items(input: &api::TransactWriteItemsInput) -> Vec<Access<'_>> {
    let actions = input.transact_items.iter().filter_map(|item| item.action().ok());
    actions
        .map(|action| {
            let (name, update) = match action.act {
                Act::Put { .. } => ("dynamodb:PutItem", None),
                Act::Delete { .. } => ("dynamodb:DeleteItem", None),
                Act::Update { update_expression, .. } => ("dynamodb:UpdateItem", Some(update_expression)),
                Act::ConditionCheck { .. } => ("dynamodb:ConditionCheckItem", None),
            };
            Access::new(name, table(action.table_name)).with(Detail {
                items: vec![action.act.attributes()],
                names: action.expression_attribute_names.as_ref(),
                values: action.expression_attribute_values.as_ref(),
                condition: action.condition_expression,
                update,
                return_values: return_values(None),
                return_consumed_capacity: capacity(input.return_consumed_capacity),
                enclosing_operation: Some("TransactWriteItems"),
                ..Detail::default()
            })
        })
        .collect()
}

/// What the statements of a batch need, each by itself.
pub fn of_batch_statements(input: &api::BatchExecuteStatementInput) -> Vec<Access<'_>> {
    let statements = input.statements.iter();
    statements.filter_map(|it| parsed(&it.statement, it.parameters.as_ref(), None)).collect()
}

/// What can't be parsed needs nothing: the operation refuses it with the same parser.
fn parsed<'r>(
    text: &str,
    parameters: Option<&Vec<ValueBuf>>,
    enclosing: Option<&'static str>,
) -> Option<Access<'r>> {
    statement::parse(text, parameters).ok().map(|statement| of_statement(statement, enclosing))
}

/// What a PartiQL statement needs.
pub fn of_statement<'r>(statement: Statement, enclosing: Option<&'static str>) -> Access<'r> {
    let named = Cow::Owned(statement.table().to_owned());
    let (action, index) = match &statement {
        Statement::Select(it) | Statement::Exists(it) => ("dynamodb:PartiQLSelect", it.index.clone()),
        Statement::Insert(_) => ("dynamodb:PartiQLInsert", None),
        Statement::Update(_) => ("dynamodb:PartiQLUpdate", None),
        Statement::Delete(_) => ("dynamodb:PartiQLDelete", None),
    };
    let resource = match index {
        Some(index) => Resource::Index { table: named, index: Cow::Owned(index) },
        None => Resource::Table(named),
    };
    let select = match &statement {
        Statement::Select(it) | Statement::Exists(it) => select(None, !matches!(it.list, SelectList::All)),
        _ => None,
    };
    let return_values = match &statement {
        Statement::Update(_) | Statement::Delete(_) => Some(match statement.returning() {
            None => "NONE",
            Some(Returning::AllOld) => "ALL_OLD",
            Some(Returning::ModifiedOld) => "UPDATED_OLD",
            Some(Returning::AllNew) => "ALL_NEW",
            Some(Returning::ModifiedNew) => "UPDATED_NEW",
        }),
        _ => None,
    };
    Access::new(action, resource).with(Detail {
        statement: Some(statement),
        select,
        return_values,
        enclosing_operation: enclosing,
        ..Detail::default()
    })
}
