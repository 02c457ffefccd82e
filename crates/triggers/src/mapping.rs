//! An event source mapping: what it says, which rules it obeys, and how requests change it.
//!
//! A mapping is stored with every setting filled in, so that a later change of a default does not change it.
//! Which state it is in, and what its last delivery came to, is the service's to know.

use std::time::Duration;

use api::lambda::{
    CreateEventSourceMappingRequest, Destination, DestinationConfig, EventSourceMappingConfiguration,
    FilterCriteria, FunctionName, LambdaError, Settings, Tags, UpdateEventSourceMappingRequest, limits,
};
use api::streams::StreamArn;
use api::streams::limits::RECORD_LIFETIME;
use serde::{Deserialize, Serialize};

use crate::destination::Destinations;
use crate::filter::Filters;
use crate::function::Functions;
use crate::outside::Namespace;

/// A mapping as its row has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    pub uuid: String,
    pub namespace: Namespace,
    pub stream_arn: String,
    /// With its version or alias.
    pub function_arn: String,
    /// The name alone, by which the function is configured.
    pub function_name: String,
    pub starting_position: StartingPosition,
    pub created_ms: u64,
    pub last_modified_ms: u64,
    pub enabled: bool,
    /// Every setting that has a default is there.
    pub settings: Settings,
    pub tags: Tags,
}

/// Where a mapping begins to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StartingPosition {
    TrimHorizon,
    /// The time of the create call.
    Latest,
}

/// What a mapping is doing, in Lambda's words.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Creating,
    Enabling,
    Enabled,
    Disabling,
    Disabled,
    Updating,
    Deleting,
}

/// How records of a mapping are delivered: its settings, checked and in the units of the code.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub uuid: String,
    pub stream_arn: String,
    pub function_arn: String,
    pub batch_size: usize,
    pub batching_window_ms: u64,
    /// Batches of one shard that are delivered at the same time.
    pub lanes: usize,
    /// Older records are given up.
    pub record_age_ms_max: u64,
    /// `None`: until the record is too old.
    pub retries_max: Option<u32>,
    pub bisects: bool,
    pub reports_item_failures: bool,
    pub tumbling_window_ms: Option<u64>,
    pub filters: Filters,
    pub backoff: Backoff,
}

/// The pause before a batch is tried again: it doubles from the first to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Backoff {
    /// AWS does not publish its own.
    fn default() -> Backoff {
        Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The pause after this many failures in a row.
    pub fn pause_ms(&self, failures: u32) -> u64 {
        let doublings = failures.saturating_sub(1).min(20);
        let pause = self.first.saturating_mul(1 << doublings).min(self.longest);
        pause.as_millis() as u64
    }
}

/// What a mapping can name: the functions and destinations that the server was started with.
pub struct Resources<'r> {
    pub functions: &'r Functions,
    pub destinations: &'r Destinations,
}

impl Mapping {
    /// The mapping that a create request asks for. Whether its stream exists, and whether the mapping is there
    /// already, is checked by the service.
    pub fn create(
        request: CreateEventSourceMappingRequest,
        namespace: &Namespace,
        resources: &Resources<'_>,
        uuid: String,
        now_ms: u64,
    ) -> Result<Mapping, LambdaError> {
        let stream_arn =
            request.event_source_arn.ok_or_else(|| LambdaError::member_missing("eventSourceArn"))?;
        check_stream_arn(&stream_arn, namespace)?;
        let starting_position = starting_position(request.starting_position.as_deref())?;
        let settings = with_defaults(merge(Settings::default(), request.settings));
        check_settings(&settings, resources.destinations)?;
        let tags = request.tags.unwrap_or_default();
        check_tags(&tags)?;
        let name = request.function_name.unwrap_or_default();
        let (function_arn, function_name) = resolve_function(&name, namespace, resources.functions)?;
        Ok(Mapping {
            uuid,
            namespace: namespace.clone(),
            stream_arn,
            function_arn,
            function_name,
            starting_position,
            created_ms: now_ms,
            last_modified_ms: now_ms,
            enabled: request.enabled.unwrap_or(true),
            settings,
            tags,
        })
    }

