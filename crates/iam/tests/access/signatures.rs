//! Signatures are verified as AWS makes them: vectors that botocore 1.44.0 computed, requests that were changed on their
//! way, and every reason to refuse one.

use std::time::{Duration, SystemTime};

use http::request::Parts;
use iam::file::AccessFile;
use iam::signature::SignatureFault;
use iam::{Authority, Directory, SignatureError};
use ring::{digest, hmac};

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const FILE: &str = r#"{
    "hosts": ["db.example"],
    "accounts": {"111122223333": {
        "users": {
            "alice": {"keys": [{"id": "AKIDEXAMPLE", "secret": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}]},
            "bob": {"keys": [{"id": "AKIDINACTIVE", "secret": "x", "status": "Inactive"}]}
        },
        "roles": {"app": {"sessions": [
            {"id": "ASIAEXAMPLE", "secret": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "token": "a-token", "name": "s1"},
            {"id": "ASIAOVER", "secret": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "token": "a-token", "name": "s2",
             "expires": "2026-11-16T11:00:00Z"}
        ]}}
    }}
}"#;

fn authority() -> Authority {
    let file = AccessFile::parse(FILE).expect("the file is in order");
    Authority::new(
        Directory::new(&file, &|_| Err("no files".to_owned()), None).expect("the keys are in order"),
    )
}

/// Noon of 16 November 2026.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_830_400)
}

fn head(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).expect("the request is in order").into_parts().0
}

const VECTOR: &str = "90c5aecb74b8461aabb29bdfdb0415a0b6b2ef92b480c9d62d173a8331870e0a";

fn authorization(signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261116/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={signature}"
    )
}

/// The request of the vector, with some headers replaced.
fn vector(replaced: &[(&str, &str)]) -> Parts {
    let authorization = authorization(VECTOR);
    let mut headers = vec![
        ("content-type", "application/x-amz-json-1.0"),
        ("host", "127.0.0.1:8000"),
        ("x-amz-date", "20261116T120000Z"),
        ("x-amz-target", "DynamoDB_20120810.ListTables"),
        ("authorization", &authorization),
    ];
    for (name, value) in replaced {
        headers.retain(|(other, _)| other != name);
        if !value.is_empty() {
            headers.push((name, value));
        }
    }
    head("POST", "/", &headers)
}

fn verify(head: &Parts, body: &[u8], secure: bool) -> Result<String, SignatureError> {
    let authority = authority();
    let claim = authority.claim(head, "dynamodb", now())?;
    claim.verify(body, secure).map(|identity| identity.arn.clone())
}

fn fault(head: &Parts, body: &[u8]) -> (SignatureFault, String) {
    let error = verify(head, body, false).expect_err("the request is refused");
    (error.fault, error.message)
}

const ALICE: &str = "arn:aws:iam::111122223333:user/alice";

#[test]
fn what_botocore_signs_is_verified() {
    assert_eq!(verify(&vector(&[]), b"{}", false).as_deref(), Ok(ALICE));
}

#[test]
fn innocent_changes_on_the_way_are_tolerated() {
    let spaceless = authorization(VECTOR).replacen(' ', "\u{0}", 1).replace(", ", ",").replace('\u{0}', " ");
    let reordered = format!(
        "AWS4-HMAC-SHA256 Signature={VECTOR},SignedHeaders=x-amz-target;Host;x-amz-date;content-type,\
         Credential=AKIDEXAMPLE/20261116/us-east-1/dynamodb/aws4_request"
    );
    for replaced in [
        [("authorization", spaceless.as_str())],
        [("authorization", reordered.as_str())],
        [("content-type", "   application/x-amz-json-1.0  ")],
        [("accept", "*/*")],
    ] {
        assert_eq!(verify(&vector(&replaced), b"{}", false).as_deref(), Ok(ALICE), "{replaced:?}");
    }
}

