//! `/docs/`: the documents of this version, in a browser, from a running server.
//!
//! They have the paths that they have in the source (`/docs/capacity.md`, `/README.md`), so the links between them work
//! as they are. A link to what is not in the program is shown as text. `lodestone docs` writes the same pages as files.

mod contents;
mod page;
mod search;
mod site;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION};
use http::request::Parts;
use http::{Method, Response, StatusCode};

pub use site::WriteDocuments;

// DOCUMENTS: &[(&str, &str)] with Markdown and PICTURES: &[(&str, &[u8])], each by its path in the source.
include!(concat!(env!("OUT_DIR"), "/documents.rs"));

const INDEX: &str = "docs/README.md";
const STYLE: (&str, &str) = ("docs/style.css", include_str!("documents/style.css"));
/// Documents have no scripts.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";

/// Whether a path is one of the documents or below them.
pub fn owns(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    path == "docs" || path.starts_with("docs/") || text_of(path).is_some()
}

/// The answer to a request whose path [`owns`].
pub fn answer(head: &Parts) -> Response<Bytes> {
    if head.method != Method::GET && head.method != Method::HEAD {
        return response(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "Documents can only be read.\n");
    }
    let path = head.uri.path().trim_start_matches('/');
    if path == "docs" {
        let mut moved = response(StatusCode::PERMANENT_REDIRECT, "text/plain", "");
        moved.headers_mut().insert(LOCATION, HeaderValue::from_static("docs/"));
        return moved;
    }
    if path == "docs/"
        && let Some(words) = search::words(head.uri.query())
    {
        return html(&page::framed("Search", INDEX, &search::results(&words)));
    }
    let path = if path == "docs/" { INDEX } else { path };
    if let Some(text) = text_of(path) {
        return html(&page::of(path, text));
    }
    if let Some((_, bytes)) = PICTURES.iter().find(|(name, _)| *name == path) {
        return response(StatusCode::OK, "image/png", *bytes);
    }
    if path == STYLE.0 {
        return response(StatusCode::OK, "text/css; charset=utf-8", STYLE.1);
    }
    match page::of_folder(path.trim_end_matches('/')) {
        Some(list) => html(&list),
        None => response(StatusCode::NOT_FOUND, "text/plain", "There is no such document. See /docs/.\n"),
    }
}

fn text_of(path: &str) -> Option<&'static str> {
    DOCUMENTS.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// Whether something is served at a path of the source.
fn is_served(path: &str) -> bool {
    text_of(path).is_some() || PICTURES.iter().any(|(name, _)| *name == path) || is_folder(path)
}

fn is_folder(path: &str) -> bool {
    DOCUMENTS.iter().any(|(name, _)| name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
}

/// The first heading of a document.
fn title(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("# "));
    line.unwrap_or("Lodestone").replace('`', "")
}

fn html(page: &str) -> Response<Bytes> {
    let mut response = response(StatusCode::OK, "text/html; charset=utf-8", page.to_owned());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

fn response(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // Another version may be served at the same address tomorrow.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: Method, uri: &str) -> Response<Bytes> {
        let request = http::Request::builder().method(method).uri(uri).body(()).unwrap();
        answer(&request.into_parts().0)
    }

    fn text(uri: &str) -> String {
        let response = ask(Method::GET, uri);
        assert_eq!(response.status(), 200, "{uri}");
        String::from_utf8(response.body().to_vec()).unwrap()
    }

    #[test]
    fn documents_pictures_and_folders_are_served_at_their_paths() {
        assert!(text("/docs/").contains("in the order in which you need them"));
        assert!(text("/docs/capacity.md").contains("<h1 id=\""));
        assert!(text("/README.md").contains("<a href=\"docs/studio.md\">"));
        assert!(text("/docs/rules").contains("R14.md"));
        assert_eq!(ask(Method::GET, "/docs/studio/table-light.png").headers()[CONTENT_TYPE], "image/png");
        assert_eq!(ask(Method::GET, "/docs").headers()[LOCATION], "docs/");
        assert_eq!(ask(Method::GET, "/docs/../Cargo.toml").status(), 404);
        assert_eq!(ask(Method::POST, "/docs/").status(), 405);
        assert!(owns("/docs/nowhere") && owns("/SECURITY.md") && !owns("/docsx") && !owns("/"));
    }

    #[test]
    fn every_link_of_every_page_leads_to_a_page() {
        for (path, _) in DOCUMENTS {
            let page = text(&format!("/{path}"));
            for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let target = link.split(['#', '?']).next().unwrap_or_default();
                if target.contains("://") || target.is_empty() {
                    continue;
                }
                let target = page::resolved(path, target);
                assert!(target == STYLE.0 || is_served(&target), "{path}: {link}");
            }
        }
    }

    #[test]
    fn every_page_lists_the_documents_in_their_order_and_marks_its_own() {
        let page = text("/docs/rules/R14.md");
        let parts = ["Start", "Use", "Model", "Operate", "Understand", "Reference", "Rules"];
        let places: Vec<usize> =
            parts.iter().map(|part| page.find(&format!("<h2>{part}</h2>")).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
        let capacity = text("/docs/capacity.md");
        assert!(capacity.contains("<a href=\"../docs/capacity.md\" aria-current=\"page\">"), "{capacity}");
    }

    #[test]
    fn every_document_is_in_the_list() {
        let listed = contents::paths();
        let is_listed = |path: &str| path.starts_with("docs/rules/") || listed.iter().any(|own| own == path);
        let missing: Vec<&str> =
            DOCUMENTS.iter().map(|(path, _)| *path).filter(|path| !is_listed(path)).collect();
        assert_eq!(missing, [INDEX]);
    }

    #[test]
    fn a_search_finds_headings_by_all_words_and_shows_no_markup_of_the_question() {
        let found = text("/docs/?q=global+Tables");
        assert!(found.contains("<a href=\"global-tables.md#global-tables"), "{found}");
        let none = text("/docs/?q=%3Cscript%3Exyzzy");
        assert!(none.contains("Nothing") && !none.contains("<script>"), "{none}");
    }
}
