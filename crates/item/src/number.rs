//! To be written: 38-digit decimal numbers by value.

/// A decimal number: at most 38 significant digits, magnitude 1E-130 to 9.9…E+125, or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number;

/// Why a text or a result is not a number DynamoDB can hold. The texts are DynamoDB's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    #[error("The parameter cannot be converted to a numeric value: {0}")]
    NotNumeric(String),
    #[error("Attempting to store more than 38 significant digits in a Number")]
    Precision,
    #[error("Number overflow. Attempting to store a number with magnitude larger than supported range")]
    Overflow,
    #[error("Number underflow. Attempting to store a number with magnitude smaller than supported range")]
    Underflow,
}

impl Number {
    pub const ZERO: Number = Number;
    pub fn parse(_text: &str) -> Result<Number, NumberError> {
        todo!()
    }
    pub fn checked_add(self, _other: Number) -> Result<Number, NumberError> {
        todo!()
    }
    pub fn checked_sub(self, _other: Number) -> Result<Number, NumberError> {
        todo!()
    }
    pub fn size_bytes(&self) -> usize {
        todo!()
    }
}
impl From<i64> for Number {
    fn from(_: i64) -> Number {
        todo!()
    }
}
/// Plain decimal, never an exponent.
impl std::fmt::Display for Number {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
