//! A request to CloudWatch in one of the three protocols that it speaks, and the answer in the same one.
//!
//! | protocol | the operation is in | errors |
//! |---|---|---|
//! | JSON 1.0 | `X-Amz-Target` | JSON, and the query protocol's name in `x-amzn-query-error` |
//! | RPC v2 CBOR | the path | CBOR, and the same header |
//! | query | the form's `Action` | XML |

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{Operation, Request, Response, generated::schema, limits};
use crate::protocol::{cbor, query};
use crate::{Error, ErrorKind, Protocol, Service};

const CBOR_PATH: &str = "/service/GraniteServiceVersion20100801/operation/";
const FORM: &str = "application/x-www-form-urlencoded";
const XML_NAMESPACE: &str = "http://monitoring.amazonaws.com/doc/2010-08-01/";

/// How a request was sent, and so how it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    protocol: Protocol,
    /// As the head names it; a form names it in its body.
    operation: Option<String>,
}

/// An answer: its bytes and the headers that belong to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// What is sent.
    pub bytes: Vec<u8>,
    /// Names and values.
    pub headers: Vec<(&'static str, String)>,
}

impl Call {
    /// What the head of a POST says; none if it isn't one of CloudWatch's protocols. A form may be for another
    /// service that takes forms: the signature tells them apart.
    pub fn of(path: &str, target: Option<&str>, content_type: Option<&str>) -> Option<Call> {
        if let Some(operation) = path.strip_prefix(CBOR_PATH) {
            return Some(Call { protocol: Protocol::RpcV2Cbor, operation: Some(operation.to_owned()) });
        }
        if let Some((prefix, operation)) = target.and_then(|target| target.split_once('.')) {
            let is_ours = Some(prefix) == Service::CloudWatch.target_prefix();
            return is_ours
                .then(|| Call { protocol: Protocol::Json10, operation: Some(operation.to_owned()) });
        }
        let media_type = content_type?.split(';').next()?.trim();
        let is_form = media_type.eq_ignore_ascii_case(FORM);
        is_form.then_some(Call { protocol: Protocol::Query, operation: None })
    }

    /// For answers to requests that name no protocol.
    pub fn json() -> Call {
        Call { protocol: Protocol::Json10, operation: None }
    }

    /// The protocol of the request and its answer.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Reads the request and applies the rules that need no metric and no alarm.
    pub fn read(&self, body: &[u8]) -> Result<Request, Error> {
        if body.len() > limits::BODY_BYTES_MAX {
            return Err(Error::body_too_large());
        }
        let (operation, json) = match self.protocol {
            Protocol::Query => {
                let form = query::Form::read(body);
                let operation = find(form.text("Action").ok_or_else(|| Error::missing_parameter("Action"))?)?;
                (operation, to_bytes(&form.to_json(schema::input(operation))))
            }
            Protocol::RpcV2Cbor => {
                let operation = self.named_operation()?;
                let json = cbor::to_json(body).ok_or_else(unreadable)?;
                (operation, to_bytes(&json))
            }
            _ => (self.named_operation()?, Cow::Borrowed(body)),
        };
        let request = Request::decode(operation, &json)?;
        request.check()?;
        Ok(request)
    }

    /// The answer to a request that succeeded.
    pub fn answer(&self, operation: Operation, response: &Response, request_id: &str) -> Body {
        let mut json = Vec::new();
        response.write_json(&mut json);
        let shape = schema::output(operation);
        let bytes = match self.protocol {
            Protocol::Query => xml_answer(operation, &parsed(&json), request_id),
            Protocol::RpcV2Cbor => cbor::from_json(&parsed(&json), shape),
            _ => json,
        };
        self.body(bytes)
    }

    /// The answer to a request that failed.
    pub fn refusal(&self, error: &Error, request_id: &str) -> Body {
        let mut json = Vec::new();
        error.write_json(Service::CloudWatch, &mut json);
        let bytes = match self.protocol {
            Protocol::Query => xml_error(error, request_id),
            Protocol::RpcV2Cbor => cbor::from_json(&parsed(&json), None),
            _ => json,
        };
        let mut body = self.body(bytes);
        if self.protocol != Protocol::Query {
            let side = side(error.kind);
            body.headers.push(("x-amzn-query-error", format!("{};{side}", error.kind.query_code())));
        }
        body
    }

    fn body(&self, bytes: Vec<u8>) -> Body {
        let content_type = match self.protocol {
            Protocol::Query => "text/xml",
            Protocol::RpcV2Cbor => "application/cbor",
            _ => "application/x-amz-json-1.0",
        };
        let mut headers = vec![("content-type", content_type.to_owned())];
        if self.protocol == Protocol::RpcV2Cbor {
            // Go's SDK refuses an answer without it.
            headers.push(("smithy-protocol", "rpc-v2-cbor".to_owned()));
        }
        Body { bytes, headers }
    }

    fn named_operation(&self) -> Result<Operation, Error> {
        find(self.operation.as_deref().unwrap_or_default())
    }
}

fn find(name: &str) -> Result<Operation, Error> {
    Operation::from_target_name(name).ok_or_else(Error::operation_not_served)
}

fn unreadable() -> Error {
    Error::new(ErrorKind::Serialization, "The request's body is not CBOR that can be read")
}

fn to_bytes(json: &Json) -> Cow<'static, [u8]> {
    Cow::Owned(serde_json::to_vec(json).expect("JSON can be printed"))
}

/// What the encoders printed. An operation without output prints nothing.
fn parsed(json: &[u8]) -> Json {
    serde_json::from_slice(json).unwrap_or_else(|_| Json::Object(serde_json::Map::new()))
}

fn xml_answer(operation: Operation, json: &Json, request_id: &str) -> Vec<u8> {
    let name = operation.name();
    let mut xml = query::Xml::new();
    xml.element(&format!("{name}Response"), &[("xmlns", XML_NAMESPACE)], |xml| {
        if let (Some(shape), Json::Object(members)) = (schema::output(operation), json) {
            xml.element(&format!("{name}Result"), &[], |xml| xml.members(members, shape));
        }
        xml.element("ResponseMetadata", &[], |xml| xml.text("RequestId", request_id));
    });
    xml.finish()
}

fn xml_error(error: &Error, request_id: &str) -> Vec<u8> {
    let mut xml = query::Xml::new();
    xml.element("ErrorResponse", &[("xmlns", XML_NAMESPACE)], |xml| {
        xml.element("Error", &[], |xml| {
            xml.text("Type", side(error.kind));
            xml.text("Code", error.kind.query_code());
            xml.text("Message", &error.message);
        });
        xml.text("RequestId", request_id);
    });
    xml.finish()
}

fn side(kind: ErrorKind) -> &'static str {
    if kind.is_fault_of_service() { "Receiver" } else { "Sender" }
}
