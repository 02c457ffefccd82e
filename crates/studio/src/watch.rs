//! Counts the shapes of the requests that clients send, while learning is on. `lodestone model learn` and the screen
//! *Learn* switch it on and read the counts. A server learns for one of them at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::Namespace;
use model::learn::shape::{KeyNames, Shapes, UNITS};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::traffic::Sample;

/// The longest time that learning can be on.
pub const MINUTES_MAX: f64 = 7.0 * 24.0 * 60.0;

/// Counts requests while learning is on. The counts stay until it is switched on again: some kilobytes, 16 MB at most.
#[derive(Default)]
pub struct Watch {
    is_watching: AtomicBool,
    sample: Sample,
    watching: Mutex<Option<Watching>>,
}

struct Watching {
    namespace: Namespace,
    shapes: Shapes,
    since: Instant,
    ends: Instant,
}

/// What was seen so far.
pub struct SeenRequests {
    /// Whose requests they are.
    pub namespace: Namespace,
    pub shapes: Shapes,
    pub seconds: f64,
    pub is_over: bool,
}

/// The members of an answer that matter.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Count")]
    count: Option<u64>,
}

#[allow(clippy::disallowed_methods, reason = "rates are by real time")]
fn now() -> Instant {
    Instant::now()
}

impl Watch {
    pub fn is_watching(&self) -> bool {
        self.is_watching.load(Ordering::Relaxed)
    }

    /// Counts a request that was served, or one without an answer, whose condition did not hold.
    pub fn note(
        &self,
        (account, region): (&str, &str),
        operation: &str,
        body: &[u8],
        answer: Option<&[u8]>,
        units: f64,
    ) {
        let mut slot = self.lock();
        let Some(watching) = slot.as_mut() else { return };
        let now = now();
        if now >= watching.ends {
            self.is_watching.store(false, Ordering::Relaxed);
            return;
        }
        if (account, region) != (&*watching.namespace.account, &*watching.namespace.region) {
            return;
        }
        let passed_ms = u64::try_from((now - watching.since).as_millis()).unwrap_or(u64::MAX);
        let Some(times) = self.sample.weight(passed_ms) else { return };
        let Ok(input) = serde_json::from_slice::<Value>(body) else { return };
        let Some(answer) = answer else {
            return watching.shapes.note_failed(operation, &input, u64::from(times));
        };
        let counts = matches!(operation, "Query" | "Scan");
        let answer = counts.then(|| serde_json::from_slice::<Answer>(answer).ok()).flatten();
        let seen = json!({ "Count": answer.and_then(|answer| answer.count), UNITS: units });
        watching.shapes.note(operation, &input, Some(&seen), u64::from(times));
    }

    /// Watches an account and Region from now on. `keys` has the key attributes of each table.
    pub fn begin(&self, namespace: Namespace, minutes: f64, keys: KeyNames) -> Result<(), String> {
        if !(minutes > 0.0 && minutes <= MINUTES_MAX) {
            return Err(format!("Minutes are more than 0 and at most {MINUTES_MAX}."));
        }
        let now = now();
        let mut slot = self.lock();
        if slot.as_ref().is_some_and(|watching| now < watching.ends) {
            return Err(
                "Another page or command learns from this server already; try again later.".to_owned()
            );
        }
        let ends = now + Duration::from_secs_f64(minutes * 60.0);
        *slot = Some(Watching { namespace, shapes: Shapes::new(keys), since: now, ends });
        self.is_watching.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Watches no longer.
    pub fn end(&self) {
        let now = now();
        self.is_watching.store(false, Ordering::Relaxed);
        if let Some(watching) = self.lock().as_mut() {
            watching.ends = watching.ends.min(now);
        }
    }

    /// None if learning was never on.
    pub fn seen(&self) -> Option<SeenRequests> {
        let now = now();
        self.lock().as_ref().map(|watching| SeenRequests {
            namespace: watching.namespace.clone(),
            shapes: watching.shapes.clone(),
            seconds: (now.min(watching.ends) - watching.since).as_secs_f64(),
            is_over: now >= watching.ends,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Watching>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_of_the_named_region_while_somebody_learns_is_counted() {
        let watch = Watch::default();
        let get = |region: &str| {
            let body = br#"{"TableName": "t", "Key": {"pk": {"S": "USER#7"}}}"#;
            watch.note(("000000000000", region), "GetItem", body, Some(b"{}"), 0.5);
        };
        get("us-east-1");
        assert!(watch.seen().is_none());
        let begin = || {
            let keys = KeyNames::from([("t".to_owned(), ["pk".to_owned()].into())]);
            watch.begin(Namespace::new("000000000000", "us-east-1"), 10.0, keys)
        };
        begin().expect("it begins");
        assert!(begin().is_err(), "somebody learns already");
        for _ in 0..3 {
            get("us-east-1");
            get("eu-west-1");
        }
        watch.end();
        get("us-east-1");
        assert!(!watch.is_watching());
        let seen = watch.seen().expect("what was seen");
        assert!(seen.is_over);
        let shapes = seen.shapes.all();
        assert_eq!(shapes[0].seen.requests, 3);
        assert_eq!(shapes[0].seen.units_each(), Some(0.5));
        assert_eq!(shapes[0].input["Key"]["pk"]["S"], "USER#?");
        begin().expect("it begins again");
        assert!(watch.seen().expect("nothing yet").shapes.all().is_empty());
    }
}
