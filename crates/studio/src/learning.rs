//! `learn`: what clients ask of a table, as the patterns of a model. The shapes of requests are those of [`crate::Watch`],
//! and [`model::learn`] finds out what they mean: the same source and the same inference as for `lodestone model learn`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Namespace;
use http::StatusCode;
use model::Source;
use model::learn::shape::Shapes;
use model::learn::{self, Evidence, Learning};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::door::{Fault, SURVEYED_ITEMS_MAX};
use crate::live::Live;
use crate::watch::MINUTES_MAX;
use crate::{Studio, legend};

/// Tables whose key attributes are known while requests are watched.
const TABLES_MAX: usize = 100;
/// Tables that are asked for items together with the one that is looked at, in transactions and batches.
const SURVEYED_TABLES_MAX: usize = 10;
/// How long the items that were read are used again: a page asks every few seconds, and reading items is traffic too.
const SURVEY_AGE_MAX: Duration = Duration::from_secs(30);

/// The items that were last read. There is one of them, because they may be many megabytes.
pub type LastSurvey = Mutex<Option<Survey>>;

pub struct Survey {
    namespace: Namespace,
    tables: BTreeSet<String>,
    since: Instant,
    contents: Arc<Vec<Value>>,
}

#[allow(clippy::disallowed_methods, reason = "pages ask in real time")]
fn now() -> Instant {
    Instant::now()
}

impl Studio {
    pub(crate) async fn begin_learning(&self, live: &Live) -> Result<(), Fault> {
        let tables = proof::describe_tables(live, TABLES_MAX).await?;
        let keys = learn::key_names(tables.iter());
        let begun = self.watch.begin(live.caller.namespace.clone(), MINUTES_MAX, keys);
        begun.map_err(|message| Fault::new(StatusCode::CONFLICT, message))
    }

    /// What is known so far of a table.
    pub(crate) async fn learned(&self, live: &Live, table: &str) -> Result<Value, Fault> {
        let namespace = &live.caller.namespace;
        let seen = self.watch.seen();
        let is_elsewhere = seen.as_ref().is_some_and(|seen| !seen.is_over && seen.namespace != *namespace);
        let Some(seen) = seen.filter(|seen| seen.namespace == *namespace) else {
            return Ok(
                json!({ "learning": false, "elsewhere": is_elsewhere, "requests": 0, "patterns": [] }),
            );
        };
        let shapes = seen.shapes.of_table(table);
        let requests: u64 = shapes.all().iter().map(|shape| shape.seen.requests).sum();
        let mut report = json!({
            "learning": !seen.is_over,
            "elsewhere": false,
            "seconds": seen.seconds,
            "requests": requests,
            "patterns": [],
        });
        if requests > 0 {
            let contents = self.contents(live, &shapes, table).await?;
            let learning = learn::learn(&contents, &shapes, seen.seconds.max(1.0));
            let learning = learning.map_err(|error| Fault::bad(error.0))?;
            report["patterns"] = patterns(&learning);
            report["text"] = json!(learning.import.text);
            report["notes"] = json!(learning.import.notes.0);
        }
        Ok(report)
    }

    /// The tables of these requests with a sample of their items, the one that is looked at first.
    async fn contents(&self, live: &Live, shapes: &Shapes, table: &str) -> Result<Arc<Vec<Value>>, Fault> {
        let others = shapes.tables().into_iter().filter(|other| other != table);
        let others: Vec<String> = others.take(SURVEYED_TABLES_MAX).collect();
        let tables: BTreeSet<String> = others.iter().cloned().chain([table.to_owned()]).collect();
        let namespace = &live.caller.namespace;
        let mut last = self.surveyed.lock().await;
        let is_good = |survey: &&Survey| {
            let is_same = survey.namespace == *namespace && survey.tables == tables;
            is_same && now() < survey.since + SURVEY_AGE_MAX
        };
        if let Some(survey) = last.as_ref().filter(is_good) {
            return Ok(survey.contents.clone());
        }
        let _permit = self.permit().await?;
        let mut contents = Vec::new();
        for table in std::iter::once(table).chain(others.iter().map(String::as_str)) {
            contents.extend(proof::survey(live, table, SURVEYED_ITEMS_MAX, |_| ()).await?);
        }
        let contents = Arc::new(contents);
        let (namespace, since) = (namespace.clone(), now());
        *last = Some(Survey { namespace, tables, since, contents: contents.clone() });
        Ok(contents)
    }
}

/// Each pattern with its request, as the legend of a model has it, and the requests that show it.
fn patterns(learning: &Learning) -> Value {
    let source = Source::new("learned.yaml", learning.import.text.as_str());
    let mut legend = legend::legend(&source, &learning.import.model);
    let patterns = legend["patterns"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let with_evidence = |(mut pattern, evidence): (Value, &Evidence)| {
        let Evidence { requests, units_each, fields, is_order_guessed, is_unserved } = evidence;
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        pattern["seen"] = json!({
            "requests": requests,
            "units": units_each,
            "rate": field("rate"),
            "returns": field("returns"),
            "skew": field("skew"),
            "orderGuessed": is_order_guessed,
            "unserved": is_unserved,
        });
        pattern
    };
    patterns.into_iter().zip(&learning.evidence).map(with_evidence).collect()
}
