//! The studio, mounted on the server.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use clap::ValueEnum;
use engine::Engine;
use http::Request;
use server::{PageAnswer, Pages};
use studio::{Studio, Watch};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StudioArgument {
    On,
    ReadOnly,
    Off,
}

/// Where only this machine can ask, the studio is on; elsewhere it is off unless a flag says otherwise.
pub fn mode(asked: Option<StudioArgument>, address: SocketAddr) -> Option<StudioArgument> {
    let usual = if address.ip().is_loopback() { StudioArgument::On } else { StudioArgument::Off };
    Some(asked.unwrap_or(usual)).filter(|mode| *mode != StudioArgument::Off)
}

/// A random access token.
pub fn token() -> String {
    let random = || getrandom::u64().expect("the system gives random numbers");
    format!("{:016x}{:016x}", random(), random())
}

pub struct StudioPages {
    studio: Studio,
    token: Option<String>,
}

impl StudioPages {
    pub fn new(engine: Arc<Engine>, options: studio::Options, watch: Arc<Watch>) -> StudioPages {
        let token = options.token.clone();
        StudioPages { studio: Studio::new(engine, options, watch), token }
    }

    /// What to open in a browser.
    pub fn address(&self, url: &str) -> String {
        let token = self.token.as_ref().map(|token| format!("#token={token}")).unwrap_or_default();
        format!("{url}{}/{token}", studio::PATH)
    }
}

impl std::fmt::Debug for StudioPages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StudioPages")
    }
}

impl Pages for StudioPages {
    fn owns(&self, path: &str) -> bool {
        Studio::owns(path)
    }

    fn answer(&self, request: Request<Bytes>) -> PageAnswer<'_> {
        Box::pin(self.studio.answer(request))
    }

    fn home(&self) -> &'static str {
        "studio/"
    }
}
