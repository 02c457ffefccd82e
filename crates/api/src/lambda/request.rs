//! A request, put together from method, path, query and body.

use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::check::check_tags;
use super::{
    CreateEventSourceMappingRequest, LambdaError, LambdaErrorKind, ListEventSourceMappingsRequest, TagList,
    Tags, UpdateEventSourceMappingRequest,
};

const MAPPINGS_PATH: &str = "/2015-03-31/event-source-mappings";
const TAGS_PATH: &str = "/2017-03-31/tags/";

/// A request whose JSON types and constraints are right.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "operations and members are named by the service")]
pub enum Request {
    CreateEventSourceMapping(Box<CreateEventSourceMappingRequest>),
    GetEventSourceMapping { uuid: String },
    ListEventSourceMappings(ListEventSourceMappingsRequest),
    UpdateEventSourceMapping(Box<UpdateEventSourceMappingRequest>),
    DeleteEventSourceMapping { uuid: String },
    ListTags { resource: String },
    TagResource { resource: String, tags: Tags },
    UntagResource { resource: String, tag_keys: Vec<String> },
}

/// Whether a path belongs to the operations of this module.
pub fn owns_path(path: &str) -> bool {
    path.starts_with(TAGS_PATH)
        || path.strip_prefix(MAPPINGS_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Request {
    /// Reads a request. A path or method of no operation, a wrong JSON type and a broken constraint are errors.
    pub fn decode(method: &str, path: &str, query: &str, body: &[u8]) -> Result<Request, LambdaError> {
        if let Some(resource) = path.strip_prefix(TAGS_PATH) {
            return decode_tags(method, segment(resource)?, query, body);
        }
        let rest = path.strip_prefix(MAPPINGS_PATH).ok_or_else(LambdaError::unknown_operation)?;
        // The AWS CLI of some years sends a slash behind the collection's path.
        match rest.strip_prefix('/').filter(|uuid| !uuid.is_empty()) {
            Some(uuid) => decode_one(method, segment(uuid)?, body),
            None => decode_all(method, query, body),
        }
    }

    /// The operation's name.
    pub fn name(&self) -> &'static str {
        match self {
            Request::CreateEventSourceMapping(_) => "CreateEventSourceMapping",
            Request::GetEventSourceMapping { .. } => "GetEventSourceMapping",
            Request::ListEventSourceMappings(_) => "ListEventSourceMappings",
            Request::UpdateEventSourceMapping(_) => "UpdateEventSourceMapping",
            Request::DeleteEventSourceMapping { .. } => "DeleteEventSourceMapping",
            Request::ListTags { .. } => "ListTags",
            Request::TagResource { .. } => "TagResource",
            Request::UntagResource { .. } => "UntagResource",
        }
    }

    /// The HTTP status of an answer that is no error.
    pub fn status(&self) -> u16 {
        match self {
            Request::CreateEventSourceMapping(_)
            | Request::UpdateEventSourceMapping(_)
            | Request::DeleteEventSourceMapping { .. } => 202,
            Request::TagResource { .. } | Request::UntagResource { .. } => 204,
            _ => 200,
        }
    }
}

/// Operations on the collection of mappings.
fn decode_all(method: &str, query: &str, body: &[u8]) -> Result<Request, LambdaError> {
    match method {
        "POST" => {
            let input: CreateEventSourceMappingRequest = json(body)?;
            input.check()?;
            Ok(Request::CreateEventSourceMapping(Box::new(input)))
        }
        "GET" => {
            let input = list_input(query)?;
            input.check()?;
            Ok(Request::ListEventSourceMappings(input))
        }
        _ => Err(LambdaError::unknown_operation()),
    }
}

/// Operations on one mapping.
fn decode_one(method: &str, uuid: String, body: &[u8]) -> Result<Request, LambdaError> {
    match method {
        "GET" => Ok(Request::GetEventSourceMapping { uuid }),
        "DELETE" => Ok(Request::DeleteEventSourceMapping { uuid }),
        "PUT" => {
            let input = UpdateEventSourceMappingRequest { uuid, ..json(body)? };
            input.check()?;
            Ok(Request::UpdateEventSourceMapping(Box::new(input)))
        }
        _ => Err(LambdaError::unknown_operation()),
    }
}

fn decode_tags(method: &str, resource: String, query: &str, body: &[u8]) -> Result<Request, LambdaError> {
    match method {
        "GET" => Ok(Request::ListTags { resource }),
        "POST" => {
            let tags = json::<TagList>(body)?.tags.ok_or_else(|| LambdaError::member_missing("tags"))?;
            check_tags(&tags)?;
            Ok(Request::TagResource { resource, tags })
        }
        "DELETE" => {
            let keys = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "tagKeys");
            Ok(Request::UntagResource { resource, tag_keys: keys.map(|(_, key)| key.into_owned()).collect() })
        }
        _ => Err(LambdaError::unknown_operation()),
    }
}

fn list_input(query: &str) -> Result<ListEventSourceMappingsRequest, LambdaError> {
    let mut input = ListEventSourceMappingsRequest::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match &*name {
            "EventSourceArn" => input.event_source_arn = Some(value.into_owned()),
            "FunctionName" => input.function_name = Some(value.into_owned()),
            "Marker" => input.marker = Some(value.into_owned()),
            "MaxItems" => {
                let refusal =
                    || LambdaError::new(LambdaErrorKind::Serialization, format!("{value} is not an Integer"));
                input.max_items = Some(value.parse().map_err(|_| refusal())?);
            }
            _ => {}
        }
    }
    Ok(input)
}

/// One segment of a path. The slashes of an ARN inside it are percent-encoded.
fn segment(text: &str) -> Result<String, LambdaError> {
    if text.is_empty() || text.contains('/') {
        return Err(LambdaError::unknown_operation());
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| LambdaError::unknown_operation())?;
    Ok(decoded.into_owned())
}

fn json<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, LambdaError> {
    if body.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(body)
        .map_err(|error| LambdaError::new(LambdaErrorKind::Serialization, error.to_string()))
}
