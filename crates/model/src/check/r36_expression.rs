//! R36: expressions that DynamoDB refuses: reserved words, undefined and unused placeholders.

use std::collections::BTreeMap;

use expression::{
    Condition, ExpressionError, Fault, KeyCondition, Kind, Placeholders, Projection, SearchCondition, Update,
};
use item::{Placeholder, ValueBuf};
use serde_json::Value as Json;

use super::{Rule, Subject};
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::Pattern;
use crate::request::literal::value_of;
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(36),
    level: Level::Error,
    title: "An expression has a reserved word or an unbound placeholder",
    page: include_str!("../../../../docs/rules/R36.md"),
    parameters: &[],
    check,
};

const EXPRESSIONS: [(&str, Kind); 6] = [
    ("KeyConditionExpression", Kind::KeyCondition),
    ("SearchConditionExpression", Kind::SearchCondition),
    ("FilterExpression", Kind::Filter),
    ("ConditionExpression", Kind::Condition),
    ("UpdateExpression", Kind::Update),
    ("ProjectionExpression", Kind::Projection),
];
const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.patterns.iter().flat_map(in_pattern).collect()
}

fn in_pattern(pattern: &Pattern) -> Vec<Diagnostic> {
    let Some(request) = &pattern.request else { return Vec::new() };
    let member = |name: &str| pattern.request_members.get(name).copied().unwrap_or(request.span);
    let mut found = in_members(&request.value, member);
    // Inside a transaction there are no spans, so the whole transaction is underlined.
    let transaction = member("TransactItems");
    found.extend(transact_items(&request.value).flat_map(|one| in_members(one, |_| transaction)));
    found
}

/// The members of each `Put`, `Update`, `Delete`, `ConditionCheck` or `Get`.
fn transact_items(request: &Json) -> impl Iterator<Item = &Json> {
    let items = request.get("TransactItems").and_then(Json::as_array).into_iter().flatten();
    items.filter_map(Json::as_object).flat_map(|item| item.values())
}

/// The expressions of one request, or of one item of a transaction.
fn in_members(request: &Json, span: impl Fn(&str) -> Span) -> Vec<Diagnostic> {
    let names = members(request, NAMES, |name| name.as_str().map(str::to_owned));
    let values = members(request, VALUES, |value| Some(ValueBuf::from(&value_of(value))));
    let mut placeholders = Placeholders::new(names.as_ref(), values.as_ref());
    let mut found = Vec::new();
    for (member, kind) in EXPRESSIONS {
        let Some(text) = request.get(member).and_then(Json::as_str) else { continue };
        let bound = bind(kind, text, &mut placeholders);
        found.extend(bound.err().map(|error| of_expression(member, text, span(member), &error)));
    }
    // Placeholders count as unused only if every expression could be read.
    if found.is_empty() {
        found.extend(placeholders.finish().err().map(|error| unused(span, &error)));
    }
    found
}

fn members<T>(
    request: &Json,
    member: &str,
    read: impl Fn(&Json) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    let members = request.get(member)?.as_object()?;
    Some(members.iter().filter_map(|(name, value)| Some((name.clone(), read(value)?))).collect())
}

fn bind(kind: Kind, text: &str, placeholders: &mut Placeholders<'_>) -> Result<(), ExpressionError> {
    match kind {
        Kind::Condition | Kind::Filter => Condition::parse(kind, text, placeholders).map(drop),
        Kind::KeyCondition => KeyCondition::parse(text, placeholders).map(drop),
        Kind::SearchCondition => SearchCondition::parse(text, placeholders).map(drop),
        Kind::Update => Update::parse(text, placeholders).map(drop),
        Kind::Projection => Projection::parse(text, placeholders).map(drop),
    }
}

fn of_expression(member: &str, text: &str, span: Span, error: &ExpressionError) -> Diagnostic {
    let fault = match error {
        ExpressionError::Invalid { fault, .. } => Some(fault.as_ref()),
        _ => None,
    };
    match fault {
        Some(Fault::Reserved(word)) => Diagnostic::error(
            word_in(text, word, span),
            format!("`{word}` is a reserved word"),
        )
        .label("needs a `#` name in an expression")
        .why("573 words can't be attribute names in expressions, in whatever case; the request is refused")
        .help({
            let placeholder = Placeholder::Name.of(word.to_lowercase());
            format!("write `{placeholder}`, and `{NAMES}: {{ \"{placeholder}\": {word} }}`")
        }),
        Some(Fault::UndefinedName(name)) => {
            let attribute = Placeholder::Name.word(name).unwrap_or(name);
            Diagnostic::error(word_in(text, name, span), format!("`{name}` has no attribute name"))
                .label("not defined")
                .why("every `#name` must be in ExpressionAttributeNames")
                .help(format!("add `{NAMES}: {{ \"{name}\": {attribute} }}`"))
        }
        Some(Fault::UndefinedValue(name)) => {
            Diagnostic::error(word_in(text, name, span), format!("`{name}` has no value"))
                .label("not defined")
                .why("every `:value` must be in ExpressionAttributeValues")
                .help(format!("add `{VALUES}: {{ \"{name}\": {{ S: … }} }}`"))
        }
        Some(Fault::Syntax { near, .. }) => {
            Diagnostic::error(word_in(text, near, span), format!("the {member} can't be read"))
                .label("a syntax error here")
                .why(format!("DynamoDB would say: {error}"))
                .help("operators come between operands, functions are written `begins_with(SK, :prefix)`")
        }
        _ => Diagnostic::error(span, format!("DynamoDB refuses this {member}"))
            .label("refused")
            .why(format!("it would say: {error}")),
    }
}

/// The span of a word in the file, if the text is there literally.
fn word_in(text: &str, word: &str, span: Span) -> Span {
    let boundary = |at: usize| {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | ':');
        let before = text[..at].chars().next_back().is_none_or(|c| !letter(c));
        let after = text[at + word.len()..].chars().next().is_none_or(|c| !letter(c));
        before && after
    };
    let mut places = text.match_indices(word).map(|(at, _)| at);
    match places.find(|at| boundary(*at)) {
        Some(at) if span.end - span.start == text.len() && !word.is_empty() => {
            Span::new(span.start + at, span.start + at + word.len())
        }
        _ => span,
    }
}

fn unused(span: impl Fn(&str) -> Span, error: &ExpressionError) -> Diagnostic {
    let (parameter, keys): (&str, &[String]) = match error {
        ExpressionError::UnusedPlaceholders { parameter, keys } => (parameter, keys),
        _ => (VALUES, &[]),
    };
    let names = listed(keys);
    Diagnostic::error(span(parameter), format!("no expression uses {names}"))
        .label("defined, and not used")
        .why("DynamoDB refuses requests with placeholders that no expression uses")
        .help(format!("remove {names}, or look for the slip in the expression"))
}
