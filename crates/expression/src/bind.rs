//! Syntax trees and placeholders to bound expressions.
//!
//! Nodes are bound in the order of their list, operands first, so there is no recursion. Binding goes on after a
//! fault, because a more serious one may follow: a wrong node is replaced by a harmless one of the same class, and
//! the whole expression is refused at the end.

use base64::Engine as _;
use item::{Number, Type, ValueBuf, ValueRef, View};

use crate::condition::{Condition, Operand};
use crate::error::{ExpressionError, Fault, Faults, Kind};
use crate::path::{Path, Step};
use crate::placeholders::Placeholders;
use crate::syntax::{self, Comparator, Element, Function, Node, NodeId, Nodes};
use crate::update::{Action, Change, UpdateOperand};

/// The subject and the members of IN, counted together.
const IN_OPERANDS_MAX: usize = 100;

pub(crate) fn condition(
    kind: Kind,
    tree: &syntax::ConditionTree,
    placeholders: &mut Placeholders<'_>,
) -> Result<Condition, ExpressionError> {
    let mut binder = Conditions { nodes: &tree.nodes, bound: Vec::new(), faults: Faults::default() };
    for node in tree.nodes.iter() {
        let bound = binder.node(node, placeholders);
        binder.bound.push(Some(bound));
    }
    let condition = binder.condition(tree.root);
    binder.faults.finish(kind)?;
    Ok(condition)
}

/// The actions of an update. [`crate::Update`] checks whether their targets overlap or conflict.
pub(crate) fn update(
    tree: &syntax::UpdateTree,
    placeholders: &mut Placeholders<'_>,
    faults: &mut Faults,
) -> Vec<Action> {
    let mut bound = Vec::new();
    for node in tree.nodes.iter() {
        let operand = update_operand(node, &mut bound, placeholders, faults);
        bound.push(Some(operand));
    }
    tree.actions.iter().map(|action| update_action(action, &mut bound, placeholders, faults)).collect()
}

pub(crate) fn path(
    path: &syntax::WrittenPath,
    placeholders: &mut Placeholders<'_>,
    faults: &mut Faults,
) -> Path {
    let mut steps = path.0.iter().map(|element| match element {
        Element::Name(name) => Step::Name(name.clone()),
        Element::Placeholder(key) => Step::Name(placeholders.name(key, faults)),
        Element::Index(index) => Step::Index(*index),
    });
    let attribute = match steps.next() {
        Some(Step::Name(name)) => name,
        _ => unreachable!("the parser begins every path with a name"),
    };
    Path { attribute, steps: steps.collect() }
}

enum Bound {
    Operand(Operand),
    Condition(Condition),
}

struct Conditions<'t> {
    nodes: &'t Nodes,
    /// One entry for each node so far; the node that uses it takes it out.
    bound: Vec<Option<Bound>>,
    faults: Faults,
}

