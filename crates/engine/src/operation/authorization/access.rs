//! Which actions on which resources a request needs: the words in which each operation says it ([`Serve::access`]).
//!
//! Most operations need the action of their name on the table that they name. Those that differ are batches (one for
//! each table), transactions (by item), PartiQL (by statement), what reads an index, and what makes or restores tables.
//!
//! [`Serve::access`]: crate::operation::Serve::access

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::Select;
use expression::partiql::{Returning, SelectList, Statement};
use item::{Item, ValueBuf};

use super::super::statement;

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

impl<'r> Resource<'r> {
    /// A table, by its name or ARN.
    pub fn table(name: &'r str) -> Resource<'r> {
        Resource::Table(Cow::Borrowed(name))
    }

    /// A stream, a backup and so on.
    pub fn arn(text: &'r str) -> Resource<'r> {
        Resource::Arn(Cow::Borrowed(text))
    }

    /// An index if one is named: a policy for the table alone does not cover it.
    pub fn source(name: &'r str, index: Option<&'r str>) -> Resource<'r> {
        match index {
            Some(index) => Resource::Index { table: Cow::Borrowed(name), index: Cow::Borrowed(index) },
            None => Resource::table(name),
        }
    }
}

impl<'r> Access<'r> {
    /// An action on a resource, without details.
    pub fn new(action: &'static str, resource: Resource<'r>) -> Access<'r> {
        Access { action, resource, detail: Detail::default() }
    }

    /// All that an operation needs which needs nothing else.
    pub fn one(action: &'static str, resource: Resource<'r>) -> Vec<Access<'r>> {
        vec![Access::new(action, resource)]
    }

    /// What restoring a table needs.
    pub fn of_restore(action: &'static str, from: Resource<'r>, target: &'r str) -> Vec<Access<'r>> {
        let on_target = DATA_ACTIONS.into_iter().map(|action| Access::new(action, Resource::table(target)));
        std::iter::once(Access::new(action, from)).chain(on_target).collect()
    }

    /// The same action with its details.
    pub fn with(self, detail: Detail<'r>) -> Access<'r> {
        Access { detail, ..self }
    }

    /// Whether the action reads or changes a resource's policy.
    pub fn is_about_policies(&self) -> bool {
        self.action.ends_with("ResourcePolicy")
    }
}

/// What restoring a table and adding a replica do with the new table.
pub const DATA_ACTIONS: [&str; 7] = [
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:UpdateItem",
];

/// Select always has a value: what was asked for, or what that comes to.
pub fn select(asked: Option<Select>, is_projected: bool) -> Option<&'static str> {
    Some(match asked {
        Some(asked) => asked.as_str(),
        None if is_projected => Select::SpecificAttributes.as_str(),
        None => Select::AllAttributes.as_str(),
    })
}

/// ReturnValues always has a value, too.
pub fn return_values(asked: Option<api::ReturnValue>) -> Option<&'static str> {
    Some(asked.unwrap_or(api::ReturnValue::None).as_str())
}

/// ReturnConsumedCapacity always has a value, too.
pub fn return_consumed_capacity(asked: Option<api::ReturnConsumedCapacity>) -> Option<&'static str> {
    Some(asked.unwrap_or(api::ReturnConsumedCapacity::None).as_str())
}

/// The attributes that maps and lists of older parameters name.
pub fn listed<'r>(
    attributes: Option<&'r Vec<String>>,
    maps: impl IntoIterator<Item = Option<Box<dyn Iterator<Item = &'r String> + 'r>>>,
) -> Vec<&'r str> {
    let of_maps = maps.into_iter().flatten().flatten();
    attributes.into_iter().flatten().chain(of_maps).map(String::as_str).collect()
}

/// The attributes that a map of an older parameter names.
pub fn keys<T>(map: Option<&BTreeMap<String, T>>) -> Option<Box<dyn Iterator<Item = &String> + '_>> {
    map.map(|map| Box::new(map.keys()) as Box<dyn Iterator<Item = &String>>)
}

/// What can't be parsed needs nothing: the operation refuses it with the same parser.
pub fn of_text<'r>(
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
