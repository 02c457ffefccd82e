//! Updates: how they change an item.
//!
//! Every operand is read from the old item before anything is written. Then the item is copied once with the changes
//! made on the way; parts without a target in them are copied as bytes.

use std::collections::BTreeMap;

use item::{
    Item, ItemBuilder, ItemRef, ListBuilder, ListRef, MapRef, Number, NumberError, SetBuilder, ValueBuf,
    ValueRef, View,
};

use crate::error::{ExpressionError, Faults, Kind};
use crate::path::{Branch, Path, PathTree, Step};
use crate::placeholders::Placeholders;
use crate::{bind, parser, projection, syntax};

/// How deep lists and maps may be nested, the attribute's own value included.
pub(crate) const NESTING_MAX: usize = 32;

#[derive(Clone, Debug)]
pub struct Update {
    actions: Vec<Action>,
    targets: PathTree,
    /// The error for an attribute whose type an action can't work with.
    type_error: ExpressionError,
}

/// One change at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub target: Path,
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Set(UpdateOperand),
    Remove,
    /// Adds a number, or the members of a set; or appends a list, which only legacy updates may do.
    Add(ValueBuf),
    /// Removes the members of a set.
    Delete(ValueBuf),
}

/// The value that SET writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateOperand {
    Path(Path),
    Value(ValueBuf),
    IfNotExists(Path, Box<UpdateOperand>),
    ListAppend(Box<UpdateOperand>, Box<UpdateOperand>),
    Sum(Box<UpdateOperand>, Box<UpdateOperand>),
    Difference(Box<UpdateOperand>, Box<UpdateOperand>),
}

/// The result of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Updated {
    Item(Item),
    /// There was no item, and an update that only removes does not create one.
    Nothing,
}

impl Update {
    pub fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Update, ExpressionError> {
        Update::bind(&parser::update(text)?, placeholders)
    }

    pub fn bind(
        tree: &syntax::UpdateTree,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Update, ExpressionError> {
        let mut faults = Faults::default();
        let actions = bind::update(tree, placeholders, &mut faults);
        Update::checked(actions, faults)
    }

    /// Refuses targets that overlap or conflict.
    pub fn new(actions: Vec<Action>) -> Result<Update, ExpressionError> {
        Update::checked(actions, Faults::default())
    }

    /// Changes of whole attributes by their names, as in legacy updates. A name that is given twice counts once.
    pub fn of_attributes(changes: impl IntoIterator<Item = (String, Change)>) -> Update {
        let action = |(name, change)| Action { target: Path::of_attribute(name), change };
        let actions: Vec<Action> = changes.into_iter().map(action).collect();
        let targets = PathTree::new(actions.iter().map(|action| &action.target), &mut Faults::default());
        Update { actions, targets, type_error: ExpressionError::AttributeType }
    }

    fn checked(actions: Vec<Action>, mut faults: Faults) -> Result<Update, ExpressionError> {
        let targets = PathTree::new(actions.iter().map(|action| &action.target), &mut faults);
        faults.finish(Kind::Update)?;
        Ok(Update { actions, targets, type_error: ExpressionError::OperandData })
    }

    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The attributes that the update writes to, in the order of the text.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.actions.iter().map(|action| action.target.attribute.as_str())
    }

