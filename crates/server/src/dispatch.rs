//! From `X-Amz-Target` to the code that answers.
//!
//! One port serves every service that a DynamoDB client's tools talk to; the part of the target before
//! the point says which. Those without operations yet answer UnknownOperationException.

use api::{Error, Operation, Request};
use engine::{Caller, Engine, IndexProgress};
use hyper::HeaderMap;
use hyper::header::HeaderName;

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// A service that clients may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    DynamoDb,
    DynamoDbStreams,
    ApplicationAutoScaling,
    CloudWatch,
}

/// Target prefixes, as SDKs send them.
const PREFIXES: [(&str, Service); 4] = [
    ("DynamoDB_20120810", Service::DynamoDb),
    ("DynamoDBStreams_20120810", Service::DynamoDbStreams),
    ("AnyScaleFrontendService", Service::ApplicationAutoScaling),
    ("GraniteServiceVersion20100801", Service::CloudWatch),
];

impl Service {
    /// The service's name in a signature's credential scope.
    pub(crate) fn signing_name(self) -> &'static str {
        match self {
            Service::DynamoDb | Service::DynamoDbStreams => "dynamodb",
            Service::ApplicationAutoScaling => "application-autoscaling",
            Service::CloudWatch => "monitoring",
        }
    }

    pub(crate) fn speaks_json_1_1(self) -> bool {
        matches!(self, Service::ApplicationAutoScaling)
    }
}

/// What a request is aimed at: perhaps nothing we know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target {
    pub(crate) service: Option<Service>,
    operation: Option<Operation>,
}

impl Target {
    pub(crate) fn of(headers: &HeaderMap) -> Target {
        Target::find(headers).unwrap_or_default()
    }

    fn find(headers: &HeaderMap) -> Option<Target> {
        let (prefix, name) = headers.get(TARGET)?.to_str().ok()?.split_once('.')?;
        let (_, service) = PREFIXES.into_iter().find(|(known, _)| prefix == *known)?;
        let operation = match service {
            Service::DynamoDb => Operation::from_target_name(name),
            Service::DynamoDbStreams | Service::ApplicationAutoScaling | Service::CloudWatch => None,
        };
        Some(Target { service: Some(service), operation })
    }

    /// The service and operation, if both are known.
    pub(crate) fn known(self) -> Result<(Service, Operation), Error> {
        let service = self.service.ok_or_else(Error::unknown_operation)?;
        let operation = self.operation.ok_or_else(Error::operation_not_served)?;
        Ok((service, operation))
    }
}

/// What answers the operations: the engine, or a stand-in where a test wants one.
pub trait Backend: Send + Sync + 'static {
    /// Decodes the body, runs the operation and prints its answer behind what is in `answer`.
    fn call(
        &self,
        caller: &Caller,
        operation: Operation,
        body: &[u8],
        answer: &mut Vec<u8>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// The indexes that are being made, for the operator.
    fn index_progress(&self) -> impl Future<Output = Vec<IndexProgress>> + Send {
        std::future::ready(Vec::new())
    }
}

impl Backend for Engine {
    async fn call(
        &self,
        caller: &Caller,
        operation: Operation,
        body: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let request = Request::decode(operation, body)?;
        let response = Engine::call(self, caller, request).await?;
        response.write_json(answer);
        Ok(())
    }

    async fn index_progress(&self) -> Vec<IndexProgress> {
        Engine::index_progress(self).await.unwrap_or_default()
    }
}
