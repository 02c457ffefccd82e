//! Triggers, mounted on the server: what they need of the database, and Lambda's operations on the same port.

use std::sync::Arc;

use api::lambda::Request as Lambda;
use api::streams::{
    self, DescribeStreamInput, DescribeStreamOutput, GetRecordsInput, GetRecordsOutput,
    GetShardIteratorInput, GetShardIteratorOutput,
};
use api::{Error, ErrorKind, Input, Service};
use async_trait::async_trait;
use bytes::Bytes;
use engine::Engine;
use http::request::Parts;
use http::{HeaderValue, Response};
use triggers::{Namespace, Options, Sleep, Streams, Triggers};

use crate::neighbour::{Mounted, Neighbour, Permission, Received, json_response};
use crate::service_host::{Clock, OfEngine, caller};

/// Starts the triggers of a database.
pub async fn open(engine: Arc<Engine>, options: Options) -> Result<Arc<TriggerService>, String> {
    let clock = Arc::new(Clock::OfEngine(engine.clone()));
    let database = Arc::new(OfEngine(engine));
    let opened = Triggers::open(options, database.clone(), database, clock).await;
    let triggers = opened.map_err(|error| format!("can't start the triggers: {error}"))?;
    Ok(Arc::new(Neighbour(Arc::new(triggers))))
}

/// Lambda's operations on event source mappings.
pub type TriggerService = Neighbour<Triggers>;

impl Mounted for Triggers {
    const SERVICE: Service = Service::Lambda;

    fn owns(head: &Parts) -> bool {
        Triggers::owns(head.uri.path())
    }

    async fn permission(&self, request: Received<'_>) -> Result<Option<Permission>, Error> {
        let Received { namespace, head, body } = request;
        let query = head.uri.query().unwrap_or_default();
        let asked = Lambda::decode(head.method.as_str(), head.uri.path(), query, body);
        Ok(asked.ok().map(|asked| Permission::one(asked.name(), resource(namespace, &asked))))
    }

    async fn answer(&self, request: Received<'_>) -> Response<Bytes> {
        let Received { namespace, head, body } = request;
        self.answer(namespace, head.method.as_str(), head.uri.path(), head.uri.query(), body).await
    }

    fn refusal(&self, _head: &Parts, error: &Error) -> Response<Bytes> {
        match error.kind {
            ErrorKind::AccessDenied => denied(error),
            _ => Triggers::refusal(error),
        }
    }
}

fn resource(namespace: &Namespace, asked: &Lambda) -> String {
    let Namespace { account, region } = namespace;
    let mapping = |uuid: &str| format!("arn:aws:lambda:{region}:{account}:event-source-mapping:{uuid}");
    match asked {
        Lambda::CreateEventSourceMapping(_) | Lambda::ListEventSourceMappings(_) => "*".to_owned(),
        Lambda::UpdateEventSourceMapping(input) => mapping(&input.uuid),
        Lambda::GetEventSourceMapping { uuid } | Lambda::DeleteEventSourceMapping { uuid } => mapping(uuid),
        Lambda::ListTags { resource }
        | Lambda::TagResource { resource, .. }
        | Lambda::UntagResource { resource, .. } => resource.clone(),
    }
}

/// A refusal by policies, as Lambda writes it.
fn denied(error: &Error) -> Response<Bytes> {
    let body = serde_json::json!({"Message": error.message}).to_string();
    let mut response = json_response(403, "application/json", body.into());
    response.headers_mut().insert("x-amzn-errortype", HeaderValue::from_static(error.kind.name()));
    response
}

async fn call<I>(engine: &Engine, namespace: &Namespace, input: I) -> Result<I::Output, Error>
where
    I: Input<Request = streams::Request, Response = streams::Response>,
{
    let response = engine.call_streams(&caller(namespace), input.into_request()).await?;
    I::output(response).ok_or_else(Error::internal)
}

/// The streams of an engine.
#[async_trait]
impl Streams for OfEngine {
    async fn describe_stream(
        &self,
        namespace: &Namespace,
        input: DescribeStreamInput,
    ) -> Result<DescribeStreamOutput, Error> {
        call(&self.0, namespace, input).await
    }

    async fn get_shard_iterator(
        &self,
        namespace: &Namespace,
        input: GetShardIteratorInput,
    ) -> Result<GetShardIteratorOutput, Error> {
        call(&self.0, namespace, input).await
    }

    async fn get_records(
        &self,
        namespace: &Namespace,
        input: GetRecordsInput,
    ) -> Result<GetRecordsOutput, Error> {
        call(&self.0, namespace, input).await
    }

    fn changed(&self, stream_arn: &str) -> Sleep {
        self.0.stream_changed(stream_arn)
    }
}
