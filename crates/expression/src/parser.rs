//! Tokens to a syntax tree.
//!
//! One operator-precedence parser serves conditions and the values of SET. It keeps the unfinished operators on a
//! stack of its own, so thousands of parentheses cost memory in proportion to the text and no call depth.
//!
//! ```text
//! condition := and (OR and)*             value   := operand | operand + operand | operand - operand
//! and       := not (AND not)*            operand := path | :value | name(operand, …) | '(' … ')'
//! not       := NOT not | primary
//! primary   := operand comparator operand | operand BETWEEN operand AND operand
//!            | operand IN (operand, …) | name(operand, …) | '(' condition ')'
//! ```
//!
//! A text with a syntax error is refused at once. What else can be wrong with a text alone (reserved words, unknown
//! functions, limits) is collected while reading on, and the gravest is reported at the end.

use crate::error::{ExpressionError, Fault, Faults, Kind};
use crate::lexer::{self, Shape, Token};
use crate::reserved::is_reserved;
use crate::syntax::{
    Action, Comparator, Condition, Element, Function, Node, NodeId, Nodes, Path, Projection, Section, Update,
};

pub const TEXT_BYTES_MAX: usize = 4096;
pub const OPERATORS_MAX: usize = 300;
pub const PATH_DEPTH_MAX: usize = 32;
pub(crate) const LIST_INDEX_MAX: u32 = i32::MAX as u32;

/// Reads a condition, filter or key condition.
pub fn condition(kind: Kind, text: &str) -> Result<Condition, ExpressionError> {
    let mut parser = Parser::new(kind, text)?;
    let (root, class) = parser.expression(Grammar::Condition)?;
    if class == Class::Operand || !parser.at_end() {
        return Err(parser.syntax_error());
    }
    let nodes = parser.finish()?;
    Ok(Condition { nodes, root })
}

pub fn update(text: &str) -> Result<Update, ExpressionError> {
    let mut parser = Parser::new(Kind::Update, text)?;
    let mut actions: Vec<Action> = Vec::new();
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
    let nodes = parser.finish()?;
    Ok(Update { nodes, actions })
}

pub fn projection(text: &str) -> Result<Projection, ExpressionError> {
    let mut parser = Parser::new(Kind::Projection, text)?;
    let mut paths = vec![parser.path()?];
    while parser.take(",") {
        paths.push(parser.path()?);
    }
    if !parser.at_end() {
        return Err(parser.syntax_error());
    }
    parser.finish()?;
    Ok(Projection { paths })
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
    In { subject: NodeId, members: Vec<NodeId> },
    BetweenLower { subject: NodeId },
    BetweenUpper { subject: NodeId, lower: NodeId },
    Compare { comparator: Comparator, left: NodeId },
    Plus(NodeId),
    Minus(NodeId),
    Not,
    And(NodeId),
    Or(NodeId),
}

struct Parser<'t> {
    kind: Kind,
    text: &'t str,
    tokens: Vec<Token>,
    position: usize,
    nodes: Nodes,
    faults: Faults,
    operators: usize,
}

impl<'t> Parser<'t> {
    fn new(kind: Kind, text: &'t str) -> Result<Parser<'t>, ExpressionError> {
        if text.is_empty() {
            return Err(Fault::Empty.of(kind));
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(Fault::Size(text.len()).of(kind));
        }
        let tokens = lexer::tokens(text);
        Ok(Parser {
            kind,
            text,
            tokens,
            position: 0,
            nodes: Nodes::default(),
            faults: Faults::default(),
            operators: 0,
        })
    }

    fn finish(mut self) -> Result<Nodes, ExpressionError> {
        if self.operators > OPERATORS_MAX {
            // DynamoDB counts no further than to the first that is too many.
            self.faults.report(Fault::TooManyOperators(OPERATORS_MAX + 1));
        }
        self.faults.finish(self.kind)?;
        Ok(self.nodes)
    }

    // Looking at the tokens.

    fn shape(&self) -> Shape {
        self.tokens[self.position].shape
    }

    fn word(&self) -> &'t str {
        &self.text[self.tokens[self.position].span.clone()]
    }