impl Conditions<'_> {
    fn node(&mut self, node: &Node, placeholders: &mut Placeholders<'_>) -> Bound {
        Bound::Condition(match node {
            Node::Path(written) => {
                return Bound::Operand(Operand::Path(path(written, placeholders, &mut self.faults)));
            }
            Node::Value(key) => {
                return Bound::Operand(Operand::Value(placeholders.value(key, &mut self.faults)));
            }
            Node::Parentheses(inner) => return self.take(*inner),
            Node::Call { function, arguments } => return self.call(*function, arguments),
            Node::Compare { comparator, left, right } => self.comparison(*comparator, *left, *right),
            Node::Between { subject, lower, upper } => self.between(*subject, *lower, *upper),
            Node::In { subject, members } => self.membership(*subject, members),
            Node::Not(inner) => Condition::Not(Box::new(self.condition(*inner))),
            Node::And(left, right) => match self.condition(*left) {
                // A chain of ANDs is nested on its left side; flattened, it has no depth.
                Condition::And(mut terms) => {
                    terms.push(self.condition(*right));
                    Condition::And(terms)
                }
                left => Condition::And(vec![left, self.condition(*right)]),
            },
            Node::Or(left, right) => match self.condition(*left) {
                Condition::Or(mut terms) => {
                    terms.push(self.condition(*right));
                    Condition::Or(terms)
                }
                left => Condition::Or(vec![left, self.condition(*right)]),
            },
            Node::Plus(..) | Node::Minus(..) => unreachable!("the grammar of conditions has no arithmetic"),
        })
    }

    fn take(&mut self, id: NodeId) -> Bound {
        self.bound[Nodes::index(id)].take().unwrap_or_else(|| unreachable!("a node has one user"))
    }

    fn operand(&mut self, id: NodeId) -> Operand {
        match self.take(id) {
            Bound::Operand(operand) => operand,
            Bound::Condition(_) => {
                self.misplaced(id);
                harmless_operand()
            }
        }
    }

    fn condition(&mut self, id: NodeId) -> Condition {
        match self.take(id) {
            Bound::Condition(condition) => condition,
            Bound::Operand(_) => {
                self.misplaced(id);
                harmless_condition()
            }
        }
    }

    fn misplaced(&mut self, id: NodeId) {
        // The grammar admits nothing but a call where the class does not fit.
        if let Node::Call { function, .. } = self.nodes.bare(id) {
            self.faults.report(Fault::Misplaced(function.name()));
        }
    }

    fn comparison(&mut self, comparator: Comparator, left: NodeId, right: NodeId) -> Condition {
        let (left, right) = (self.operand(left), self.operand(right));
        if !matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
            self.check_types(comparator.sign(), [&left, &right], Type::is_ordered);
        }
        self.check_distinct(comparator.sign(), &left, [&right]);
        Condition::Compare { comparator, left, right }
    }

    fn between(&mut self, subject: NodeId, lower: NodeId, upper: NodeId) -> Condition {
        let (subject, lower, upper) = (self.operand(subject), self.operand(lower), self.operand(upper));
        self.check_types("BETWEEN", [&subject, &lower, &upper], Type::is_ordered);
        if let (Operand::Value(lower), Operand::Value(upper)) = (&lower, &upper) {
            let (lower, upper) = (lower.as_ref(), upper.as_ref());
            if lower.kind() != upper.kind() {
                self.faults.report(Fault::BoundTypes { lower: shown(lower), upper: shown(upper) });
            } else if lower.partial_cmp_same_type(upper).is_some_and(std::cmp::Ordering::is_gt) {
                self.faults.report(Fault::BoundOrder { lower: shown(lower), upper: shown(upper) });
            }
        }
        self.check_distinct("BETWEEN", &subject, [&lower, &upper]);
        Condition::Between { subject, lower, upper }
    }

    fn membership(&mut self, subject: NodeId, members: &[NodeId]) -> Condition {
        let subject = self.operand(subject);
        let members: Vec<Operand> = members.iter().map(|member| self.operand(*member)).collect();
        let count = 1 + members.len();
        if count > IN_OPERANDS_MAX {
            self.faults.report(Fault::OperandCount { operator: "IN", count });
        }
        self.check_distinct("IN", &subject, &members);
        Condition::In { subject, members }
    }

    fn call(&mut self, function: Function, arguments: &[NodeId]) -> Bound {
        let name = function.name();
        if arguments.len() != function.operand_count() {
            self.faults.report(Fault::OperandCount { operator: name, count: arguments.len() });
            return match function {
                Function::Size | Function::IfNotExists | Function::ListAppend => {
                    Bound::Operand(harmless_operand())
                }
                _ => Bound::Condition(harmless_condition()),
            };
        }
        let first = self.operand(arguments[0]);
        Bound::Condition(match function {
            Function::Size => return Bound::Operand(self.size(first)),
            Function::IfNotExists | Function::ListAppend => {
                self.faults.report(Fault::Misplaced(name));
                return Bound::Operand(harmless_operand());
            }
            Function::AttributeExists | Function::AttributeNotExists => {
                let Operand::Path(path) = first else {
                    self.faults.report(Fault::PathRequired(name));
                    return Bound::Condition(harmless_condition());
                };
                match function {
                    Function::AttributeExists => Condition::AttributeExists(path),
                    _ => Condition::AttributeNotExists(path),
                }
            }
            Function::AttributeType => {
                let kind = self.operand(arguments[1]);
                Condition::AttributeType(first, self.type_named(&kind))
            }
            Function::BeginsWith => {
                let prefix = self.operand(arguments[1]);
                self.check_types(name, [&first, &prefix], |kind| matches!(kind, Type::S | Type::B));
                self.check_distinct(name, &first, [&prefix]);
                Condition::BeginsWith(first, prefix)
            }
            Function::Contains => {
                let member = self.operand(arguments[1]);
                self.check_distinct(name, &first, [&member]);
                Condition::Contains(first, member)
            }
        })
    }

    fn size(&mut self, of: Operand) -> Operand {
        match &of {
            Operand::Path(path) => Operand::Size(path.clone()),
            Operand::Size(_) => {
                self.faults.report(Fault::OperandType { operator: "size", operand: Type::N.name() });
                of
            }
            Operand::Value(value) => match crate::condition::size(value.as_ref()) {
                Some(size) => Operand::Value(ValueBuf::from(Number::from(size as u64))),
                None => {
                    let operand = value.as_ref().kind().name();
                    self.faults.report(Fault::OperandType { operator: "size", operand });
                    of
                }
            },
        }
    }

    fn type_named(&mut self, operand: &Operand) -> Type {
        const ANY: &str = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}";
        let operator = Function::AttributeType.name();
        let Operand::Value(value) = operand else {
            self.faults.report(Fault::OperandType { operator, operand: ANY });
            return Type::Null;
        };
        let View::S(name) = value.as_ref().view() else {
            self.faults.report(Fault::OperandType { operator, operand: value.as_ref().kind().name() });
            return Type::Null;
        };
        Type::from_name(name).unwrap_or_else(|| {
            self.faults.report(Fault::TypeName(name.to_owned()));
            Type::Null
        })
    }

    /// Checks the types of the request's own values. Types of attributes are only known when there is an item.
    fn check_types<'o>(
        &mut self,
        operator: &'static str,
        operands: impl IntoIterator<Item = &'o Operand>,
        fits: impl Fn(Type) -> bool,
    ) {
        for operand in operands {
            let kind = match operand {
                Operand::Path(_) => continue,
                Operand::Value(value) => value.as_ref().kind(),
                Operand::Size(_) => Type::N,
            };
            if !fits(kind) {
                self.faults.report(Fault::OperandType { operator, operand: kind.name() });
            }
        }
    }

    fn check_distinct<'o>(
        &mut self,
        operator: &'static str,
        first: &Operand,
        others: impl IntoIterator<Item = &'o Operand>,
    ) {
        let Operand::Path(path) = first else { return };
        if others.into_iter().any(|other| other == first) {
            self.faults.report(Fault::SameOperand { operator, operand: path.clone() });
        }
    }
}

