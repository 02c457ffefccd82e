//! A statement's tokens to its syntax tree.
//!
//! ```text
//! statement := SELECT list FROM source [WHERE condition] [ORDER BY name [ASC | DESC], …]
//!            | EXISTS (SELECT …)
//!            | INSERT INTO table VALUE literal
//!            | UPDATE table (SET path = value, … | REMOVE path, …)… WHERE condition [RETURNING …]
//!            | DELETE FROM table WHERE condition [RETURNING …]
//! condition := and (OR and)*             value   := operand ((+ | -) operand)* | SET_ADD(path, literal) | …
//! and       := not (AND not)*            operand := path | literal | name(operand, …) | '(' … ')'
//! not       := NOT not | primary
//! primary   := operand comparator operand | operand [NOT] BETWEEN operand AND operand
//!            | operand [NOT] IN [operand, …] | path IS [NOT] type | name(operand, …) | '(' condition ')'
//! ```
//!
//! The operators are read as [`crate::parser`] reads them: those that are unfinished wait on a stack. Their nodes are
//! the same, with every literal behind a placeholder.

use std::ops::Range;

use item::{Number, Type, Value, ValueBuf, ValueError};

use super::error::{Position, StatementError};
use super::keyword::is_keyword;
use super::lexer::{self, Shape, Token, unquoted};
use super::select_list::SelectList;
use super::statement::{Order, Returning};
use super::syntax::{Body, Literal, Select, Statement, placeholder};
use crate::error::{Fault, Faults, Kind};
use crate::parser::{LIST_INDEX_MAX, OPERATORS_MAX, PATH_DEPTH_MAX};
use crate::path::{self, Step};
use crate::syntax::{Action, Comparator, Condition, Element, Function, Node, NodeId, Nodes, Path, Update};
use crate::update::NESTING_MAX;

pub const TEXT_CHARACTERS_MAX: usize = 8192;

/// Values of attributes may be 32 levels deep, and INSERT writes one more level around them.
const LITERAL_DEPTH_MAX: usize = NESTING_MAX + 1;

/// Reads one statement, which may end in a semicolon.
pub fn parse(text: &str) -> Result<Statement, StatementError> {
    if text.len() > TEXT_CHARACTERS_MAX && text.chars().count() > TEXT_CHARACTERS_MAX {
        return Err(malformed(format!("It has more than {TEXT_CHARACTERS_MAX} characters")));
    }
    let mut parser = Parser {
        text,
        tokens: lexer::tokens(text)?,
        position: 0,
        nodes: Nodes::default(),
        values: Vec::new(),
        parameters: 0,
        operators: 0,
        faults: Faults::default(),
    };
    let body = parser.statement()?;
    parser.take(";");
    parser.end()?;
    if parser.operators > OPERATORS_MAX {
        parser.faults.report(Fault::TooManyOperators(OPERATORS_MAX + 1));
    }
    parser.faults.finish(Kind::Condition)?;
    Ok(Statement { body, values: parser.values, parameters: parser.parameters })
}

fn malformed(detail: impl Into<String>) -> StatementError {
    StatementError::NotWellFormed(detail.into())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grammar {
    Condition,
    Value,
}

/// What a finished piece may be used as. A call is both: whether its function fits is not a matter of syntax.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Operand,
    Call,
    Condition,
    Arithmetic,
}

impl Class {
    fn is_operand(self) -> bool {
        matches!(self, Class::Operand | Class::Call)
    }

    fn is_condition(self) -> bool {
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

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    position: usize,
    /// Of the tree that is being read; WHERE and SET have one each.
    nodes: Nodes,
    values: Vec<Literal>,
    parameters: usize,
    operators: usize,
    faults: Faults,
}

impl<'t> Parser<'t> {
    // Looking at the tokens.

    fn shape(&self) -> Shape {
        self.tokens[self.position].shape
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.position].span.clone()
    }