    /// Every path that the update writes to or reads.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let mut paths = Vec::new();
        for action in &self.actions {
            paths.push(&action.target);
            if let Change::Set(operand) = &action.change {
                operand.collect_paths(&mut paths);
            }
        }
        paths.into_iter()
    }

    /// Applies the update to `old`, which holds only the key if the item did not exist. An update without
    /// actions creates an item of just the key.
    pub fn apply(&self, old: ItemRef<'_>, existed: bool) -> Result<Updated, ExpressionError> {
        let makes = |action: &Action| matches!(action.change, Change::Set(_) | Change::Add(_));
        if !existed && !self.actions.is_empty() && !self.actions.iter().any(makes) {
            return Ok(Updated::Nothing);
        }
        let outcomes = self
            .actions
            .iter()
            // Nothing can be removed from an item that does not exist; even an invalid path is no error then.
            .map(|action| if existed || makes(action) { action.outcome(old) } else { Ok(Outcome::Ignore) })
            .collect::<Result<Vec<Outcome<'_>>, ExpressionError>>()
            .map_err(|error| match error {
                ExpressionError::OperandData => self.type_error.clone(),
                other => other,
            })?;
        Ok(Updated::Item(rebuild_map(&self.targets.attributes, old, &outcomes)?.build()))
    }

    /// For ReturnValues UPDATED_OLD: the old values at the paths that the update writes to. `None` if there were none.
    pub fn updated_old(&self, old: ItemRef<'_>) -> Option<Item> {
        let picked = projection::pick(&self.targets, old);
        (!picked.is_empty()).then_some(picked)
    }

    /// For ReturnValues UPDATED_NEW: the new values at the paths that the update writes to. DynamoDB looks the paths up
    /// in the new item as they were written. So an element that was appended by an index above the length is not
    /// reported; and after an element was removed, the one that took its index is.
    pub fn updated_new(&self, new: ItemRef<'_>) -> Option<Item> {
        self.updated_old(new)
    }

    /// The bytes that the request alone counts towards the limit of an item's size, as measured on AWS.
    pub fn charge_bytes(&self) -> usize {
        3 + self.actions.iter().map(Action::charge_bytes).sum::<usize>()
    }
}

impl Action {
    fn outcome<'r>(&'r self, old: ItemRef<'r>) -> Result<Outcome<'r>, ExpressionError> {
        let outcome = match &self.change {
            Change::Set(operand) => Outcome::Put(operand.read(old)?),
            Change::Remove => Outcome::Remove,
            Change::Add(value) => Outcome::Put(add(self.target.find(old), value.as_ref())?),
            Change::Delete(set) => match self.target.find(old) {
                None => Outcome::Remove,
                Some(old) => match subtract(old, set.as_ref())? {
                    Some(rest) => Outcome::Put(Computed::Owned(rest)),
                    None => Outcome::Remove,
                },
            },
        };
        match &outcome {
            Outcome::Put(value) if value.as_ref().depth() + self.target.steps.len() > NESTING_MAX => {
                Err(ExpressionError::Nesting)
            }
            _ => Ok(outcome),
        }
    }

    fn charge_bytes(&self) -> usize {
        let steps = self.target.steps.iter().map(|step| 4 + length(step)).sum::<usize>();
        let target = self.target.attribute.len() + steps;
        match &self.change {
            Change::Set(operand) => 19 + target + operand.charge_bytes(),
            Change::Add(value) => 19 + target + value.as_ref().size_bytes(),
            Change::Remove | Change::Delete(_) => 1 + target,
        }
    }
}

impl UpdateOperand {
    /// Has few local variables, because it calls itself once for each of up to 300 operators.
    fn read<'r>(&'r self, old: ItemRef<'r>) -> Result<Computed<'r>, ExpressionError> {
        match self {
            UpdateOperand::Path(path) => {
                path.find(old).map(Computed::Borrowed).ok_or(ExpressionError::MissingAttribute)
            }
            UpdateOperand::Value(value) => Ok(Computed::Borrowed(value.as_ref())),
            UpdateOperand::IfNotExists(path, default) => match path.find(old) {
                Some(value) => Ok(Computed::Borrowed(value)),
                None => default.read(old),
            },
            UpdateOperand::ListAppend(left, right)
            | UpdateOperand::Sum(left, right)
            | UpdateOperand::Difference(left, right) => {
                let (left, right) = (left.read(old)?, right.read(old)?);
                match self {
                    UpdateOperand::ListAppend(..) => append(&left, &right),
                    UpdateOperand::Sum(..) => arithmetic(&left, Number::checked_add, &right),
                    _ => arithmetic(&left, Number::checked_sub, &right),
                }
            }
        }
    }

