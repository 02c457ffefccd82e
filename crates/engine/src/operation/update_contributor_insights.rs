//! UpdateContributorInsights: switches Contributor Insights of a table or global index on and off.

use api::{
    ContributorInsightsAction as Action, Error, UpdateContributorInsightsInput,
    UpdateContributorInsightsOutput,
};

use super::authorization::access::{Access, Resource};
use super::describe_contributor_insights::{mode, settled_status};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{IndexState, Insights, InsightsMode, InsightsState, Table, TableState};
use crate::operation::Engine;
use crate::throughput::insights::{RULES_MAX, RuleInForce};
use store::Space;

pub(super) struct UpdateContributorInsights;

impl Serve for UpdateContributorInsights {
    type Input = UpdateContributorInsightsInput;
    type Output = UpdateContributorInsightsOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UpdateContributorInsightsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one(
            "dynamodb:UpdateContributorInsights",
            Resource::source(&input.table_name, input.index_name.as_deref()),
        )
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: UpdateContributorInsightsInput,
    ) -> Result<UpdateContributorInsightsOutput, Error> {
        input.check()?;
        let not_found = Error::resource_not_found_table(&input.table_name);
        let Some(table) = engine.find(caller, &input.table_name)? else { return Err(not_found) };
        let asked = Asked {
            mode: match (input.contributor_insights_action, input.contributor_insights_mode) {
                (Action::Disable, _) => None,
                (Action::Enable, Some(api::ContributorInsightsMode::ThrottledKeys)) => {
                    Some(InsightsMode::ThrottledKeys)
                }
                (Action::Enable, _) => Some(InsightsMode::AccessedAndThrottledKeys),
            },
            changed_ms: engine.environment.now_ms(),
            since_ms: engine.usage.now().ms,
            rules: rules_of_others(engine, &table, input.index_name.as_deref()),
        };
        let index_name = input.index_name.clone();
        let change = move |table: &Table, _: Space| {
            if table.state != TableState::Active {
                return Err(Error::validation("TableStatus must be ACTIVE"));
            }
            let mut changed = table.clone();
            asked.decide(insights_of(&mut changed, index_name.as_deref())?);
            let index = index_name.as_deref().and_then(|name| changed.index(name));
            let is_too_much = RuleInForce::of(&changed, index).count() + asked.rules > RULES_MAX;
            if is_too_much && let Some(insights) = insights_of(&mut changed, index_name.as_deref())? {
                insights.state = InsightsState::Failed;
            }
            Ok(changed)
        };
        let before =
            table.insights_of(input.index_name.as_deref().and_then(|name| table.index(name))).copied();
        let changed = engine.catalog.replace(&table.namespace, &table.name, change).await;
        let table = changed.map_err(fault::of_store)?.ok_or(not_found)??;
        let after = table.insights_of(input.index_name.as_deref().and_then(|name| table.index(name)));
        use api::ContributorInsightsStatus::{Disabling, Enabling};
        let status = match after.filter(|after| Some(**after) != before) {
            Some(Insights { state: InsightsState::On { .. }, .. }) => Enabling,
            Some(Insights { state: InsightsState::Off, .. }) => Disabling,
            _ => settled_status(after),
        };
        Ok(UpdateContributorInsightsOutput {
            table_name: Some(table.name.clone()),
            index_name: input.index_name,
            contributor_insights_status: Some(status),
            contributor_insights_mode: after.map(mode),
        })
    }
}

/// What a request asks for, and when.
struct Asked {
    /// None to switch them off.
    mode: Option<InsightsMode>,
    changed_ms: u64,
    since_ms: u64,
    /// How many rules other tables and indexes have.
    rules: usize,
}

impl Asked {
    /// Changes the insights of a table or index. What they are already stays, with its time.
    fn decide(&self, insights: &mut Option<Insights>) {
        let Asked { mode, changed_ms, since_ms, .. } = *self;
        let state = insights.map(|insights| (insights.state, insights.mode));
        let (state, mode) = match (mode, state) {
            (Some(mode), Some((on @ InsightsState::On { .. }, now))) if mode == now => (on, mode),
            // The rules of throttled keys go on.
            (Some(mode), Some((InsightsState::On { throttled_since_ms, .. }, _))) => {
                (InsightsState::On { throttled_since_ms, accessed_since_ms: since_ms }, mode)
            }
            (Some(mode), _) => {
                (InsightsState::On { throttled_since_ms: since_ms, accessed_since_ms: since_ms }, mode)
            }
            (None, None) => return,
            (None, Some((_, mode))) => (InsightsState::Off, mode),
        };
        if insights.is_none_or(|now| (now.state, now.mode) != (state, mode)) {
            *insights = Some(Insights { state, mode, changed_ms });
        }
    }
}

/// Those of the table, or of an index that is ACTIVE.
fn insights_of<'t>(table: &'t mut Table, index: Option<&str>) -> Result<&'t mut Option<Insights>, Error> {
    let Some(name) = index else { return Ok(&mut table.insights) };
    let not_found = Error::resource_not_found_index(name, &table.name);
    let index = table.indexes.iter_mut().find(|index| index.name == name && index.is_global());
    let index = index.ok_or(not_found)?;
    match index.state {
        IndexState::Active => Ok(&mut index.insights),
        IndexState::Creating | IndexState::Deleting => Err(Error::validation("IndexStatus must be ACTIVE")),
    }
}

/// How many rules the account has in the Region but for this table or index.
fn rules_of_others(engine: &Engine, table: &Table, index: Option<&str>) -> usize {
    let of = |other: &Table| {
        let others = other.resources().filter(|resource| {
            other.id != table.id || resource.map(|resource| resource.name.as_str()) != index
        });
        others.map(|resource| RuleInForce::of(other, resource).count()).sum::<usize>()
    };
    let tables = engine.catalog.all();
    tables.iter().filter(|other| other.namespace == table.namespace).map(|other| of(other)).sum()
}
