//! What a request is aimed at: an operation of one of the services.

use std::fmt;

use crate::{Service, dynamodb, streams};

/// An operation together with its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An operation of DynamoDB.
    DynamoDb(dynamodb::Operation),
    /// An operation of DynamoDB Streams.
    Streams(streams::Operation),
}

impl Target {
    /// The service's operation with this name, if it is served.
    pub fn find(service: Service, name: &str) -> Option<Target> {
        match service {
            Service::DynamoDb => dynamodb::Operation::from_target_name(name).map(Target::DynamoDb),
            Service::DynamoDbStreams => streams::Operation::from_target_name(name).map(Target::Streams),
            Service::ApplicationAutoScaling | Service::CloudWatch | Service::Lambda | Service::Dax => None,
        }
    }

    /// The service that the operation belongs to.
    pub fn service(self) -> Service {
        match self {
            Target::DynamoDb(_) => Service::DynamoDb,
            Target::Streams(_) => Service::DynamoDbStreams,
        }
    }

    /// The operation's name within its service.
    pub fn name(self) -> &'static str {
        match self {
            Target::DynamoDb(operation) => operation.name(),
            Target::Streams(operation) => operation.name(),
        }
    }
}

impl From<dynamodb::Operation> for Target {
    fn from(operation: dynamodb::Operation) -> Target {
        Target::DynamoDb(operation)
    }
}

impl From<streams::Operation> for Target {
    fn from(operation: streams::Operation) -> Target {
        Target::Streams(operation)
    }
}

/// As the header `X-Amz-Target` has it: `DynamoDB_20120810.GetItem`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.service().target_prefix() {
            Some(prefix) => write!(f, "{prefix}.{}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}
