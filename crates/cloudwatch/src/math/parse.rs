//! The syntax of metric math.

use crate::insight::RuleMetric;

/// Parentheses, calls and signs inside each other. A real expression has a few.
const DEPTH_MAX: usize = 32;
/// Operators of one expression: `a+b+c` is as deep as it is long.
const OPERATORS_MAX: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Number(f64),
    /// The Id of a query, or a word such as REPEAT.
    Name(String),
    List(Vec<Expression>),
    Negated(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// The function's name in capitals.
    Call(String, Vec<Expression>),
    /// `INSIGHT_RULE_METRIC("rule", "MaxContributorValue")`
    RuleMetric(String, RuleMetric),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

/// Operators from the weakest binding to the strongest, as they are written.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("OR", Operator::Or), ("||", Operator::Or)],
    &[("AND", Operator::And), ("&&", Operator::And)],
    &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide)],
];

/// Words that are no Ids.
const WORDS: [&str; 2] = ["REPEAT", "LINEAR"];

pub fn parse(text: &str) -> Result<Expression, String> {
    let mut parser = Parser { rest: text.trim(), depth: 0, operators: 0 };
    let expression = parser.level(0)?;
    match parser.rest.is_empty() {
        true => Ok(expression),
        false => Err(format!("{} is not understood", parser.rest)),
    }
}

impl Expression {
    /// The Ids that it uses.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Expression::Number(_) | Expression::RuleMetric(..) => Vec::new(),
            Expression::Name(name) if WORDS.contains(&name.as_str()) => Vec::new(),
            Expression::Name(name) => vec![name],
            Expression::Negated(operand) => operand.names(),
            Expression::Binary(_, left, right) => [left.names(), right.names()].concat(),
            Expression::List(parts) | Expression::Call(_, parts) => {
                parts.iter().flat_map(Expression::names).collect()
            }
        }
    }

    /// The figures of rules that it uses.
    pub fn rule_metrics(&self) -> Vec<(&str, RuleMetric)> {
        match self {
            Expression::Number(_) | Expression::Name(_) => Vec::new(),
            Expression::RuleMetric(rule, metric) => vec![(rule, *metric)],
            Expression::Negated(operand) => operand.rule_metrics(),
            Expression::Binary(_, left, right) => [left.rule_metrics(), right.rule_metrics()].concat(),
            Expression::List(parts) | Expression::Call(_, parts) => {
                parts.iter().flat_map(Expression::rule_metrics).collect()
            }
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
    operators: usize,
}

impl Parser<'_> {
    /// Operands of one level of operators, joined from the left.
    fn level(&mut self, level: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else { return self.power() };
        let mut left = self.level(level + 1)?;
        while let Some((text, operator)) = operators.iter().find(|(text, _)| self.is_next(text)) {
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                return Err(format!("it has more than {OPERATORS_MAX} operators"));
            }
            self.skip(text.len());
            let right = self.level(level + 1)?;
            left = Expression::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Expression, String> {
        let base = self.unary()?;
        if !self.is_next("^") {
            return Ok(base);
        }
        self.skip(1);
        let exponent = self.nested(Parser::power)?;
        Ok(Expression::Binary(Operator::Power, Box::new(base), Box::new(exponent)))
    }

    fn unary(&mut self) -> Result<Expression, String> {
        if self.is_next("-") {
            self.skip(1);
            return Ok(Expression::Negated(Box::new(self.nested(Parser::unary)?)));
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expression, String> {
        match self.rest.chars().next() {
            None => Err("the expression ends too early".to_owned()),
            Some('(') => {
                self.skip(1);
                let inner = self.nested(|parser| parser.level(0))?;
                self.expect(")")?;
                Ok(inner)
            }
            Some('[') => Ok(Expression::List(self.elements("]")?)),
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(first) if first.is_ascii_alphabetic() => self.name(),
            Some(_) => Err(format!("{} is not understood", self.rest)),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let text = &self.rest[..end.unwrap_or(self.rest.len())];
        let number = text.parse().map_err(|_| format!("{text} is not a number"))?;
        self.skip(text.len());
        Ok(Expression::Number(number))
    }

    fn name(&mut self) -> Result<Expression, String> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = self.rest[..end.unwrap_or(self.rest.len())].to_owned();
        self.skip(name.len());
        if !self.is_next("(") {
            return Ok(Expression::Name(name));
        }
        match name.to_ascii_uppercase() {
            function if function == "INSIGHT_RULE_METRIC" => self.rule_metric(),
            function => Ok(Expression::Call(function, self.elements(")")?)),
        }
    }

    /// `("rule", "metric")`
    fn rule_metric(&mut self) -> Result<Expression, String> {
        self.expect("(")?;
        let rule = self.text()?;
        self.expect(",")?;
        let metric = self.text()?;
        self.expect(")")?;
        let known = RuleMetric::named(&metric);
        known
            .map(|metric| Expression::RuleMetric(rule, metric))
            .ok_or_else(|| format!("{metric} is not a metric of rules"))
    }

    /// A text in quotation marks.
    fn text(&mut self) -> Result<String, String> {
        let quote = self.rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let quote =
            quote.ok_or_else(|| format!("a text in quotation marks is missing before '{}'", self.rest))?;
        let (text, _) =
            self.rest[1..].split_once(quote).ok_or_else(|| "a quotation mark is missing".to_owned())?;
        let text = text.to_owned();
        self.skip(text.len() + 2);
        Ok(text)
    }

    /// What is between an opening sign, which is next, and the closing one.
    fn elements(&mut self, close: &str) -> Result<Vec<Expression>, String> {
        self.skip(1);
        let mut elements = Vec::new();
        while !self.is_next(close) {
            if !elements.is_empty() {
                self.expect(",")?;
            }
            elements.push(self.nested(|parser| parser.level(0))?);
        }
        self.skip(1);
        Ok(elements)
    }

    fn nested(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        if self.depth == DEPTH_MAX {
            return Err(format!("it is nested deeper than {DEPTH_MAX} levels"));
        }
        self.depth += 1;
        let inner = parse(self);
        self.depth -= 1;
        inner
    }

    /// Whether the text comes next; a word only if it ends there.
    fn is_next(&self, text: &str) -> bool {
        let Some(after) = self.rest.get(..text.len()).filter(|next| next.eq_ignore_ascii_case(text)) else {
            return false;
        };
        let is_word = after.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let goes_on = self.rest[text.len()..].starts_with(|letter: char| letter.is_ascii_alphanumeric());
        !(is_word && goes_on)
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if !self.is_next(text) {
            return Err(format!("{text} is missing before '{}'", self.rest));
        }
        self.skip(text.len());
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }
}