    fn word(&self) -> &'t str {
        &self.text[self.span()]
    }

    fn advance(&mut self) {
        // The end stays where it is: there is always a token to look at.
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    fn at(&self, mark: &str) -> bool {
        self.shape() == Shape::Mark && self.word() == mark
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = self.at(mark);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, mark: &str) -> Result<(), StatementError> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("'{mark}'"))) }
    }

    fn at_keyword(&self, keyword: &str) -> bool {
        self.shape() == Shape::Word && self.word().eq_ignore_ascii_case(keyword)
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<(), StatementError> {
        if self.take_keyword(keyword) { Ok(()) } else { Err(self.expected(keyword)) }
    }

    /// Whether the token looked at is a word directly before an opening parenthesis.
    fn at_call(&self) -> bool {
        let next = self.tokens.get(self.position + 1);
        self.shape() == Shape::Word && next.is_some_and(|next| &self.text[next.span.clone()] == "(")
    }

    fn place(&self) -> Position {
        Position::of(&self.span(), self.text)
    }

    /// Refuses the token that is looked at.
    fn unexpected(&self) -> StatementError {
        malformed(match self.shape() {
            Shape::End => "Unexpected end of statement",
            Shape::Word if is_keyword(self.word()) => "Unexpected keyword",
            _ => "Unexpected term",
        })
    }

    fn expected(&self, what: &str) -> StatementError {
        malformed(format!("Expected {what} at {}", self.place()))
    }

    fn demand(&self, holds: bool) -> Result<(), StatementError> {
        if holds { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Nothing may follow but the end. Clauses of SQL that DynamoDB has not are named.
    fn end(&self) -> Result<(), StatementError> {
        if self.shape() == Shape::End {
            return Ok(());
        }
        const CLAUSES: [&str; 8] = ["LIMIT", "OFFSET", "GROUP", "HAVING", "JOIN", "UNION", "AS", "RETURNING"];
        Err(match CLAUSES.into_iter().find(|clause| self.at_keyword(clause)) {
            Some(clause) => StatementError::Clause { clause, position: self.place() },
            None => malformed("Unexpected token after expression"),
        })
    }

    // The statements.

    fn statement(&mut self) -> Result<Body, StatementError> {
        if self.at_keyword("EXISTS") && self.at_call() {
            self.advance();
            self.expect("(")?;
            self.expect_keyword("SELECT")?;
            let select = self.select()?;
            self.expect(")")?;
            return Ok(Body::Exists(select));
        }
        if self.take_keyword("SELECT") {
            return Ok(Body::Select(self.select()?));
        }
        if self.take_keyword("INSERT") {
            return self.insert();
        }
        if self.take_keyword("UPDATE") {
            return self.update();
        }
        if self.take_keyword("DELETE") {
            return self.delete();
        }
        Err(malformed("Expected data manipulation"))
    }

    fn select(&mut self) -> Result<Select, StatementError> {
        let list = self.select_list()?;
        self.expect_keyword("FROM")?;
        let table = self.name()?;
        let index = if self.take(".") { Some(self.name()?) } else { None };
        let condition = self.where_clause()?;
        let order = if self.take_keyword("ORDER") { self.order()? } else { Vec::new() };
        Ok(Select { table, index, list, condition, order })
    }

    fn select_list(&mut self) -> Result<SelectList, StatementError> {
        if self.take("*") {
            return Ok(SelectList::All);
        }
        let mut paths = vec![self.column()?];
        while self.take(",") {
            paths.push(self.column()?);
        }
        Ok(SelectList::Paths(paths))
    }

    fn column(&mut self) -> Result<path::Path, StatementError> {
        if self.at_call() {
            return Err(StatementError::PathComponent(self.place()));
        }
        Ok(resolved(self.path()?))
    }

    fn order(&mut self) -> Result<Vec<Order>, StatementError> {
        self.expect_keyword("BY")?;
        let mut order = Vec::new();
        loop {
            let attribute = self.name()?;
            let descending = self.take_keyword("DESC");
            if !descending {
                self.take_keyword("ASC");
            }
            order.push(Order { attribute, descending });
            if !self.take(",") {
                return Ok(order);
            }
        }
    }

    fn insert(&mut self) -> Result<Body, StatementError> {
        self.expect_keyword("INTO")?;
        let table = self.name()?;
        if !self.take_keyword("VALUE") {
            // What DynamoDB says of a list of columns, which is what stands here if anything does.
            return Err(malformed("Unexpected keyword"));
        }
        Ok(Body::Insert { table, item: self.literal(1)? })
    }

    fn update(&mut self) -> Result<Body, StatementError> {
        let table = self.name()?;
        let mut actions = Vec::new();
        loop {
            if self.take_keyword("SET") {
                actions.push(self.assignment()?);
                while self.take(",") {
                    actions.push(self.assignment()?);
                }
            } else if self.take_keyword("REMOVE") {
                actions.push(Action::Remove { target: self.path()? });
                while self.take(",") {
                    actions.push(Action::Remove { target: self.path()? });
                }
            } else if actions.is_empty() {
                return Err(malformed("Expected data manipulation"));
            } else {
                break;
            }
        }
        let changes = Update { nodes: std::mem::take(&mut self.nodes), actions };
        let condition = self.where_clause()?;
        Ok(Body::Update { table, changes, condition, returning: self.returning()? })
    }

    fn delete(&mut self) -> Result<Body, StatementError> {
        self.expect_keyword("FROM")?;
        let table = self.name()?;
        let condition = self.where_clause()?;
        let returning = self.returning()?;
        if returning.is_some_and(|returning| returning != Returning::AllOld) {
            return Err(StatementError::ReturningOfDelete);
        }
        Ok(Body::Delete { table, condition, returning })
    }

    fn returning(&mut self) -> Result<Option<Returning>, StatementError> {
        if !self.take_keyword("RETURNING") {
            return Ok(None);
        }
        let all = self.take_keyword("ALL");
        if !all {
            self.expect_keyword("MODIFIED")?;
        }
        let old = self.take_keyword("OLD");
        if !old {
            self.expect_keyword("NEW")?;
        }
        self.expect("*")?;
        Ok(Some(match (all, old) {
            (true, true) => Returning::AllOld,
            (false, true) => Returning::ModifiedOld,
            (true, false) => Returning::AllNew,
            (false, false) => Returning::ModifiedNew,
        }))
    }

    fn where_clause(&mut self) -> Result<Option<Condition>, StatementError> {
        if !self.take_keyword("WHERE") {
            return Ok(None);
        }
        let (root, class) = self.expression(Grammar::Condition)?;
        self.demand(class.is_condition())?;
        Ok(Some(Condition { nodes: std::mem::take(&mut self.nodes), root }))
    }

    fn assignment(&mut self) -> Result<Action, StatementError> {
        let target = self.path()?;
        self.expect("=")?;
        for function in ["SET_ADD", "SET_DELETE"] {
            if self.at_keyword(function) && self.at_call() {
                let value = self.set_function(function, &target)?;
                return Ok(match function {
                    "SET_ADD" => Action::Add { target, value },
                    _ => Action::Delete { target, value },
                });
            }
        }
        let (value, _) = self.expression(Grammar::Value)?;
        Ok(Action::Set { target, value })
    }

    /// `SET_ADD(target, set)`: the first argument only repeats what is assigned to.
    fn set_function(&mut self, function: &'static str, target: &Path) -> Result<String, StatementError> {
        let position = self.place();
        self.operators += 1;
        self.advance();
        self.expect("(")?;
        if self.path()? != *target {
            return Err(StatementError::FirstArgument { function, position });
        }
        self.expect(",")?;
        let set = self.literal(1)?;
        self.expect(")")?;
        Ok(self.value(set))
    }

    // Names, paths and literals.

    fn name(&mut self) -> Result<String, StatementError> {
        let name = match self.shape() {
            Shape::Word if !is_keyword(self.word()) => self.word().to_owned(),
            Shape::QuotedName => unquoted(self.word()),
            _ => return Err(self.unexpected()),
        };
        if name.is_empty() {
            return Err(ValueError::EmptyName.into());
        }
        self.advance();
        Ok(name)
    }

    fn path(&mut self) -> Result<Path, StatementError> {
        let mut elements = vec![Element::Name(self.name()?)];
        loop {
            if self.take(".") {
                elements.push(Element::Name(self.name()?));
            } else if self.take("[") {
                elements.push(self.step()?);
                self.expect("]")?;
            } else {
                break;
            }
        }
        if elements.len() > PATH_DEPTH_MAX {
            self.faults.report(Fault::PathDepth(elements.len()));
        }
        Ok(Path(elements))
    }

    /// What stands between brackets in a path: an index, or a name as a string.
    fn step(&mut self) -> Result<Element, StatementError> {
        let word = self.word();
        let element = match self.shape() {
            Shape::Text if word.len() > 2 => Element::Name(unquoted(word)),
            Shape::Number if word.bytes().all(|byte| byte.is_ascii_digit()) => {
                let index = word.parse().ok().filter(|index| *index <= LIST_INDEX_MAX);
                if index.is_none() {
                    self.faults.report(Fault::ListIndex(word.to_owned()));
                }
                Element::Index(index.unwrap_or(LIST_INDEX_MAX))
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(element)
    }

    /// Whether a literal begins here.
    fn at_literal(&self) -> bool {
        match self.shape() {
            Shape::Text | Shape::Number | Shape::Parameter => true,
            Shape::Mark => matches!(self.word(), "[" | "{" | "<<" | "-" | "+"),
            Shape::Word => ["TRUE", "FALSE", "NULL"].into_iter().any(|keyword| self.at_keyword(keyword)),
            Shape::QuotedName | Shape::End => false,
        }
    }

    /// Calls itself once for each level, which are counted.
    fn literal(&mut self, level: usize) -> Result<Literal, StatementError> {
        if level > LITERAL_DEPTH_MAX {
            return Err(ValueError::Nesting.into());
        }
        if self.take("[") {
            return Ok(Literal::List(self.elements("]", level)?));
        }
        if self.take("<<") {
            return Ok(Literal::Set(self.elements(">>", level)?));
        }
        if self.take("{") {
            return Ok(Literal::Map(self.entries(level)?));
        }
        if self.shape() == Shape::Parameter {
            self.advance();
            self.parameters += 1;
            return Ok(Literal::Parameter(self.parameters - 1));
        }
        Ok(Literal::Scalar(self.scalar()?))
    }

    fn elements(&mut self, end: &str, level: usize) -> Result<Vec<Literal>, StatementError> {
        let mut elements = Vec::new();
        if self.take(end) {
            return Ok(elements);
        }
        loop {
            elements.push(self.literal(level + 1)?);
            if !self.take(",") {
                self.expect(end)?;
                return Ok(elements);
            }
        }
    }

    fn entries(&mut self, level: usize) -> Result<Vec<(String, Literal)>, StatementError> {
        let mut entries = Vec::new();
        if self.take("}") {
            return Ok(entries);
        }
        loop {
            let name = if self.shape() == Shape::Text {
                unquoted(self.word())
            } else {
                return Err(self.unexpected());
            };
            if name.is_empty() {
                return Err(ValueError::EmptyName.into());
            }
            self.advance();
            self.expect(":")?;
            entries.push((name, self.literal(level + 1)?));
            if !self.take(",") {
                self.expect("}")?;
                return Ok(entries);
            }
        }
    }

    fn scalar(&mut self) -> Result<ValueBuf, StatementError> {
        let sign = if self.take("-") { "-" } else { "" };
        let signed = !sign.is_empty() || self.take("+");
        let value = match self.shape() {
            Shape::Number => {
                let number = Number::parse(&format!("{sign}{}", self.word())).map_err(ValueError::Number)?;
                ValueBuf::from(number)
            }
            Shape::Text if !signed => ValueBuf::from(unquoted(self.word()).as_str()),
            _ if !signed && self.at_keyword("TRUE") => ValueBuf::from(true),
            _ if !signed && self.at_keyword("FALSE") => ValueBuf::from(false),
            _ if !signed && self.at_keyword("NULL") => ValueBuf::from(&Value::Null),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(value)
    }

    /// Puts a literal behind a placeholder.
    fn value(&mut self, literal: Literal) -> String {
        self.values.push(literal);
        placeholder(self.values.len() - 1)
    }

    // The operators.

    /// Reads as far as the grammar allows; the token behind is for the caller to judge.
    fn expression(&mut self, grammar: Grammar) -> Result<(NodeId, Class), StatementError> {
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

/// A path has no placeholders here, so nothing is left to be looked up.
fn resolved(path: Path) -> path::Path {
    let mut elements = path.0.into_iter().map(|element| match element {
        Element::Name(name) | Element::Placeholder(name) => Step::Name(name),
        Element::Index(index) => Step::Index(index),
    });
    let attribute = match elements.next() {
        Some(Step::Name(name)) => name,
        _ => unreachable!("the parser begins every path with a name"),
    };
    path::Path { attribute, steps: elements.collect() }
}
