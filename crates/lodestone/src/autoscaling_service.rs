//! Application Auto Scaling, mounted on the server: the tables that it scales, and its operations on the same port.

use std::sync::Arc;

use api::autoscaling::{Operation, Request as Asked};
use api::cloudwatch::{Datapoint, GetMetricStatisticsInput, PutMetricAlarmInput};
use api::{Error, ErrorKind, TableDescription, UpdateTableInput};
use async_trait::async_trait;
use autoscaling::{AutoScaling, Tables};
use bytes::Bytes;
use cloudwatch::CloudWatch;
use engine::{Caller, Engine};
use host::Namespace;
use http::request::Parts;
use http::{Request, Response};
use server::{NeighbourService, PageAnswer};

use crate::cloudwatch_service::{describe_table, text};
use crate::replica_scaling::ReplicaScaling;
use crate::service_host::{Clock, EngineRows, namespace, send};

/// Opens the scalable targets of a database, and scales them from now on.
pub async fn open(
    engine: Arc<Engine>,
    cloudwatch: Arc<CloudWatch>,
) -> Result<Arc<AutoScalingService>, String> {
    let service = read(engine.clone(), cloudwatch).await?;
    service.0.start();
    engine.set_scaling(Arc::new(ReplicaScaling(Arc::downgrade(&service))));
    Ok(service)
}

/// Opens the scalable targets of a database, which are not scaled yet.
pub async fn read(
    engine: Arc<Engine>,
    cloudwatch: Arc<CloudWatch>,
) -> Result<Arc<AutoScalingService>, String> {
    let (tables, rows) = (Arc::new(OfEngine(engine.clone())), Arc::new(EngineRows(engine.clone())));
    let clock = Arc::new(Clock::OfCapacity(engine));
    let opened = AutoScaling::open(tables, Arc::new(Watched(cloudwatch)), rows, clock).await;
    let scaling = opened.map_err(|error| format!("can't open the scalable targets: {error}"))?;
    Ok(Arc::new(AutoScalingService(scaling)))
}

/// Application Auto Scaling's operations.
pub struct AutoScalingService(pub AutoScaling);

impl AutoScalingService {
    /// Refuses a request that policies do not allow. What is no request needs nothing: it is refused for that.
    async fn authorize(&self, caller: &Caller, target: &str, body: &[u8]) -> Result<(), Error> {
        if !caller.is_verified() {
            return Ok(());
        }
        let name = target.split_once('.').map(|(_, name)| name).unwrap_or_default();
        let Some(operation) = Operation::from_target_name(name) else { return Ok(()) };
        let Ok(asked) = Asked::decode(operation, body) else { return Ok(()) };
        let namespace = namespace(caller);
        let scaling = self.0.current().await?;
        let arn = |resource_id: &str, dimension| scaling.target_arn(&namespace, resource_id, dimension);
        let resource = match &asked {
            Asked::DescribeScalableTargets(_)
            | Asked::DescribeScalingPolicies(_)
            | Asked::DescribeScheduledActions(_)
            | Asked::DescribeScalingActivities(_) => "*".to_owned(),
            Asked::RegisterScalableTarget(input) => arn(&input.resource_id, input.scalable_dimension),
            Asked::DeregisterScalableTarget(input) => arn(&input.resource_id, input.scalable_dimension),
            Asked::PutScalingPolicy(input) => arn(&input.resource_id, input.scalable_dimension),
            Asked::DeleteScalingPolicy(input) => arn(&input.resource_id, input.scalable_dimension),
            Asked::PutScheduledAction(input) => arn(&input.resource_id, input.scalable_dimension),
            Asked::DeleteScheduledAction(input) => arn(&input.resource_id, input.scalable_dimension),
            Asked::TagResource(input) => input.resource_arn.clone(),
            Asked::UntagResource(input) => input.resource_arn.clone(),
            Asked::ListTagsForResource(input) => input.resource_arn.clone(),
        };
        let prefix = api::Service::ApplicationAutoScaling.action_prefix();
        caller.authorize(&format!("{prefix}:{name}"), &resource)
    }
}

impl std::fmt::Debug for AutoScalingService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AutoScalingService")
    }
}

impl NeighbourService for AutoScalingService {
    fn service(&self) -> api::Service {
        api::Service::ApplicationAutoScaling
    }

    fn owns(&self, head: &Parts) -> bool {
        target(head).is_some_and(AutoScaling::owns)
    }

    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let target = target(&head).unwrap_or_default();
            match self.authorize(&caller, target, &body).await {
                Ok(()) => self.0.answer(&namespace(&caller), target, &body).await,
                Err(error) => AutoScaling::refusal(&error),
            }
        })
    }

    fn refuse(&self, _head: &Parts, error: &Error) -> Response<Bytes> {
        AutoScaling::refusal(error)
    }
}

fn target(head: &Parts) -> Option<&str> {
    text(&head.headers, "x-amz-target")
}

/// The tables of an engine.
struct OfEngine(Arc<Engine>);

#[async_trait]
impl Tables for OfEngine {
    async fn describe(&self, namespace: &Namespace, table: &str) -> Result<Option<TableDescription>, Error> {
        describe_table(&self.0, namespace, table).await
    }

    async fn update(&self, namespace: &Namespace, input: UpdateTableInput) -> Result<(), Error> {
        send(&self.0, namespace, input).await.map(drop)
    }
}

/// CloudWatch of the same process.
struct Watched(Arc<CloudWatch>);

#[async_trait]
impl autoscaling::CloudWatch for Watched {
    async fn statistics(
        &self,
        namespace: &Namespace,
        input: GetMetricStatisticsInput,
    ) -> Result<Vec<Datapoint>, Error> {
        Ok(self.0.get_metric_statistics(namespace, input).await?.datapoints.unwrap_or_default())
    }

    async fn put_alarm(&self, namespace: &Namespace, input: PutMetricAlarmInput) -> Result<(), Error> {
        self.0.put_metric_alarm(namespace, input).await
    }

    async fn delete_alarm(&self, namespace: &Namespace, name: &str) -> Result<(), Error> {
        match self.0.delete_alarms(namespace, &[name.to_owned()]).await {
            Err(error) if error.kind == ErrorKind::ResourceNotFoundOfCloudWatch => Ok(()),
            done => done,
        }
    }
}
