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
//! Conditions and values become the same nodes as in [`crate::parser`]; a placeholder stands for every literal.

mod literal;
mod operator;

use super::error::{Position, StatementError};
use super::keyword::is_keyword;
use super::lexer::{self, StatementShape};
use super::select_list::SelectList;
use super::statement::{Order, Returning};
use super::syntax::{Body, Literal, SelectTree, StatementTree};
use crate::error::Kind;
use crate::language;
use crate::operator::Grammar;
use crate::path::{self, Step};
use crate::syntax::{ConditionTree, Element, UpdateTree, WrittenAction, WrittenPath};

pub const TEXT_CHARACTERS_MAX: usize = 8192;

/// Reads one statement, which may end in a semicolon.
pub fn parse(text: &str) -> Result<StatementTree, StatementError> {
    if text.len() > TEXT_CHARACTERS_MAX && text.chars().count() > TEXT_CHARACTERS_MAX {
        return Err(malformed(format!("It has more than {TEXT_CHARACTERS_MAX} characters")));
    }
    let mut parser = Parser::new(PartiQl::default(), text, lexer::tokens(text)?);
    let body = parser.statement()?;
    parser.take(";");
    parser.end()?;
    let (PartiQl { values, parameters }, _) = parser.finish(Kind::Condition)?;
    Ok(StatementTree { body, values, parameters })
}

fn malformed(detail: impl Into<String>) -> StatementError {
    StatementError::NotWellFormed(detail.into())
}

/// The language, and what a statement has in addition to trees: its values, and how many parameters they take.
#[derive(Default)]
struct PartiQl {
    values: Vec<Literal>,
    parameters: usize,
}

/// Its nodes are those of the tree that is being read: WHERE and SET have one each.
type Parser<'t> = language::Parser<'t, PartiQl>;

impl Parser<'_> {
    fn expect_keyword(&mut self, keyword: &str) -> Result<(), StatementError> {
        if self.take_keyword(keyword) { Ok(()) } else { Err(self.expected(keyword)) }
    }

    fn token_position(&self) -> Position {
        Position::of(&self.span(), self.text)
    }

    /// Refuses the current token.
    fn unexpected(&self) -> StatementError {
        malformed(match self.shape() {
            StatementShape::End => "Unexpected end of statement",
            StatementShape::Word if is_keyword(self.word()) => "Unexpected keyword",
            _ => "Unexpected term",
        })
    }

    fn expected(&self, what: &str) -> StatementError {
        malformed(format!("Expected {what} at {}", self.token_position()))
    }

    /// Refuses anything but the end. The message names a clause of SQL that DynamoDB does not have.
    fn end(&self) -> Result<(), StatementError> {
        if self.at_end() {
            return Ok(());
        }
        const CLAUSES: [&str; 8] = ["LIMIT", "OFFSET", "GROUP", "HAVING", "JOIN", "UNION", "AS", "RETURNING"];
        Err(match CLAUSES.into_iter().find(|clause| self.at_keyword(clause)) {
            Some(clause) => StatementError::Clause { clause, position: self.token_position() },
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

    fn select(&mut self) -> Result<SelectTree, StatementError> {
        let list = self.select_list()?;
        self.expect_keyword("FROM")?;
        let table = self.name()?;
        let index = if self.take(".") { Some(self.name()?) } else { None };
        let condition = self.where_clause()?;
        let order = if self.take_keyword("ORDER") { self.order()? } else { Vec::new() };
        Ok(SelectTree { table, index, list, condition, order })
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
            return Err(StatementError::PathComponent(self.token_position()));
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
            // DynamoDB's message for a list of columns, the most likely mistake here.
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
                actions.push(WrittenAction::Remove { target: self.path()? });
                while self.take(",") {
                    actions.push(WrittenAction::Remove { target: self.path()? });
                }
            } else if actions.is_empty() {
                return Err(malformed("Expected data manipulation"));
            } else {
                break;
            }
        }
        let changes = UpdateTree { nodes: std::mem::take(&mut self.nodes), actions };
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

    fn where_clause(&mut self) -> Result<Option<ConditionTree>, StatementError> {
        if !self.take_keyword("WHERE") {
            return Ok(None);
        }
        let root = self.expression(Grammar::Condition)?;
        self.demand(root.class.is_condition())?;
        Ok(Some(ConditionTree { nodes: std::mem::take(&mut self.nodes), root: root.node }))
    }

    fn assignment(&mut self) -> Result<WrittenAction, StatementError> {
        let target = self.path()?;
        self.expect("=")?;
        for function in ["SET_ADD", "SET_DELETE"] {
            if self.at_keyword(function) && self.at_call() {
                let value = self.set_function(function, &target)?;
                return Ok(match function {
                    "SET_ADD" => WrittenAction::Add { target, value },
                    _ => WrittenAction::Delete { target, value },
                });
            }
        }
        Ok(WrittenAction::Set { target, value: self.expression(Grammar::Value)?.node })
    }

    /// `SET_ADD(target, set)`: the first argument must repeat the target of the assignment.
    fn set_function(
        &mut self,
        function: &'static str,
        target: &WrittenPath,
    ) -> Result<String, StatementError> {
        let position = self.token_position();
        self.operators += 1;
        self.advance();
        self.expect("(")?;
        if self.path()? != *target {
            return Err(StatementError::FirstArgument { function, position });
        }
        self.expect(",")?;
        let set = self.literal(1)?;
        self.expect(")")?;
        Ok(self.placeholder(set))
    }
}

/// Paths of PartiQL have no placeholders, so they are resolved as they are read.
fn resolved(path: WrittenPath) -> path::Path {
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
