//! CloudWatch's three protocols: one request, one answer, one error, in each of them.

use api::cloudwatch::{
    Call, Datapoint, GetMetricStatisticsOutput, Operation, Request, Response, StandardUnit, Statistic,
};
use api::{Error, Protocol};
use ciborium::Value as Cbor;
use ciborium::cbor;
use serde_json::json;

const CBOR_PATH: &str = "/service/GraniteServiceVersion20100801/operation/GetMetricStatistics";

fn json_call() -> Call {
    let target = "GraniteServiceVersion20100801.GetMetricStatistics";
    Call::of("/", Some(target), Some("application/x-amz-json-1.0")).expect("JSON")
}

fn cbor_call() -> Call {
    Call::of(CBOR_PATH, None, Some("application/cbor")).expect("CBOR")
}

fn query_call() -> Call {
    Call::of("/", None, Some("application/x-www-form-urlencoded; charset=utf-8")).expect("a form")
}

fn bytes(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).expect("written");
    bytes
}

fn cbor_request() -> Cbor {
    let time = |seconds: i64| Cbor::Tag(1, Box::new(Cbor::Integer(seconds.into())));
    let mut request = cbor!({
        "Namespace" => "AWS/DynamoDB",
        "MetricName" => "ThrottledRequests",
        "Dimensions" => [{"Name" => "TableName", "Value" => "Orders"}],
        "Period" => 300,
        "Statistics" => ["Sum"],
    })
    .expect("CBOR");
    let members = request.as_map_mut().expect("a map");
    members.push((Cbor::Text("StartTime".to_owned()), time(1_794_837_600)));
    members.push((Cbor::Text("EndTime".to_owned()), time(1_794_841_200)));
    request
}

#[test]
fn one_request_reads_alike_in_every_protocol() {
    let json = json!({
        "Namespace": "AWS/DynamoDB",
        "MetricName": "ThrottledRequests",
        "Dimensions": [{"Name": "TableName", "Value": "Orders"}],
        "StartTime": 1_794_837_600,
        "EndTime": 1_794_841_200.0,
        "Period": 300,
        "Statistics": ["Sum"],
    });
    let form = "Action=GetMetricStatistics&Version=2010-08-01&Namespace=AWS%2FDynamoDB&MetricName=ThrottledRequests\
                &Dimensions.member.1.Name=TableName&Dimensions.member.1.Value=Orders\
                &StartTime=2026-11-16T14%3A00%3A00Z&EndTime=2026-11-16T15%3A00%3A00Z&Period=300\
                &Statistics.member.1=Sum";
    let request = json_call().read(json.to_string().as_bytes()).expect("JSON");
    let Request::GetMetricStatistics(input) = &request else { panic!("another operation") };
    assert_eq!(input.statistics, Some(vec![Statistic::Sum]));
    assert_eq!(query_call().read(form.as_bytes()).expect("a form"), request);
    assert_eq!(cbor_call().read(&bytes(&cbor_request())).expect("CBOR"), request);
}

fn answer() -> Response {
    let point = Datapoint {
        timestamp: Some(1_794_837_600.0),
        sum: Some(3.0),
        unit: Some(StandardUnit::Count),
        ..Datapoint::default()
    };
    let label = Some("a < b".to_owned());
    GetMetricStatisticsOutput { label, datapoints: Some(vec![point]) }.into()
}

