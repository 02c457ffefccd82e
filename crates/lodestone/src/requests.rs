//! What clients ask of a server, while somebody learns from it: the shapes of requests, counted.
//!
//! A server answers at `POST /lodestone/requests`, which only programs on its machine may ask:
//! `{"account", "region", "minutes", "keys"}` begins to watch, where `keys` has the key attributes of each table;
//! `{}` hands out what was seen and ends it. It ends by itself when the minutes are over and nobody asks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::learn::shape::{KeyNames, Shapes};
use serde::Deserialize;
use serde_json::{Value, json};
use server::Watched;
use studio::Sample;

pub const PATH: &str = "/lodestone/requests";
/// Nobody learns for longer.
pub const MINUTES_MAX: f64 = 7.0 * 24.0 * 60.0;
/// How long what was seen is kept after the time is over.
const KEPT: Duration = Duration::from_secs(600);

/// Watches requests while it is told to.
#[derive(Default)]
pub struct Watch {
    is_watching: AtomicBool,
    sample: Sample,
    watching: Mutex<Option<Watching>>,
}

struct Watching {
    account: String,
    region: String,
    shapes: Shapes,
    since: Instant,
    ends: Instant,
}

/// The members of an answer that matter.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Count")]
    count: Option<u64>,
}

impl Watch {
    pub fn is_watching(&self) -> bool {
        self.is_watching.load(Ordering::Relaxed)
    }

    #[allow(clippy::disallowed_methods, reason = "rates are by real time")]
    pub fn note(&self, watched: &Watched<'_>) {
        let mut slot = lock(&self.watching);
        let Some(watching) = slot.as_mut() else { return };
        let now = Instant::now();
        if now >= watching.ends {
            self.is_watching.store(false, Ordering::Relaxed);
            if now >= watching.ends + KEPT {
                *slot = None;
            }
            return;
        }
        if (watched.account, watched.region) != (watching.account.as_str(), watching.region.as_str()) {
            return;
        }
        let passed_ms = u64::try_from((now - watching.since).as_millis()).unwrap_or(u64::MAX);
        let Some(times) = self.sample.weight(passed_ms) else { return };
        let Ok(input) = serde_json::from_slice::<Value>(watched.body) else { return };
        let counts = matches!(watched.operation, "Query" | "Scan");
        let answer = counts.then(|| serde_json::from_slice::<Answer>(watched.answer).ok()).flatten();
        let answer = answer.map(|answer| json!({ "Count": answer.count }));
        watching.shapes.note(watched.operation, &input, answer.as_ref(), u64::from(times));
    }

    /// Begins, or hands out what was seen.
    #[allow(clippy::disallowed_methods, reason = "rates are by real time")]
    pub fn answer(&self, body: &[u8]) -> Result<Value, String> {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let now = Instant::now();
        let mut slot = lock(&self.watching);
        let Some(minutes) = body["minutes"].as_f64() else {
            let watching = slot.take().ok_or("Nothing was watched: begin with `minutes`.")?;
            self.is_watching.store(false, Ordering::Relaxed);
            let mut seen = watching.shapes.to_json();
            seen["seconds"] = json!((now.min(watching.ends) - watching.since).as_secs_f64());
            return Ok(seen);
        };
        if !(minutes > 0.0 && minutes <= MINUTES_MAX) {
            return Err(format!("Minutes are more than 0 and at most {MINUTES_MAX}."));
        }
        if slot.as_ref().is_some_and(|watching| now < watching.ends) {
            return Err("Somebody learns from this server already; try again later.".to_owned());
        }
        let keys: KeyNames = serde_json::from_value(body["keys"].clone()).unwrap_or_default();
        let text = |member: &str| body[member].as_str().unwrap_or_default().to_owned();
        *slot = Some(Watching {
            account: text("account"),
            region: text("region"),
            shapes: Shapes::new(keys),
            since: now,
            ends: now + Duration::from_secs_f64(minutes * 60.0),
        });
        self.is_watching.store(true, Ordering::Relaxed);
        Ok(json!({}))
    }
}

fn lock(mutex: &Mutex<Option<Watching>>) -> std::sync::MutexGuard<'_, Option<Watching>> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched<'a>(region: &'a str, body: &'a [u8]) -> Watched<'a> {
        Watched { account: "000000000000", region, operation: "GetItem", body, answer: b"{}" }
    }

    #[test]
    fn only_what_is_asked_of_the_named_region_while_somebody_learns_is_counted() {
        let watch = Watch::default();
        let get = br#"{"TableName": "t", "Key": {"pk": {"S": "USER#7"}}}"#;
        watch.note(&watched("us-east-1", get));
        assert!(watch.answer(b"{}").is_err());
        let begin =
            br#"{"account": "000000000000", "region": "us-east-1", "minutes": 10, "keys": {"t": ["pk"]}}"#;
        watch.answer(begin).expect("it begins");
        assert!(watch.answer(begin).is_err(), "somebody learns already");
        for _ in 0..3 {
            watch.note(&watched("us-east-1", get));
            watch.note(&watched("eu-west-1", get));
        }
        let seen = watch.answer(b"{}").expect("what was seen");
        assert_eq!(seen["shapes"][0]["requests"], 3);
        assert_eq!(seen["shapes"][0]["input"]["Key"]["pk"]["S"], "USER#?");
        assert!(!watch.is_watching());
    }
}
