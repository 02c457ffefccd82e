//! Application Auto Scaling, mounted on the server: the tables that it scales, and its operations on the same port.

use std::sync::Arc;

use api::autoscaling::{Operation, Request as Asked};
use api::cloudwatch::{Datapoint, GetMetricStatisticsInput, PutMetricAlarmInput};
use api::{Error, ErrorKind, Service, TableDescription, UpdateTableInput};
use async_trait::async_trait;
use autoscaling::{AutoScaling, Tables};
use bytes::Bytes;
use cloudwatch::CloudWatch;
use engine::Engine;
use host::Namespace;
use http::Response;
use http::request::Parts;

use crate::cloudwatch_service::describe_table;
use crate::neighbour::{Mounted, Neighbour, Permission, Received, text};
use crate::replica_scaling::ReplicaScaling;
use crate::service_host::{Clock, OfEngine, send};

/// Opens the scalable targets of a database, and scales them from now on.
pub async fn open(
    engine: Arc<Engine>,
    cloudwatch: Arc<CloudWatch>,
) -> Result<Arc<AutoScalingService>, String> {
    let service = read(engine.clone(), cloudwatch).await?;
    service.0.start();
    engine.set_scaling(Arc::new(ReplicaScaling(Arc::downgrade(&service.0))));
    Ok(service)
}

/// Opens the scalable targets of a database, which are not scaled yet.
pub async fn read(
    engine: Arc<Engine>,
    cloudwatch: Arc<CloudWatch>,
) -> Result<Arc<AutoScalingService>, String> {
    let (database, clock) = (Arc::new(OfEngine(engine.clone())), Arc::new(Clock::OfCapacity(engine)));
    let opened = AutoScaling::open(database.clone(), Arc::new(Watched(cloudwatch)), database, clock).await;
    let scaling = opened.map_err(|error| format!("can't open the scalable targets: {error}"))?;
    Ok(Arc::new(Neighbour(Arc::new(scaling))))
}

/// Application Auto Scaling's operations.
pub type AutoScalingService = Neighbour<AutoScaling>;

impl Mounted for AutoScaling {
    const SERVICE: Service = Service::ApplicationAutoScaling;

    fn owns(head: &Parts) -> bool {
        target(head).is_some_and(AutoScaling::owns)
    }

    async fn permission(&self, request: Received<'_>) -> Result<Option<Permission>, Error> {
        let Received { namespace, head, body } = request;
        let name = target(head).and_then(|target| target.split_once('.')).map(|(_, name)| name);
        let Some(operation) = name.and_then(Operation::from_target_name) else { return Ok(None) };
        let Ok(asked) = Asked::decode(operation, body) else { return Ok(None) };
        let scaling = self.current().await?;
        let arn = |resource_id: &str, dimension| scaling.target_arn(namespace, resource_id, dimension);
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
        Ok(Some(Permission::one(operation.name(), resource)))
    }

    async fn answer(&self, request: Received<'_>) -> Response<Bytes> {
        self.answer(request.namespace, target(request.head).unwrap_or_default(), request.body).await
    }

    fn refusal(&self, _head: &Parts, error: &Error) -> Response<Bytes> {
        AutoScaling::refusal(error)
    }
}

fn target(head: &Parts) -> Option<&str> {
    text(&head.headers, "x-amz-target")
}

/// The tables that are scaled.
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
