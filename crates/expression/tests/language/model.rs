//! Conditions, projections and updates against a plain reference model that works on trees of values.

use std::collections::BTreeMap;

use expression::condition::{Condition, Operand};
use expression::syntax::Comparator;
use expression::update::{Action, Change, UpdateOperand};
use expression::{ExpressionError, Path, Projection, Step, Update, Updated};
use item::{Item, Number, Type, Value, ValueBuf};
use proptest::prelude::*;

// Few names, few numbers and short texts, so that different parts of a case meet often.

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "ab"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let text = || "[ab]{0,2}";
    let number = || prop::sample::select(vec![-1_i64, 0, 1, 2, 10]).prop_map(Number::from);
    let leaf = prop_oneof![
        text().prop_map(Value::S),
        number().prop_map(Value::N),
        text().prop_map(|text| Value::B(text.into_bytes())),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        prop::collection::btree_set(text(), 1..3).prop_map(Value::Ss),
        prop::collection::btree_set(number(), 1..3).prop_map(Value::Ns),
        prop::collection::btree_set(text().prop_map(String::into_bytes), 1..3).prop_map(Value::Bs),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::L),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(Value::M),
        ]
    })
}

type Attributes = BTreeMap<String, Value>;

fn attributes() -> impl Strategy<Value = Attributes> {
    prop::collection::btree_map(name(), value(), 0..5)
}

fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![name().prop_map(Step::Name), (0..4_u32).prop_map(Step::Index)];
    (name(), prop::collection::vec(step, 0..3)).prop_map(|(attribute, steps)| Path { attribute, steps })
}

fn bytes(attributes: &Attributes) -> Item {
    attributes.iter().map(|(name, value)| (name, value.clone())).collect()
}

fn find<'v>(path: &Path, attributes: &'v Attributes) -> Option<&'v Value> {
    path.steps.iter().try_fold(attributes.get(&path.attribute)?, |value, step| match (step, value) {
        (Step::Name(name), Value::M(map)) => map.get(name),
        (Step::Index(index), Value::L(list)) => list.get(*index as usize),
        _ => None,
    })
}

// Conditions.

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        3 => path().prop_map(Operand::Path),
        2 => value().prop_map(|value| Operand::Value(ValueBuf::from(value))),
        1 => path().prop_map(Operand::Size),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    use Comparator::*;
    let comparator = prop::sample::select(vec![Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual]);
    let kind = prop::sample::select(vec![Type::S, Type::N, Type::Bool, Type::Ss, Type::L, Type::M]);
    let leaf = prop_oneof![
        4 => (comparator, operand(), operand())
            .prop_map(|(comparator, left, right)| Condition::Compare { comparator, left, right }),
        1 => (operand(), operand(), operand())
            .prop_map(|(subject, lower, upper)| Condition::Between { subject, lower, upper }),
        1 => (operand(), prop::collection::vec(operand(), 1..4))
            .prop_map(|(subject, members)| Condition::In { subject, members }),
        1 => path().prop_map(Condition::AttributeExists),
        1 => path().prop_map(Condition::AttributeNotExists),
        1 => (operand(), kind).prop_map(|(operand, kind)| Condition::AttributeType(operand, kind)),
        1 => (operand(), operand()).prop_map(|(whole, prefix)| Condition::BeginsWith(whole, prefix)),
        2 => (operand(), operand()).prop_map(|(whole, part)| Condition::Contains(whole, part)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::And),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::Or),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

fn read(operand: &Operand, attributes: &Attributes) -> Option<Value> {
    match operand {
        Operand::Path(path) => find(path, attributes).cloned(),
        Operand::Value(value) => Some(value.to_value()),
        Operand::Size(path) => {
            let size = match find(path, attributes)? {
                Value::S(text) => text.len(), // the texts here are ASCII
                Value::B(bytes) => bytes.len(),
                Value::Ss(set) => set.len(),
                Value::Ns(set) => set.len(),
                Value::Bs(set) => set.len(),
                Value::L(list) => list.len(),
                Value::M(map) => map.len(),
                _ => return None,
            };
            Some(Value::from(size as i64))
        }
    }
}