    fn collect_paths<'u>(&'u self, paths: &mut Vec<&'u Path>) {
        match self {
            UpdateOperand::Path(path) => paths.push(path),
            UpdateOperand::Value(_) => {}
            UpdateOperand::IfNotExists(path, default) => {
                paths.push(path);
                default.collect_paths(paths);
            }
            UpdateOperand::ListAppend(left, right)
            | UpdateOperand::Sum(left, right)
            | UpdateOperand::Difference(left, right) => {
                left.collect_paths(paths);
                right.collect_paths(paths);
            }
        }
    }

    fn charge_bytes(&self) -> usize {
        let path_bytes = |path: &Path| {
            1 + 14 + path.attribute.len() + path.steps.iter().map(|step| 14 + length(step)).sum::<usize>()
        };
        match self {
            UpdateOperand::Path(path) => path_bytes(path),
            UpdateOperand::Value(value) => value.as_ref().size_bytes(),
            UpdateOperand::Sum(left, right) => 34 + left.charge_bytes() + right.charge_bytes(),
            UpdateOperand::Difference(left, right) => 37 + left.charge_bytes() + right.charge_bytes(),
            UpdateOperand::IfNotExists(path, default) => 39 + path_bytes(path) + default.charge_bytes(),
            UpdateOperand::ListAppend(first, second) => 37 + first.charge_bytes() + second.charge_bytes(),
        }
    }
}

fn length(step: &Step) -> usize {
    match step {
        Step::Name(name) => name.len(),
        Step::Index(index) => index.checked_ilog10().unwrap_or(0) as usize + 1,
    }
}

/// A value that an action read or computed.
enum Computed<'r> {
    Borrowed(ValueRef<'r>),
    Owned(ValueBuf),
}

impl Computed<'_> {
    fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Computed::Borrowed(value) => *value,
            Computed::Owned(value) => value.as_ref(),
        }
    }
}

/// What happens at one path.
enum Outcome<'r> {
    Put(Computed<'r>),
    Remove,
    Ignore,
}

fn arithmetic<'r>(
    left: &Computed<'_>,
    operator: fn(Number, Number) -> Result<Number, NumberError>,
    right: &Computed<'_>,
) -> Result<Computed<'r>, ExpressionError> {
    let (Some(left), Some(right)) = (left.as_ref().as_number(), right.as_ref().as_number()) else {
        return Err(ExpressionError::OperandData);
    };
    match operator(left, right) {
        Ok(number) => Ok(Computed::Owned(ValueBuf::from(number))),
        // DynamoDB reports an overflow even if only the digits are too many.
        Err(NumberError::Precision) => Err(ExpressionError::Number(NumberError::Overflow)),
        Err(error) => Err(ExpressionError::Number(error)),
    }
}

fn append<'r>(first: &Computed<'_>, second: &Computed<'_>) -> Result<Computed<'r>, ExpressionError> {
    let (Some(first), Some(second)) = (first.as_ref().as_list(), second.as_ref().as_list()) else {
        return Err(ExpressionError::OperandData);
    };
    let mut list = ListBuilder::default();
    first.iter().chain(second.iter()).for_each(|element| list.push(element));
    Ok(Computed::Owned(list.build()))
}

fn add<'r>(old: Option<ValueRef<'r>>, value: ValueRef<'r>) -> Result<Computed<'r>, ExpressionError> {
    let Some(old) = old else { return Ok(Computed::Borrowed(value)) };
    let operands = [old, value].map(Computed::Borrowed);
    match (old.view(), value.view()) {
        (View::N(_), View::N(_)) => arithmetic(&operands[0], Number::checked_add, &operands[1]),
        (View::L(_), View::L(_)) => append(&operands[0], &operands[1]),
        (View::Ss(members), View::Ss(more))
        | (View::Ns(members), View::Ns(more))
        | (View::Bs(members), View::Bs(more)) => {
            let mut set = SetBuilder::new(old.kind());
            members.iter().chain(more.iter()).for_each(|member| set.insert(member));
            Ok(set.build().map_or(Computed::Borrowed(old), Computed::Owned))
        }
        _ => Err(ExpressionError::OperandData),
    }
}

