//! From `X-Amz-Target` to the code that answers.
//!
//! One port serves every service that a DynamoDB client's tools talk to; the part of the target before
//! the dot says which. An operation that is not served is an UnknownOperationException.

use api::{Error, Request, Response, Service, Target, streams};
use engine::{
    AnswerSize, Caller, ChangeLogSize, Engine, FaultStatus, Health, IndexProgress, MetricTotal, PairStatus,
    SketchTotals,
};
use hyper::HeaderMap;
use hyper::header::HeaderName;

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// What a request asks for, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// No service that we know.
    Unknown,
    /// An operation that this service does not have, or that is not served.
    Unserved(Service),
    For(Target),
}

impl Asked {
    pub(crate) fn of(headers: &HeaderMap) -> Asked {
        let target = headers.get(TARGET).and_then(|target| target.to_str().ok());
        let Some((prefix, name)) = target.and_then(|target| target.split_once('.')) else {
            return Asked::Unknown;
        };
        match Service::from_target_prefix(prefix) {
            None => Asked::Unknown,
            Some(service) => Target::find(service, name).map_or(Asked::Unserved(service), Asked::For),
        }
    }

    pub(crate) fn service(self) -> Option<Service> {
        match self {
            Asked::Unknown => None,
            Asked::Unserved(service) => Some(service),
            Asked::For(target) => Some(target.service()),
        }
    }

    /// The operation's name, as far as it is one.
    pub(crate) fn name(self) -> String {
        match self {
            Asked::Unknown | Asked::Unserved(_) => "unknown".to_owned(),
            Asked::For(target) => target.name().to_owned(),
        }
    }

    pub(crate) fn target(self) -> Result<Target, Error> {
        match self {
            Asked::Unknown => Err(Error::unknown_operation()),
            Asked::Unserved(_) => Err(Error::operation_not_served()),
            Asked::For(target) => Ok(target),
        }
    }
}

/// What answers the operations: the engine, or a stand-in where a test wants one.
pub trait Backend: Send + Sync + 'static {
    /// A request as it was understood.
    type Request: Send;
    /// What came of it, not printed yet.
    type Response: Send;

    fn decode(&self, target: Target, body: &[u8]) -> Result<Self::Request, Error>;

    /// How much memory its answer may take.
    fn answer_size(&self, request: &Self::Request) -> AnswerSize;

    /// Runs the operation.
    fn run(
        &self,
        caller: &Caller,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Response, Error>> + Send;

    /// A request of DynamoDB, for a guard.
    fn dynamodb<'r>(&self, _request: &'r Self::Request) -> Option<&'r Request> {
        None
    }

    /// An answer of DynamoDB, for a guard.
    fn dynamodb_answer<'r>(&self, _response: &'r Self::Response) -> Option<&'r Response> {
        None
    }

    /// How many bytes of items its answer has, as they are stored.
    fn item_bytes(&self, response: &Self::Response) -> usize;

    /// Prints the answer behind what is in `answer`.
    fn print(&self, response: Self::Response, answer: &mut Vec<u8>);

    /// Whether it takes writes.
    fn health(&self) -> Health {
        Health::Healthy
    }

    /// What is wrong with the clock, for the operator.
    fn clock_notice(&self) -> Option<String> {
        None
    }

    /// How much room change records take, for the operator.
    fn change_log_sizes(&self) -> Vec<ChangeLogSize> {
        Vec::new()
    }

    /// What compressed copies of vector indexes hold, for the operator.
    fn sketch_totals(&self) -> SketchTotals {
        SketchTotals::default()
    }

    /// The faults that requests meet because the operator asked for them.
    fn injected_faults(&self) -> Vec<FaultStatus> {
        Vec::new()
    }

    /// What was counted since the start, for the operator.
    fn metric_totals(&self) -> Vec<MetricTotal> {
        Vec::new()
    }

    /// How far changes are on their way to other Regions, for the operator.
    fn replication_status(&self) -> impl Future<Output = Result<Vec<PairStatus>, String>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    /// The indexes that are being made, for the operator.
    fn index_progress(&self) -> impl Future<Output = Result<Vec<IndexProgress>, String>> + Send {
        std::future::ready(Ok(Vec::new()))
    }
}

/// A request to one of the services.
#[derive(Debug)]
pub enum ServiceRequest {
    DynamoDb(Request),
    Streams(streams::Request),
}

/// The answer of one of the services.
#[derive(Debug)]
pub enum ServiceResponse {
    DynamoDb(Response),
    Streams(streams::Response),
}

impl Backend for Engine {
    type Request = ServiceRequest;
    type Response = ServiceResponse;

    fn decode(&self, target: Target, body: &[u8]) -> Result<ServiceRequest, Error> {
        Ok(match target {
            Target::DynamoDb(operation) => ServiceRequest::DynamoDb(Request::decode(operation, body)?),
            Target::Streams(operation) => ServiceRequest::Streams(streams::Request::decode(operation, body)?),
        })
    }

    fn answer_size(&self, request: &ServiceRequest) -> AnswerSize {
        match request {
            ServiceRequest::DynamoDb(request) => engine::dynamodb::answer_size(request),
            ServiceRequest::Streams(request) => engine::streams::answer_size(request),
        }
    }

    async fn run(&self, caller: &Caller, request: ServiceRequest) -> Result<ServiceResponse, Error> {
        Ok(match request {
            ServiceRequest::DynamoDb(request) => {
                ServiceResponse::DynamoDb(Engine::call(self, caller, request).await?)
            }
            ServiceRequest::Streams(request) => {
                ServiceResponse::Streams(self.call_streams(caller, request).await?)
            }
        })
    }

    fn dynamodb<'r>(&self, request: &'r ServiceRequest) -> Option<&'r Request> {
        match request {
            ServiceRequest::DynamoDb(request) => Some(request),
            ServiceRequest::Streams(_) => None,
        }
    }

    fn dynamodb_answer<'r>(&self, response: &'r ServiceResponse) -> Option<&'r Response> {
        match response {
            ServiceResponse::DynamoDb(response) => Some(response),
            ServiceResponse::Streams(_) => None,
        }
    }

    fn item_bytes(&self, response: &ServiceResponse) -> usize {
        match response {
            ServiceResponse::DynamoDb(response) => engine::item_bytes(response),
            ServiceResponse::Streams(_) => 0,
        }
    }

    fn print(&self, response: ServiceResponse, answer: &mut Vec<u8>) {
        match response {
            ServiceResponse::DynamoDb(response) => response.write_json(answer),
            ServiceResponse::Streams(response) => response.write_json(answer),
        }
    }

    fn health(&self) -> Health {
        Engine::health(self)
    }

    fn clock_notice(&self) -> Option<String> {
        (**self).clock_notice()
    }

    fn change_log_sizes(&self) -> Vec<ChangeLogSize> {
        (**self).change_log_sizes()
    }

    fn sketch_totals(&self) -> SketchTotals {
        Engine::sketch_totals(self)
    }

    fn injected_faults(&self) -> Vec<FaultStatus> {
        Engine::injected_faults(self)
    }

    fn metric_totals(&self) -> Vec<MetricTotal> {
        (**self).metric_totals()
    }

    async fn replication_status(&self) -> Result<Vec<PairStatus>, String> {
        (**self).replication_status().await.map_err(|error| error.to_string())
    }

    async fn index_progress(&self) -> Result<Vec<IndexProgress>, String> {
        (**self).index_progress().await.map_err(|error| error.to_string())
    }
}