fn less_or_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::S(left), Value::S(right)) => left <= right,
        (Value::N(left), Value::N(right)) => left <= right,
        (Value::B(left), Value::B(right)) => left <= right,
        _ => false,
    }
}

fn compare(comparator: Comparator, left: &Option<Value>, right: &Option<Value>) -> bool {
    let (Some(left), Some(right)) = (left, right) else { return comparator == Comparator::NotEqual };
    match comparator {
        Comparator::Equal => left == right,
        Comparator::NotEqual => left != right,
        Comparator::LessOrEqual => less_or_equal(left, right),
        Comparator::GreaterOrEqual => less_or_equal(right, left),
        Comparator::Less => less_or_equal(left, right) && left != right,
        Comparator::Greater => less_or_equal(right, left) && left != right,
    }
}

fn holds(condition: &Condition, attributes: &Attributes) -> bool {
    let read = |operand: &Operand| read(operand, attributes);
    match condition {
        Condition::And(terms) => terms.iter().all(|term| holds(term, attributes)),
        Condition::Or(terms) => terms.iter().any(|term| holds(term, attributes)),
        Condition::Not(inner) => !holds(inner, attributes),
        Condition::Compare { comparator, left, right } => compare(*comparator, &read(left), &read(right)),
        Condition::Between { subject, lower, upper } => {
            compare(Comparator::LessOrEqual, &read(lower), &read(subject))
                && compare(Comparator::LessOrEqual, &read(subject), &read(upper))
        }
        Condition::In { subject, members } => {
            members.iter().any(|member| compare(Comparator::Equal, &read(subject), &read(member)))
        }
        Condition::AttributeExists(path) => find(path, attributes).is_some(),
        Condition::AttributeNotExists(path) => find(path, attributes).is_none(),
        Condition::AttributeType(operand, kind) => read(operand).is_some_and(|value| value.kind() == *kind),
        Condition::BeginsWith(whole, prefix) => match (read(whole), read(prefix)) {
            (Some(Value::S(whole)), Some(Value::S(prefix))) => whole.starts_with(&prefix),
            (Some(Value::B(whole)), Some(Value::B(prefix))) => whole.starts_with(&prefix),
            _ => false,
        },
        Condition::Contains(whole, part) => match (read(whole), read(part)) {
            (Some(Value::S(whole)), Some(Value::S(part))) => whole.contains(&part),
            (Some(Value::B(whole)), Some(Value::B(part))) => {
                (0..=whole.len()).any(|start| whole[start..].starts_with(&part))
            }
            (Some(Value::Ss(set)), Some(Value::S(member))) => set.contains(&member),
            (Some(Value::Ns(set)), Some(Value::N(member))) => set.contains(&member),
            (Some(Value::Bs(set)), Some(Value::B(member))) => set.contains(&member),
            (Some(Value::L(list)), Some(member)) => list.contains(&member),
            _ => false,
        },
    }
}

// Projections.

/// Keeps an element of the tree if some path ends in it, or in something below it that exists.
fn keep(at: &mut Vec<Step>, attribute: &str, value: &Value, wanted: &[Path]) -> Option<Value> {
    if wanted.iter().any(|path| path.attribute == attribute && path.steps == *at) {
        return Some(value.clone());
    }
    let mut below = |step: Step, value: &Value| {
        at.push(step);
        let kept = keep(at, attribute, value, wanted);
        at.pop();
        kept
    };
    let kept = match value {
        Value::M(map) => Value::M(
            map.iter()
                .filter_map(|(name, value)| Some((name.clone(), below(Step::Name(name.clone()), value)?)))
                .collect(),
        ),
        Value::L(list) => Value::L(
            list.iter()
                .enumerate()
                .filter_map(|(index, value)| below(Step::Index(index as u32), value))
                .collect(),
        ),
        _ => return None,
    };
    let is_empty = matches!(&kept, Value::M(map) if map.is_empty())
        || matches!(&kept, Value::L(list) if list.is_empty());
    (!is_empty).then_some(kept)
}

fn project(paths: &[Path], attributes: &Attributes) -> Attributes {
    attributes
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), keep(&mut Vec::new(), name, value, paths)?)))
        .collect()
}

// Updates.

