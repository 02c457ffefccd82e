//! Contributor Insights: what rules counted is stored and answered. `throughput/insights.rs` counts.

use futures_util::future::BoxFuture;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use capacity::contributors::Minute;
use item::{Item, View};
use store::{Space, StoreError};

use super::Reports;
use crate::Namespace;
use crate::base::rows::{ROWS_PER_COMMIT, delete_rows, put_rows, visit_rows};
use crate::base::table::Index;
use crate::throughput::counting::MINUTE_MS;
use crate::throughput::insights::{Rule, RuleInForce, replica, row_key, row_of, rows_range};

/// How long minutes are kept.
const KEPT_MINUTES: u64 = 24 * 60;

impl Reports {
    /// Stores what rules counted and the store lacks.
    pub(crate) async fn keep_insights(&self) -> Result<(), StoreError> {
        let (now_ms, run) = (self.usage.now().ms, self.usage.metrics.run);
        for table in self.catalog.all() {
            let rows: Vec<((Space, Rule, u64), Bytes)> = table.meter.contributors.lock().unstored(now_ms);
            for rows in rows.chunks(ROWS_PER_COMMIT) {
                let put = |((space, rule, minute), row): &((Space, Rule, u64), Bytes)| {
                    (row_key(*space, *rule, *minute, run, replica(&table)), row.clone())
                };
                put_rows(&*self.store, &rows.iter().map(put).collect::<Vec<_>>()).await?;
                let mut contributors = table.meter.contributors.lock();
                rows.iter().for_each(|((space, rule, minute), row)| {
                    contributors.stored(*space, *rule, *minute, row)
                });
            }
        }
        Ok(())
    }

    /// Removes minutes that are too old.
    pub(crate) async fn trim_insights(&self, minute: u64) -> Result<(), StoreError> {
        for table in self.catalog.all() {
            for index in std::iter::once(None).chain(table.indexes.iter().map(Some)) {
                if table.insights_of(index).is_some() {
                    let space = index.map_or_else(|| table.space(), Index::space);
                    for rule in Rule::ALL {
                        let old = rows_range(space, rule, 0..minute.saturating_sub(KEPT_MINUTES));
                        delete_rows(&*self.store, &old).await?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A rule of Contributor Insights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsightRule {
    pub name: String,
    /// The names of the key attributes.
    pub key_labels: Vec<String>,
}

/// What a rule counted in one minute.
#[derive(Clone, Debug, PartialEq)]
pub struct InsightMinute {
    /// Since 1970.
    pub minute: u64,
    /// All keys together.
    pub total: f64,
    /// About how many keys there were.
    pub distinct: u64,
    /// The first of them, the largest first, each with a text for each label.
    pub contributors: Vec<(Vec<String>, f64)>,
}

/// A rule and what it counted; none if there is no such rule.
type CountedMinutes = Option<(InsightRule, Vec<InsightMinute>)>;

impl Reports {
    /// The bytes that counting the keys of a table and its indexes takes.
    pub fn insight_bytes(&self, namespace: &Namespace, table: &str) -> usize {
        let Some(table) = self.catalog.find(namespace, table) else { return 0 };
        table.meter.contributors.lock().bytes()
    }

    /// The rules of an account and Region that are in force, in the order of their names.
    pub fn insight_rules(&self, namespace: &Namespace) -> Vec<InsightRule> {
        let mut rules = Vec::new();
        for table in self.catalog.all().iter().filter(|table| table.namespace == *namespace) {
            let rule = |rule: RuleInForce<'_>| InsightRule { name: rule.name(), key_labels: rule.labels() };
            rules.extend(table.resources().flat_map(|index| RuleInForce::of(table, index)).map(rule));
        }
        rules.sort_by(|one, other| one.name.cmp(&other.name));
        rules
    }

    /// What a rule counted in some minutes since 1970, with the labels of its keys; none if there is no such
    /// rule. A minute that two runs of the database have a part of comes twice.
    pub fn insight_minutes<'a>(
        &'a self,
        namespace: &'a Namespace,
        name: &'a str,
        minutes: std::ops::Range<u64>,
    ) -> BoxFuture<'a, Result<CountedMinutes, StoreError>> {
        Box::pin(async move {
            let tables = self.catalog.all();
            let own = tables.iter().filter(|table| table.namespace == *namespace);
            let found = own.flat_map(|table| {
                table
                    .resources()
                    .flat_map(move |index| RuleInForce::of(table, index))
                    .map(move |rule| (table, rule))
            });
            let Some((table, rule)) = found.into_iter().find(|(_, rule)| rule.name() == name) else {
                return Ok(None);
            };
            // What was counted before the rule was created belongs to an earlier one.
            let since = minutes.start.max(rule.since_ms / MINUTE_MS);
            let minutes = since..minutes.end.max(since);
            let run = self.usage.metrics.run;
            let in_memory = table.meter.contributors.lock().minutes(rule.space(), rule.rule);
            let is_in_memory = |minute: u64| in_memory.iter().any(|(known, _)| *known == minute);
            let mut rows: Vec<Bytes> = Vec::new();
            let range = rows_range(rule.space(), rule.rule, minutes.clone());
            visit_rows(&*self.store, &range, |key, row| {
                let Some((minute, of, replica)) = row_of(&key) else { return Ok(()) };
                if replica == rule.replica() && !(of == run && is_in_memory(minute)) {
                    rows.push(row);
                }
                Ok(())
            })
            .await?;
            let in_memory = in_memory.into_iter().filter(|(minute, _)| minutes.contains(minute));
            rows.extend(in_memory.map(|(_, row)| row));
            let labels = rule.labels();
            let read = rows.iter().map(|row| read_minute(row, &labels)).collect::<Result<Vec<_>, _>>()?;
            let read = read.into_iter().filter(|minute| minute.total > 0.0).collect();
            Ok(Some((InsightRule { name: name.to_owned(), key_labels: labels }, read)))
        })
    }
}

fn read_minute(row: &[u8], labels: &[String]) -> Result<InsightMinute, StoreError> {
    let corrupt = |reason: String| StoreError::Corrupt(format!("a minute of Contributor Insights: {reason}"));
    let minute = Minute::decode(row).map_err(|error| corrupt(error.to_string()))?;
    let mut contributors = Vec::with_capacity(minute.contributors.len());
    for contributor in minute.contributors {
        let key =
            Item::from_stored(Bytes::from(contributor.key)).map_err(|error| corrupt(error.to_string()))?;
        contributors.push((labels.iter().map(|label| text(&key, label)).collect(), contributor.value));
    }
    let Minute { minute, total, distinct, .. } = minute;
    Ok(InsightMinute { minute, total, distinct, contributors })
}

/// A key attribute as reports show it.
fn text(key: &Item, label: &str) -> String {
    match key.get(label).map(item::ValueRef::view) {
        Some(View::S(text)) => text.to_owned(),
        Some(View::N(number)) => number.to_string(),
        Some(View::B(bytes)) => BASE64.encode(bytes),
        _ => String::new(),
    }
}
