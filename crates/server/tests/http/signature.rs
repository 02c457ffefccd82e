//! Malformed signatures get AWS's errors, word for word.

use crate::support::{Post, Running};

const SCOPE: &str = "AKIDEXAMPLE/20261115/us-east-1/dynamodb/aws4_request";

/// Checks the complaint about a request with this Authorization.
async fn check(server: &Running, authorization: &str, name: &str, message: &str) {
    refused(server, Post::new("{}").with("Authorization", authorization), name, message).await;
}

async fn refused(server: &Running, request: Post, name: &str, message: &str) {
    let answer = server.ask(request).await;
    let message = message.replace('"', "\\\"");
    let body = format!(r#"{{"__type":"com.amazon.coral.service#{name}","message":"{message}"}}"#);
    assert_eq!((answer.status, answer.text()), (400, body.as_str()));
}

async fn accepted(server: &Running, request: Post) {
    let answer = server.ask(request).await;
    assert_eq!((answer.status, answer.text()), (200, "000000000000 us-east-1 GetItem 2"));
}

#[tokio::test]
async fn a_request_without_a_signature_is_refused() {
    let server = &Running::start().await;
    for authorization in ["", "Basic dXNlcjpwYXNz", "aws4-hmac-sha256 Credential=x", "Bearer AWS4-"] {
        let message = "Request is missing Authentication Token";
        check(server, authorization, "MissingAuthenticationTokenException", message).await;
    }
}

#[tokio::test]
async fn a_request_signed_twice_is_refused() {
    let server = &Running::start().await;
    let request = Post::new("{}").line("POST /?X-Amz-Algorithm=AWS4-HMAC-SHA256 HTTP/1.1");
    let message = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.";
    refused(server, request, "InvalidSignatureException", message).await;
}

#[tokio::test]
async fn every_missing_part_is_named() {
    let server = &Running::start().await;
    let name = "IncompleteSignatureException";
    let credential = "Authorization header requires 'Credential' parameter. ";
    let signature = "Authorization header requires 'Signature' parameter. ";
    let headers = "Authorization header requires 'SignedHeaders' parameter. ";
    let date = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";

    for (authorization, complaints) in [
        ("AWS4-HMAC-SHA256", [credential, signature, headers].concat()),
        ("AWS4-HMAC-SHA256 Credential=a/b/c/d/e", [signature, headers].concat()),
        ("AWS4-HMAC-SHA256 Signature=a, SignedHeaders=host", credential.into()),
        ("AWS4-HMAC-SHA256 Credential=\"a\",SignedHeaders=host", signature.into()),
    ] {
        check(server, authorization, name, &format!("{complaints}Authorization={authorization}")).await;
    }
    let request = Post::new("{}").with("Authorization", "AWS4-").without("X-Amz-Date");
    let message = [credential, signature, headers, date, "Authorization=AWS4-"].concat();
    refused(server, request, name, &message).await;
}

#[tokio::test]
async fn a_date_must_be_one() {
    let server = &Running::start().await;
    for date in [
        "yesterday",
        "20261315T000000Z",
        "2026-11-15T00:00:00Z",
        "20261115",
        "20261115T240000Z",
        "²0261115T19020Z",
    ] {
        let message = format!(
            "Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
        );
        let request = Post::new("{}").with("X-Amz-Date", date);
        refused(server, request, "IncompleteSignatureException", &message).await;
    }
    accepted(server, Post::new("{}").without("X-Amz-Date").with("Date", "20261115T190203Z")).await;
    accepted(server, Post::new("{}").without("X-Amz-Date").with("Date", "Sun, 15 Nov 2026 19:02:03 GMT"))
        .await;
}

#[tokio::test]
async fn the_host_must_be_signed() {
    let server = &Running::start().await;
    let authorization =
        format!("AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=x-amz-date;hosts, Signature=0");
    let message = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.";
    check(server, &authorization, "InvalidSignatureException", message).await;
}

#[tokio::test]
async fn the_algorithm_must_be_known() {
    let server = &Running::start().await;
    let authorization = format!("AWS4-HMAC-MD5 Credential={SCOPE}, SignedHeaders=host, Signature=0");
    let message = "Unsupported AWS 'algorithm': 'AWS4-HMAC-MD5'.";
    check(server, &authorization, "IncompleteSignatureException", message).await;
}

#[tokio::test]
async fn the_credential_must_have_five_parts_that_fit() {
    let server = &Running::start().await;
    let signed = |credential: &str| {
        format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0")
    };
    for credential in
        ["key", "key/20261115/us-east-1/dynamodb", "a/20261115/us-east-1/dynamodb/aws4_request/b"]
    {
        let message = format!(
            "Credential must have exactly 5 slash-delimited elements, \
             e.g. keyid/date/region/service/term, got '{credential}'"
        );
        check(server, &signed(credential), "IncompleteSignatureException", &message).await;
    }

    let region = "Credential should be scoped to a valid region, not ''.";
    let service = "Credential should be scoped to correct service: 'dynamodb'.";
    let terminator = "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws3'.";
    let date = "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
                '20261114' != '20261115', from '20261115T190203Z'.";
    for (credential, message) in [
        ("k/20261115//dynamodb/aws4_request", region.to_owned()),
        ("k/20261115/us-east-1/s3/aws4_request", service.to_owned()),
        ("k/20261115/us-east-1/dynamodb/aws3", terminator.to_owned()),
        ("k/20261114/us-east-1/dynamodb/aws4_request", date.to_owned()),
        ("k/20261114//s3/aws3", [region, service, terminator, date].join(" ")),
    ] {
        check(server, &signed(credential), "InvalidSignatureException", &message).await;
    }
}

#[tokio::test]
async fn parts_may_be_set_apart_by_commas_spaces_or_both() {
    let server = &Running::start().await;
    for between in [",", " ", ", ", " , ", "  "] {
        let parts =
            [&format!("Credential={SCOPE}"), "SignedHeaders=host;x-amz-date", "Signature=0"].join(between);
        accepted(server, Post::new("{}").with("Authorization", &format!("AWS4-HMAC-SHA256 {parts}"))).await;
    }
}

#[tokio::test]
async fn a_query_string_may_carry_the_signature() {
    let server = &Running::start().await;
    let query = |parameters: &str| {
        let line = format!("POST /?X-Amz-Algorithm=AWS4-HMAC-SHA256{parameters} HTTP/1.1");
        Post::new("{}").without("Authorization").without("X-Amz-Date").line(&line)
    };
    let credential = SCOPE.replace('/', "%2F");
    let rest = "&X-Amz-Date=20261115T190203Z&X-Amz-SignedHeaders=host&X-Amz-Signature=0";
    accepted(server, query(&format!("&X-Amz-Credential={credential}{rest}"))).await;

    let missing = "AWS query-string parameters must include 'X-Amz-Credential'. Re-examine the query-string parameters.";
    refused(server, query(rest), "IncompleteSignatureException", missing).await;
    let got = "Credential must have exactly 5 slash-delimited elements, \
               e.g. keyid/date/region/service/term, got 'a%2%zz'";
    refused(server, query(&format!("&X-Amz-Credential=a%2%zz{rest}")), "IncompleteSignatureException", got)
        .await;
}