fn update_operand() -> impl Strategy<Value = UpdateOperand> {
    let leaf = prop_oneof![
        path().prop_map(UpdateOperand::Path),
        value().prop_map(|value| UpdateOperand::Value(value.into()))
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        let pair =
            || (inner.clone(), inner.clone()).prop_map(|(left, right)| (Box::new(left), Box::new(right)));
        prop_oneof![
            (path(), inner.clone())
                .prop_map(|(path, default)| UpdateOperand::IfNotExists(path, Box::new(default))),
            pair().prop_map(|(left, right)| UpdateOperand::ListAppend(left, right)),
            pair().prop_map(|(left, right)| UpdateOperand::Sum(left, right)),
            pair().prop_map(|(left, right)| UpdateOperand::Difference(left, right)),
        ]
    })
}

fn action() -> impl Strategy<Value = Action> {
    let change = prop_oneof![
        4 => update_operand().prop_map(Change::Set),
        2 => Just(Change::Remove),
        1 => value().prop_map(|value| Change::Add(value.into())),
        1 => value().prop_map(|value| Change::Delete(value.into())),
    ];
    (path(), change).prop_map(|(target, change)| Action { target, change })
}

fn operand_value(operand: &UpdateOperand, old: &Attributes) -> Result<Value, ExpressionError> {
    let numbers = |left: &UpdateOperand, right: &UpdateOperand| match (
        operand_value(left, old)?,
        operand_value(right, old)?,
    ) {
        (Value::N(left), Value::N(right)) => Ok((left, right)),
        _ => Err(ExpressionError::OperandData),
    };
    match operand {
        UpdateOperand::Path(path) => find(path, old).cloned().ok_or(ExpressionError::MissingAttribute),
        UpdateOperand::Value(value) => Ok(value.to_value()),
        UpdateOperand::IfNotExists(path, default) => match find(path, old) {
            Some(value) => Ok(value.clone()),
            None => operand_value(default, old),
        },
        UpdateOperand::ListAppend(first, second) => {
            match (operand_value(first, old)?, operand_value(second, old)?) {
                (Value::L(first), Value::L(second)) => Ok(Value::L([first, second].concat())),
                _ => Err(ExpressionError::OperandData),
            }
        }
        UpdateOperand::Sum(left, right) => {
            numbers(left, right).map(|(left, right)| Value::N(left.checked_add(right).unwrap()))
        }
        UpdateOperand::Difference(left, right) => {
            numbers(left, right).map(|(left, right)| Value::N(left.checked_sub(right).unwrap()))
        }
    }
}

/// What replaces `old`: a value, or nothing.
fn outcome(action: &Action, old: &Attributes) -> Result<Option<Value>, ExpressionError> {
    let there = find(&action.target, old).cloned();
    Ok(match (&action.change, there) {
        (Change::Set(operand), _) => Some(operand_value(operand, old)?),
        (Change::Remove, _) | (Change::Delete(_), None) => None,
        (Change::Add(value), None) => Some(value.to_value()),
        (Change::Add(value), Some(there)) => Some(match (there, value.to_value()) {
            (Value::N(there), Value::N(value)) => Value::N(there.checked_add(value).unwrap()),
            (Value::Ss(there), Value::Ss(value)) => Value::Ss(&there | &value),
            (Value::Ns(there), Value::Ns(value)) => Value::Ns(&there | &value),
            (Value::Bs(there), Value::Bs(value)) => Value::Bs(&there | &value),
            (Value::L(there), Value::L(value)) => Value::L([there, value].concat()),
            _ => return Err(ExpressionError::OperandData),
        }),
        (Change::Delete(value), Some(there)) => match (there, value.to_value()) {
            (Value::Ss(there), Value::Ss(value)) => {
                Some(&there - &value).filter(|s| !s.is_empty()).map(Value::Ss)
            }
            (Value::Ns(there), Value::Ns(value)) => {
                Some(&there - &value).filter(|s| !s.is_empty()).map(Value::Ns)
            }
            (Value::Bs(there), Value::Bs(value)) => {
                Some(&there - &value).filter(|s| !s.is_empty()).map(Value::Bs)
            }
            _ => return Err(ExpressionError::OperandData),
        },
    })
}

/// A tree in which a removed list element leaves a gap, so that indexes stay what they were.
enum Tree {
    Value(Value),
    Map(BTreeMap<String, Tree>),
    List(BTreeMap<u32, Tree>),
}