    /// The mapping as an update request leaves it. Absent members stay as they are.
    pub fn update(
        &self,
        request: UpdateEventSourceMappingRequest,
        resources: &Resources<'_>,
        now_ms: u64,
    ) -> Result<Mapping, LambdaError> {
        let mut mapping = self.clone();
        mapping.settings = with_defaults(merge(mapping.settings, request.settings));
        check_settings(&mapping.settings, resources.destinations)?;
        if let Some(name) = &request.function_name {
            (mapping.function_arn, mapping.function_name) =
                resolve_function(name, &self.namespace, resources.functions)?;
        }
        mapping.enabled = request.enabled.unwrap_or(self.enabled);
        mapping.last_modified_ms = now_ms;
        Ok(mapping)
    }

    /// Adds tags, or replaces their values.
    pub fn tag(&self, tags: Tags) -> Result<Mapping, LambdaError> {
        let mut mapping = self.clone();
        mapping.tags.extend(tags);
        check_tags(&mapping.tags)?;
        Ok(mapping)
    }

    /// `arn:aws:lambda:region:account:event-source-mapping:uuid`
    pub fn arn(&self) -> String {
        let Namespace { account, region } = &self.namespace;
        format!("arn:aws:lambda:{region}:{account}:event-source-mapping:{}", self.uuid)
    }

    /// The mapping as operations answer with it.
    pub fn describe(&self, state: State, last_result: &str) -> EventSourceMappingConfiguration {
        EventSourceMappingConfiguration {
            uuid: self.uuid.clone(),
            event_source_mapping_arn: self.arn(),
            event_source_arn: self.stream_arn.clone(),
            function_arn: self.function_arn.clone(),
            starting_position: self.starting_position.as_str().to_owned(),
            settings: self.settings.clone(),
            last_modified: self.last_modified_ms as f64 / 1000.0,
            last_processing_result: last_result.to_owned(),
            state: state.as_str().to_owned(),
            state_transition_reason: "User action".to_owned(),
        }
    }

    /// The settings as delivery uses them. The error is that of a pattern that can't be read.
    pub fn delivery(&self, backoff: Backoff) -> Result<Delivery, LambdaError> {
        let settings = &self.settings;
        let lifetime_ms = RECORD_LIFETIME.as_millis() as u64;
        Ok(Delivery {
            uuid: self.uuid.clone(),
            stream_arn: self.stream_arn.clone(),
            function_arn: self.function_arn.clone(),
            batch_size: number(settings.batch_size, 1) as usize,
            batching_window_ms: number(settings.maximum_batching_window_in_seconds, 0) * 1000,
            lanes: number(settings.parallelization_factor, 1) as usize,
            record_age_ms_max: limit(settings.maximum_record_age_in_seconds)
                .map_or(lifetime_ms, |seconds| (seconds * 1000).min(lifetime_ms)),
            retries_max: limit(settings.maximum_retry_attempts).map(|retries| retries as u32),
            bisects: settings.bisect_batch_on_function_error == Some(true),
            reports_item_failures: settings.function_response_types.as_ref().is_some_and(|t| !t.is_empty()),
            tumbling_window_ms: Some(number(settings.tumbling_window_in_seconds, 0) * 1000)
                .filter(|length| *length > 0),
            filters: parse_filters(settings.filter_criteria.as_ref())?,
            backoff,
        })
    }

    /// Where failed batches are reported.
    pub fn failure_destination(&self) -> Option<&str> {
        let config = self.settings.destination_config.as_ref()?;
        config.on_failure.as_ref()?.destination.as_deref()
    }
}

impl StartingPosition {
    /// Lambda's name for the position.
    pub fn as_str(self) -> &'static str {
        match self {
            StartingPosition::TrimHorizon => "TRIM_HORIZON",
            StartingPosition::Latest => "LATEST",
        }
    }
}