/// Stands in for a wrong operand: a path is allowed nearly everywhere.
fn harmless_path() -> Path {
    Path::of_attribute("")
}

fn harmless_operand() -> Operand {
    Operand::Path(harmless_path())
}

fn harmless_condition() -> Condition {
    Condition::And(Vec::new())
}

/// A bound of BETWEEN as its messages show it.
fn shown(value: ValueRef<'_>) -> String {
    let kind = value.kind().name();
    match value.view() {
        View::S(text) => format!("{{{kind}:{text}}}"),
        View::N(number) => format!("{{{kind}:{number}}}"),
        View::B(bytes) => format!("{{{kind}:{}}}", base64::engine::general_purpose::STANDARD.encode(bytes)),
        _ => format!("{{{kind}}}"), // no message shows these types: they are refused earlier
    }
}

fn update_operand(
    node: &Node,
    bound: &mut [Option<UpdateOperand>],
    placeholders: &mut Placeholders<'_>,
    faults: &mut Faults,
) -> UpdateOperand {
    match node {
        Node::Path(written) => UpdateOperand::Path(path(written, placeholders, faults)),
        Node::Value(key) => UpdateOperand::Value(placeholders.value(key, faults)),
        Node::Parentheses(inner) => take(bound, *inner),
        Node::Plus(left, right) | Node::Minus(left, right) => {
            let operands = [take(bound, *left), take(bound, *right)];
            let operator = if matches!(node, Node::Plus(..)) { "+" } else { "-" };
            check_update_types(operator, Type::N, &operands, faults);
            let [left, right] = operands.map(Box::new);
            if operator == "+" {
                UpdateOperand::Sum(left, right)
            } else {
                UpdateOperand::Difference(left, right)
            }
        }
        Node::Call { function, arguments } => {
            let operator = function.name();
            let operands: Vec<UpdateOperand> =
                arguments.iter().map(|argument| take(bound, *argument)).collect();
            let count = operands.len();
            match (function, <[UpdateOperand; 2]>::try_from(operands)) {
                (Function::IfNotExists, Ok([UpdateOperand::Path(path), default])) => {
                    return UpdateOperand::IfNotExists(path, Box::new(default));
                }
                (Function::IfNotExists, Ok(_)) => faults.report(Fault::PathRequired(operator)),
                (Function::ListAppend, Ok(operands)) => {
                    check_update_types(operator, Type::L, &operands, faults);
                    let nested =
                        operands.iter().any(|operand| matches!(operand, UpdateOperand::ListAppend(..)));
                    if nested {
                        faults.report(Fault::Misplaced(operator));
                    } else {
                        let [first, second] = operands.map(Box::new);
                        return UpdateOperand::ListAppend(first, second);
                    }
                }
                (Function::IfNotExists | Function::ListAppend, Err(_)) => {
                    faults.report(Fault::OperandCount { operator, count });
                }
                _ => faults.report(Fault::Misplaced(operator)),
            }
            UpdateOperand::Path(harmless_path())
        }
        _ => unreachable!("the grammar of SET has no conditions"),
    }
}