    fn at_end(&self) -> bool {
        self.shape() == Shape::End
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

    fn expect(&mut self, mark: &str) -> Result<(), ExpressionError> {
        if self.take(mark) { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn at_keyword(&self, keyword: &str) -> bool {
        self.shape() == Shape::Name && self.word().eq_ignore_ascii_case(keyword)
    }

    fn section(&self) -> Option<Section> {
        Section::ALL.into_iter().find(|section| self.at_keyword(section.keyword()))
    }

    /// Keywords belong to their grammar: `REMOVE` is a good name in a condition, `and` a reserved one in an update.
    fn is_keyword(&self) -> bool {
        match self.kind {
            Kind::Condition | Kind::Filter | Kind::KeyCondition => {
                ["AND", "OR", "NOT", "BETWEEN", "IN"].into_iter().any(|keyword| self.at_keyword(keyword))
            }
            Kind::Update => self.section().is_some(),
            Kind::Projection => false,
        }
    }

    /// Refuses the token that is looked at, and shows it with its neighbours as they stand in the text.
    fn syntax_error(&self) -> ExpressionError {
        let span = &self.tokens[self.position].span;
        let at_end = self.at_end();
        let start = match self.position.checked_sub(1) {
            Some(previous) => self.tokens[previous].span.start,
            None if at_end => 0,
            None => span.start,
        };
        let end = match self.tokens.get(self.position + 1) {
            Some(next) if next.shape != Shape::End => next.span.end,
            _ if at_end => self.text.len(),
            _ => span.end,
        };
        let token = if at_end { "<EOF>" } else { self.word() }.to_owned();
        Fault::Syntax { token, near: self.text[start..end].to_owned() }.of(self.kind)
    }

    // The pieces.

    fn action(&mut self, section: Section) -> Result<Action, ExpressionError> {
        let target = self.path()?;
        Ok(match section {
            Section::Set => {
                self.expect("=")?;
                let (value, _) = self.expression(Grammar::Value)?;
                Action::Set { target, value }
            }
            Section::Remove => Action::Remove { target },
            Section::Add => Action::Add { target, value: self.value()? },
            Section::Delete => Action::Delete { target, value: self.value()? },
        })
    }

    fn value(&mut self) -> Result<String, ExpressionError> {
        if self.shape() != Shape::ValuePlaceholder {
            return Err(self.syntax_error());
        }
        let value = self.word().to_owned();
        self.advance();
        Ok(value)
    }

    fn path(&mut self) -> Result<Path, ExpressionError> {
        let mut elements = vec![self.name()?];
        loop {
            if self.take(".") {
                elements.push(self.name()?);
            } else if self.take("[") {
                elements.push(self.index()?);
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

    fn name(&mut self) -> Result<Element, ExpressionError> {
        let word = self.word();
        let element = match self.shape() {
            Shape::Name if !self.is_keyword() => {
                if is_reserved(word) {
                    self.faults.report(Fault::Reserved(word.to_owned()));
                }
                Element::Name(word.to_owned())
            }
            Shape::NamePlaceholder => Element::Placeholder(word.to_owned()),
            _ => return Err(self.syntax_error()),
        };
        self.advance();
        Ok(element)
    }

    fn index(&mut self) -> Result<Element, ExpressionError> {
        if self.shape() != Shape::Digits {
            return Err(self.syntax_error());
        }
        let digits = self.word();
        let index = digits.parse().ok().filter(|index| *index <= LIST_INDEX_MAX);
        if index.is_none() {
            self.faults.report(Fault::ListIndex(digits.to_owned()));
        }
        self.advance();
        Ok(Element::Index(index.unwrap_or(LIST_INDEX_MAX)))
    }

    // The operators.

    /// Reads as far as the grammar allows; the token behind is for the caller to judge.
    fn expression(&mut self, grammar: Grammar) -> Result<(NodeId, Class), ExpressionError> {
        let mut open = Vec::new();
        loop {
            let mut piece = self.operand(grammar, &mut open)?;
            // Close what the next token closes, until something wants a further operand.
            loop {
                if self.open_operator(grammar, piece, &mut open)? {
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
    fn operand(
        &mut self,
        grammar: Grammar,
        open: &mut Vec<Open>,
    ) -> Result<(NodeId, Class), ExpressionError> {
        loop {
            let calls =
                self.tokens.get(self.position + 1).is_some_and(|next| &self.text[next.span.clone()] == "(");
            if grammar == Grammar::Condition && self.at_keyword("NOT") && takes_condition(open.last()) {
                self.advance();
                self.operators += 1;
                open.push(Open::Not);
            } else if self.take("(") {
                open.push(Open::Parenthesis);
            } else if self.shape() == Shape::Name && calls && !self.is_keyword() {
                open.push(Open::Call { function: self.function(), arguments: Vec::new() });
                self.advance();
                self.advance();
            } else if self.shape() == Shape::ValuePlaceholder {
                let value = self.value()?;
                return Ok((self.nodes.push(Node::Value(value)), Class::Operand));
            } else {
                let path = self.path()?;
                return Ok((self.nodes.push(Node::Path(path)), Class::Operand));
            }
        }
    }

    fn function(&mut self) -> Function {
        let name = self.word();
        Function::from_name(name).unwrap_or_else(|| {
            self.faults.report(Fault::UnknownFunction(name.to_owned()));
            Function::Size // any will do: the text is refused
        })
    }

    /// Opens the operator at the current token with `piece` on its left, if it binds tighter than what is open.
    fn open_operator(
        &mut self,
        grammar: Grammar,
        piece: (NodeId, Class),
        open: &mut Vec<Open>,
    ) -> Result<bool, ExpressionError> {
        let operator = match grammar {
            Grammar::Condition => self.condition_operator(piece, open.last())?,
            Grammar::Value => self.value_operator(piece, open.last()),
        };
        let Some(operator) = operator else { return Ok(false) };
        self.advance();
        self.operators += 1;
        open.push(operator);
        Ok(true)
    }

    fn value_operator(&self, (left, class): (NodeId, Class), innermost: Option<&Open>) -> Option<Open> {
        match innermost {
            None | Some(Open::Parenthesis) if class.is_operand() && self.at("+") => Some(Open::Plus(left)),
            None | Some(Open::Parenthesis) if class.is_operand() && self.at("-") => Some(Open::Minus(left)),
            _ => None,
        }
    }

    fn condition_operator(
        &mut self,
        (left, class): (NodeId, Class),
        innermost: Option<&Open>,
    ) -> Result<Option<Open>, ExpressionError> {
        if !takes_condition(innermost) {
            return Ok(None);
        }
        if class.is_operand() {
            if let Some(comparator) = self.comparator() {
                return Ok(Some(Open::Compare { comparator, left }));
            }
            if self.at_keyword("BETWEEN") {
                return Ok(Some(Open::BetweenLower { subject: left }));
            }
            if self.at_keyword("IN") {
                self.advance();
                self.demand(self.at("("))?;
                return Ok(Some(Open::In { subject: left, members: Vec::new() }));
            }
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
        (self.shape() == Shape::Mark).then(|| Comparator::from_sign(self.word())).flatten()
    }

    fn demand(&self, holds: bool) -> Result<(), ExpressionError> {
        if holds { Ok(()) } else { Err(self.syntax_error()) }
    }

    /// Gives the innermost open operator its operand.
    fn close(&mut self, innermost: Open, (node, class): (NodeId, Class)) -> Result<Closed, ExpressionError> {
        let (node, class) = match innermost {
            Open::Parenthesis => {
                self.expect(")")?;
                if matches!(self.nodes.get(node), Node::Parentheses(_)) {
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
                    return Ok(Closed::Wants(Open::Call { function, arguments }));
                }
                self.expect(")")?;
                (Node::Call { function, arguments }, Class::Call)
            }
            Open::In { subject, mut members } => {
                self.demand(class.is_operand())?;
                members.push(node);
                if self.take(",") {
                    return Ok(Closed::Wants(Open::In { subject, members }));
                }
                self.expect(")")?;
                (Node::In { subject, members }, Class::Condition)
            }
            Open::BetweenLower { subject } => {
                self.demand(class.is_operand() && self.at_keyword("AND"))?;
                self.advance();
                return Ok(Closed::Wants(Open::BetweenUpper { subject, lower: node }));
            }
            Open::BetweenUpper { subject, lower } => {
                self.demand(class.is_operand())?;
                (Node::Between { subject, lower, upper: node }, Class::Condition)
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
}

enum Closed {
    Piece((NodeId, Class)),
    Wants(Open),
}

/// Whether a whole condition may stand where the innermost open operator waits.
fn takes_condition(innermost: Option<&Open>) -> bool {
    matches!(innermost, None | Some(Open::Parenthesis | Open::Not | Open::And(_) | Open::Or(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
                    _ => Condition { nodes: nodes.clone(), root: id }.to_string().replace(' ', ""),
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
