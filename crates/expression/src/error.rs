//! What can be wrong with an expression, in DynamoDB's words.
//!
//! Some requests are wrong in more than one way. [`Faults`] keeps the one that DynamoDB reports: the variants of
//! [`Fault`] are in that order.

use std::fmt;

use item::{NumberError, Type};

use crate::path::Path;

/// The parameter of a request that an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Condition,
    Filter,
    KeyCondition,
    SearchCondition,
    Update,
    Projection,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Condition => "ConditionExpression",
            Kind::Filter => "FilterExpression",
            Kind::KeyCondition => "KeyConditionExpression",
            Kind::SearchCondition => "SearchConditionExpression",
            Kind::Update => "UpdateExpression",
            Kind::Projection => "ProjectionExpression",
        })
    }
}

/// An expression that is wrong, or could not be applied to an item. It prints as DynamoDB's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    #[error("Invalid {kind}: {fault}")]
    Invalid { kind: Kind, fault: Box<Fault> },

    /// `parameter` is `ExpressionAttributeNames` or `ExpressionAttributeValues`, here and below.
    #[error("{parameter} must not be empty")]
    EmptyPlaceholders { parameter: &'static str },
    #[error("{parameter} contains invalid key: Syntax error; key: \"{key}\"")]
    PlaceholderSyntax { parameter: &'static str, key: String },
    #[error("ExpressionAttributeNames contains invalid value: {reason} for key {key}")]
    InvalidName { key: String, reason: &'static str },
    #[error("Value provided in {parameter} unused in expressions: keys: {{{}}}", keys.join(", "))]
    UnusedPlaceholders { parameter: &'static str, keys: Vec<String> },

    #[error("Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: {0}")]
    KeyOperator(String),
    #[error("Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: {0}")]
    KeyTerm(&'static str),
    #[error(
        "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: {0} operator must have the key attribute as its first operand"
    )]
    KeyFirst(&'static str),

    #[error(
        "The number of query conditions ({conditions}) exceeds the number of key attributes defined in the schema ({attributes})"
    )]
    TooManyKeyConditions { conditions: usize, attributes: usize },
    #[error("Query condition missed key schema element: {0}")]
    MissedKey(String),
    #[error("Query key condition not supported")]
    KeyConditionNotSupported,
    #[error("HASH key attributes {} must have equality conditions specified in the query", .0.join(", "))]
    HashEquality(Vec<String>),
    #[error("RANGE key attributes {} must have equality conditions specified in the query because a condition is present on key attribute {last}", missing.join(", "))]
    RangeEquality { missing: Vec<String>, last: String },
    #[error("One or more parameter values were invalid: Condition parameter type does not match schema type")]
    KeyType,

    #[error("The document path provided in the update expression is invalid for update")]
    PathNotUpdatable,
    #[error("The provided expression refers to an attribute that does not exist in the item")]
    MissingAttribute,
    #[error("An operand in the update expression has an incorrect data type")]
    OperandData,
    /// The message of legacy updates for [`ExpressionError::OperandData`].
    #[error("Type mismatch for attribute to update")]
    AttributeType,
    #[error("{0}")]
    Number(NumberError),
    #[error("Nesting Levels have exceeded supported limits")]
    Nesting,
}

impl ExpressionError {
    /// Whether the request is wrong by itself, whatever the table and the item hold. PutItem, UpdateItem and
    /// DeleteItem report such errors inside `1 validation error detected: …`, other operations without it.
    pub fn is_request_shape(&self) -> bool {
        use ExpressionError::*;
        matches!(
            self,
            Invalid { .. }
                | EmptyPlaceholders { .. }
                | PlaceholderSyntax { .. }
                | InvalidName { .. }
                | UnusedPlaceholders { .. }
                | KeyOperator(_)
                | KeyTerm(_)
                | KeyFirst(_)
        )
    }
}

/// What is wrong inside one expression. DynamoDB reports the first of these that applies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("The expression can not be empty;")]
    Empty,
    /// With its length, as in the older wording, so that clients that search for either wording find it.
    #[error("Expression size has exceeded the maximum allowed size; expression size: {0}")]
    Size(usize),
    #[error("Syntax error; token: \"{token}\", near: \"{near}\"")]
    Syntax { token: String, near: String },

    #[error("Attribute name is a reserved keyword; reserved keyword: {0}")]
    Reserved(String),
    #[error("Invalid function name; function: {0}")]
    UnknownFunction(String),
    #[error("The \"{0}\" section can only be used once in an update expression;")]
    RepeatedSection(&'static str),
    #[error("The document path has too many nesting levels; nesting levels: {0}")]
    PathDepth(usize),
    #[error("List index is not within the allowable range; index: [{0}]")]
    ListIndex(String),
    #[error("The expression has redundant parentheses;")]
    RedundantParentheses,
    #[error("The expression contains too many operators; operator count: {0}")]
    TooManyOperators(usize),

    #[error("An expression attribute name used in the document path is not defined; attribute name: {0}")]
    UndefinedName(String),
    #[error("An expression attribute value used in expression is not defined; attribute value: {0}")]
    UndefinedValue(String),
    #[error(
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )]
    Overlap { one: Path, two: Path },
    #[error(
        "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )]
    Conflict { one: Path, two: Path },

    #[error(
        "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {operand}"
    )]
    OperandType { operator: &'static str, operand: &'static str },
    #[error("Incorrect operand type for operator or function; operator: {operator}, operand type: {}, typeSet: ALLOWED_FOR_{operator}_OPERAND", long_name(*.operand))]
    ActionOperandType { operator: &'static str, operand: Type },

    #[error(
        "Incorrect number of operands for operator or function; operator or function: {operator}, number of operands: {count}"
    )]
    OperandCount { operator: &'static str, count: usize },
    #[error("Operator or function requires a document path; operator or function: {0}")]
    PathRequired(&'static str),
    #[error("The function is not allowed to be used this way in an expression; function: {0}")]
    Misplaced(&'static str),
    #[error("Invalid attribute type name found; type: {0}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}")]
    TypeName(String),
    #[error(
        "The first operand must be distinct from the remaining operands for this operator or function; operator: {operator}, first operand: {operand}"
    )]
    SameOperand { operator: &'static str, operand: Path },
    #[error(
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )]
    BoundTypes { lower: String, upper: String },
    #[error(
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )]
    BoundOrder { lower: String, upper: String },

    #[error("KeyConditionExpressions cannot contain nested operations")]
    KeyOperation,
    #[error("KeyConditionExpressions cannot have conditions on nested attributes")]
    KeyNested,
    #[error("KeyConditionExpressions must only contain one condition per key")]
    KeyRepeated,

    #[error("Invalid comparator used in SearchConditionExpression")]
    SearchComparator,
    #[error("SearchConditionExpression must only contain one condition per attribute")]
    SearchRepeated,
}

