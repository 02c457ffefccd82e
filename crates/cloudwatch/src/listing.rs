//! ListMetrics

use api::Error;
use api::cloudwatch::{
    Dimension, DimensionFilter, ListMetricsInput, ListMetricsOutput, Metric as ApiMetric, limits,
};
use capacity::metric::Metric;
use host::Namespace;

use crate::outside::{Dimensions, Metrics};

const HOUR_SECONDS: u64 = 3600;
/// Older metrics are not listed, although they can be read.
const LISTED_SECONDS: u64 = 14 * 24 * HOUR_SECONDS;
const RECENTLY_ACTIVE_SECONDS: u64 = 3 * HOUR_SECONDS;

pub async fn list(
    metrics: &dyn Metrics,
    namespace: &Namespace,
    input: ListMetricsInput,
    now_seconds: u64,
) -> Result<ListMetricsOutput, Error> {
    let age = if input.recently_active.is_some() { RECENTLY_ACTIVE_SECONDS } else { LISTED_SECONDS };
    let mut found = metrics.list(namespace, now_seconds.saturating_sub(age)).await?;
    found.retain(|(metric, dimensions)| is_asked_for(&input, *metric, dimensions));
    found.sort_by(|one, other| (one.0.name(), &one.1).cmp(&(other.0.name(), &other.1)));
    let start = page_start(input.next_token.as_deref(), found.len())?;
    let end = found.len().min(start + limits::LIST_METRICS_PAGE_MAX);
    Ok(ListMetricsOutput {
        metrics: Some(found[start..end].iter().map(described).collect()),
        next_token: (end < found.len()).then(|| end.to_string()),
        owning_accounts: None,
    })
}

/// A token is the number of what the pages before had.
pub fn page_start(token: Option<&str>, count: usize) -> Result<usize, Error> {
    match token.map(str::parse) {
        None => Ok(0),
        Some(Ok(start)) if start <= count => Ok(start),
        Some(_) => Err(Error::next_token_invalid()),
    }
}

fn is_asked_for(input: &ListMetricsInput, metric: Metric, dimensions: &Dimensions) -> bool {
    let has = |filter: &DimensionFilter| match (dimensions.get(&filter.name), &filter.value) {
        (Some(found), Some(asked)) => found == asked,
        (found, None) => found.is_some(),
        (None, _) => false,
    };
    input.namespace.as_deref().is_none_or(|asked| asked == metric.namespace())
        && input.metric_name.as_deref().is_none_or(|asked| asked == metric.name())
        && input.dimensions.iter().flatten().all(has)
}

fn described((metric, dimensions): &(Metric, Dimensions)) -> ApiMetric {
    let dimension =
        |(name, value): (&String, &String)| Dimension { name: name.clone(), value: value.clone() };
    ApiMetric {
        namespace: Some(metric.namespace().to_owned()),
        metric_name: Some(metric.name().to_owned()),
        dimensions: Some(dimensions.iter().map(dimension).collect()),
    }
}
