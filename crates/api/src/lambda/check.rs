//! The constraints that the service's model sets on members. All that a request breaks are reported together.

use std::ops::RangeInclusive;

use super::{
    CreateEventSourceMappingRequest, FunctionName, LambdaError, LambdaErrorKind,
    ListEventSourceMappingsRequest, Settings, Tags, UpdateEventSourceMappingRequest, function_name, limits,
};
use crate::Constraint;
use crate::violation::Violation;

/// Constraints that a request breaks.
#[derive(Default)]
struct Broken(Vec<String>);

impl Broken {
    fn note(&mut self, member: &str, value: impl ToString, constraint: Constraint) {
        self.0.push(Violation::of_value(member, value, constraint).to_string());
    }

    fn range(&mut self, member: &str, value: Option<i64>, range: RangeInclusive<i64>) {
        match value {
            Some(value) if value < *range.start() => {
                self.note(member, value, Constraint::ValueMin(*range.start()));
            }
            Some(value) if value > *range.end() => {
                self.note(member, value, Constraint::ValueMax(*range.end()));
            }
            _ => {}
        }
    }

    fn length(&mut self, member: &str, text: &str, range: RangeInclusive<usize>) {
        let length = text.chars().count();
        if length < *range.start() {
            self.note(member, text, Constraint::LengthMin(*range.start()));
        } else if length > *range.end() {
            self.note(member, text, Constraint::LengthMax(*range.end()));
        }
    }

    fn one_of(&mut self, member: &str, text: Option<&String>, values: &[&str], listed: &'static str) {
        if let Some(text) = text.filter(|text| !values.contains(&text.as_str())) {
            self.note(member, text, Constraint::OneOf(listed));
        }
    }

    fn function_name(&mut self, name: Option<&String>) {
        let Some(name) = name else { return };
        if FunctionName::parse(name).is_none() {
            self.note("functionName", name, Constraint::Pattern(function_name::PATTERN));
        }
        self.length("functionName", name, 1..=limits::FUNCTION_NAME_LENGTH_MAX);
    }

    fn settings(&mut self, settings: &Settings) {
        self.range("batchSize", settings.batch_size, limits::BATCH_SIZE);
        self.range(
            "maximumBatchingWindowInSeconds",
            settings.maximum_batching_window_in_seconds,
            limits::BATCHING_WINDOW_SECONDS,
        );
        self.range("parallelizationFactor", settings.parallelization_factor, limits::PARALLELIZATION_FACTOR);
        self.range(
            "maximumRecordAgeInSeconds",
            settings.maximum_record_age_in_seconds,
            limits::RECORD_AGE_SECONDS,
        );
        self.range("maximumRetryAttempts", settings.maximum_retry_attempts, limits::RETRY_ATTEMPTS);
        self.range(
            "tumblingWindowInSeconds",
            settings.tumbling_window_in_seconds,
            limits::TUMBLING_WINDOW_SECONDS,
        );
        self.lists(settings);
    }

    fn lists(&mut self, settings: &Settings) {
        const RESPONSE_TYPE: &str = "ReportBatchItemFailures";
        for kind in settings.function_response_types.iter().flatten() {
            self.one_of("functionResponseTypes", Some(kind), &[RESPONSE_TYPE], RESPONSE_TYPE);
        }
        if let Some(kinds) = settings.function_response_types.as_ref().filter(|kinds| kinds.len() > 1) {
            self.note("functionResponseTypes", format!("{kinds:?}"), Constraint::LengthMax(1));
        }
        let metrics = settings.metrics_config.iter().flat_map(|config| config.metrics.iter().flatten());
        for metric in metrics {
            self.one_of(
                "metricsConfig.metrics",
                Some(metric),
                &["EventCount", "ErrorCount", "KafkaMetrics"],
                "EventCount, ErrorCount, KafkaMetrics",
            );
        }
        let filters = settings.filter_criteria.iter().flat_map(|criteria| criteria.filters.iter().flatten());
        for (index, filter) in filters.enumerate() {
            let pattern = filter.pattern.as_deref().unwrap_or_default();
            let member = format!("filterCriteria.filters.{}.member.pattern", index + 1);
            self.length(&member, pattern, 0..=limits::PATTERN_LENGTH_MAX);
        }
        let destinations = settings.destination_config.iter();
        for target in destinations.flat_map(|config| [&config.on_success, &config.on_failure]).flatten() {
            let text = target.destination.as_deref().unwrap_or_default();
            self.length("destinationConfig.destination", text, 0..=limits::DESTINATION_LENGTH_MAX);
        }
    }

    fn tags(&mut self, tags: &Tags) {
        for (key, value) in tags {
            self.length("tags", key, 1..=limits::TAG_KEY_LENGTH_MAX);
            self.length("tags", value, 0..=limits::TAG_VALUE_LENGTH_MAX);
        }
    }

    fn result(self) -> Result<(), LambdaError> {
        match self.0.len() {
            0 => Ok(()),
            _ => Err(LambdaError::new(
                LambdaErrorKind::Validation,
                crate::Error::violations(self.0.into_iter()).message,
            )),
        }
    }
}

impl CreateEventSourceMappingRequest {
    /// Applies the constraints of the shape.
    pub fn check(&self) -> Result<(), LambdaError> {
        let mut broken = Broken::default();
        match &self.function_name {
            Some(_) => broken.function_name(self.function_name.as_ref()),
            None => broken.0.push(
                "Value null at 'functionName' failed to satisfy constraint: Member must not be null"
                    .to_owned(),
            ),
        }
        broken.one_of(
            "startingPosition",
            self.starting_position.as_ref(),
            &["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"],
            "TRIM_HORIZON, LATEST, AT_TIMESTAMP",
        );
        broken.settings(&self.settings);
        broken.tags(self.tags.as_ref().unwrap_or(&Tags::new()));
        broken.result()
    }
}

impl UpdateEventSourceMappingRequest {
    /// Applies the constraints of the shape.
    pub fn check(&self) -> Result<(), LambdaError> {
        let mut broken = Broken::default();
        broken.function_name(self.function_name.as_ref());
        broken.settings(&self.settings);
        broken.result()
    }
}

impl ListEventSourceMappingsRequest {
    /// Applies the constraints of the shape.
    pub fn check(&self) -> Result<(), LambdaError> {
        let mut broken = Broken::default();
        broken.function_name(self.function_name.as_ref());
        broken.range("maxItems", self.max_items, 1..=10_000);
        broken.result()
    }
}

/// Applies the constraints on new tags.
pub(super) fn check_tags(tags: &Tags) -> Result<(), LambdaError> {
    let mut broken = Broken::default();
    broken.tags(tags);
    broken.result()
}
