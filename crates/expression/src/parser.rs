//! The text of an expression to a syntax tree.
//!
//! ```text
//! condition := and (OR and)*             value   := operand | operand + operand | operand - operand
//! and       := not (AND not)*            operand := path | :value | name(operand, …) | '(' … ')'
//! not       := NOT not | primary
//! primary   := operand comparator operand | operand BETWEEN operand AND operand
//!            | operand IN (operand, …) | name(operand, …) | '(' condition ')'
//! ```
//!
//! A syntax error ends the reading at once. Other faults of a text (reserved words, unknown functions, limits) are
//! collected while reading on, and the most serious is reported at the end.

use crate::error::{ExpressionError, Fault, Kind};
use crate::language::{self, Language};
pub use crate::language::{OPERATORS_MAX, PATH_DEPTH_MAX};
use crate::lexer::{self, ExpressionShape};
use crate::operator::{Class, Grammar};
use crate::reserved::is_reserved;
use crate::syntax::{
    Comparator, ConditionTree, Element, Function, ProjectionTree, Section, UpdateTree, WrittenAction,
};

pub const TEXT_BYTES_MAX: usize = 4096;

/// Reads a condition, filter or key condition.
pub fn condition(kind: Kind, text: &str) -> Result<ConditionTree, ExpressionError> {
    let mut parser = parser(kind, text)?;
    let root = parser.expression(Grammar::Condition)?;
    parser.demand(root.class != Class::Operand && parser.at_end())?;
    let (_, nodes) = parser.finish(kind)?;
    Ok(ConditionTree { nodes, root: root.node })
}

pub fn update(text: &str) -> Result<UpdateTree, ExpressionError> {
    let mut parser = parser(Kind::Update, text)?;
    let mut actions: Vec<WrittenAction> = Vec::new();
    loop {
        let Some(section) = parser.section() else { return Err(parser.syntax_error()) };
        if actions.iter().any(|action| action.section() == section) {
            parser.faults.report(Fault::RepeatedSection(section.keyword()));
        }
        parser.advance();
        actions.push(parser.action(section)?);
        while parser.take(",") {
            actions.push(parser.action(section)?);
        }
        if parser.at_end() {
            break;
        }
    }
    let (_, nodes) = parser.finish(Kind::Update)?;
    Ok(UpdateTree { nodes, actions })
}

pub fn projection(text: &str) -> Result<ProjectionTree, ExpressionError> {
    let mut parser = parser(Kind::Projection, text)?;
    let mut paths = vec![parser.path()?];
    while parser.take(",") {
        paths.push(parser.path()?);
    }
    parser.demand(parser.at_end())?;
    parser.finish(Kind::Projection)?;
    Ok(ProjectionTree { paths })
}

/// The language of the five expressions that a request may have.
struct Expressions {
    kind: Kind,
}

type Parser<'t> = language::Parser<'t, Expressions>;

fn parser(kind: Kind, text: &str) -> Result<Parser<'_>, ExpressionError> {
    if text.is_empty() {
        return Err(Fault::Empty.of(kind));
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(Fault::Size(text.len()).of(kind));
    }
    Ok(Parser::new(Expressions { kind }, text, lexer::tokens(text)))
}

impl Language for Expressions {
    type Shape = ExpressionShape;
    type Error = ExpressionError;

    const LONG_SUMS: bool = false;
    const NEGATED_OPERATORS: bool = false;
    const REFUSES_REDUNDANT_PARENTHESES: bool = true;

    fn unexpected(parser: &Parser<'_>) -> ExpressionError {
        parser.syntax_error()
    }

    fn expected(parser: &Parser<'_>, _mark: &str) -> ExpressionError {
        parser.syntax_error()
    }

