//! The operators of WHERE and SET, read as [`crate::parser`] reads them: those that are unfinished wait on a stack.

use item::{Type, ValueBuf};

use super::Parser;
use crate::error::Fault;
use crate::partiql::error::StatementError;
use crate::partiql::lexer::Shape;
use crate::partiql::syntax::Literal;
use crate::syntax::{Comparator, Function, Node, NodeId, Path};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    Condition,
    Value,
}

/// What a finished piece may be used as. A call is both: whether its function fits is not a matter of syntax.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Operand,
    Call,
    Condition,
    Arithmetic,
}

impl Class {
    fn is_operand(self) -> bool {
        matches!(self, Class::Operand | Class::Call)
    }

    pub(super) fn is_condition(self) -> bool {
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

impl Parser<'_> {
    /// Reads as far as the grammar allows; the token behind is for the caller to judge.
    pub(super) fn expression(&mut self, grammar: Grammar) -> Result<(NodeId, Class), StatementError> {
        let mut open = Vec::new();
        loop {
            let mut piece = self.operand(grammar, &mut open)?;
            // Close what the next token closes, until something wants a further operand.
            loop {
                if grammar == Grammar::Condition && takes_condition(open.last()) {
                    piece = self.type_test(piece)?;
                }
                if let Some(operator) = self.operator(grammar, piece, open.last())? {
                    open.push(operator);
                    break;
                }
                let Some(innermost) = open.pop() else { return Ok(piece) };
                match self.close(innermost, piece)? {
                    Closed::Piece(larger) => piece = larger,
                    Closed::Wants(more) => {
                        open.push(more);
                        break;
                    }
                }
            }
        }
    }

    /// Reads what may stand before an operand, and the operand.
    fn operand(&mut self, grammar: Grammar, open: &mut Vec<Open>) -> Result<(NodeId, Class), StatementError> {
        loop {
            if grammar == Grammar::Condition && self.at_keyword("NOT") && takes_condition(open.last()) {
                self.advance();
                self.operators += 1;
                open.push(Open::Not);
            } else if self.take("(") {
                open.push(Open::Parenthesis);
            } else if self.at_call() {
                open.push(Open::Call { function: self.function()?, arguments: Vec::new() });
                self.operators += 1;
                self.advance();
                self.advance();
            } else if self.at_literal() {
                let literal = self.literal(1)?;
                let node = Node::Value(self.value(literal));
                return Ok((self.nodes.push(node), Class::Operand));
            } else {
                let path = self.path()?;
                return Ok((self.nodes.push(Node::Path(path)), Class::Operand));
            }
        }
    }

    /// Here, unlike in the other expressions, function names are written in any mixture of cases.
    fn function(&mut self) -> Result<Function, StatementError> {
        let name = self.word();
        // `(` behind a keyword of the grammar belongs to an operator, and those have no operand here.
        self.demand(
            !["AND", "OR", "NOT", "IN", "BETWEEN", "IS"].into_iter().any(|word| self.at_keyword(word)),
        )?;
        let function = Function::from_name(&name.to_ascii_lowercase());
        Ok(function.filter(|function| *function != Function::IfNotExists).unwrap_or_else(|| {
            self.faults.report(Fault::UnknownFunction(name.to_owned()));
            Function::Size // any will do: the statement is refused
        }))
    }

    /// `path IS [NOT] type`, and `path = MISSING` or `path <> MISSING`, which mean the same.
    fn type_test(&mut self, (node, class): (NodeId, Class)) -> Result<(NodeId, Class), StatementError> {
        let next_is_missing = self
            .tokens
            .get(self.position + 1)
            .is_some_and(|next| self.text[next.span.clone()].eq_ignore_ascii_case("MISSING"));
        let negated = match self.comparator() {
            Some(comparator @ (Comparator::Equal | Comparator::NotEqual)) if next_is_missing => {
                self.advance();
                comparator == Comparator::NotEqual
            }
            None if self.take_keyword("IS") => self.take_keyword("NOT"),
            _ => return Ok((node, class)),
        };
        let Node::Path(path) = self.nodes.bare(node).clone() else { return Err(self.unexpected()) };
        self.operators += 1;
        let test = self.test_of_type(path, negated)?;
        Ok((test, Class::Condition))
    }

    fn test_of_type(&mut self, path: Path, negated: bool) -> Result<NodeId, StatementError> {
        let kinds = match self.word() {
            _ if self.shape() != Shape::Word => return Err(self.unexpected()),
            word if word.eq_ignore_ascii_case("MISSING") => {
                self.advance();
                let function = if negated { Function::AttributeExists } else { Function::AttributeNotExists };
                let path = self.nodes.push(Node::Path(path));
                return Ok(self.nodes.push(Node::Call { function, arguments: vec![path] }));
            }
            word => types_named(word).ok_or_else(|| self.unexpected())?,
        };
        self.advance();
        let mut test = None;
        for kind in kinds {
            let name = Literal::Scalar(ValueBuf::from(kind.name()));
            let value = Node::Value(self.value(name));
            let arguments = vec![self.nodes.push(Node::Path(path.clone())), self.nodes.push(value)];
            let call = self.nodes.push(Node::Call { function: Function::AttributeType, arguments });
            test = Some(match test {
                None => call,
                Some(others) => self.nodes.push(Node::Or(others, call)),
            });
        }
        let test = test.ok_or_else(|| self.unexpected())?;
        Ok(if negated { self.nodes.push(Node::Not(test)) } else { test })
    }

    /// Takes the operator at the current token with `piece` on its left, if it binds tighter than what is open.
    fn operator(
        &mut self,
        grammar: Grammar,
        piece: (NodeId, Class),
        innermost: Option<&Open>,
    ) -> Result<Option<Open>, StatementError> {
        let operator = match grammar {
            Grammar::Condition => self.condition_operator(piece, innermost)?,
            Grammar::Value => self.value_operator(piece, innermost),
        };
        if operator.is_some() {
            self.advance();
            self.operators += 1;
        }
        Ok(operator)
    }

    fn value_operator(&self, (left, _): (NodeId, Class), innermost: Option<&Open>) -> Option<Open> {
        match innermost {
            None | Some(Open::Parenthesis) if self.at("+") => Some(Open::Plus(left)),
            None | Some(Open::Parenthesis) if self.at("-") => Some(Open::Minus(left)),
            _ => None,
        }
    }

    fn condition_operator(
        &mut self,
        (left, class): (NodeId, Class),
        innermost: Option<&Open>,
    ) -> Result<Option<Open>, StatementError> {
        if !takes_condition(innermost) {
            return Ok(None);
        }
        if class.is_operand() {
            if let Some(comparator) = self.comparator() {
                return Ok(Some(Open::Compare { comparator, left }));
            }
            let negated = self.take_keyword("NOT");
            if self.at_keyword("BETWEEN") {
                return Ok(Some(Open::BetweenLower { subject: left, negated }));
            }
            if self.at_keyword("IN") {
                self.advance();
                let end = match self.word() {
                    "[" => "]",
                    "(" => ")",
                    "<<" => ">>",
                    _ => return Err(self.unexpected()),
                };
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

    fn comparator(&self) -> Option<Comparator> {
        match self.word() {
            _ if self.shape() != Shape::Mark => None,
            "!=" => Some(Comparator::NotEqual),
            sign => Comparator::from_sign(sign),
        }
    }

    /// Gives the innermost open operator its operand.
    fn close(&mut self, innermost: Open, (node, class): (NodeId, Class)) -> Result<Closed, StatementError> {
        let (node, class) = match innermost {
            Open::Parenthesis => {
                self.expect(")")?;
                // A sum in parentheses may be an operand again.
                let class = if class == Class::Arithmetic { Class::Operand } else { class };
                (Node::Parentheses(node), class)
            }
            Open::Call { function, mut arguments } => {
                self.demand(class.is_operand())?;
                arguments.push(node);
                if self.take(",") {
                    return Ok(Closed::Wants(Open::Call { function, arguments }));
                }
                self.expect(")")?;
                (Node::Call { function, arguments }, Class::Call)
            }
            Open::In { subject, mut members, negated, end } => {
                self.demand(class.is_operand())?;
                members.push(node);
                if self.take(",") {
                    return Ok(Closed::Wants(Open::In { subject, members, negated, end }));
                }
                self.expect(end)?;
                (self.negated(negated, Node::In { subject, members }), Class::Condition)
            }
            Open::BetweenLower { subject, negated } => {
                self.demand(class.is_operand() && self.at_keyword("AND"))?;
                self.advance();
                return Ok(Closed::Wants(Open::BetweenUpper { subject, lower: node, negated }));
            }
            Open::BetweenUpper { subject, lower, negated } => {
                self.demand(class.is_operand())?;
                (self.negated(negated, Node::Between { subject, lower, upper: node }), Class::Condition)
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
        Ok(Closed::Piece((self.nodes.push(node), class)))
    }

    /// `NOT BETWEEN` and `NOT IN`.
    fn negated(&mut self, negated: bool, node: Node) -> Node {
        if negated { Node::Not(self.nodes.push(node)) } else { node }
    }
}

enum Closed {
    Piece((NodeId, Class)),
    Wants(Open),
}

/// Whether a whole condition may stand where the innermost open operator waits.
fn takes_condition(innermost: Option<&Open>) -> bool {
    matches!(innermost, None | Some(Open::Parenthesis | Open::Not | Open::And(_) | Open::Or(_)))
}

/// The types that `IS` tells apart, by PartiQL's names and by DynamoDB's own.
fn types_named(name: &str) -> Option<&'static [Type]> {
    Some(match name.to_ascii_uppercase().as_str() {
        "NULL" => &[Type::Null],
        "BOOL" | "BOOLEAN" => &[Type::Bool],
        "STRING" | "CHAR" | "CHARACTER" | "VARCHAR" => &[Type::S],
        "NUMBER" | "NUMERIC" | "DECIMAL" | "DEC" | "INT" | "INTEGER" | "SMALLINT" | "FLOAT" | "REAL" => {
            &[Type::N]
        }
        "BINARY" | "BLOB" => &[Type::B],
        "LIST" => &[Type::L],
        "TUPLE" | "STRUCT" | "MAP" => &[Type::M],
        "BAG" => &[Type::Ss, Type::Ns, Type::Bs],
        _ => return None,
    })
}
