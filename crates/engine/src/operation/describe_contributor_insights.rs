//! DescribeContributorInsights: whether Contributor Insights of a table or global index are on, and their rules.

use api::{
    ContributorInsightsMode, ContributorInsightsStatus, DescribeContributorInsightsInput,
    DescribeContributorInsightsOutput, Error, FailureException,
};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::{Insights, InsightsMode, InsightsState};
use crate::operation::Engine;
use crate::throughput::insights::{RULES_MAX, RuleInForce};

pub(super) struct DescribeContributorInsights;

impl Serve for DescribeContributorInsights {
    type Input = DescribeContributorInsightsInput;
    type Output = DescribeContributorInsightsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeContributorInsightsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one(
            "dynamodb:DescribeContributorInsights",
            Resource::source(&input.table_name, input.index_name.as_deref()),
        )
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeContributorInsightsInput,
    ) -> Result<DescribeContributorInsightsOutput, Error> {
        input.check()?;
        let table = engine
            .find(caller, &input.table_name)?
            .ok_or_else(|| Error::resource_not_found_table(&input.table_name))?;
        let index = match &input.index_name {
            Some(name) => {
                let index = table.index(name).filter(|index| index.is_global());
                Some(index.ok_or_else(|| Error::resource_not_found_index(name, &table.name))?)
            }
            None => None,
        };
        let insights = table.insights_of(index);
        let rules: Vec<String> = RuleInForce::of(&table, index).map(|rule| rule.name()).collect();
        let is_failed = insights.is_some_and(|insights| insights.state == InsightsState::Failed);
        let failure = || FailureException {
            exception_name: Some("LimitExceededException".to_owned()),
            exception_description: Some(format!(
                "An account can have {RULES_MAX} rules of Contributor Insights in a Region. Disable those of another \
             table or index first."
            )),
        };
        Ok(DescribeContributorInsightsOutput {
            table_name: Some(table.name.clone()),
            index_name: input.index_name.clone(),
            contributor_insights_rule_list: (!rules.is_empty()).then_some(rules),
            contributor_insights_status: Some(status(engine, insights)),
            last_update_date_time: insights.map(|insights| insights.changed_ms as f64 / 1000.0),
            failure_exception: is_failed.then(failure),
            contributor_insights_mode: insights.map(mode),
        })
    }
}

/// The status that clients see: after a change it passes through ENABLING or DISABLING if `--state-delay` is set.
pub fn status(engine: &Engine, insights: Option<&Insights>) -> ContributorInsightsStatus {
    let passes = |insights: &&Insights| {
        let passed_ms = engine.environment.now_ms().saturating_sub(insights.changed_ms);
        u128::from(passed_ms) < engine.state_delay.as_millis()
    };
    match insights.filter(passes).map(|insights| insights.state) {
        Some(InsightsState::On { .. }) => ContributorInsightsStatus::Enabling,
        Some(InsightsState::Off) => ContributorInsightsStatus::Disabling,
        _ => settled_status(insights),
    }
}

/// The status when no change is under way.
pub fn settled_status(insights: Option<&Insights>) -> ContributorInsightsStatus {
    match insights.map(|insights| insights.state) {
        Some(InsightsState::On { .. }) => ContributorInsightsStatus::Enabled,
        Some(InsightsState::Failed) => ContributorInsightsStatus::Failed,
        Some(InsightsState::Off) | None => ContributorInsightsStatus::Disabled,
    }
}

/// The mode that clients see.
pub fn mode(insights: &Insights) -> ContributorInsightsMode {
    match insights.mode {
        InsightsMode::AccessedAndThrottledKeys => ContributorInsightsMode::AccessedAndThrottledKeys,
        InsightsMode::ThrottledKeys => ContributorInsightsMode::ThrottledKeys,
    }
}
