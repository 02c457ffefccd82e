//! The messages of Application Auto Scaling.

use std::fmt::Display;

use super::{ScalableDimension, ServiceNamespace};
use crate::{Error, ErrorKind};

/// How messages name a target.
fn identity(namespace: ServiceNamespace, resource_id: &str, dimension: ScalableDimension) -> impl Display {
    format!(
        "service namespace: {}, resource ID: {resource_id}, scalable dimension: {}",
        namespace.as_str(),
        dimension.as_str()
    )
}

fn object_not_found(message: String) -> Error {
    Error::new(ErrorKind::ObjectNotFound, message)
}

impl Error {
    /// The table of a new target does not exist.
    pub fn scalable_table_not_found(resource_id: &str) -> Error {
        Error::validation(format!("DynamoDB table does not exist: {resource_id}"))
    }

    /// The index of a new target does not exist.
    pub fn scalable_index_not_found(resource_id: &str) -> Error {
        Error::validation(format!("DynamoDB index does not exist: {resource_id}"))
    }

    /// Not a table or index, or not with this dimension.
    pub fn scalable_target_unsupported() -> Error {
        Error::validation("Unsupported service namespace, resource type or scalable dimension")
    }

    /// A policy or action for something that is not a target.
    pub fn no_target_registered(
        namespace: ServiceNamespace,
        id: &str,
        dimension: ScalableDimension,
    ) -> Error {
        let target = identity(namespace, id, dimension);
        object_not_found(format!("No scalable target registered for {target}"))
    }

    /// The target to remove is not there.
    pub fn target_not_found(namespace: ServiceNamespace, id: &str, dimension: ScalableDimension) -> Error {
        object_not_found(format!("No scalable target found for {}", identity(namespace, id, dimension)))
    }

    /// The policy to remove is not there.
    pub fn scaling_policy_not_found(
        namespace: ServiceNamespace,
        id: &str,
        dimension: ScalableDimension,
        name: &str,
    ) -> Error {
        let target = identity(namespace, id, dimension);
        object_not_found(format!("No scaling policy found for {target}, policy name: {name}"))
    }

    /// The scheduled action to remove is not there.
    pub fn scheduled_action_not_found(
        namespace: ServiceNamespace,
        id: &str,
        dimension: ScalableDimension,
        name: &str,
    ) -> Error {
        let target = identity(namespace, id, dimension);
        object_not_found(format!("No scheduled action found for {target}, scheduled action name: {name}"))
    }

    /// A second policy for one metric.
    pub fn metric_has_policy() -> Error {
        Error::validation(
            "Only one TargetTrackingScaling policy for a given metric specification is allowed.",
        )
    }

    /// No target has this ARN.
    pub fn scalable_target_arn_not_found(arn: &str) -> Error {
        Error::new(ErrorKind::ResourceNotFound, format!("Scalable target with ARN {arn} does not exist"))
    }

    /// A token that no earlier answer had.
    pub fn invalid_next_token() -> Error {
        Error::new(ErrorKind::InvalidNextTokenException, "The next token is not valid")
    }

    /// More than the service keeps.
    pub fn limit_exceeded(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::LimitExceeded, message)
    }

    /// The service could not do what was asked.
    pub fn internal_service_exception() -> Error {
        Error::new(ErrorKind::InternalServiceException, "The service encountered an internal error")
    }
}
