//! StartBulkPutItems. The output's bucket and types are required by its documentation, not by its shape.

use crate::Error;
use crate::dynamodb::StartBulkPutItemsInput;
use crate::violation::Refuse;

impl Refuse for StartBulkPutItemsInput {}

impl StartBulkPutItemsInput {
    /// Checks what is required of the output.
    pub fn check(&self) -> Result<(), Error> {
        let output = &self.output_s3_configuration;
        if output.s3_bucket.is_none() {
            return Err(Error::validation("Invalid Request: OutputS3Configuration must have an S3Bucket"));
        }
        if output.output_type.is_empty() {
            return Err(Error::validation(
                "Invalid Request: OutputS3Configuration must have at least one OutputType",
            ));
        }
        Ok(())
    }
}
