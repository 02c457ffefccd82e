//! What a cache in front of the table answers, and what still reaches the table.
//!
//! A share that the file declares is taken as it is. From a TTL the share follows: an answer that is asked for λ
//! times a second is read from the table once, then kept for `ttl` seconds, so 1 of 1 + λ × ttl requests reaches the
//! table. Strong reads and transactions always do, as with DAX.

use crate::Model;
use crate::heat::key;
use crate::model::{Cached, Consistency, Entity, Grouping, Pattern, Place, Read, Skew};
use crate::template::Template;

/// The share of a pattern's reads that reach the table.
pub fn miss_share(model: &Model, pattern: &Pattern) -> f64 {
    match declared(pattern) {
        None => 1.0,
        Some(Cached { hit: Some(hit), .. }) => 1.0 - hit,
        // Without a rate or a count nothing is known of it, so every read counts.
        Some(cached) => {
            let ttl = cached.ttl_seconds.unwrap_or(0) as f64;
            1.0 - expected_hit_share(model, pattern, ttl).unwrap_or(0.0)
        }
    }
}

/// The same for the reads of one partition key that gets `share` of them. The cache serves a busy key better than
/// others, because more requests fall into the time for which an answer is kept.
pub fn miss_share_of_key(model: &Model, pattern: &Pattern, place: Place<'_>, share: f64) -> f64 {
    let by_ttl = || {
        let cached = declared(pattern).filter(|cached| cached.hit.is_none())?;
        let (rate, read) = reads_per_second(pattern)?;
        let templates = place.partition().into_iter().map(|(_, template)| template);
        let keys = distinct(model, place.entity, templates.flat_map(Template::attributes))?;
        let answers_of_key = (answers(model, read)? / keys).max(1.0);
        Some(missed(rate * share / answers_of_key, cached.ttl_seconds? as f64))
    };
    by_ttl().unwrap_or_else(|| miss_share(model, pattern))
}

/// The share of a pattern's reads that a cache with this TTL would answer; none if it answers none of them, or if the
/// rate or a count is not declared.
pub fn expected_hit_share(model: &Model, pattern: &Pattern, ttl_seconds: f64) -> Option<f64> {
    let is_answered = pattern.is_read() && pattern.external.is_none() && !passes_by(pattern);
    let (rate, read) = reads_per_second(pattern).filter(|_| is_answered)?;
    let skew = pattern.skew.as_ref().map_or(Skew::Uniform, |skew| skew.value);
    let groups = skew.groups(answers(model, read)?);
    let missed: f64 =
        groups.into_iter().map(|(count, share)| count * share * missed(rate * share, ttl_seconds)).sum();
    Some((1.0 - missed).clamp(0.0, 1.0))
}

/// The cache of a pattern, if it can answer it.
pub fn declared(pattern: &Pattern) -> Option<Cached> {
    let cached = pattern.cached.as_ref().map(|cached| cached.value);
    cached.filter(|cached| !cached.is_off() && !passes_by(pattern))
}

/// Whether a cache could answer the pattern's reads.
pub fn may_answer(pattern: &Pattern) -> bool {
    pattern.is_read() && !passes_by(pattern)
}

/// Strong reads and transactions are passed through to the table.
fn passes_by(pattern: &Pattern) -> bool {
    let strong = pattern.consistency.as_ref().is_some_and(|one| one.value == Consistency::Strong);
    strong || pattern.grouping == Grouping::Transaction
}

/// The share of requests for one answer that the cache does not have.
fn missed(per_second: f64, ttl: f64) -> f64 {
    1.0 / (1.0 + per_second * ttl)
}

fn reads_per_second(pattern: &Pattern) -> Option<(f64, &Read)> {
    let (action, read) = pattern.reads().next()?;
    Some((pattern.rate.as_ref()?.average * action.times as f64, read))
}

/// How many different answers a read has: one for each value of what the reader knows.
fn answers(model: &Model, read: &Read) -> Option<f64> {
    let entity = model.entity(read.entities.first()?.value);
    let by = read.by.iter().map(|name| name.value.as_str());
    if read.by.is_empty() && read.conditions.is_none() && read.verb == crate::model::ReadVerb::Get {
        return distinct(model, entity, entity.key_templates().flat_map(Template::attributes));
    }
    distinct(model, entity, by)
}

/// How many combinations of values the attributes have: no more than there are items.
fn distinct<'n>(model: &Model, entity: &Entity, names: impl Iterator<Item = &'n str>) -> Option<f64> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    let combinations =
        names.into_iter().map(|name| key::known_cardinality(model, entity, name)).product::<Option<f64>>()?;
    let items = model.entity_named(&entity.name.value).and_then(|id| model.items(id));
    Some(items.map_or(combinations, |items| combinations.min(items)).max(1.0))
}