    fn name(parser: &mut Parser<'_>) -> Result<Element, ExpressionError> {
        let word = parser.word();
        let element = match parser.shape() {
            ExpressionShape::Name if !parser.at_own_keyword() => {
                if is_reserved(word) {
                    parser.faults.report(Fault::Reserved(word.to_owned()));
                }
                Element::Name(word.to_owned())
            }
            ExpressionShape::NamePlaceholder => Element::Placeholder(word.to_owned()),
            _ => return Err(parser.syntax_error()),
        };
        parser.advance();
        Ok(element)
    }

    fn step(parser: &mut Parser<'_>) -> Result<Element, ExpressionError> {
        parser.demand(parser.shape() == ExpressionShape::Digits)?;
        let element = parser.list_index(parser.word());
        parser.advance();
        Ok(element)
    }

    fn value(parser: &mut Parser<'_>) -> Result<Option<String>, ExpressionError> {
        if parser.shape() != ExpressionShape::ValuePlaceholder {
            return Ok(None);
        }
        let placeholder = parser.word().to_owned();
        parser.advance();
        Ok(Some(placeholder))
    }

    fn call(parser: &mut Parser<'_>) -> Result<Option<Function>, ExpressionError> {
        if !parser.at_call() || parser.at_own_keyword() {
            return Ok(None);
        }
        let name = parser.word();
        Ok(Some(Function::from_name(name).unwrap_or_else(|| {
            parser.faults.report(Fault::UnknownFunction(name.to_owned()));
            Function::Size // any will do: the text is refused
        })))
    }

    fn comparator(parser: &Parser<'_>) -> Option<Comparator> {
        (parser.shape() == ExpressionShape::Mark).then(|| Comparator::from_sign(parser.word())).flatten()
    }

    fn list_end(start: &str) -> Option<&'static str> {
        (start == "(").then_some(")")
    }
}

