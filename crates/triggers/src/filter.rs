//! Filter patterns: which records a function gets.
//!
//! A pattern is a JSON object shaped like the record. Its leaves are arrays of alternatives. Every field that it
//! names must match, a field matches if one alternative does, and fields that it does not name don't matter.
//! Patterns look at the record as the function would see it.
//!
//! A field that holds an array matches if one of its elements does. `exists` sees leaves alone: a field that
//! holds an object counts as absent.

use serde_json::{Map, Number, Value};

/// The largest number that `numeric` takes, and its negative is the smallest.
const NUMERIC_MAX: f64 = 5e9;

/// The filters of one mapping. Without filters every record passes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters(Vec<Pattern>);

/// One filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern(Node);

/// The text is not JSON, or has a rule that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid filter pattern definition.")]
pub struct PatternError;

/// All of these must match.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    fields: Vec<(String, Field)>,
    /// The branches of `$or`: one must match. Empty without `$or`.
    branches: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
enum Field {
    Inner(Node),
    Leaf(Vec<Rule>),
}

/// One alternative of a leaf.
#[derive(Clone, Debug, PartialEq)]
enum Rule {
    Equals(Value),
    EqualsIgnoreCase(String),
    Prefix(String),
    Suffix(String),
    AnythingBut(Vec<Value>),
    Numeric(Vec<(Comparison, f64)>),
    Exists(bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Filters {
    /// Parses patterns, each the text of a JSON object.
    pub fn parse<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Filters, PatternError> {
        patterns.into_iter().map(Pattern::parse).collect::<Result<_, _>>().map(Filters)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the function gets the record.
    pub fn pass(&self, record: &Value) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.matches(record))
    }
}

impl Pattern {
    /// Parses the text of a pattern.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        // Of two fields with one name the later wins, in patterns as in serde_json.
        let pattern: Value = serde_json::from_str(text).map_err(|_| PatternError)?;
        parse_node(pattern.as_object().ok_or(PatternError)?).map(Pattern)
    }

    pub fn matches(&self, record: &Value) -> bool {
        self.0.matches(Some(record))
    }
}

fn parse_node(object: &Map<String, Value>) -> Result<Node, PatternError> {
    let mut node = Node { fields: Vec::new(), branches: Vec::new() };
    for (name, value) in object {
        match value {
            Value::Array(branches) if name == "$or" => node.branches = parse_branches(branches)?,
            Value::Object(inner) => node.fields.push((name.clone(), Field::Inner(parse_node(inner)?))),
            Value::Array(rules) => node.fields.push((name.clone(), Field::Leaf(parse_rules(rules)?))),
            _ => return Err(PatternError),
        }
    }
    if object.is_empty() { Err(PatternError) } else { Ok(node) }
}

fn parse_branches(branches: &[Value]) -> Result<Vec<Node>, PatternError> {
    if branches.is_empty() {
        return Err(PatternError);
    }
    branches.iter().map(|branch| parse_node(branch.as_object().ok_or(PatternError)?)).collect()
}

fn parse_rules(rules: &[Value]) -> Result<Vec<Rule>, PatternError> {
    if rules.is_empty() {
        return Err(PatternError);
    }
    rules.iter().map(parse_rule).collect()
}

fn parse_rule(rule: &Value) -> Result<Rule, PatternError> {
    match rule {
        Value::Object(object) => match object.iter().next() {
            Some((name, operand)) if object.len() == 1 => parse_operator(name, operand),
            _ => Err(PatternError),
        },
        Value::Array(_) => Err(PatternError),
        scalar => Ok(Rule::Equals(scalar.clone())),
    }
}

fn parse_operator(name: &str, operand: &Value) -> Result<Rule, PatternError> {
    let text = || operand.as_str().map(str::to_owned).ok_or(PatternError);
    Ok(match name {
        "prefix" => Rule::Prefix(text()?),
        "suffix" => Rule::Suffix(text()?),
        "equals-ignore-case" => Rule::EqualsIgnoreCase(text()?.to_lowercase()),
        "exists" => Rule::Exists(operand.as_bool().ok_or(PatternError)?),
        "anything-but" => Rule::AnythingBut(parse_excluded(operand)?),
        "numeric" => Rule::Numeric(parse_numeric(operand)?),
        _ => return Err(PatternError),
    })
}

