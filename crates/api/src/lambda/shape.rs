//! The shapes of the operations, as JSON has them.

#![allow(missing_docs, reason = "members are named by the service")]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The names and values of tags.
pub type Tags = BTreeMap<String, String>;

/// The input of CreateEventSourceMapping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CreateEventSourceMappingRequest {
    pub function_name: Option<String>,
    pub event_source_arn: Option<String>,
    pub starting_position: Option<String>,
    pub enabled: Option<bool>,
    #[serde(flatten)]
    pub settings: Settings,
    pub tags: Option<Tags>,
}

/// The input of UpdateEventSourceMapping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateEventSourceMappingRequest {
    /// From the path.
    #[serde(skip)]
    pub uuid: String,
    pub function_name: Option<String>,
    pub enabled: Option<bool>,
    #[serde(flatten)]
    pub settings: Settings,
}

/// What create and update both set and every answer shows. An absent member takes its default on create and
/// stays as it is on update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_batching_window_in_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelization_factor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_record_age_in_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_retry_attempts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bisect_batch_on_function_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tumbling_window_in_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_response_types: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_criteria: Option<FilterCriteria>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_config: Option<DestinationConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_config: Option<MetricsConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging_config: Option<LoggingConfig>,
    #[serde(rename = "KMSKeyArn", skip_serializing_if = "Option::is_none")]
    pub kms_key_arn: Option<String>,
}

/// Which records a function gets: those that one of the filters lets pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct FilterCriteria {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filters: Option<Vec<Filter>>,
}

/// One filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Filter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// Where what happened to a batch is reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DestinationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_success: Option<Destination>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<Destination>,
}

/// A queue, topic or bucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Destination {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
}

/// Which metrics a mapping has beside those of its function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MetricsConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Vec<String>>,
}

/// How much a mapping logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LoggingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_log_level: Option<String>,
}

/// A mapping as every operation on it answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EventSourceMappingConfiguration {
    #[serde(rename = "UUID")]
    pub uuid: String,
    pub event_source_mapping_arn: String,
    pub event_source_arn: String,
    pub function_arn: String,
    pub starting_position: String,
    #[serde(flatten)]
    pub settings: Settings,
    /// Seconds since 1970.
    pub last_modified: f64,
    pub last_processing_result: String,
    pub state: String,
    pub state_transition_reason: String,
}

/// The input of ListEventSourceMappings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListEventSourceMappingsRequest {
    pub event_source_arn: Option<String>,
    pub function_name: Option<String>,
    pub marker: Option<String>,
    pub max_items: Option<i64>,
}

/// The output of ListEventSourceMappings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ListEventSourceMappingsResponse {
    pub event_source_mappings: Vec<EventSourceMappingConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_marker: Option<String>,
}

/// The input of TagResource and the output of ListTags.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TagList {
    pub tags: Option<Tags>,
}
