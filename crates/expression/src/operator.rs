//! Operators by precedence, for the conditions and values of both languages.
//!
//! Operators that still wait for an operand are kept on a stack of their own, so thousands of parentheses cost memory
//! in proportion to the text and no call depth. From loose to tight: OR, AND, NOT, then comparisons and the like.

use crate::error::Fault;
use crate::language::{Language, Parser};
use crate::syntax::{Comparator, Function, Node, NodeId};

/// What may be read: a condition, or a value to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    Condition,
    Value,
}

/// A part of the text that has been read, and may be what an operator waits for.
#[derive(Clone, Copy)]
pub(crate) struct ParsedOperand {
    pub node: NodeId,
    pub class: Class,
}

/// What a [`ParsedOperand`] may be used as. A call is both an operand of comparisons and a condition: whether its function
/// fits is not a matter of syntax.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Operand,
    Call,
    Condition,
    Arithmetic,
}

impl Class {
    pub fn is_operand(self) -> bool {
        matches!(self, Class::Operand | Class::Call)
    }

    pub fn is_condition(self) -> bool {
        matches!(self, Class::Condition | Class::Call)
    }
}

/// An operator that waits for its next operand.
enum Open {
    Parenthesis,
    Call { function: Function, arguments: Vec<NodeId> },
    In { subject: NodeId, members: Vec<NodeId>, negated: bool, end: &'static str },
    BetweenLower { subject: NodeId, negated: bool },
    BetweenUpper { subject: NodeId, lower: NodeId, negated: bool },
    Compare { comparator: Comparator, left: NodeId },
    Plus(NodeId),
    Minus(NodeId),
    Not,
    And(NodeId),
    Or(NodeId),
}

impl Open {
    /// Whether a whole condition may be the operand that the innermost open operator waits for.
    fn takes_condition(innermost: Option<&Open>) -> bool {
        matches!(innermost, None | Some(Open::Parenthesis | Open::Not | Open::And(_) | Open::Or(_)))
    }
}

/// The outcome of giving an operand to an open operator.
enum Closed {
    Complete(ParsedOperand),
    WantsMore(Open),
}

impl<L: Language> Parser<'_, L> {
    /// Reads as far as the grammar allows. The caller judges the token that follows.
    pub fn expression(&mut self, grammar: Grammar) -> Result<ParsedOperand, L::Error> {
        let mut open = Vec::new();
        loop {
            let mut operand = self.operand(grammar, &mut open)?;
            // Close what the next token closes, until an operator wants a further operand.
            loop {
                if grammar == Grammar::Condition && Open::takes_condition(open.last()) {
                    operand = L::test(self, operand)?;
                }
                if let Some(operator) = self.operator(grammar, operand, open.last())? {
                    open.push(operator);
                    break;
                }
                let Some(innermost) = open.pop() else { return Ok(operand) };
                match self.close(innermost, operand)? {
                    Closed::Complete(larger) => operand = larger,
                    Closed::WantsMore(operator) => {
                        open.push(operator);
                        break;
                    }
                }
            }
        }
    }

    /// Reads what may come before a value or path, and the value or path.
    fn operand(&mut self, grammar: Grammar, open: &mut Vec<Open>) -> Result<ParsedOperand, L::Error> {
        loop {
            if grammar == Grammar::Condition && self.at_keyword("NOT") && Open::takes_condition(open.last()) {
                self.advance();
                self.operators += 1;
                open.push(Open::Not);
            } else if self.take("(") {
                open.push(Open::Parenthesis);
            } else if let Some(function) = L::call(self)? {
                open.push(Open::Call { function, arguments: Vec::new() });
                self.advance();
                self.advance();
            } else {
                let node = match L::value(self)? {
                    Some(placeholder) => Node::Value(placeholder),
                    None => Node::Path(self.path()?),
                };
                return Ok(ParsedOperand { node: self.nodes.push(node), class: Class::Operand });
            }
        }
    }

    /// Takes the operator at the current token with `left` on its left, if it binds tighter than what is open.
    fn operator(
        &mut self,
        grammar: Grammar,
        left: ParsedOperand,
        innermost: Option<&Open>,
    ) -> Result<Option<Open>, L::Error> {
        let operator = match grammar {
            Grammar::Condition => self.condition_operator(left, innermost)?,
            Grammar::Value => self.value_operator(left, innermost),
        };
        if operator.is_some() {
            self.advance();
            self.operators += 1;
        }
        Ok(operator)
    }