impl Parser<'_> {
    fn section(&self) -> Option<Section> {
        Section::ALL.into_iter().find(|section| self.at_keyword(section.keyword()))
    }

    /// Each kind of expression has keywords of its own: `REMOVE` is a good name in a condition, and in an update
    /// `and` is only a reserved one.
    fn at_own_keyword(&self) -> bool {
        match self.language.kind {
            Kind::Condition | Kind::Filter | Kind::KeyCondition | Kind::SearchCondition => {
                ["AND", "OR", "NOT", "BETWEEN", "IN"].into_iter().any(|keyword| self.at_keyword(keyword))
            }
            Kind::Update => self.section().is_some(),
            Kind::Projection => false,
        }
    }

    fn action(&mut self, section: Section) -> Result<WrittenAction, ExpressionError> {
        let target = self.path()?;
        Ok(match section {
            Section::Set => {
                self.expect("=")?;
                WrittenAction::Set { target, value: self.expression(Grammar::Value)?.node }
            }
            Section::Remove => WrittenAction::Remove { target },
            Section::Add => WrittenAction::Add { target, value: self.required_value()? },
            Section::Delete => WrittenAction::Delete { target, value: self.required_value()? },
        })
    }

    fn required_value(&mut self) -> Result<String, ExpressionError> {
        Expressions::value(self)?.ok_or_else(|| self.syntax_error())
    }

    /// Refuses the current token, and shows it with its neighbours as they are in the text.
    fn syntax_error(&self) -> ExpressionError {
        let span = self.span();
        let at_end = self.at_end();
        let start = match self.position.checked_sub(1) {
            Some(previous) => self.tokens[previous].span.start,
            None if at_end => 0,
            None => span.start,
        };
        let end = match self.tokens.get(self.position + 1) {
            Some(next) if next.shape != ExpressionShape::End => next.span.end,
            _ if at_end => self.text.len(),
            _ => span.end,
        };
        let token = if at_end { "<EOF>" } else { self.word() }.to_owned();
        Fault::Syntax { token, near: self.text[start..end].to_owned() }.of(self.language.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Node, NodeId, Nodes};

    #[test]
    fn a_window_of_one_token_either_side_shows_where_the_syntax_breaks() {
        let check = |kind, text, token: &str, near: &str| {
            let error = match kind {
                Kind::Update => update(text).unwrap_err(),
                Kind::Projection => projection(text).unwrap_err(),
                _ => condition(kind, text).unwrap_err(),
            };
            let expected = format!("Invalid {kind}: Syntax error; token: \"{token}\", near: \"{near}\"");
            assert_eq!(error.to_string(), expected, "{text}");
        };
        check(Kind::Update, "INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX");
        check(Kind::Update, "SET _123 = :v", "_", "SET _123");
        check(Kind::Update, "ADD hits : incr", ":", "hits : incr");
        check(Kind::Update, "   ", "<EOF>", "   ");
        check(Kind::Update, "SET a =  ", "<EOF>", "=  ");
        check(Kind::Update, "SET :a = :b", ":a", "SET :a =");
        check(Kind::Update, "SET a = :b,", "<EOF>", ",");
        check(Kind::Update, "SET a = :b + :c + :d", "+", ":c + :d");
        check(Kind::Update, "SET a = f(:b+:c)", "+", ":b+:c");
        check(Kind::Update, "SET a[:x] = :b", ":x", "[:x]");
        check(Kind::Update, "SET a[#x] = :b", "#x", "[#x]");
        check(Kind::Update, "SET a[01] = :b", "1", "01]");
        check(Kind::Update, "ADD a b", "b", "a b");
        check(Kind::Projection, "!!", "!", "!!");
        check(Kind::Projection, "a,", "<EOF>", ",");
        check(Kind::Projection, ",a", ",", ",a");
        check(Kind::Projection, "a,,b", ",", ",,b");
        check(Kind::Projection, "a[-1]", "-", "[-1");
        check(Kind::Projection, "a[]", "]", "[]");
        check(Kind::Projection, "a\u{a0}b", "\u{a0}", "a\u{a0}b");
        check(Kind::Condition, "a-b", "-", "a-b");
        check(Kind::Condition, "a", "<EOF>", "a");
        check(Kind::Condition, "a AND :v", "AND", "a AND :v");
        check(Kind::Condition, "a = :v OR NOT :v", "<EOF>", ":v");
        check(Kind::Condition, "a IN ()", ")", "()");
        check(Kind::Condition, "a != b", "!", "a !=");
        check(Kind::Condition, "a = b = c", "=", "b = c");
        check(Kind::Condition, "a BETWEEN b", "<EOF>", "b");
        check(Kind::Condition, "size(a = b) = c", "=", "a = b");
        check(Kind::Condition, "a = NOT b", "NOT", "= NOT b");
        check(Kind::Filter, "tenantAgent:abc123-x", ":abc123", "tenantAgent:abc123-");
        check(Kind::KeyCondition, "()", ")", "()");
    }

    #[test]
    fn operators_bind_as_documented() {
        let check = |text, expected: &str| {
            // Parentheses around every operator show the shape.
            fn shape(nodes: &Nodes, id: NodeId) -> String {
                match nodes.get(id) {
                    Node::And(left, right) => format!("({} & {})", shape(nodes, *left), shape(nodes, *right)),
                    Node::Or(left, right) => format!("({} | {})", shape(nodes, *left), shape(nodes, *right)),
                    Node::Not(inner) => format!("!{}", shape(nodes, *inner)),
                    Node::Parentheses(inner) => shape(nodes, *inner),
                    _ => ConditionTree { nodes: nodes.clone(), root: id }.to_string().replace(' ', ""),
                }
            }
            let tree = condition(Kind::Condition, text).unwrap();
            assert_eq!(shape(&tree.nodes, tree.root), expected, "{text}");
        };
        check("a<b OR c<d AND e<f", "(a<b | (c<d & e<f))");
        check("a<b and c<d oR e<f", "((a<b & c<d) | e<f)");
        check("NOT a<b AND c<d", "(!a<b & c<d)");
        check("not not a<b or c<d", "(!!a<b | c<d)");
        check("a<b AND c<d AND e<f", "((a<b & c<d) & e<f)");
        check("(a<b OR c<d) AND e<f", "((a<b | c<d) & e<f)");
        check("NOT (a<b OR c<d)", "!(a<b | c<d)");
        check("b BETWEEN a AND c AND a<b", "(bBETWEENaANDc & a<b)");
        check("a IN (b, :c) OR (d) = size(e)", "(aIN(b,:c) | (d)=size(e))");
        check(
            "contains(a, :b) AND NOT attribute_exists(c.d[1])",
            "(contains(a,:b) & !attribute_exists(c.d[1]))",
        );
    }

    #[test]
    fn texts_at_the_limits_are_read_and_texts_beyond_them_refused() {
        let refused = |kind, text: &str| condition(kind, text).unwrap_err().to_string();
        let kind = Kind::Condition;
        assert!(projection(&"x".repeat(4096)).is_ok());
        assert_eq!(
            projection(&"x".repeat(4097)).unwrap_err().to_string(),
            "Invalid ProjectionExpression: Expression size has exceeded the maximum allowed size; expression size: 4097"
        );
        assert!(projection(&format!("a{}", ".b".repeat(31))).is_ok());
        assert_eq!(
            projection(&format!("a{}", ".b".repeat(32))).unwrap_err().to_string(),
            "Invalid ProjectionExpression: The document path has too many nesting levels; nesting levels: 33"
        );
        assert!(projection("a[2147483647]").is_ok());
        assert_eq!(
            projection("a[99999999999999]").unwrap_err().to_string(),
            "Invalid ProjectionExpression: List index is not within the allowable range; index: [99999999999999]"
        );

        let nested = |depth| format!("a<b {}{}", "or (a<b ".repeat(depth), ")".repeat(depth));
        assert!(condition(kind, &nested(149)).is_ok());
        let too_many =
            "Invalid ConditionExpression: The expression contains too many operators; operator count: 301";
        assert_eq!(refused(kind, &nested(150)), too_many);
        assert_eq!(refused(kind, &nested(454)), too_many);
        assert_eq!(refused(kind, &format!("{}a<b", "not ".repeat(1000))), too_many);
        assert!(condition(kind, &format!("{}a<b", "not ".repeat(299))).is_ok());

        let redundant = "Invalid ConditionExpression: The expression has redundant parentheses;";
        assert_eq!(refused(kind, "((a<b))"), redundant);
        assert_eq!(refused(kind, &format!("{}a<b{}", "(".repeat(2046), ")".repeat(2046))), redundant);
        assert!(condition(kind, "((a<b) AND (c<d))").is_ok());
        assert!(refused(kind, &"(".repeat(4096)).contains("Syntax error; token: \"<EOF>\""));
        assert_eq!(
            refused(kind, &format!("a < {}b{}", "f(".repeat(1355), ")".repeat(1355))),
            "Invalid ConditionExpression: Invalid function name; function: f"
        );
    }

    #[test]
    fn of_several_faults_the_gravest_is_reported() {
        let check = |text, expected: &str| {
            assert_eq!(
                update(text).unwrap_err().to_string(),
                format!("Invalid UpdateExpression: {expected}"),
                "{text}"
            );
        };
        check("", "The expression can not be empty;");
        check("SET a = f(:v), status = :v", "Attribute name is a reserved keyword; reserved keyword: status");
        check("SET a = :v SET b = LIST_APPEND(a, b)", "Invalid function name; function: LIST_APPEND");
        check(
            "SET a = :v REMOVE b set c = :v",
            "The \"SET\" section can only be used once in an update expression;",
        );
        check("SET status = :v SET", "Syntax error; token: \"<EOF>\", near: \"SET\"");
    }
}
