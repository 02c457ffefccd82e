//! What conditions can ask about a request: the values of condition keys.

use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Identity, time};

/// Condition keys that depend on what is asked for. Keys are in lower case.
pub trait Context {
    /// The key's values; empty if the request does not have the key.
    fn values(&self, key: &str) -> Vec<String>;
}

/// A request with no keys of its own.
#[derive(Clone, Copy, Debug)]
pub struct NoContext;

impl Context for NoContext {
    fn values(&self, _key: &str) -> Vec<String> {
        Vec::new()
    }
}

/// When, from where and how a request was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// When the request arrived.
    pub now: SystemTime,
    /// The client's address, if it came over the network.
    pub source_ip: Option<IpAddr>,
    /// Whether it came over TLS.
    pub secure_transport: bool,
    /// The Region that the request is for.
    pub region: String,
    /// The client's description of itself.
    pub user_agent: Option<String>,
}

impl Circumstances {
    fn values(&self, key: &str) -> Option<Vec<String>> {
        let one = |value: String| Some(vec![value]);
        match key {
            "aws:currenttime" => one(time::extended(self.now)),
            "aws:epochtime" => {
                one(self.now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()).to_string())
            }
            "aws:sourceip" => Some(self.source_ip.iter().map(|ip| ip.to_canonical().to_string()).collect()),
            "aws:securetransport" => one(self.secure_transport.to_string()),
            "aws:requestedregion" => one(self.region.clone()),
            "aws:useragent" => Some(self.user_agent.iter().cloned().collect()),
            _ => None,
        }
    }
}

/// Everything that a condition can ask about.
pub(crate) struct Keys<'a> {
    pub identity: &'a Identity,
    pub circumstances: &'a Circumstances,
    pub request: &'a dyn Context,
}

impl Keys<'_> {
    /// The values of a key in lower case; empty if the request does not have it.
    pub fn values(&self, key: &str) -> Vec<String> {
        self.identity
            .values(key)
            .or_else(|| self.circumstances.values(key))
            .unwrap_or_else(|| self.request.values(key))
    }

    /// What a variable stands for: a key with exactly one value.
    pub fn variable(&self, key: &str) -> Option<String> {
        let mut values = self.values(key);
        if values.len() == 1 { values.pop() } else { None }
    }
}