impl State {
    /// Lambda's name for the state.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Creating => "Creating",
            State::Enabling => "Enabling",
            State::Enabled => "Enabled",
            State::Disabling => "Disabling",
            State::Disabled => "Disabled",
            State::Updating => "Updating",
            State::Deleting => "Deleting",
        }
    }

    /// The mapping takes no change in the other states.
    pub fn is_settled(self) -> bool {
        matches!(self, State::Enabled | State::Disabled)
    }
}

fn number(value: Option<i64>, default: u64) -> u64 {
    value.and_then(|value| u64::try_from(value).ok()).unwrap_or(default)
}

/// A limit; -1 means that there is none.
fn limit(value: Option<i64>) -> Option<u64> {
    value.and_then(|value| u64::try_from(value).ok())
}

fn check_stream_arn(arn: &str, namespace: &Namespace) -> Result<(), LambdaError> {
    let stream = StreamArn::parse(arn);
    let stream = stream.ok_or_else(|| LambdaError::invalid_parameter_value("Unrecognized event source."))?;
    let is_ours = stream
        .table
        .home
        .is_some_and(|home| (home.region, home.account) == (&*namespace.region, &*namespace.account));
    if is_ours { Ok(()) } else { Err(LambdaError::stream_not_found(arn)) }
}

fn starting_position(name: Option<&str>) -> Result<StartingPosition, LambdaError> {
    match name {
        None => Err(LambdaError::member_missing("startingPosition")),
        Some("TRIM_HORIZON") => Ok(StartingPosition::TrimHorizon),
        Some("LATEST") => Ok(StartingPosition::Latest),
        Some(other) => Err(LambdaError::invalid_parameter_value(format!(
            "Unsupported starting position for stream type: {other}"
        ))),
    }
}

/// The function's ARN and its name alone.
fn resolve_function(
    text: &str,
    namespace: &Namespace,
    functions: &Functions,
) -> Result<(String, String), LambdaError> {
    let name = FunctionName::parse(text).ok_or_else(|| LambdaError::function_not_found(text))?;
    let is_ours = name.region.is_none_or(|region| region == &*namespace.region)
        && name.account.is_none_or(|account| account == &*namespace.account);
    if !is_ours {
        return Err(LambdaError::function_elsewhere(&name));
    }
    let arn = name.arn(&namespace.region, &namespace.account);
    match functions.get(name.name) {
        Some(_) => Ok((arn, name.name.to_owned())),
        None => Err(LambdaError::function_not_found(arn)),
    }
}

/// The settings with those of a request put over them. An empty filter, destination or key removes it.
fn merge(settings: Settings, request: Settings) -> Settings {
    Settings {
        batch_size: request.batch_size.or(settings.batch_size),
        maximum_batching_window_in_seconds: request
            .maximum_batching_window_in_seconds
            .or(settings.maximum_batching_window_in_seconds),
        parallelization_factor: request.parallelization_factor.or(settings.parallelization_factor),
        maximum_record_age_in_seconds: request
            .maximum_record_age_in_seconds
            .or(settings.maximum_record_age_in_seconds),
        maximum_retry_attempts: request.maximum_retry_attempts.or(settings.maximum_retry_attempts),
        bisect_batch_on_function_error: request
            .bisect_batch_on_function_error
            .or(settings.bisect_batch_on_function_error),
        tumbling_window_in_seconds: request
            .tumbling_window_in_seconds
            .or(settings.tumbling_window_in_seconds),
        function_response_types: request.function_response_types.or(settings.function_response_types),
        filter_criteria: request
            .filter_criteria
            .or(settings.filter_criteria)
            .filter(|criteria| criteria.filters.as_ref().is_some_and(|filters| !filters.is_empty())),
        destination_config: request.destination_config.or(settings.destination_config).map(without_empty),
        metrics_config: request.metrics_config.or(settings.metrics_config),
        logging_config: request.logging_config.or(settings.logging_config),
        kms_key_arn: request.kms_key_arn.or(settings.kms_key_arn).filter(|arn| !arn.is_empty()),
    }
}

