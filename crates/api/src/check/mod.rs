//! Rules for requests that need neither the table nor an expression's meaning, one file an operation.
//!
//! Each input has a `check`, which the engine calls first, and says through [`Refuse`] how DynamoDB
//! words the constraints that its decoding found broken.

use crate::Error;
use crate::generated::*;
use crate::violation::Violations;

/// How an operation reports broken constraints.
pub(crate) trait Refuse {
    /// `violations` is not empty, and in the order in which its members are reported.
    fn refuse(&self, violations: Violations) -> Error {
        violations.into_error()
    }
}
impl Refuse for CreateTableInput {}
impl Refuse for DescribeTableInput {}
impl Refuse for ListTablesInput {}
impl Refuse for UpdateTableInput {}
impl Refuse for DeleteTableInput {}
impl Refuse for PutItemInput {}
impl Refuse for GetItemInput {}
impl Refuse for UpdateItemInput {}
impl Refuse for DeleteItemInput {}
impl Refuse for QueryInput {}
impl Refuse for ScanInput {}
macro_rules! st { ($($t:ident)*) => {$(impl $t { pub fn check(&self) -> Result<(), Error> { Ok(()) } })*} }
st!(CreateTableInput DescribeTableInput ListTablesInput UpdateTableInput DeleteTableInput PutItemInput GetItemInput UpdateItemInput DeleteItemInput QueryInput ScanInput);
