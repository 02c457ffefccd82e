//! Triggers, mounted on the server: what they need of the database, and Lambda's operations on the same port.

use std::sync::Arc;

use api::Input;
use api::streams::{
    self, DescribeStreamInput, DescribeStreamOutput, GetRecordsInput, GetRecordsOutput,
    GetShardIteratorInput, GetShardIteratorOutput,
};
use async_trait::async_trait;
use bytes::Bytes;
use engine::{Caller, Engine};
use http::request::Parts;
use http::{Request, Response};
use server::{NeighbourService, PageAnswer};
use triggers::{Namespace, Options, Sleep, Streams, Triggers};

use crate::service_host::{Clock, EngineRows, namespace};

/// Starts the triggers of a database.
pub async fn open(engine: Arc<Engine>, options: Options) -> Result<Arc<TriggerService>, String> {
    let (streams, rows) = (Arc::new(OfEngine(engine.clone())), Arc::new(EngineRows(engine)));
    let opened = Triggers::open(options, streams, rows, Arc::new(Clock::System)).await;
    let triggers = opened.map_err(|error| format!("can't start the triggers: {error}"))?;
    Ok(Arc::new(TriggerService(triggers)))
}

/// Lambda's operations on event source mappings.
pub struct TriggerService(Triggers);

impl TriggerService {
    /// Ends every trigger; calls under way are waited for.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

impl std::fmt::Debug for TriggerService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TriggerService")
    }
}

impl NeighbourService for TriggerService {
    fn service(&self) -> api::Service {
        api::Service::Lambda
    }

    fn owns(&self, head: &Parts) -> bool {
        Triggers::owns(head.uri.path())
    }

    fn refuse(&self, _head: &Parts, error: &api::Error) -> Response<Bytes> {
        Triggers::refusal(error)
    }

    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_> {
        Box::pin(async move {
            let namespace = namespace(&caller);
            let (method, uri) = (request.method().as_str(), request.uri());
            if let Err(error) = authorize(&caller, &request) {
                return denied(&error);
            }
            self.0.answer(&namespace, method, uri.path(), uri.query(), request.body()).await
        })
    }
}

/// Refuses a request that policies do not allow. What is no request needs nothing: it is refused for that.
fn authorize(caller: &Caller, request: &Request<Bytes>) -> Result<(), api::Error> {
    use api::lambda::Request as Lambda;

    let (method, uri) = (request.method().as_str(), request.uri());
    let Ok(asked) = Lambda::decode(method, uri.path(), uri.query().unwrap_or_default(), request.body())
    else {
        return Ok(());
    };
    let engine::Namespace { account, region } = &caller.namespace;
    let mapping = |uuid: &str| format!("arn:aws:lambda:{region}:{account}:event-source-mapping:{uuid}");
    let (action, resource) = match &asked {
        Lambda::CreateEventSourceMapping(_) => ("lambda:CreateEventSourceMapping", "*".to_owned()),
        Lambda::ListEventSourceMappings(_) => ("lambda:ListEventSourceMappings", "*".to_owned()),
        Lambda::GetEventSourceMapping { uuid } => ("lambda:GetEventSourceMapping", mapping(uuid)),
        Lambda::UpdateEventSourceMapping(input) => ("lambda:UpdateEventSourceMapping", mapping(&input.uuid)),
        Lambda::DeleteEventSourceMapping { uuid } => ("lambda:DeleteEventSourceMapping", mapping(uuid)),
        Lambda::ListTags { resource } => ("lambda:ListTags", resource.clone()),
        Lambda::TagResource { resource, .. } => ("lambda:TagResource", resource.clone()),
        Lambda::UntagResource { resource, .. } => ("lambda:UntagResource", resource.clone()),
    };
    caller.authorize(action, &resource)
}

fn denied(error: &api::Error) -> http::Response<Bytes> {
    let body = serde_json::json!({"Message": error.message}).to_string();
    let response = http::Response::builder().status(403).header("content-type", "application/json");
    let response = response.header("x-amzn-errortype", error.kind.name());
    response.body(Bytes::from(body)).expect("status and headers are made of fixed parts")
}

/// The streams of an engine.
struct OfEngine(Arc<Engine>);

impl OfEngine {
    async fn call<I>(&self, namespace: &Namespace, input: I) -> Result<I::Output, api::Error>
    where
        I: Input<Request = streams::Request, Response = streams::Response>,
    {
        let caller = Caller::new(namespace.account.clone(), namespace.region.clone());
        let response = self.0.call_streams(&caller, input.into_request()).await?;
        I::output(response).ok_or_else(api::Error::internal)
    }
}

#[async_trait]
impl Streams for OfEngine {
    async fn describe_stream(
        &self,
        namespace: &Namespace,
        input: DescribeStreamInput,
    ) -> Result<DescribeStreamOutput, api::Error> {
        self.call(namespace, input).await
    }

    async fn get_shard_iterator(
        &self,
        namespace: &Namespace,
        input: GetShardIteratorInput,
    ) -> Result<GetShardIteratorOutput, api::Error> {
        self.call(namespace, input).await
    }

    async fn get_records(
        &self,
        namespace: &Namespace,
        input: GetRecordsInput,
    ) -> Result<GetRecordsOutput, api::Error> {
        self.call(namespace, input).await
    }

    fn changed(&self, stream_arn: &str) -> Sleep {
        self.0.stream_changed(stream_arn)
    }
}
