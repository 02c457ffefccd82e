//! Pages and the files they need.
//!
//! `build.rs` bundles `ui/` and writes a table of files, which is included here. All addresses of the studio, except
//! its API and its files, return the same page; its script reads the rest of the address. All links are relative, so
//! that a proxy may add a prefix. Without the files, `/studio/` is a plain page.

use std::fmt::Write as _;
use std::io::Read;

use bytes::Bytes;
use engine::Caller;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderValue,
    IF_NONE_MATCH, LOCATION, VARY,
};
use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::live::Live;
use crate::{Studio, reply};

/// A file of the studio.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Below `/studio/assets/`. It contains a hash of the bytes, so it can be cached for good.
    pub name: &'static str,
    pub content_type: &'static str,
    /// `gzip`, or none.
    pub encoding: Option<&'static str>,
    pub etag: &'static str,
    /// The same packed with Brotli, if it is text.
    pub brotli: Option<&'static [u8]>,
    pub bytes: &'static [u8],
}

/// The files that the page itself loads.
#[derive(Clone, Copy, Debug)]
struct Entry {
    script: &'static str,
    style: &'static str,
    /// Chunks and fonts that the first view needs.
    preload: &'static [(&'static str, &'static str)],
}

// FILES: &[Asset] and ENTRY: Option<Entry>.
include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Tables that the plain page lists.
const TABLES_MAX: usize = 100;
const BROTLI: &str = "br";
const INFLATED_BYTES_MAX: u64 = 16 << 20;

/// Whether the studio was built with its pages.
pub fn is_complete() -> bool {
    ENTRY.is_some()
}

pub fn asset(name: &str) -> Option<Asset> {
    FILES.iter().find(|asset| asset.name == name).copied()
}

impl Studio {
    /// `path` is the part after `/studio`.
    pub(crate) async fn page(&self, head: &Parts, path: &str) -> Response<Bytes> {
        if path.is_empty() {
            return redirect("studio/");
        }
        if let Some(name) = path.strip_prefix("/assets/") {
            return asset(name).map_or_else(missing, |asset| serve(&asset, head));
        }
        match ENTRY {
            Some(entry) => shell(&entry, path),
            None => self.plain().await,
        }
    }

    /// The page without scripts: a list of tables.
    async fn plain(&self) -> Response<Bytes> {
        let live = Live::of_server(self.engine.clone(), Caller::new("000000000000", "us-east-1"));
        let tables = live.ask("ListTables", &json!({ "Limit": TABLES_MAX })).await.unwrap_or_default();
        let mut rows = String::new();
        for name in tables["TableNames"].as_array().into_iter().flatten() {
            let described =
                live.ask("DescribeTable", &json!({ "TableName": name })).await.unwrap_or_default();
            let table = &described["Table"];
            let _ = write!(
                rows,
                "<tr><th scope=\"row\">{}<td>{}<td>{}<td>{}",
                escaped(name),
                escaped(&table["ItemCount"]),
                escaped(&table["TableSizeBytes"]),
                escaped(&table["TableStatus"])
            );
        }
        let page = include_str!("plain.html")
            .replace("{rows}", &rows)
            .replace("{storage}", &escape(&self.options.storage));
        let policy = "default-src 'none'; style-src 'sha256-X/cYJgN9MwDxhh4C71RGVVvJ/5crLU6EgWkfWMRSVww='; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
        html(page, policy)
    }
}

/// The page. Its links go up one step for each part of the address.
fn shell(entry: &Entry, path: &str) -> Response<Bytes> {
    let root = "../".repeat(path.matches('/').count().saturating_sub(1));
    let nonce = nonce();
    let mut preload = String::new();
    for (name, kind) in entry.preload {
        let link = match *kind {
            "font" => format!(
                "<link rel=\"preload\" as=\"font\" type=\"font/woff2\" crossorigin href=\"{root}assets/{name}\">"
            ),
            _ => format!("<link rel=\"modulepreload\" href=\"{root}assets/{name}\">"),
        };
        preload.push_str(&link);
    }
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Lodestone</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"csp-nonce\" content=\"{nonce}\">\
         <link rel=\"icon\" href=\"{root}assets/{ICON}\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"{root}assets/{style}\">{preload}\
         <script type=\"module\" src=\"{root}assets/{script}\"></script></head>\
         <body><div id=\"app\"></div><noscript>The studio needs JavaScript.</noscript></body></html>",
        style = entry.style,
        script = entry.script,
    );
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; \
         img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'"
    );
    html(page, &policy)
}

fn html(page: String, policy: &str) -> Response<Bytes> {
    let mut response = reply::with_body(StatusCode::OK, "text/html; charset=utf-8", page);
    if let Ok(policy) = HeaderValue::from_str(policy) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn serve(asset: &Asset, head: &Parts) -> Response<Bytes> {
    let known = head.headers.get(IF_NONE_MATCH).is_some_and(|tags| tags.as_bytes() == asset.etag.as_bytes());
    let accepted =
        head.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |encoding: &str| {
        accepted.split(',').any(|one| one.split(';').next().is_some_and(|name| name.trim() == encoding))
    };
    let packed = match (asset.brotli.filter(|_| accepts(BROTLI)), asset.encoding) {
        (Some(bytes), _) => Some((BROTLI, bytes)),
        (None, Some(encoding)) if accepts(encoding) => Some((encoding, asset.bytes)),
        (None, _) => None,
    };
    let (status, body) = match (known, packed, asset.encoding) {
        (true, ..) => (StatusCode::NOT_MODIFIED, Bytes::new()),
        (false, Some((_, bytes)), _) => (StatusCode::OK, Bytes::from_static(bytes)),
        (false, None, None) => (StatusCode::OK, Bytes::from_static(asset.bytes)),
        (false, None, Some(_)) => (StatusCode::OK, inflated(asset)),
    };
    let mut response = reply::with_body(status, asset.content_type, body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some((encoding, _)) = packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// For clients that don't accept gzip. All browsers do.
fn inflated(asset: &Asset) -> Bytes {
    let mut plain = Vec::new();
    let read = flate2::read::GzDecoder::new(asset.bytes).take(INFLATED_BYTES_MAX).read_to_end(&mut plain);
    if read.is_err() { Bytes::new() } else { plain.into() }
}

fn redirect(to: &'static str) -> Response<Bytes> {
    let mut response = reply::with_body(StatusCode::PERMANENT_REDIRECT, "text/plain", Bytes::new());
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(to));
    response
}

fn missing() -> Response<Bytes> {
    reply::message(StatusCode::NOT_FOUND, "The studio has no such file.")
}

/// Allows the styles of this answer alone.
fn nonce() -> String {
    format!("{:016x}{:016x}", getrandom::u64().unwrap_or(0), getrandom::u64().unwrap_or(0))
}

fn escaped(value: &Value) -> String {
    value.as_str().map_or_else(|| escape(&value.to_string()), escape)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
