//! What a browser finds: the studio and the documents, mounted on the server.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use clap::ValueEnum;
use engine::Engine;
use http::header::{HeaderValue, LOCATION};
use http::{Request, Response, StatusCode};
use server::{PageAnswer, Pages};
use studio::{Studio, Watch};

use crate::documents;

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

/// DynamoDB Local has a console at `/shell/`: people who go there get to the studio.
fn way_from_shell(path: &str) -> Option<&'static str> {
    match path {
        "/shell" => Some("studio/"),
        "/shell/" => Some("../studio/"),
        _ => None,
    }
}

fn redirect(way: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(way));
    response
}

/// What a browser finds on the server: the documents, and the studio unless it is off.
pub struct ServedPages(pub Option<StudioPages>);

impl std::fmt::Debug for ServedPages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ServedPages")
    }
}

impl Pages for ServedPages {
    fn owns(&self, path: &str) -> bool {
        let is_of_studio = Studio::owns(path) || way_from_shell(path).is_some();
        self.0.is_some() && is_of_studio || documents::owns(path)
    }

    fn answer(&self, request: Request<Bytes>) -> PageAnswer<'_> {
        if let Some(way) = way_from_shell(request.uri().path()) {
            return Box::pin(async move { redirect(way) });
        }
        match &self.0 {
            Some(pages) if Studio::owns(request.uri().path()) => Box::pin(pages.studio.answer(request)),
            _ => Box::pin(async move { documents::answer(&request.into_parts().0) }),
        }
    }

    fn home(&self) -> Option<&'static str> {
        self.0.as_ref().map(|_| "studio/")
    }
}