#[test]
fn an_altered_request_is_refused() {
    for replaced in [
        [("x-amz-target", "DynamoDB_20120810.DeleteTable")],
        [("host", "127.0.0.1:8001")],
        [("content-type", "application/json")],
        [("x-amz-date", "20261116T120001Z")],
        [("authorization", authorization(&VECTOR.replacen('9', "8", 1)).as_str())],
        [("authorization", authorization("").replace("Signature=", "Signature=123").as_str())],
        [("authorization", authorization(&VECTOR.replace("90c5", "zzzz")).as_str())],
        [("authorization", authorization(VECTOR).replace("us-east-1", "eu-west-1").as_str())],
    ] {
        assert_eq!(fault(&vector(&replaced), b"{}").0, SignatureFault::Mismatch, "{replaced:?}");
    }
    let (found, message) = fault(&vector(&[]), b"{ }");
    assert_eq!(found, SignatureFault::Mismatch);
    let body_hash = "e1b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert!(!message.contains(body_hash));
    assert!(
        message.starts_with(
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret \
             Access Key and signing method. Consult the service documentation for details.\n\nThe Canonical String \
             for this request should have been\n'POST\n/\n\ncontent-type:application/x-amz-json-1.0\n\
             host:127.0.0.1:8000\nx-amz-date:20261116T120000Z\nx-amz-target:DynamoDB_20120810.ListTables\n\n\
             content-type;host;x-amz-date;x-amz-target\n"
        ),
        "{message}"
    );
    assert!(
        message.contains(
            "'\n\nThe String-to-Sign should have been\n'AWS4-HMAC-SHA256\n20261116T120000Z\n\
             20261116/us-east-1/dynamodb/aws4_request\n"
        ),
        "{message}"
    );
}

#[test]
fn a_header_that_changes_the_meaning_must_be_signed() {
    let unsigned = authorization(VECTOR).replace(";x-amz-target", "");
    let (found, message) = fault(&vector(&[("authorization", &unsigned)]), b"{}");
    assert_eq!(found, SignatureFault::Invalid);
    assert_eq!(message, "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.");
    assert_eq!(fault(&vector(&[("x-amz-security-token", "t")]), b"{}").0, SignatureFault::Invalid);
}

#[test]
fn a_clock_may_be_off_by_fifteen_minutes() {
    let check = |date: &str, expected: Option<&str>| {
        let head = signed(&Unsigned { date, ..UNSIGNED });
        match expected {
            None => assert_eq!(verify(&head, b"{}", false).as_deref(), Ok(ALICE), "{date}"),
            Some(text) => {
                assert_eq!(fault(&head, b"{}"), (SignatureFault::Expired, text.to_owned()), "{date}")
            }
        }
    };
    check("20261116T114500Z", None);
    check("20261116T121500Z", None);
    check(
        "20261116T114459Z",
        Some(
            "Signature expired: 20261116T114459Z is now earlier than 20261116T114500Z (20261116T120000Z - 15 min.)",
        ),
    );
    check(
        "20261116T121501Z",
        Some(
            "Signature not yet current: 20261116T121501Z is still later than 20261116T121500Z (20261116T120000Z + 15 min.)",
        ),
    );
}

#[test]
fn a_key_must_be_known_active_and_have_its_token() {
    let unknown =
        (SignatureFault::UnknownKey, "The security token included in the request is invalid.".to_owned());
    assert_eq!(fault(&signed(&Unsigned { key: "AKIDNOBODY", ..UNSIGNED }), b"{}"), unknown);
    assert_eq!(fault(&signed(&Unsigned { key: "AKIDINACTIVE", ..UNSIGNED }), b"{}"), unknown);
    let session = Unsigned { key: "ASIAEXAMPLE", ..UNSIGNED };
    assert_eq!(fault(&signed(&session), b"{}"), unknown, "without its token");
    assert_eq!(fault(&signed(&Unsigned { token: Some("other"), ..session }), b"{}"), unknown);
    assert_eq!(
        verify(&signed(&Unsigned { token: Some("a-token"), ..session }), b"{}", false).as_deref(),
        Ok("arn:aws:sts::111122223333:assumed-role/app/s1")
    );
    let over = Unsigned { key: "ASIAOVER", token: Some("a-token"), ..UNSIGNED };
    let message = "The security token included in the request is expired".to_owned();
    assert_eq!(fault(&signed(&over), b"{}"), (SignatureFault::ExpiredToken, message));
    let ignored = Unsigned { token: Some("whatever"), ..UNSIGNED };
    assert_eq!(verify(&signed(&ignored), b"{}", false).as_deref(), Ok(ALICE), "a long-term key has no token");
}

