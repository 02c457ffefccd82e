//! Requests to Lambda: which operation a method and path mean, what is refused, and how errors print.

use api::lambda::{FunctionName, LambdaError, LambdaErrorKind, Request, limits, owns_path};

const MAPPINGS: &str = "/2015-03-31/event-source-mappings";
const UUID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
const ARN: &str =
    "arn:aws:lambda:us-east-1:123456789012:event-source-mapping:0a1b2c3d-0000-4000-8000-000000000001";

fn create(body: &str) -> Result<Request, LambdaError> {
    Request::decode("POST", MAPPINGS, "", body.as_bytes())
}

#[track_caller]
fn check_refused(body: &str, message: &str) {
    let error = create(body).expect_err(body);
    assert_eq!(error.kind, LambdaErrorKind::Validation, "{error}");
    assert_eq!(error.message, message);
}

#[test]
fn the_method_and_the_path_name_the_operation() {
    let one = format!("{MAPPINGS}/{UUID}");
    let tags = format!("/2017-03-31/tags/{}", ARN.replace(':', "%3A"));
    for (method, path, name, status) in [
        ("POST", MAPPINGS, "CreateEventSourceMapping", 202),
        ("GET", MAPPINGS, "ListEventSourceMappings", 200),
        ("GET", "/2015-03-31/event-source-mappings/", "ListEventSourceMappings", 200),
        ("GET", &one, "GetEventSourceMapping", 200),
        ("PUT", &one, "UpdateEventSourceMapping", 202),
        ("DELETE", &one, "DeleteEventSourceMapping", 202),
        ("GET", &tags, "ListTags", 200),
        ("POST", &tags, "TagResource", 204),
        ("DELETE", &tags, "UntagResource", 204),
    ] {
        assert!(owns_path(path));
        let request = Request::decode(method, path, "", br#"{"FunctionName": "f", "Tags": {}}"#);
        let request = request.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert_eq!((request.name(), request.status()), (name, status), "{method} {path}");
    }
}

#[test]
fn other_paths_and_methods_are_no_operations() {
    for (method, path) in [
        ("PATCH", MAPPINGS),
        ("POST", "/2015-03-31/event-source-mappings/a/b"),
        ("GET", "/2017-03-31/tags/"),
        ("PUT", "/2017-03-31/tags/a"),
        ("GET", "/2015-03-31/event-source-mappings/%ff"),
    ] {
        let error = Request::decode(method, path, "", b"{}").expect_err(path);
        assert_eq!(error.kind, LambdaErrorKind::UnknownOperation, "{method} {path}");
    }
    assert!(!owns_path("/2015-03-31/functions/f/invocations"));
    assert!(!owns_path("/2015-03-31/event-source-mappings-of-others"));
}

#[test]
fn members_come_from_the_path_the_query_and_the_body() {
    let path = format!("/2017-03-31/tags/{}", ARN.replace(':', "%3A"));
    let untag = Request::decode("DELETE", &path, "tagKeys=a%20b&tagKeys=c", b"").expect("a request");
    assert_eq!(
        untag,
        Request::UntagResource { resource: ARN.to_owned(), tag_keys: vec!["a b".into(), "c".into()] }
    );
    let list = Request::decode("GET", MAPPINGS, "FunctionName=f%3Alive&MaxItems=7&Marker=m", b"");
    let Ok(Request::ListEventSourceMappings(list)) = list else { panic!("{list:?}") };
    assert_eq!(list.function_name.as_deref(), Some("f:live"));
    assert_eq!((list.max_items, list.marker.as_deref()), (Some(7), Some("m")));
    let update = Request::decode("PUT", &format!("{MAPPINGS}/{UUID}"), "", br#"{"BatchSize": 7}"#);
    let Ok(Request::UpdateEventSourceMapping(update)) = update else { panic!("{update:?}") };
    assert_eq!((update.uuid.as_str(), update.settings.batch_size), (UUID, Some(7)));
}

#[test]
fn broken_constraints_are_reported_together_in_the_words_of_aws() {
    check_refused(
        "{}",
        "1 validation error detected: Value null at 'functionName' failed to satisfy constraint: \
         Member must not be null",
    );
    check_refused(
        r#"{"FunctionName": "f", "BatchSize": 0, "ParallelizationFactor": 11}"#,
        "2 validation errors detected: Value '0' at 'batchSize' failed to satisfy constraint: Member must \
         have value greater than or equal to 1; Value '11' at 'parallelizationFactor' failed to satisfy \
         constraint: Member must have value less than or equal to 10",
    );
    check_refused(
        r#"{"FunctionName": "f", "StartingPosition": "START"}"#,
        "1 validation error detected: Value 'START' at 'startingPosition' failed to satisfy constraint: \
         Member must satisfy enum value set: [TRIM_HORIZON, LATEST, AT_TIMESTAMP]",
    );
    for (member, value) in [
        ("BatchSize", limits::BATCH_SIZE.end() + 1),
        ("MaximumBatchingWindowInSeconds", 301),
        ("MaximumRecordAgeInSeconds", 604_801),
        ("MaximumRecordAgeInSeconds", -2),
        ("MaximumRetryAttempts", 10_001),
        ("TumblingWindowInSeconds", 901),
    ] {
        let body = format!(r#"{{"FunctionName": "f", "{member}": {value}}}"#);
        assert_eq!(create(&body).expect_err(&body).kind, LambdaErrorKind::Validation, "{body}");
    }
    let long = "x".repeat(limits::PATTERN_LENGTH_MAX + 1);
    let body = format!(r#"{{"FunctionName":"f","FilterCriteria":{{"Filters":[{{"Pattern":"{long}"}}]}}}}"#);
    assert_eq!(create(&body).expect_err("a long pattern").kind, LambdaErrorKind::Validation);
}

#[test]
fn a_body_that_is_no_json_of_the_right_types_is_refused() {
    for body in ["{", "[]", r#"{"BatchSize": "ten"}"#, r#"{"Enabled": 1}"#] {
        assert_eq!(create(body).expect_err(body).kind, LambdaErrorKind::Serialization, "{body}");
    }
    let query = Request::decode("GET", MAPPINGS, "MaxItems=many", b"");
    assert_eq!(query.expect_err("a word").kind, LambdaErrorKind::Serialization);
}

#[test]
fn errors_have_both_spellings_of_their_message() {
    let error = LambdaError::mapping_exists("S", "f", "u");
    let body: serde_json::Value = serde_json::from_slice(&error.to_json()).expect("JSON");
    let message = "The event source arn (\" S \") and function (\" f \") provided mapping already exists. \
                   Please update or delete the existing mapping with UUID u";
    assert_eq!(body, serde_json::json!({"Type": "User", "message": message, "Message": message}));
    assert_eq!((error.kind.name(), error.kind.status()), ("ResourceConflictException", 409));
}

#[test]
fn a_function_is_named_in_five_ways() {
    let arn = "arn:aws:lambda:us-east-1:123456789012:function:f";
    for text in ["f", "function:f", "123456789012:function:f", "us-east-1:123456789012:function:f", arn] {
        let name = FunctionName::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((name.name, name.qualifier), ("f", None), "{text}");
        assert_eq!(name.arn("us-east-1", "123456789012"), arn, "{text}");
    }
    for (text, qualifier) in [("f:live", "live"), ("f:$LATEST", "$LATEST"), ("function:f:7", "7")] {
        let name = FunctionName::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((name.name, name.qualifier), ("f", Some(qualifier)), "{text}");
    }
    let local = FunctionName::parse("arn:aws:lambda:local:account:function:f").expect("an ARN");
    assert_eq!((local.region, local.account, local.name), (Some("local"), Some("account"), "f"));
    for text in ["", "a b", "f:", "f:a:b", "arn:aws:s3:::bucket", "f:$OLDEST", "arn:aws:lambda"] {
        assert_eq!(FunctionName::parse(text), None, "{text}");
    }
}