    fn value_operator(&self, left: ParsedOperand, innermost: Option<&Open>) -> Option<Open> {
        if !matches!(innermost, None | Some(Open::Parenthesis)) || !(L::LONG_SUMS || left.class.is_operand())
        {
            return None;
        }
        match self.word() {
            "+" => Some(Open::Plus(left.node)),
            "-" => Some(Open::Minus(left.node)),
            _ => None,
        }
    }

    fn condition_operator(
        &mut self,
        ParsedOperand { node: left, class }: ParsedOperand,
        innermost: Option<&Open>,
    ) -> Result<Option<Open>, L::Error> {
        if !Open::takes_condition(innermost) {
            return Ok(None);
        }
        if class.is_operand() {
            if let Some(comparator) = L::comparator(self) {
                return Ok(Some(Open::Compare { comparator, left }));
            }
            let negated = L::NEGATED_OPERATORS && self.take_keyword("NOT");
            if self.at_keyword("BETWEEN") {
                return Ok(Some(Open::BetweenLower { subject: left, negated }));
            }
            if self.at_keyword("IN") {
                self.advance();
                let end = L::list_end(self.word()).ok_or_else(|| L::unexpected(self))?;
                return Ok(Some(Open::In { subject: left, members: Vec::new(), negated, end }));
            }
            self.demand(!negated)?;
        }
        if self.at_keyword("AND") && !matches!(innermost, Some(Open::Not | Open::And(_))) {
            self.demand(class.is_condition())?;
            return Ok(Some(Open::And(left)));
        }
        if self.at_keyword("OR") && !matches!(innermost, Some(Open::Not | Open::And(_) | Open::Or(_))) {
            self.demand(class.is_condition())?;
            return Ok(Some(Open::Or(left)));
        }
        Ok(None)
    }

    /// Gives the innermost open operator its operand.
    fn close(
        &mut self,
        innermost: Open,
        ParsedOperand { node, class }: ParsedOperand,
    ) -> Result<Closed, L::Error> {
        let (node, class) = match innermost {
            Open::Parenthesis => {
                self.expect(")")?;
                let redundant = matches!(self.nodes.get(node), Node::Parentheses(_));
                if redundant && L::REFUSES_REDUNDANT_PARENTHESES {
                    self.faults.report(Fault::RedundantParentheses);
                }
                // A sum in parentheses may be an operand again.
                let class = if class == Class::Arithmetic { Class::Operand } else { class };
                (Node::Parentheses(node), class)
            }
            Open::Call { function, mut arguments } => {
                self.demand(class.is_operand())?;
                arguments.push(node);
                if self.take(",") {
                    return Ok(Closed::WantsMore(Open::Call { function, arguments }));
                }
                self.expect(")")?;
                (Node::Call { function, arguments }, Class::Call)
            }
            Open::In { subject, mut members, negated, end } => {
                self.demand(class.is_operand())?;
                members.push(node);
                if self.take(",") {
                    return Ok(Closed::WantsMore(Open::In { subject, members, negated, end }));
                }
                self.expect(end)?;
                (self.negated_if(negated, Node::In { subject, members }), Class::Condition)
            }
            Open::BetweenLower { subject, negated } => {
                self.demand(class.is_operand() && self.at_keyword("AND"))?;
                self.advance();
                return Ok(Closed::WantsMore(Open::BetweenUpper { subject, lower: node, negated }));
            }
            Open::BetweenUpper { subject, lower, negated } => {
                self.demand(class.is_operand())?;
                (self.negated_if(negated, Node::Between { subject, lower, upper: node }), Class::Condition)
            }
            Open::Compare { comparator, left } => {
                self.demand(class.is_operand())?;
                (Node::Compare { comparator, left, right: node }, Class::Condition)
            }
            Open::Plus(left) => (Node::Plus(left, node), Class::Arithmetic),
            Open::Minus(left) => (Node::Minus(left, node), Class::Arithmetic),
            Open::Not => {
                self.demand(class.is_condition())?;
                (Node::Not(node), Class::Condition)
            }
            Open::And(left) => {
                self.demand(class.is_condition())?;
                (Node::And(left, node), Class::Condition)
            }
            Open::Or(left) => {
                self.demand(class.is_condition())?;
                (Node::Or(left, node), Class::Condition)
            }
        };
        Ok(Closed::Complete(ParsedOperand { node: self.nodes.push(node), class }))
    }

    /// `NOT BETWEEN` and `NOT IN`.
    fn negated_if(&mut self, negated: bool, node: Node) -> Node {
        if negated { Node::Not(self.nodes.push(node)) } else { node }
    }
}
