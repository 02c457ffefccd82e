//! What is wrong with tags and resource policies.

use crate::{Error, ErrorKind, limits};

impl Error {
    /// The table whose tags or policy are asked for does not exist. The missing letter is DynamoDB's.
    pub fn resource_not_found_arn(arn: &str) -> Error {
        Error::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: ResourcArn: {arn} not found"),
        )
    }

    /// ListTagsOfResource of a table that does not exist. DynamoDB answers as if access were denied.
    pub fn tags_denied(account: &str, arn: &str) -> Error {
        let message = format!(
            "User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:ListTagsOfResource on \
             resource: {arn}"
        );
        Error::new(ErrorKind::AccessDenied, message)
    }

    /// More tags than a table can have.
    pub fn too_many_tags() -> Error {
        Error::invalid_parameter(format_args!("Number of tags exceeds the limit of {}", limits::TAGS_MAX))
    }

    /// The table has no policy, or not in the revision that the request expects.
    pub fn policy_not_found(arn: &str) -> Error {
        let message = format!("Resource-based policy not found for the provided ResourceArn: {arn}");
        Error::new(ErrorKind::PolicyNotFound, message)
    }
}
