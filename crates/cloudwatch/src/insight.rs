//! GetInsightRuleReport: the keys that were used or throttled most; and INSIGHT_RULE_METRIC, figures of a rule for metric
//! math. Pure: the minutes come from outside.

use std::collections::BTreeMap;

use api::cloudwatch::{
    GetInsightRuleReportInput, GetInsightRuleReportOutput, InsightRuleContributor,
    InsightRuleContributorDatapoint, InsightRuleMetricDatapoint, limits,
};

use crate::series::Window;

/// What a rule counted in some minutes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleMinutes {
    /// The names of the key attributes.
    pub key_labels: Vec<String>,
    pub minutes: Vec<Ranking>,
}

/// One minute of a rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Since 1970.
    pub minute: u64,
    /// All keys together, also those that are not listed.
    pub total: f64,
    /// About how many keys there were.
    pub distinct: u64,
    /// The first keys, each with its value; a key has a text for each label.
    pub contributors: Vec<(Vec<String>, f64)>,
}

/// What happened in one period.
#[derive(Default)]
struct Period<'m> {
    values: BTreeMap<&'m [String], f64>,
    total: f64,
    distinct: u64,
    /// How many values were published.
    samples: usize,
}

/// A figure of a rule in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleMetric {
    UniqueContributors,
    MaxContributorValue,
    SampleCount,
    Sum,
    Minimum,
    Maximum,
    Average,
}

impl RuleMetric {
    pub fn named(name: &str) -> Option<RuleMetric> {
        Some(match name {
            "UniqueContributors" => RuleMetric::UniqueContributors,
            "MaxContributorValue" => RuleMetric::MaxContributorValue,
            "SampleCount" => RuleMetric::SampleCount,
            "Sum" => RuleMetric::Sum,
            "Minimum" => RuleMetric::Minimum,
            "Maximum" => RuleMetric::Maximum,
            "Average" => RuleMetric::Average,
            _ => return None,
        })
    }
}

impl<'m> Period<'m> {
    fn add(&mut self, minute: &'m Ranking) {
        self.total += minute.total;
        self.distinct = self.distinct.max(minute.distinct);
        self.samples += minute.contributors.len();
        for (key, value) in &minute.contributors {
            *self.values.entry(key.as_slice()).or_default() += value;
        }
    }

    fn value(&self, metric: RuleMetric) -> f64 {
        let values = || self.values.values().copied();
        match metric {
            RuleMetric::UniqueContributors => self.distinct as f64,
            RuleMetric::SampleCount => self.samples as f64,
            RuleMetric::Sum => self.total,
            RuleMetric::MaxContributorValue | RuleMetric::Maximum => values().fold(0.0, f64::max),
            RuleMetric::Minimum => values().reduce(f64::min).unwrap_or(0.0),
            RuleMetric::Average => values().sum::<f64>() / self.values.len().max(1) as f64,
        }
    }
}

/// The minutes of a rule, divided into periods from a start on.
fn periods(rule: &RuleMinutes, start: u64, period_seconds: u64) -> BTreeMap<u64, Period<'_>> {
    let mut periods: BTreeMap<u64, Period<'_>> = BTreeMap::new();
    for minute in &rule.minutes {
        let time = (minute.minute * 60).max(start);
        periods.entry(time - (time - start) % period_seconds).or_default().add(minute);
    }
    periods
}

/// A figure of a rule, period by period.
pub fn series(rule: &RuleMinutes, metric: RuleMetric, window: &Window) -> BTreeMap<u64, f64> {
    let periods = periods(rule, window.start_seconds, window.period_seconds);
    periods.iter().map(|(time, period)| (*time, period.value(metric))).collect()
}

pub fn report(input: &GetInsightRuleReportInput, rule: &RuleMinutes) -> GetInsightRuleReportOutput {
    let periods = periods(rule, input.start_time as u64, input.period as u64);
    let ranked = ranking(&periods, input.order_by.as_deref() == Some("Maximum"));
    let published: usize = ranked.len();
    let count = input.max_contributor_count.unwrap_or(limits::CONTRIBUTORS) as usize;
    let distinct = periods.values().map(|period| period.distinct).max().unwrap_or(0);
    GetInsightRuleReportOutput {
        key_labels: Some(rule.key_labels.clone()),
        aggregation_statistic: Some("SUM".to_owned()),
        aggregate_value: Some(periods.values().map(|period| period.total).sum()),
        approximate_unique_count: Some(distinct.max(published as u64) as i64),
        contributors: Some(
            ranked.iter().take(count).map(|(key, sum)| contributor(key, *sum, &periods)).collect(),
        ),
        metric_datapoints: Some(metric_datapoints(input, &periods)),
    }
}

/// All keys with their sums, the first first.
fn ranking<'m>(periods: &BTreeMap<u64, Period<'m>>, by_maximum: bool) -> Vec<(&'m [String], f64)> {
    let mut sums: BTreeMap<&[String], (f64, f64)> = BTreeMap::new();
    for (key, value) in periods.values().flat_map(|period| &period.values) {
        let (sum, maximum) = sums.entry(key).or_default();
        *sum += value;
        *maximum = maximum.max(*value);
    }
    let mut ranked: Vec<(&[String], (f64, f64))> = sums.into_iter().collect();
    let rank = |(sum, maximum): (f64, f64)| if by_maximum { maximum } else { sum };
    ranked.sort_by(|one, other| rank(other.1).total_cmp(&rank(one.1)).then_with(|| one.0.cmp(other.0)));
    ranked.into_iter().map(|(key, (sum, _))| (key, sum)).collect()
}

fn contributor(key: &[String], sum: f64, periods: &BTreeMap<u64, Period<'_>>) -> InsightRuleContributor {
    let values = periods.iter().filter_map(|(time, period)| Some((*time, *period.values.get(key)?)));
    let datapoint =
        |(time, value)| InsightRuleContributorDatapoint { timestamp: time as f64, approximate_value: value };
    InsightRuleContributor {
        keys: key.to_vec(),
        approximate_aggregate_value: sum,
        datapoints: values.map(datapoint).collect(),
    }
}

/// The figures that were asked for, period by period; none were asked for by default.
fn metric_datapoints(
    input: &GetInsightRuleReportInput,
    periods: &BTreeMap<u64, Period<'_>>,
) -> Vec<InsightRuleMetricDatapoint> {
    let asked = input.metrics.as_deref().unwrap_or_default();
    if asked.is_empty() {
        return Vec::new();
    }
    let datapoint = |(time, period): (&u64, &Period<'_>)| {
        let is_asked = |metric| asked.iter().any(|asked| RuleMetric::named(asked) == Some(metric));
        let value = |metric| is_asked(metric).then(|| period.value(metric));
        InsightRuleMetricDatapoint {
            timestamp: *time as f64,
            unique_contributors: value(RuleMetric::UniqueContributors),
            max_contributor_value: value(RuleMetric::MaxContributorValue),
            sample_count: value(RuleMetric::SampleCount),
            sum: value(RuleMetric::Sum),
            minimum: value(RuleMetric::Minimum),
            maximum: value(RuleMetric::Maximum),
            average: value(RuleMetric::Average),
        }
    };
    periods.iter().map(datapoint).collect()
}