/// Strings or numbers, but not both.
fn parse_excluded(operand: &Value) -> Result<Vec<Value>, PatternError> {
    let excluded = operand.as_array().cloned().unwrap_or_else(|| vec![operand.clone()]);
    let is_uniform = excluded.iter().all(Value::is_string) || excluded.iter().all(Value::is_number);
    if excluded.is_empty() || !is_uniform { Err(PatternError) } else { Ok(excluded) }
}

/// One comparison, or a lower bound and then an upper bound.
fn parse_numeric(operand: &Value) -> Result<Vec<(Comparison, f64)>, PatternError> {
    let comparisons = operand
        .as_array()
        .ok_or(PatternError)?
        .chunks(2)
        .map(parse_comparison)
        .collect::<Result<Vec<_>, _>>()?;
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
    match comparisons.as_slice() {
        [_] => Ok(comparisons),
        [(Greater | GreaterOrEqual, low), (Less | LessOrEqual, high)] if low < high => Ok(comparisons),
        _ => Err(PatternError),
    }
}

fn parse_comparison(pair: &[Value]) -> Result<(Comparison, f64), PatternError> {
    let [operator, number] = pair else { return Err(PatternError) };
    let comparison = match operator.as_str().ok_or(PatternError)? {
        "=" => Comparison::Equal,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        _ => return Err(PatternError),
    };
    let number = number.as_f64().filter(|number| number.abs() <= NUMERIC_MAX).ok_or(PatternError)?;
    Ok((comparison, number))
}

impl Node {
    /// `None` is a missing parent: only `exists: false` is true below it.
    fn matches(&self, value: Option<&Value>) -> bool {
        if let Some(Value::Array(elements)) = value {
            // Objects in a list: one of them must match as a whole.
            return match elements.iter().any(Value::is_object) {
                true => elements.iter().any(|element| element.is_object() && self.matches(Some(element))),
                false => self.matches(None),
            };
        }
        let field = |name: &str| value.and_then(|value| value.get(name));
        self.fields.iter().all(|(name, pattern)| pattern.matches(field(name)))
            && (self.branches.is_empty() || self.branches.iter().any(|branch| branch.matches(value)))
    }
}

impl Field {
    fn matches(&self, value: Option<&Value>) -> bool {
        match self {
            Field::Inner(node) => node.matches(value),
            Field::Leaf(rules) => rules.iter().any(|rule| rule.matches_field(value)),
        }
    }
}

impl Rule {
    fn matches_field(&self, value: Option<&Value>) -> bool {
        let leaves: &[Value] = match value {
            None | Some(Value::Object(_)) => &[],
            Some(Value::Array(elements)) => elements,
            Some(scalar) => std::slice::from_ref(scalar),
        };
        let mut leaves = leaves.iter().filter(|leaf| !leaf.is_object() && !leaf.is_array());
        match self {
            Rule::Exists(exists) => leaves.next().is_some() == *exists,
            rule => leaves.any(|leaf| rule.matches_leaf(leaf)),
        }
    }

    fn matches_leaf(&self, leaf: &Value) -> bool {
        let text = leaf.as_str();
        match self {
            Rule::Equals(value) => leaf == value,
            Rule::EqualsIgnoreCase(lower) => text.is_some_and(|text| text.to_lowercase() == *lower),
            Rule::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix)),
            Rule::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix)),
            Rule::AnythingBut(excluded) => !excluded.contains(leaf),
            Rule::Numeric(comparisons) => leaf.as_number().and_then(Number::as_f64).is_some_and(|number| {
                comparisons.iter().all(|(comparison, bound)| comparison.holds(number, *bound))
            }),
            Rule::Exists(exists) => *exists,
        }
    }
}

impl Comparison {
    fn holds(self, number: f64, bound: f64) -> bool {
        match self {
            Comparison::Equal => number == bound,
            Comparison::Greater => number > bound,
            Comparison::GreaterOrEqual => number >= bound,
            Comparison::Less => number < bound,
            Comparison::LessOrEqual => number <= bound,
        }
    }
}
