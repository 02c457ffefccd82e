//! Triggers, mounted on the server: what they need of the database, and Lambda's operations on the same port.

use std::sync::Arc;
use std::time::Duration;

use api::Input;
use api::streams::{
    self, DescribeStreamInput, DescribeStreamOutput, GetRecordsInput, GetRecordsOutput,
    GetShardIteratorInput, GetShardIteratorOutput,
};
use async_trait::async_trait;
use bytes::Bytes;
use engine::{Caller, Engine};
use http::Request;
use server::{PageAnswer, RestService};
use triggers::{Namespace, Options, Rows, RowsError, Sleep, Streams, Triggers};

/// Starts the triggers of a database.
pub async fn open(engine: Arc<Engine>, options: Options) -> Result<Arc<TriggerService>, String> {
    let (streams, rows) = (Arc::new(OfEngine(engine.clone())), Arc::new(OfEngine(engine)));
    let opened = Triggers::open(options, streams, rows, Arc::new(System)).await;
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

impl RestService for TriggerService {
    fn service(&self) -> api::Service {
        api::Service::Lambda
    }

    fn owns(&self, path: &str) -> bool {
        Triggers::owns(path)
    }

    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_> {
        Box::pin(async move {
            let engine::Namespace { account, region } = &caller.namespace;
            let namespace = Namespace { account: account.to_string(), region: region.to_string() };
            let (method, uri) = (request.method().as_str(), request.uri());
            self.0.answer(&namespace, method, uri.path(), uri.query(), request.body()).await
        })
    }
}

/// The streams and rows of an engine.
struct OfEngine(Arc<Engine>);

impl OfEngine {
    async fn call<I>(&self, namespace: &Namespace, input: I) -> Result<I::Output, api::Error>
    where
        I: Input<Request = streams::Request, Response = streams::Response>,
    {
        let caller = Caller::new(namespace.account.as_str(), namespace.region.as_str());
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

#[async_trait]
impl Rows for OfEngine {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RowsError> {
        let row = self.0.service_row(name).await.map_err(|error| RowsError(error.to_string()))?;
        Ok(row.map(Vec::from))
    }

    async fn put(&self, name: &str, value: Vec<u8>) -> Result<(), RowsError> {
        self.0.put_service_row(name, value.into()).await.map_err(|error| RowsError(error.to_string()))
    }

    async fn delete(&self, name: &str) -> Result<(), RowsError> {
        self.0.delete_service_row(name).await.map_err(|error| RowsError(error.to_string()))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, RowsError> {
        let rows = self.0.service_rows(prefix).await.map_err(|error| RowsError(error.to_string()))?;
        Ok(rows.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

/// The system's time and random numbers, as the engine has them.
struct System;

impl triggers::Environment for System {
    fn now_ms(&self) -> u64 {
        engine::Environment::now_ms(&lodestone::System)
    }

    fn random(&self) -> u128 {
        engine::Environment::random(&lodestone::System)
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }
}