#[test]
fn a_payload_may_be_unsigned_over_tls_alone() {
    let unsigned = signed(&Unsigned { payload: Some("UNSIGNED-PAYLOAD"), ..UNSIGNED });
    assert_eq!(verify(&unsigned, b"anything", true).as_deref(), Ok(ALICE));
    assert_eq!(fault(&unsigned, b"anything").0, SignatureFault::Mismatch);
    let streaming = signed(&Unsigned { payload: Some("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), ..UNSIGNED });
    assert!(verify(&streaming, b"{}", true).is_err());
    let stated = hex(digest::digest(&digest::SHA256, b"{}").as_ref());
    let stated = signed(&Unsigned { payload: Some(&stated), ..UNSIGNED });
    assert_eq!(verify(&stated, b"{}", false).as_deref(), Ok(ALICE));
    assert!(verify(&stated, b"{ }", false).is_err(), "the stated hash is not believed");
}

#[test]
fn another_name_of_the_server_may_be_signed_if_the_file_has_it() {
    let behind_proxy = signed(&Unsigned { host: "db.example", ..UNSIGNED });
    let mut head = behind_proxy;
    head.headers.insert("host", "10.0.0.7:8000".parse().expect("a host"));
    assert_eq!(verify(&head, b"{}", false).as_deref(), Ok(ALICE));
    let mut head = signed(&Unsigned { host: "evil.example", ..UNSIGNED });
    head.headers.insert("host", "10.0.0.7:8000".parse().expect("a host"));
    assert_eq!(fault(&head, b"{}").0, SignatureFault::Mismatch);
}

#[test]
fn paths_and_queries_are_put_in_canonical_form() {
    // As the Signature Version 4 specification writes its cases: what is sent, and what is signed.
    for (uri, path, query) in [
        ("/", "/", ""),
        ("/example/..", "/", ""),
        ("/./", "/", ""),
        ("/./example", "/example", ""),
        ("//example//", "/example/", ""),
        ("/2017-03-31/tags/arn%3Aaws%3Alambda", "/2017-03-31/tags/arn%253Aaws%253Alambda", ""),
        ("/%E1%88%B4", "/%25E1%2588%25B4", ""),
        ("/?Param2=value2&Param1=value1", "/", "Param1=value1&Param2=value2"),
        ("/?Param=b&Param=a", "/", "Param=a&Param=b"),
        ("/?Param", "/", "Param="),
        ("/?a=%7e%2A&b=c%20d+e", "/", "a=~%2A&b=c%20d%2Be"),
        (
            "/?-._~0123456789ABCXYZabcxyz=-._~0123456789ABCXYZabcxyz",
            "/",
            "-._~0123456789ABCXYZabcxyz=-._~0123456789ABCXYZabcxyz",
        ),
    ] {
        let head = signed_as(&Unsigned { uri, ..UNSIGNED }, path, query);
        assert_eq!(verify(&head, b"{}", false).as_deref(), Ok(ALICE), "{uri}");
    }
}

#[test]
fn values_are_trimmed_folded_and_joined() {
    let mut head = signed_with(&UNSIGNED, "/", "", "my-header:a b c,d\n", ";my-header");
    head.headers.append("my-header", "  a   b  c ".parse().expect("a value"));
    head.headers.append("my-header", "d".parse().expect("a value"));
    assert_eq!(verify(&head, b"{}", false).as_deref(), Ok(ALICE));
}

#[test]
fn a_presigned_request_is_valid_for_as_long_as_it_says() {
    let presigned = |date: &str, expires: &str| {
        let query = format!(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20261116%2Fus-east-1%2Fdynamodb%2F\
             aws4_request&X-Amz-Date={date}&X-Amz-Expires={expires}&X-Amz-SignedHeaders=host"
        );
        let request = format!(
            "GET\n/\n{query}\nhost:127.0.0.1:8000\n\nhost\n{}",
            hex(digest::digest(&digest::SHA256, b"").as_ref())
        );
        let signature = sign(SECRET, date, "us-east-1", &request);
        head("GET", &format!("/?{query}&X-Amz-Signature={signature}"), &[("host", "127.0.0.1:8000")])
    };
    assert_eq!(verify(&presigned("20261116T110000Z", "7200"), b"", false).as_deref(), Ok(ALICE));
    assert_eq!(fault(&presigned("20261116T110000Z", "3599"), b"").0, SignatureFault::Expired);
    assert_eq!(fault(&presigned("20261116T130000Z", "7200"), b"").0, SignatureFault::Expired);
    assert_eq!(fault(&presigned("20261116T120000Z", "604801"), b"").0, SignatureFault::Incomplete);
    assert_eq!(fault(&presigned("20261116T120000Z", "60"), b"body").0, SignatureFault::Mismatch);
    let mut with_target = presigned("20261116T120000Z", "60");
    with_target.headers.insert("x-amz-target", "DynamoDB_20120810.DeleteTable".parse().expect("a target"));
    assert_eq!(fault(&with_target, b"").0, SignatureFault::Invalid, "a link is for what it was made for");
}

/// A request before it is signed.
#[derive(Clone, Copy)]
struct Unsigned<'a> {
    key: &'a str,
    date: &'a str,
    host: &'a str,
    uri: &'a str,
    token: Option<&'a str>,
    payload: Option<&'a str>,
}

const UNSIGNED: Unsigned<'static> = Unsigned {
    key: "AKIDEXAMPLE",
    date: "20261116T120000Z",
    host: "127.0.0.1:8000",
    uri: "/",
    token: None,
    payload: None,
};

fn signed(request: &Unsigned<'_>) -> Parts {
    signed_as(request, "/", "")
}

fn signed_as(request: &Unsigned<'_>, path: &str, query: &str) -> Parts {
    signed_with(request, path, query, "", "")
}

/// Signs by the specification, written out here a second time: `{}` is the body. `header` and `name` are for one more
/// signed header that comes between `host` and `x-amz-…`.
fn signed_with(request: &Unsigned<'_>, path: &str, query: &str, header: &str, name: &str) -> Parts {
    let mut lines = format!("host:{}\n{header}", request.host);
    let mut names = format!("host{name}");
    if let Some(payload) = request.payload {
        lines.push_str(&format!("x-amz-content-sha256:{payload}\n"));
        names.push_str(";x-amz-content-sha256");
    }
    lines.push_str(&format!("x-amz-date:{}\n", request.date));
    names.push_str(";x-amz-date");
    if let Some(token) = request.token {
        lines.push_str(&format!("x-amz-security-token:{token}\n"));
        names.push_str(";x-amz-security-token");
    }
    let hash = hex(digest::digest(&digest::SHA256, b"{}").as_ref());
    let hash = request.payload.unwrap_or(&hash);
    let text = format!("POST\n{path}\n{query}\n{lines}\n{names}\n{hash}");
    let signature = sign(SECRET, request.date, "us-east-1", &text);
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/20261116/us-east-1/dynamodb/aws4_request, SignedHeaders={names}, \
         Signature={signature}",
        request.key
    );
    let mut headers =
        vec![("host", request.host), ("x-amz-date", request.date), ("authorization", authorization.as_str())];
    headers.extend(request.token.map(|token| ("x-amz-security-token", token)));
    headers.extend(request.payload.map(|payload| ("x-amz-content-sha256", payload)));
    head("POST", request.uri, &headers)
}

fn sign(secret: &str, date: &str, region: &str, canonical_request: &str) -> String {
    let day = &date[..8];
    let hash = hex(digest::digest(&digest::SHA256, canonical_request.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{day}/{region}/dynamodb/aws4_request\n{hash}");
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [day, region, "dynamodb", "aws4_request", &text] {
        key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
    }
    hex(&key)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
