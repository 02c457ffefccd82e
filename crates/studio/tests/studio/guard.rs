//! Pages of other sites, names that DNS made up, frames and strangers: each is refused.

use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::json;
use studio::Options;

use crate::support::{desk, desk_with, header, own};

/// Sends a session request with these headers instead of, or in addition to, the usual ones.
async fn check(changed: &[(&str, Option<&str>)], options: Options) -> StatusCode {
    let desk = desk_with(options).await;
    let mut request = own("session").body(Bytes::from("{}")).expect("a request");
    for (name, value) in changed {
        let name: http::HeaderName = name.parse().expect("a name");
        request.headers_mut().remove(&name);
        if let Some(value) = value {
            request.headers_mut().insert(name, value.parse().expect("a value"));
        }
    }
    desk.answer(request).await.status()
}

#[tokio::test]
async fn our_own_page_is_answered() {
    assert_eq!(check(&[], Options::default()).await, StatusCode::OK);
}

#[tokio::test]
async fn a_script_that_is_no_browser_is_answered() {
    let bare = [("origin", None), ("sec-fetch-site", None)];
    assert_eq!(check(&bare, Options::default()).await, StatusCode::OK);
}

#[tokio::test]
async fn a_page_of_another_site_is_refused() {
    for origin in ["https://evil.example", "http://127.0.0.1:9000", "http://localhost:8000", "null"] {
        assert_eq!(
            check(&[("origin", Some(origin))], Options::default()).await,
            StatusCode::FORBIDDEN,
            "{origin}"
        );
    }
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(
            check(&[("sec-fetch-site", Some(site))], Options::default()).await,
            StatusCode::FORBIDDEN,
            "{site}"
        );
    }
}

#[tokio::test]
async fn a_form_of_another_site_can_not_make_a_call_without_asking_first() {
    // What a form or a plain fetch may send to another site without a preflight.
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    {
        let sent = [("content-type", Some(content_type)), ("origin", None), ("sec-fetch-site", None)];
        assert_eq!(
            check(&sent, Options::default()).await,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "{content_type}"
        );
    }
    assert_eq!(check(&[("x-lodestone-studio", None)], Options::default()).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_preflight_is_granted_nothing() {
    let desk = desk().await;
    let request = Request::options("/studio/api/session")
        .header("host", "127.0.0.1:8000")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "x-lodestone-studio");
    let response = desk.answer(request.body(Bytes::new()).expect("a request")).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    assert!(response.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
}

#[tokio::test]
async fn a_name_that_dns_points_at_this_machine_is_refused() {
    for host in ["evil.example:8000", "127.0.0.1.evil.example:8000", "localhost.evil.example", "8.8.8.8", ""]
    {
        let sent = [("host", Some(host)), ("origin", None)];
        assert_eq!(check(&sent, Options::default()).await, StatusCode::MISDIRECTED_REQUEST, "{host}");
        let page = Request::get("/studio/").header("host", host).body(Bytes::new()).expect("a request");
        assert_eq!(desk().await.answer(page).await.status(), StatusCode::MISDIRECTED_REQUEST, "{host}");
    }
    for host in
        ["localhost:8000", "127.0.0.1", "127.9.9.9:1", "[::1]:8000", "app.localhost:8000", "LOCALHOST."]
    {
        let sent = [("host", Some(host)), ("origin", None)];
        assert_eq!(check(&sent, Options::default()).await, StatusCode::OK, "{host}");
    }
}

#[tokio::test]
async fn beyond_this_machine_the_studio_answers_to_its_own_name_and_wants_its_token() {
    let options = || Options {
        token: Some("secret".to_owned()),
        hosts: vec!["db.example".to_owned()],
        ..Options::default()
    };
    let there = [("host", Some("db.example:8000")), ("origin", Some("http://db.example:8000"))];
    let with = |token| [there[0], there[1], ("x-lodestone-studio", token)];
    assert_eq!(check(&with(Some("secret")), options()).await, StatusCode::OK);
    for token in ["1", "secre", "secret1", "Secret"] {
        assert_eq!(check(&with(Some(token)), options()).await, StatusCode::UNAUTHORIZED, "{token}");
    }
    assert_eq!(check(&with(None), options()).await, StatusCode::FORBIDDEN);
    // No DNS leads to an address, so a request to one was meant for this server. It needs the token all the same.
    let addressed = [("host", Some("10.0.0.7:8000")), ("origin", Some("http://10.0.0.7:8000"))];
    let with = |token| [addressed[0], addressed[1], ("x-lodestone-studio", token)];
    assert_eq!(check(&with(Some("secret")), options()).await, StatusCode::OK);
    assert_eq!(check(&with(Some("1")), options()).await, StatusCode::UNAUTHORIZED);
    assert_eq!(check(&with(Some("1")), Options::default()).await, StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn only_posts_reach_the_door_and_only_reads_the_pages() {
    let desk = desk().await;
    let get = Request::get("/studio/api/session")
        .header("host", "localhost")
        .body(Bytes::new())
        .expect("a request");
    assert_eq!(desk.answer(get).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    let post = Request::post("/studio/").header("host", "localhost").body(Bytes::new()).expect("a request");
    assert_eq!(desk.answer(post).await.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn pages_can_not_be_framed_and_run_no_script_but_their_own() {
    let response = desk().await.get("/studio/table/app").await;
    let policy = header(response.headers(), "content-security-policy");
    for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(header(response.headers(), "x-content-type-options"), "nosniff");
    assert_eq!(header(response.headers(), "referrer-policy"), "no-referrer");
    assert_eq!(header(response.headers(), "cross-origin-resource-policy"), "same-origin");
}

#[tokio::test]
async fn accounts_and_regions_are_apart_and_made_up_ones_are_refused() {
    let desk = desk().await.with_orders().await;
    let as_other = |name: &str| {
        own("call/ListTables").header("x-lodestone-as", name).body(Bytes::from("{}")).expect("a request")
    };
    let response = desk.answer(as_other("111122223333.eu-west-1")).await;
    assert_eq!(response.body(), &Bytes::from(json!({ "TableNames": [] }).to_string()));
    for name in ["1.us-east-1", "000000000000", "000000000000.", "000000000000.a/b"] {
        assert_eq!(desk.answer(as_other(name)).await.status(), StatusCode::BAD_REQUEST, "{name}");
    }
}