#[test]
fn an_answer_has_the_form_of_its_request() {
    let operation = Operation::GetMetricStatistics;
    let text = |call: Call| String::from_utf8(call.answer(operation, &answer(), "id").bytes).expect("text");
    assert_eq!(
        text(json_call()),
        r#"{"Datapoints":[{"Sum":3.0,"Timestamp":1794837600,"Unit":"Count"}],"Label":"a < b"}"#
    );
    assert_eq!(
        text(query_call()),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
         <GetMetricStatisticsResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">\
         <GetMetricStatisticsResult><Datapoints><member><Sum>3.0</Sum><Timestamp>2026-11-16T14:00:00Z</Timestamp>\
         <Unit>Count</Unit></member></Datapoints><Label>a &lt; b</Label></GetMetricStatisticsResult>\
         <ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></GetMetricStatisticsResponse>"
    );
    let body = cbor_call().answer(operation, &answer(), "id");
    assert!(body.headers.contains(&("smithy-protocol", "rpc-v2-cbor".to_owned())));
    let cbor: Cbor = ciborium::from_reader(body.bytes.as_slice()).expect("CBOR");
    let point = &cbor.as_map().expect("a map")[0].1.as_array().expect("a list")[0];
    let time = Cbor::Tag(1, Box::new(Cbor::Float(1_794_837_600.0)));
    assert_eq!(point.as_map().expect("a map")[1], (Cbor::Text("Timestamp".to_owned()), time));
}

#[test]
fn an_operation_without_output_has_no_result() {
    let operation = Operation::DeleteAlarms;
    let xml = query_call().answer(operation, &Response::DeleteAlarms, "id").bytes;
    assert!(!String::from_utf8(xml).expect("text").contains("Result"));
    assert_eq!(cbor_call().answer(operation, &Response::DeleteAlarms, "id").bytes, [0xa0]);
    assert!(json_call().answer(operation, &Response::DeleteAlarms, "id").bytes.is_empty());
}

#[test]
fn errors_carry_the_name_that_the_query_protocol_gave_them() {
    let error = Error::too_many_points(86_400, 1440);
    for call in [json_call(), cbor_call()] {
        let body = call.refusal(&error, "id");
        let header = ("x-amzn-query-error", "InvalidParameterCombination;Sender".to_owned());
        assert!(body.headers.contains(&header), "{:?}", call.protocol());
    }
    let json = String::from_utf8(json_call().refusal(&error, "id").bytes).expect("text");
    assert!(
        json.contains(
            r#""__type":"com.amazonaws.cloudwatch.v2010_08_01#InvalidParameterCombinationException""#
        )
    );
    let xml = String::from_utf8(query_call().refusal(&error, "id").bytes).expect("text");
    assert!(xml.contains("<Type>Sender</Type><Code>InvalidParameterCombination</Code><Message>You have"));
}

#[test]
fn malformed_cbor_is_a_serialization_exception() {
    let deep: Vec<u8> = std::iter::repeat_n(0x81, 100_000).chain([0x01]).collect();
    let map = bytes(&cbor_request());
    for body in [
        &b"\xff"[..],
        b"{}",
        b"\x01",
        b"\xa1\x01\x02",
        b"\xbf\x63abc",
        b"\x9f",
        b"\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00",
        &map[..map.len() - 1],
        &[&map[..], b"\x00"].concat(),
        &deep,
        // A list that says that it is very long.
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let error = cbor_call().read(body).expect_err("refused");
        assert_eq!(error.kind.name(), "SerializationException");
    }
}

#[test]
fn forms_with_wrong_types_or_endless_paths_are_refused() {
    let read = |form: &str| query_call().read(form.as_bytes()).map_err(|error| error.kind.query_code());
    assert_eq!(read("Action=DescribeAlarms&MaxRecords=many"), Err("MalformedInput"));
    assert_eq!(read("Action=DescribeAlarms&MaxRecords=0"), Err("ValidationError"));
    assert_eq!(read("Action=PutDashboard"), Err("InvalidAction"));
    assert_eq!(read(""), Err("MissingParameter"));
    assert!(read(&format!("Action=DescribeAlarms&a{}=1", ".a".repeat(100_000))).is_ok());
}

#[test]
fn other_requests_are_not_cloudwatchs() {
    assert_eq!(Call::of("/", Some("DynamoDB_20120810.GetItem"), Some("application/x-amz-json-1.0")), None);
    assert_eq!(Call::of("/", None, Some("application/json")), None);
    assert_eq!(Call::of("/", None, None), None);
    assert_eq!(query_call().protocol(), Protocol::Query);
}