impl Tree {
    fn new(value: &Value) -> Tree {
        match value {
            Value::M(map) => {
                Tree::Map(map.iter().map(|(name, value)| (name.clone(), Tree::new(value))).collect())
            }
            Value::L(list) => Tree::List((0..).zip(list.iter().map(Tree::new)).collect()),
            other => Tree::Value(other.clone()),
        }
    }

    fn value(self) -> Value {
        match self {
            Tree::Value(value) => value,
            Tree::Map(map) => Value::M(map.into_iter().map(|(name, tree)| (name, tree.value())).collect()),
            Tree::List(list) => Value::L(list.into_values().map(Tree::value).collect()),
        }
    }

    fn put(&mut self, steps: &[Step], value: Option<Value>) -> Result<(), ExpressionError> {
        match (self, steps) {
            (Tree::Map(map), [Step::Name(name)]) => match value {
                Some(value) => drop(map.insert(name.clone(), Tree::Value(value))),
                None => drop(map.remove(name)),
            },
            (Tree::List(list), [Step::Index(index)]) => match value {
                Some(value) => drop(list.insert(*index, Tree::Value(value))),
                None => drop(list.remove(index)),
            },
            (Tree::Map(map), [Step::Name(name), rest @ ..]) => {
                map.get_mut(name).ok_or(ExpressionError::PathNotUpdatable)?.put(rest, value)?;
            }
            (Tree::List(list), [Step::Index(index), rest @ ..]) => {
                list.get_mut(index).ok_or(ExpressionError::PathNotUpdatable)?.put(rest, value)?;
            }
            _ => return Err(ExpressionError::PathNotUpdatable),
        }
        Ok(())
    }
}

fn updated(actions: &[Action], old: &Attributes) -> Result<Attributes, ExpressionError> {
    let outcomes: Vec<_> = actions.iter().map(|action| outcome(action, old)).collect::<Result<_, _>>()?;
    let mut tree = Tree::new(&Value::M(old.clone()));
    for (action, value) in actions.iter().zip(outcomes) {
        let first = Step::Name(action.target.attribute.clone());
        let steps: Vec<Step> = std::iter::once(first).chain(action.target.steps.iter().cloned()).collect();
        tree.put(&steps, value)?;
    }
    match tree.value() {
        Value::M(attributes) => Ok(attributes),
        _ => unreachable!(),
    }
}

proptest! {
    #[test]
    fn conditions_hold_as_in_the_model(condition in condition(), attributes in attributes()) {
        prop_assert_eq!(condition.evaluate(Some(bytes(&attributes).as_ref())), holds(&condition, &attributes));
    }

    #[test]
    fn projections_keep_what_the_model_keeps(
        paths in prop::collection::vec(path(), 1..4),
        attributes in attributes(),
    ) {
        if let Ok(projection) = Projection::new(paths.clone()) {
            let expected = project(&paths, &attributes);
            prop_assert_eq!(projection.apply(bytes(&attributes).as_ref()), bytes(&expected));
        }
    }

    #[test]
    fn updates_change_what_the_model_changes(
        actions in prop::collection::vec(action(), 1..4),
        attributes in attributes(),
    ) {
        if let Ok(update) = Update::new(actions.clone()) {
            let expected = updated(&actions, &attributes).map(|new| Updated::Item(bytes(&new)));
            prop_assert_eq!(update.apply(bytes(&attributes).as_ref(), true), expected);
        }
    }

    #[test]
    fn paths_are_refused_exactly_when_two_of_them_clash(paths in prop::collection::vec(path(), 1..5)) {
        // Two paths clash if, at the first step where they differ, one has ended or they want a map and a list.
        let clash = |one: &Path, two: &Path| {
            one.attribute == two.attribute
                && match one.steps.iter().zip(&two.steps).find(|(one, two)| one != two) {
                    None => true,
                    Some((one, two)) => std::mem::discriminant(one) != std::mem::discriminant(two),
                }
        };
        let clashes = paths.iter().enumerate().any(|(i, two)| paths[..i].iter().any(|one| clash(one, two)));
        prop_assert_eq!(Projection::new(paths).is_err(), clashes);
    }
}