impl Fault {
    pub(crate) fn of(self, kind: Kind) -> ExpressionError {
        ExpressionError::Invalid { kind, fault: Box::new(self) }
    }

    /// Lower is reported first; faults of one rank are reported in the order of the text.
    fn rank(&self) -> u8 {
        use Fault::*;
        match self {
            Empty | Size(_) | Syntax { .. } => 0,
            Reserved(_) => 1,
            UnknownFunction(_) => 2,
            RepeatedSection(_) => 3,
            PathDepth(_) | ListIndex(_) => 4,
            RedundantParentheses => 5,
            TooManyOperators(_) => 6,
            UndefinedName(_) => 7,
            UndefinedValue(_) => 8,
            Overlap { .. } => 9,
            Conflict { .. } => 10,
            OperandType { .. } | ActionOperandType { .. } => 11,
            OperandCount { .. }
            | PathRequired(_)
            | Misplaced(_)
            | TypeName(_)
            | SameOperand { .. }
            | BoundTypes { .. }
            | BoundOrder { .. } => 12,
            KeyOperation | KeyNested | KeyRepeated | SearchComparator | SearchRepeated => 13,
        }
    }
}

/// The most serious fault of one expression so far.
#[derive(Default)]
pub(crate) struct Faults(Option<Fault>);

impl Faults {
    pub fn report(&mut self, fault: Fault) {
        if self.0.as_ref().is_none_or(|known| fault.rank() < known.rank()) {
            self.0 = Some(fault);
        }
    }

    pub fn finish(self, kind: Kind) -> Result<(), ExpressionError> {
        self.0.map_or(Ok(()), |fault| Err(fault.of(kind)))
    }
}

/// The type names that the ADD and DELETE messages use.
fn long_name(kind: Type) -> &'static str {
    match kind {
        Type::S => "STRING",
        Type::N => "NUMBER",
        Type::B => "BINARY",
        Type::Bool => "BOOLEAN",
        Type::Null => "NULL",
        Type::Ss => "STRING_SET",
        Type::Ns => "NUMBER_SET",
        Type::Bs => "BINARY_SET",
        Type::L => "LIST",
        Type::M => "MAP",
    }
}
