//! The AWS services that share the port: how each is addressed, signed for and spoken to.

use crate::{cloudwatch, dynamodb};

/// A service of AWS that clients of DynamoDB and their tools call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Tables and items.
    DynamoDb,
    /// The change records of tables.
    DynamoDbStreams,
    /// Application Auto Scaling, which adjusts provisioned throughput.
    ApplicationAutoScaling,
    /// Metrics and alarms.
    CloudWatch,
    /// Functions that read streams.
    Lambda,
    /// The clusters of a cache in front of tables.
    Dax,
}

/// How requests and answers are written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// `application/x-amz-json-1.0`; the operation is in `X-Amz-Target`.
    Json10,
    /// `application/x-amz-json-1.1`; the operation is in `X-Amz-Target`.
    Json11,
    /// A form in the body, XML in the answer; the operation is the form's `Action`.
    Query,
    /// CBOR; the operation is in the path.
    RpcV2Cbor,
    /// JSON; the operation is the HTTP method and the path.
    RestJson,
}

impl Service {
    /// Every service.
    pub const ALL: [Service; 6] = [
        Service::DynamoDb,
        Service::DynamoDbStreams,
        Service::ApplicationAutoScaling,
        Service::CloudWatch,
        Service::Lambda,
        Service::Dax,
    ];

    /// The part of `X-Amz-Target` before the dot. A service without JSON 1.0 or 1.1 has none.
    pub fn target_prefix(self) -> Option<&'static str> {
        match self {
            Service::DynamoDb => Some("DynamoDB_20120810"),
            Service::DynamoDbStreams => Some("DynamoDBStreams_20120810"),
            Service::ApplicationAutoScaling => Some("AnyScaleFrontendService"),
            Service::CloudWatch => Some("GraniteServiceVersion20100801"),
            Service::Lambda => None,
            Service::Dax => Some("AmazonDAXV3"),
        }
    }

    /// The inverse of [`Service::target_prefix`].
    pub fn from_target_prefix(prefix: &str) -> Option<Service> {
        Service::ALL.into_iter().find(|service| service.target_prefix() == Some(prefix))
    }

    /// The service's name in a signature's credential scope.
    pub fn signing_name(self) -> &'static str {
        match self {
            Service::DynamoDb | Service::DynamoDbStreams => "dynamodb",
            Service::ApplicationAutoScaling => "application-autoscaling",
            Service::CloudWatch => "monitoring",
            Service::Lambda => "lambda",
            Service::Dax => "dax",
        }
    }

    /// The protocols that the service speaks.
    pub fn protocols(self) -> &'static [Protocol] {
        match self {
            Service::DynamoDb | Service::DynamoDbStreams => &[Protocol::Json10],
            Service::ApplicationAutoScaling | Service::Dax => &[Protocol::Json11],
            Service::CloudWatch => &[Protocol::RpcV2Cbor, Protocol::Json10, Protocol::Query],
            Service::Lambda => &[Protocol::RestJson],
        }
    }

    /// Whether the service speaks this protocol.
    pub fn speaks(self, protocol: Protocol) -> bool {
        self.protocols().contains(&protocol)
    }

    /// The part before the colon in the names of the service's actions, as policies have them.
    pub fn action_prefix(self) -> &'static str {
        match self {
            Service::CloudWatch => "cloudwatch",
            service => service.signing_name(),
        }
    }

    /// The part before the `#` in the names of the service's own errors. DynamoDB Streams uses DynamoDB's.
    pub(crate) fn error_namespace(self) -> Option<&'static str> {
        match self {
            Service::DynamoDb | Service::DynamoDbStreams => Some(dynamodb::NAMESPACE),
            Service::CloudWatch => Some(cloudwatch::NAMESPACE),
            Service::ApplicationAutoScaling | Service::Lambda | Service::Dax => None,
        }
    }
}