fn without_empty(config: DestinationConfig) -> DestinationConfig {
    let clean = |target: Option<Destination>| {
        let destination = target.and_then(|target| target.destination).filter(|arn| !arn.is_empty());
        destination.map(|arn| Destination { destination: Some(arn) })
    };
    DestinationConfig { on_success: clean(config.on_success), on_failure: clean(config.on_failure) }
}

/// Answers always have these members: tools compare every one of them with what they asked for.
fn with_defaults(settings: Settings) -> Settings {
    let destinations = settings.destination_config.unwrap_or_default();
    Settings {
        batch_size: settings.batch_size.or(Some(100)),
        maximum_batching_window_in_seconds: settings.maximum_batching_window_in_seconds.or(Some(0)),
        parallelization_factor: settings.parallelization_factor.or(Some(1)),
        maximum_record_age_in_seconds: settings.maximum_record_age_in_seconds.or(Some(-1)),
        maximum_retry_attempts: settings.maximum_retry_attempts.or(Some(-1)),
        bisect_batch_on_function_error: settings.bisect_batch_on_function_error.or(Some(false)),
        tumbling_window_in_seconds: settings.tumbling_window_in_seconds.or(Some(0)),
        function_response_types: settings.function_response_types.or(Some(Vec::new())),
        destination_config: Some(DestinationConfig {
            on_failure: destinations.on_failure.or(Some(Destination::default())),
            on_success: destinations.on_success,
        }),
        ..settings
    }
}

fn check_settings(settings: &Settings, destinations: &Destinations) -> Result<(), LambdaError> {
    let refused = |message: &str| Err(LambdaError::invalid_parameter_value(message));
    parse_filters(settings.filter_criteria.as_ref())?;
    if settings
        .maximum_record_age_in_seconds
        .is_some_and(|age| (0..limits::RECORD_AGE_SECONDS_MIN).contains(&age))
    {
        return refused("MaximumRecordAgeInSeconds must be -1 or between 60 and 604800.");
    }
    let has_window = settings.tumbling_window_in_seconds.is_some_and(|seconds| seconds > 0);
    if has_window && settings.parallelization_factor.is_some_and(|factor| factor > 1) {
        return refused(
            "TumblingWindowInSeconds cannot be used with a ParallelizationFactor greater than 1.",
        );
    }
    let Some(config) = &settings.destination_config else { return Ok(()) };
    if config.on_success.is_some() {
        return refused("OnSuccess destinations are not supported for event source mappings.");
    }
    match config.on_failure.as_ref().and_then(|target| target.destination.as_deref()) {
        Some(arn) => {
            destinations.check(arn).map_err(|error| LambdaError::invalid_parameter_value(error.to_string()))
        }
        None => Ok(()),
    }
}

fn check_tags(tags: &Tags) -> Result<(), LambdaError> {
    match tags.len() > limits::TAGS_MAX {
        true => Err(LambdaError::invalid_parameter_value(format!(
            "A resource can have at most {} tags.",
            limits::TAGS_MAX
        ))),
        false => Ok(()),
    }
}

fn parse_filters(criteria: Option<&FilterCriteria>) -> Result<Filters, LambdaError> {
    let filters = criteria.and_then(|criteria| criteria.filters.as_deref()).unwrap_or_default();
    if filters.len() > limits::FILTERS_MAX {
        return Err(LambdaError::invalid_parameter_value(format!(
            "An event source mapping can have at most {} filters.",
            limits::FILTERS_MAX
        )));
    }
    let patterns = filters.iter().map(|filter| filter.pattern.as_deref().unwrap_or_default());
    Filters::parse(patterns).map_err(|_| LambdaError::filter_pattern_invalid())
}