fn take(bound: &mut [Option<UpdateOperand>], id: NodeId) -> UpdateOperand {
    bound[Nodes::index(id)].take().unwrap_or_else(|| unreachable!("a node has one user"))
}

fn check_update_types(operator: &'static str, wanted: Type, operands: &[UpdateOperand], faults: &mut Faults) {
    for operand in operands {
        let kind = match operand {
            UpdateOperand::Path(_) | UpdateOperand::IfNotExists(..) => continue,
            UpdateOperand::Value(value) => value.as_ref().kind(),
            UpdateOperand::ListAppend(..) => Type::L,
            UpdateOperand::Sum(..) | UpdateOperand::Difference(..) => Type::N,
        };
        if kind != wanted {
            faults.report(Fault::OperandType { operator, operand: kind.name() });
        }
    }
}

fn update_action(
    action: &syntax::WrittenAction,
    bound: &mut [Option<UpdateOperand>],
    placeholders: &mut Placeholders<'_>,
    faults: &mut Faults,
) -> Action {
    let mut literal = |operator, key: &str, fits: fn(Type) -> bool, faults: &mut Faults| {
        let value = placeholders.value(key, faults);
        let kind = value.as_ref().kind();
        if !fits(kind) {
            faults.report(Fault::ActionOperandType { operator, operand: kind });
        }
        value
    };
    let (target, change) = match action {
        syntax::WrittenAction::Set { target, value } => (target, Change::Set(take(bound, *value))),
        syntax::WrittenAction::Remove { target } => (target, Change::Remove),
        syntax::WrittenAction::Add { target, value } => {
            (target, Change::Add(literal("ADD", value, |kind| kind == Type::N || kind.is_set(), faults)))
        }
        syntax::WrittenAction::Delete { target, value } => {
            (target, Change::Delete(literal("DELETE", value, Type::is_set, faults)))
        }
    };
    Action { target: path(target, placeholders, faults), change }
}
