//! Pages and files.

use bytes::Bytes;
use http::{Request, StatusCode};

use crate::support::{desk, header};

#[tokio::test]
async fn the_bare_path_leads_to_the_page() {
    let response = desk().await.get("/studio").await;
    assert_eq!(response.status(), StatusCode::PERMANENT_REDIRECT);
    assert_eq!(header(response.headers(), "location"), "studio/");
}

#[tokio::test]
async fn every_address_is_a_page_and_its_links_are_relative() {
    let desk = desk().await;
    for (path, up) in [
        ("/studio/", ""),
        ("/studio/query", ""),
        ("/studio/table/a", "../"),
        ("/studio/table/a/structure", "../../"),
    ] {
        let response = desk.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let page = String::from_utf8(response.body().to_vec()).expect("text");
        if studio::is_complete() {
            assert!(page.contains(&format!("src=\"{up}assets/main-")), "{path}: {page}");
            assert!(!page.contains("=\"/"), "{page}");
        }
    }
}

#[tokio::test]
async fn without_its_files_the_studio_is_a_page_that_lists_tables_and_says_what_to_do() {
    if studio::is_complete() {
        return;
    }
    let page = desk().await.with_orders().await.get("/studio/").await;
    let page = String::from_utf8(page.body().to_vec()).expect("text");
    assert!(page.contains("LODESTONE_STUDIO=required"), "{page}");
    assert!(page.contains("<th scope=\"row\">app<td>3<td>"), "{page}");
}

#[tokio::test]
async fn files_are_packed_cached_for_good_and_known_by_their_tag() {
    if !studio::is_complete() {
        return;
    }
    let desk = desk().await;
    let page = String::from_utf8(desk.get("/studio/").await.body().to_vec()).expect("text");
    let (_, rest) = page.split_once("src=\"").expect("a script");
    let (script, _) = rest.split_once('"').expect("its end");
    let path = format!("/studio/{script}");
    let response = desk.get(&path).await;
    assert_eq!(header(response.headers(), "content-encoding"), "gzip");
    assert_eq!(header(response.headers(), "content-type"), "text/javascript; charset=utf-8");
    assert!(header(response.headers(), "cache-control").contains("immutable"));
    let again = Request::get(&path)
        .header("host", "localhost")
        .header("if-none-match", header(response.headers(), "etag"));
    let again = desk.answer(again.body(Bytes::new()).expect("a request")).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let smaller =
        Request::get(&path).header("host", "localhost").header("accept-encoding", "gzip, deflate, br;q=1");
    let smaller = desk.answer(smaller.body(Bytes::new()).expect("a request")).await;
    assert_eq!(header(smaller.headers(), "content-encoding"), "br");
    assert!(smaller.body().len() < response.body().len());
    let plain = Request::get(&path).header("host", "localhost").body(Bytes::new()).expect("a request");
    let plain = desk.answer(plain).await;
    assert_eq!(header(plain.headers(), "content-encoding"), "");
    assert!(plain.body().len() > response.body().len() / 2 && std::str::from_utf8(plain.body()).is_ok());
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_found_and_no_path_leaves_the_studio() {
    let desk = desk().await;
    for name in ["nothing.js", "../Cargo.toml", "..%2f..%2fCargo.toml", ""] {
        assert_eq!(
            desk.get(&format!("/studio/assets/{name}")).await.status(),
            StatusCode::NOT_FOUND,
            "{name}"
        );
    }
}

#[test]
fn only_paths_below_studio_are_the_studios() {
    for path in ["/studio", "/studio/", "/studio/table/a", "/studio/api/session"] {
        assert!(studio::Studio::owns(path), "{path}");
    }
    for path in ["/", "/studios", "/metrics", "/Studio/"] {
        assert!(!studio::Studio::owns(path), "{path}");
    }
}
