//! The fixed limits of CloudWatch.

/// Bytes of a request's body.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Points that GetMetricStatistics answers with.
pub const STATISTICS_POINTS_MAX: u64 = 1440;
/// Queries of one GetMetricData.
pub const DATA_QUERIES_MAX: usize = 500;
/// Points that GetMetricData answers with.
pub const DATA_POINTS_MAX: usize = 100_800;
/// Metrics that ListMetrics answers with.
pub const LIST_METRICS_PAGE_MAX: usize = 500;
/// Alarms that DescribeAlarms answers with unless the request says how many.
pub const DESCRIBE_ALARMS_PAGE: usize = 50;
/// History items that DescribeAlarmHistory answers with.
pub const ALARM_HISTORY_PAGE_MAX: usize = 100;
/// Alarms of an account in one Region.
pub const ALARMS_MAX: usize = 5000;
/// Tags of an alarm.
pub const TAGS_MAX: usize = 50;
/// The longest time that an alarm looks at: its period times its evaluation periods.
pub const ALARM_SECONDS_MAX: i64 = 7 * 86_400;
/// The same for periods of less than an hour.
pub const ALARM_SECONDS_MAX_OF_SHORT_PERIODS: i64 = 86_400;
/// Contributors in the report of a rule of DynamoDB.
pub const CONTRIBUTORS_MAX: i32 = 25;
/// Contributors in a report unless the request says how many.
pub const CONTRIBUTORS: i32 = 10;
/// Rules that DescribeInsightRules answers with.
pub const INSIGHT_RULES_PAGE_MAX: usize = 500;
