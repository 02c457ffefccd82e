//! What can be wrong with a statement, in DynamoDB's words where they are known. All of it is a ValidationException.

use item::ValueError;

use crate::error::{ExpressionError, Fault};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    #[error("Statement wasn't well formed, can't be processed: {0}")]
    NotWellFormed(String),
    #[error("Unexpected path component at {0}")]
    PathComponent(Position),
    #[error("Unsupported clause: {clause} at {position}")]
    Clause { clause: &'static str, position: Position },
    /// Of `SET_ADD` or `SET_DELETE`.
    #[error("The first argument to {function} must equal the assignment value at {position}")]
    FirstArgument { function: &'static str, position: Position },
    #[error("Only RETURNING ALL OLD * is supported in a DELETE statement")]
    ReturningOfDelete,

    #[error("Number of parameters in request and statement don't match.")]
    Parameters,
    #[error("{0}")]
    Value(#[from] ValueError),
    #[error("One or more parameter values were invalid: The members of a set must be of one type: S, N or B")]
    SetMembers,
    #[error("Item to insert must be a tuple")]
    ItemNotMap,

    /// A fault that native expressions have too, reported without the name of a parameter that the client did not send.
    #[error("{0}")]
    Fault(Box<Fault>),
    #[error("{0}")]
    Expression(ExpressionError),

    #[error("Where clause does not contain a mandatory equality on all key attributes")]
    KeyEquality,
    #[error("Must have WHERE clause in the statement when using ORDER BY clause.")]
    OrderWithoutWhere,
    #[error(
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
    )]
    OrderWithoutPartition,
    #[error("Variable reference {0} in ORDER BY clause must be part of the primary key")]
    OrderOfAttribute(String),
    #[error("Select statements are not supported on indexes with keys of more than one attribute")]
    MultiAttributeKey,
}

impl From<ExpressionError> for StatementError {
    fn from(error: ExpressionError) -> StatementError {
        match error {
            ExpressionError::Invalid { fault, .. } => StatementError::Fault(fault),
            other => StatementError::Expression(other),
        }
    }
}

/// The position of a token, printed as DynamoDB does: `line:column:length`, counted in characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
    pub length: usize,
}

impl Position {
    pub(super) fn of(span: &std::ops::Range<usize>, text: &str) -> Position {
        let before = &text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Position {
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
            length: text[span.clone()].chars().count(),
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.line, self.column, self.length)
    }
}
