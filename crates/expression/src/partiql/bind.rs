//! Puts in the parameters: literals become values, trees become bound expressions.

use std::collections::BTreeMap;

use base64::Engine as _;
use item::{ItemBuilder, ListBuilder, SetBuilder, Type, ValueBuf, ValueError, ValueRef, View};

use super::error::StatementError;
use super::statement::{Delete, Insert, Select, Statement, UpdateStatement};
use super::syntax::{self, Body, Literal, placeholder};
use crate::error::{Fault, Kind};
use crate::placeholders::Placeholders;
use crate::update::{self, Change, NESTING_MAX};
use crate::{Condition, syntax as tree};

pub(super) fn statement(
    statement: &syntax::StatementTree,
    parameters: &[ValueBuf],
) -> Result<Statement, StatementError> {
    if parameters.len() < statement.parameters {
        return Err(StatementError::Parameters);
    }
    let mut values = BTreeMap::new();
    for (place, literal) in statement.values.iter().enumerate() {
        let value = bound(literal, parameters)?;
        if value.as_ref().depth() > NESTING_MAX {
            return Err(ValueError::Nesting.into());
        }
        values.insert(placeholder(place), value);
    }
    let mut placeholders = Placeholders::new(None, Some(&values));
    Ok(match &statement.body {
        Body::Select(written) => Statement::Select(select(written, &mut placeholders)?),
        Body::Exists(written) => Statement::Exists(select(written, &mut placeholders)?),
        Body::Insert { table, item } => insert(table, &bound(item, parameters)?)?,
        Body::Update { table, changes, condition: written, returning } => {
            Statement::Update(UpdateStatement {
                table: table.clone(),
                changes: update(changes, &mut placeholders)?,
                condition: condition(written, &mut placeholders)?,
                returning: *returning,
            })
        }
        Body::Delete { table, condition: written, returning } => Statement::Delete(Delete {
            table: table.clone(),
            condition: condition(written, &mut placeholders)?,
            returning: *returning,
        }),
    })
}

fn select(
    select: &syntax::SelectTree,
    placeholders: &mut Placeholders<'_>,
) -> Result<Select, StatementError> {
    Ok(Select {
        table: select.table.clone(),
        index: select.index.clone(),
        list: select.list.clone(),
        condition: condition(&select.condition, placeholders)?,
        order: select.order.clone(),
    })
}

fn insert(table: &str, item: &ValueBuf) -> Result<Statement, StatementError> {
    let attributes = item.as_ref().as_map().ok_or(StatementError::ItemNotMap)?;
    if attributes.depth() > NESTING_MAX {
        return Err(ValueError::Nesting.into());
    }
    Ok(Statement::Insert(Insert { table: table.to_owned(), item: attributes.to_item() }))
}

fn condition(
    condition: &Option<tree::ConditionTree>,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Condition>, StatementError> {
    let Some(tree) = condition else { return Ok(None) };
    Ok(Some(Condition::bind(Kind::Condition, tree, placeholders)?))
}

fn update(
    tree: &tree::UpdateTree,
    placeholders: &mut Placeholders<'_>,
) -> Result<update::Update, StatementError> {
    let update = update::Update::bind(tree, placeholders)?;
    for action in update.actions() {
        // A native ADD takes numbers too; SET_ADD, from which it was made here, does not.
        if let Change::Add(value) = &action.change
            && !value.as_ref().kind().is_set()
        {
            let operand = value.as_ref().kind().name();
            return Err(StatementError::Fault(Box::new(Fault::OperandType { operator: "SET_ADD", operand })));
        }
    }
    Ok(update)
}

/// Calls itself once for each level of the literal: at most 33 times.
fn bound(literal: &Literal, parameters: &[ValueBuf]) -> Result<ValueBuf, StatementError> {
    Ok(match literal {
        Literal::Parameter(place) => parameters.get(*place).ok_or(StatementError::Parameters)?.clone(),
        Literal::Scalar(value) => value.clone(),
        Literal::List(elements) => {
            let mut list = ListBuilder::default();
            for element in elements {
                list.push(bound(element, parameters)?.as_ref());
            }
            list.build()
        }
        Literal::Map(entries) => {
            let mut map = ItemBuilder::default();
            for (name, value) in entries {
                map.put(name, bound(value, parameters)?.as_ref());
            }
            map.build_map()
        }
        Literal::Set(members) => {
            let members: Vec<ValueBuf> =
                members.iter().map(|member| bound(member, parameters)).collect::<Result<_, _>>()?;
            set(&members)?
        }
    })
}

fn set(members: &[ValueBuf]) -> Result<ValueBuf, StatementError> {
    let first = members.first().ok_or(ValueError::EmptySet(Type::Ss))?.as_ref().kind();
    let kind = [Type::Ss, Type::Ns, Type::Bs].into_iter().find(|kind| kind.member() == Some(first));
    let (Some(kind), true) = (kind, members.iter().all(|member| member.as_ref().kind() == first)) else {
        return Err(StatementError::SetMembers);
    };
    let mut set = SetBuilder::new(kind);
    members.iter().for_each(|member| set.insert(member.as_ref()));
    let set = set.build().ok_or(ValueError::EmptySet(kind))?;
    if set.as_ref().as_set().is_some_and(|distinct| distinct.len() < members.len()) {
        let members: Vec<String> = members.iter().map(|member| shown(member.as_ref())).collect();
        return Err(ValueError::Duplicates { kind, members: members.join(", ") }.into());
    }
    Ok(set)
}

/// A member of a set as the message about duplicates shows it.
fn shown(member: ValueRef<'_>) -> String {
    match member.view() {
        View::S(text) => text.to_owned(),
        View::B(bytes) => base64::engine::general_purpose::STANDARD.encode(bytes),
        _ => String::new(), // the message about numbers has no members
    }
}
