//! Who is signed in: keys of the access file, held in memory under a random number that the page sends instead.
//!
//! A session holds the key and not what it may do: every request asks the access file again, so a key or policy that
//! is taken away stops working at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::outside::AccessKey;

const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// The oldest session makes room for a new one.
const SESSIONS_MAX: usize = 1000;

#[derive(Default)]
pub struct Sessions(Mutex<BTreeMap<String, Session>>);

struct Session {
    key: AccessKey,
    since: Instant,
}

#[allow(clippy::disallowed_methods, reason = "people sign in for a real time")]
fn now() -> Instant {
    Instant::now()
}

impl Sessions {
    /// The number of a new session. None if the system gives no random numbers.
    pub fn begin(&self, key: AccessKey) -> Option<String> {
        let id = format!("session-{:016x}{:016x}", getrandom::u64().ok()?, getrandom::u64().ok()?);
        let mut sessions = self.lock();
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.since).map(|(id, _)| id.clone());
            oldest.map(|id| sessions.remove(&id));
        }
        sessions.insert(id.clone(), Session { key, since: now() });
        Some(id)
    }

    /// The key of a session that has not ended.
    pub fn key(&self, id: &str) -> Option<AccessKey> {
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.since.elapsed() < LIFETIME);
        sessions.get(id).map(|session| session.key.clone())
    }

    pub fn end(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
