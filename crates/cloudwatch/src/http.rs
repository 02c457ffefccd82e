//! CloudWatch by HTTP: a request in, a response out, no sockets.

use api::cloudwatch::{Body, Call, Operation, Request, Response};
use api::{Error, ErrorKind};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use host::{Namespace, uuid};

use crate::service::CloudWatch;

impl CloudWatch {
    /// Answers a request in the protocol in which it came.
    pub fn answer<'a>(
        &'a self,
        namespace: &'a Namespace,
        call: &'a Call,
        body: &'a [u8],
    ) -> BoxFuture<'a, http::Response<Bytes>> {
        Box::pin(async move {
            let outcome = match call.read(body) {
                Ok(request) => {
                    let operation = request.operation();
                    self.carry_out(namespace, request).await.map(|response| (operation, response))
                }
                Err(error) => Err(error),
            };
            match outcome {
                Ok((operation, response)) => self.success(call, operation, &response),
                Err(error) => self.refusal(call, &error),
            }
        })
    }

    fn success(&self, call: &Call, operation: Operation, response: &Response) -> http::Response<Bytes> {
        http_response(200, call.answer(operation, response, &self.request_id()))
    }

    /// An error in the protocol of the request.
    pub fn refusal(&self, call: &Call, error: &Error) -> http::Response<Bytes> {
        // The engine's name for its own failures is not CloudWatch's.
        let fault = (error.kind == ErrorKind::InternalServerError)
            .then(|| Error::new(ErrorKind::InternalServiceFault, error.message.clone()));
        let error = fault.as_ref().unwrap_or(error);
        http_response(error.kind.status(), call.refusal(error, &self.request_id()))
    }

    fn request_id(&self) -> String {
        uuid(self.shared.environment.random())
    }

    async fn carry_out(&self, namespace: &Namespace, request: Request) -> Result<Response, Error> {
        Ok(match request {
            Request::GetMetricStatistics(input) => {
                self.get_metric_statistics(namespace, *input).await?.into()
            }
            Request::GetMetricData(input) => self.get_metric_data(namespace, *input).await?.into(),
            Request::ListMetrics(input) => self.list_metrics(namespace, *input).await?.into(),
            Request::PutMetricAlarm(input) => {
                self.put_metric_alarm(namespace, *input).await?;
                Response::PutMetricAlarm
            }
            Request::DescribeAlarms(input) => {
                self.current().await?.describe_alarms(namespace, &input)?.into()
            }
            Request::DescribeAlarmsForMetric(input) => {
                self.current().await?.describe_alarms_for_metric(namespace, &input).into()
            }
            Request::DescribeAlarmHistory(input) => {
                self.current().await?.describe_alarm_history(namespace, &input)?.into()
            }
            Request::SetAlarmState(input) => {
                self.set_alarm_state(namespace, *input).await?;
                Response::SetAlarmState
            }
            Request::EnableAlarmActions(input) => {
                self.enable_actions(namespace, &input.alarm_names, true).await?;
                Response::EnableAlarmActions
            }
            Request::DisableAlarmActions(input) => {
                self.enable_actions(namespace, &input.alarm_names, false).await?;
                Response::DisableAlarmActions
            }
            Request::DeleteAlarms(input) => {
                self.delete_alarms(namespace, &input.alarm_names).await?;
                Response::DeleteAlarms
            }
            Request::TagResource(input) => self.tag_resource(namespace, *input).await?.into(),
            Request::UntagResource(input) => self.untag_resource(namespace, *input).await?.into(),
            Request::ListTagsForResource(input) => {
                self.current().await?.list_tags_for_resource(namespace, &input)?.into()
            }
            Request::GetInsightRuleReport(input) => {
                self.get_insight_rule_report(namespace, *input).await?.into()
            }
            Request::DescribeInsightRules(input) => {
                self.describe_insight_rules(namespace, &input).await?.into()
            }
        })
    }
}

fn http_response(status: u16, body: Body) -> http::Response<Bytes> {
    let mut response = http::Response::builder().status(status);
    for (name, value) in body.headers {
        response = response.header(name, value);
    }
    response.body(Bytes::from(body.bytes)).expect("status and headers are made of fixed parts")
}
