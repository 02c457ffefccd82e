//! The fixed limits of Application Auto Scaling.

/// Targets of an account in one Region.
pub const TARGETS_MAX: usize = 5000;
/// Policies of a target.
pub const POLICIES_PER_TARGET: usize = 50;
/// Scheduled actions of a target.
pub const SCHEDULED_ACTIONS_PER_TARGET: usize = 200;
/// Tags of a target.
pub const TAGS_MAX: usize = 50;
/// Targets, scheduled actions or activities that one answer has at most.
pub const PAGE_MAX: i32 = 50;
/// Policies that one answer has at most.
pub const POLICIES_PAGE_MAX: i32 = 10;
/// `TargetValue` of a policy for a table's utilisation, in percent.
pub const TARGET_VALUES: std::ops::RangeInclusive<f64> = 10.0..=90.0;
