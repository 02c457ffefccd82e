//! What WHERE and SET have that the other expressions do not: literals, `IS`, `!=`, three kinds of brackets for `IN`,
//! and function names in any mixture of cases. The rest is in [`crate::operator`].

use item::{Type, ValueBuf};

use super::{Parser, PartiQl};
use crate::error::Fault;
use crate::language::Language;
use crate::operator::{Class, ParsedOperand};
use crate::partiql::error::StatementError;
use crate::partiql::lexer::StatementShape;
use crate::partiql::syntax::Literal;
use crate::syntax::{Comparator, Element, Function, Node, NodeId, WrittenPath};

impl Language for PartiQl {
    type Shape = StatementShape;
    type Error = StatementError;

    const LONG_SUMS: bool = true;
    const NEGATED_OPERATORS: bool = true;
    const REFUSES_REDUNDANT_PARENTHESES: bool = false;

    fn unexpected(parser: &Parser<'_>) -> StatementError {
        parser.unexpected()
    }

    fn expected(parser: &Parser<'_>, mark: &str) -> StatementError {
        parser.expected(&format!("'{mark}'"))
    }

    fn name(parser: &mut Parser<'_>) -> Result<Element, StatementError> {
        parser.name().map(Element::Name)
    }

    fn step(parser: &mut Parser<'_>) -> Result<Element, StatementError> {
        parser.step()
    }

    fn value(parser: &mut Parser<'_>) -> Result<Option<String>, StatementError> {
        if !parser.at_literal() {
            return Ok(None);
        }
        let literal = parser.literal(1)?;
        Ok(Some(parser.placeholder(literal)))
    }

    fn call(parser: &mut Parser<'_>) -> Result<Option<Function>, StatementError> {
        if !parser.at_call() {
            return Ok(None);
        }
        // `(` after one of these words belongs to an operator, and no operator is allowed here.
        const OPERATORS: [&str; 6] = ["AND", "OR", "NOT", "IN", "BETWEEN", "IS"];
        parser.demand(!OPERATORS.into_iter().any(|word| parser.at_keyword(word)))?;
        parser.operators += 1;
        let name = parser.word();
        let function = Function::from_name(&name.to_ascii_lowercase());
        Ok(Some(function.filter(|function| *function != Function::IfNotExists).unwrap_or_else(|| {
            parser.faults.report(Fault::UnknownFunction(name.to_owned()));
            Function::Size // any will do: the statement is refused
        })))
    }

    fn comparator(parser: &Parser<'_>) -> Option<Comparator> {
        match parser.word() {
            _ if parser.shape() != StatementShape::Mark => None,
            "!=" => Some(Comparator::NotEqual),
            sign => Comparator::from_sign(sign),
        }
    }

    fn list_end(start: &str) -> Option<&'static str> {
        match start {
            "[" => Some("]"),
            "(" => Some(")"),
            "<<" => Some(">>"),
            _ => None,
        }
    }

    fn test(parser: &mut Parser<'_>, operand: ParsedOperand) -> Result<ParsedOperand, StatementError> {
        parser.type_test(operand)
    }
}

impl Parser<'_> {
    /// `path IS [NOT] type`, and `path = MISSING` or `path <> MISSING`, which mean the same.
    fn type_test(&mut self, operand: ParsedOperand) -> Result<ParsedOperand, StatementError> {
        let next_is_missing = self.next_word().is_some_and(|next| next.eq_ignore_ascii_case("MISSING"));
        let negated = match PartiQl::comparator(self) {
            Some(comparator @ (Comparator::Equal | Comparator::NotEqual)) if next_is_missing => {
                self.advance();
                comparator == Comparator::NotEqual
            }
            None if self.take_keyword("IS") => self.take_keyword("NOT"),
            _ => return Ok(operand),
        };
        let Node::Path(path) = self.nodes.bare(operand.node).clone() else { return Err(self.unexpected()) };
        self.operators += 1;
        let node = self.test_of_type(path, negated)?;
        Ok(ParsedOperand { node, class: Class::Condition })
    }

    fn test_of_type(&mut self, path: WrittenPath, negated: bool) -> Result<NodeId, StatementError> {
        let kinds = match self.word() {
            _ if self.shape() != StatementShape::Word => return Err(self.unexpected()),
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
            let value = Node::Value(self.placeholder(name));
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
}

/// The types that a name behind `IS` means, by PartiQL's names and by DynamoDB's own.
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