/// The set without the given members; `None` if none are left.
fn subtract(old: ValueRef<'_>, set: ValueRef<'_>) -> Result<Option<ValueBuf>, ExpressionError> {
    let (true, Some(members), Some(taken)) = (old.kind() == set.kind(), old.as_set(), set.as_set()) else {
        return Err(ExpressionError::OperandData);
    };
    let taken: std::collections::HashSet<ValueRef<'_>> = taken.iter().collect();
    let mut rest = SetBuilder::new(old.kind());
    members.iter().filter(|member| !taken.contains(member)).for_each(|member| rest.insert(member));
    Ok(rest.build())
}

/// Copies a map with its changes. Entries and changes are both sorted by name, so the copy is too.
fn rebuild_map(
    changes: &BTreeMap<String, Branch>,
    old: MapRef<'_>,
    outcomes: &[Outcome<'_>],
) -> Result<ItemBuilder, ExpressionError> {
    let mut new = ItemBuilder::default();
    let mut changes = changes.iter().peekable();
    for (name, value) in old.iter() {
        while let Some((added, branch)) = changes.next_if(|(changed, _)| changed.as_str() < name) {
            change(branch, None, outcomes, |value| new.put(added, value))?;
        }
        match changes.next_if(|(changed, _)| changed.as_str() == name) {
            Some((_, branch)) => change(branch, Some(value), outcomes, |value| new.put(name, value))?,
            None => new.put(name, value),
        }
    }
    for (added, branch) in changes {
        change(branch, None, outcomes, |value| new.put(added, value))?;
    }
    Ok(new)
}

/// Copies a list with its changes. Indexes count positions before the update; elements set above the length are
/// appended in the order of their indexes.
fn rebuild_list(
    changes: &BTreeMap<u32, Branch>,
    old: ListRef<'_>,
    outcomes: &[Outcome<'_>],
) -> Result<ValueBuf, ExpressionError> {
    let mut new = ListBuilder::default();
    let mut changes = changes.iter().peekable();
    for (index, element) in old.iter().enumerate() {
        match changes.next_if(|(changed, _)| **changed as usize == index) {
            Some((_, branch)) => change(branch, Some(element), outcomes, |value| new.push(value))?,
            None => new.push(element),
        }
    }
    for (_, branch) in changes {
        change(branch, None, outcomes, |value| new.push(value))?;
    }
    Ok(new.build())
}

/// Calls `put` with what replaces `old`, if anything does.
fn change(
    branch: &Branch,
    old: Option<ValueRef<'_>>,
    outcomes: &[Outcome<'_>],
    put: impl FnOnce(ValueRef<'_>),
) -> Result<(), ExpressionError> {
    match (branch, old.map(ValueRef::view)) {
        (Branch::Leaf(place), _) => match (&outcomes[*place], old) {
            (Outcome::Put(value), _) => put(value.as_ref()),
            (Outcome::Remove, _) | (Outcome::Ignore, None) => {}
            (Outcome::Ignore, Some(old)) => put(old),
        },
        (Branch::Map(changes), Some(View::M(map))) => {
            put(rebuild_map(changes, map, outcomes)?.build_map().as_ref())
        }
        (Branch::List(changes), Some(View::L(list))) => put(rebuild_list(changes, list, outcomes)?.as_ref()),
        (branch, _) if is_ignored(branch, outcomes) => {
            if let Some(old) = old {
                put(old);
            }
        }
        _ => return Err(ExpressionError::PathNotUpdatable),
    }
    Ok(())
}

fn is_ignored(branch: &Branch, outcomes: &[Outcome<'_>]) -> bool {
    match branch {
        Branch::Leaf(place) => matches!(outcomes[*place], Outcome::Ignore),
        Branch::Map(changes) => changes.values().all(|branch| is_ignored(branch, outcomes)),
        Branch::List(changes) => changes.values().all(|branch| is_ignored(branch, outcomes)),
    }
}
