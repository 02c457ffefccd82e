//! ListContributorInsights: the tables and global indexes that have Contributor Insights, a table before its indexes.

use api::{
    ContributorInsightsStatus, ContributorInsightsSummary, Error, ListContributorInsightsInput,
    ListContributorInsightsOutput,
};

use super::authorization::access::{Access, Resource};
use super::describe_contributor_insights::{mode, status};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

const PAGE_MAX: usize = 100;

pub(super) struct ListContributorInsights;

impl Serve for ListContributorInsights {
    type Input = ListContributorInsightsInput;
    type Output = ListContributorInsightsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r ListContributorInsightsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListContributorInsights", Resource::Any)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListContributorInsightsInput,
    ) -> Result<ListContributorInsightsOutput, Error> {
        input.check()?;
        let mut tables = engine.catalog.all();
        match &input.table_name {
            Some(name) => {
                let found = engine.find(caller, name)?;
                tables = vec![found.ok_or_else(|| Error::resource_not_found_table(name))?];
            }
            None => tables.retain(|table| table.namespace == caller.namespace),
        }
        let mut listed: Vec<ContributorInsightsSummary> = Vec::new();
        for table in &tables {
            for index in table.resources() {
                let insights = table.insights_of(index);
                let status = status(engine, insights);
                if status != ContributorInsightsStatus::Disabled {
                    listed.push(ContributorInsightsSummary {
                        table_name: Some(table.name.clone()),
                        index_name: index.map(|index| index.name.clone()),
                        contributor_insights_status: Some(status),
                        contributor_insights_mode: insights.map(mode),
                    });
                }
            }
        }
        listed.sort_by(|one, other| position(one).cmp(&position(other)));
        if let Some(token) = &input.next_token {
            let (table, index) =
                token.split_once('/').map_or((token.as_str(), None), |(table, index)| (table, Some(index)));
            listed.retain(|summary| position(summary) > (Some(table), index));
        }
        let page = input.max_results.map_or(PAGE_MAX, |max| max.max(1) as usize);
        let more = listed.len() > page;
        listed.truncate(page);
        let next_token = listed.last().filter(|_| more).map(|last| match position(last) {
            (table, Some(index)) => format!("{}/{index}", table.unwrap_or_default()),
            (table, None) => table.unwrap_or_default().to_owned(),
        });
        Ok(ListContributorInsightsOutput { contributor_insights_summaries: Some(listed), next_token })
    }
}

/// Where a summary stands in the list.
fn position(summary: &ContributorInsightsSummary) -> (Option<&str>, Option<&str>) {
    (summary.table_name.as_deref(), summary.index_name.as_deref())
}
