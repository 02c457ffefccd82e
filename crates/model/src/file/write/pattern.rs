//! `patterns`.

use super::layout::{LayoutNode, Map, prose, text};
use super::{CONSISTENCY, Writer, name_of, quantity, value};
use crate::model::{Cached, Expectation, FanOut, Grouping, Pattern, Rate};

impl Writer<'_> {
    pub fn pattern(&self, pattern: &Pattern) -> LayoutNode {
        let mut map = Map::new();
        map.put_some("description", pattern.description.as_deref().map(prose));
        self.actions(&mut map, pattern);
        map.put_some("rate", pattern.rate.as_ref().map(|rate| self::rate(&rate.value)));
        map.put_some("skew", pattern.skew.as_ref().map(|skew| text(&quantity::skew(skew.value))));
        let consistency = pattern.consistency.as_ref();
        map.put_some("consistency", consistency.map(|one| name_of(&CONSISTENCY, one.value)));
        map.put_some("index", pattern.index.as_ref().map(|index| text(&index.value)));
        map.put_some("fan-out", pattern.fan_out.as_ref().map(|one| fan_out(one.value)));
        map.put_some("cached", pattern.cached.as_ref().map(|one| cached(one.value)));
        map.put_some("fails", pattern.fails.as_ref().map(|share| text(&quantity::percent(share.value))));
        map.put_some("external", pattern.external.as_ref().map(|external| text(&external.value)));
        map.put_some("request", pattern.request.as_ref().map(|request| value::json(&request.value)));
        match pattern.expect.as_slice() {
            [] => {}
            [one] => map.put("expect", expectation(one)),
            several => map.put("expect", LayoutNode::List(several.iter().map(expectation).collect())),
        }
        self.allow(&mut map, pattern.span);
        LayoutNode::Map(map)
    }

    fn actions(&self, map: &mut Map, pattern: &Pattern) {
        let steps = || LayoutNode::List(pattern.actions.iter().map(|action| self.step(action)).collect());
        match pattern.grouping {
            Grouping::Single => pattern.actions.iter().for_each(|action| self.action(map, &action.kind)),
            Grouping::Transaction => map.put("transact", steps()),
            Grouping::Batch => map.put("batch", steps()),
        }
    }
}

fn rate(rate: &Rate) -> LayoutNode {
    let average = text(&quantity::rate(rate.average));
    if rate.peak.is_none() && rate.curve.is_none() {
        return average;
    }
    let mut map = Map::new();
    map.put("average", average);
    map.put_some("peak", rate.peak.map(|peak| text(&quantity::rate(peak))));
    let weights = |weights: &[f64; 24]| weights.iter().map(|one| text(&quantity::number(*one))).collect();
    map.put_some("curve", rate.curve.as_ref().map(|curve| LayoutNode::List(weights(&curve.0))));
    LayoutNode::Map(map)
}

fn fan_out(fan_out: FanOut) -> LayoutNode {
    match fan_out {
        FanOut::Allowed => text("allowed"),
        FanOut::Most(most) => text(&most.to_string()),
    }
}

fn cached(cached: Cached) -> LayoutNode {
    let ttl = cached.ttl_seconds.map(|ttl| text(&quantity::duration(ttl)));
    let hit = cached.hit.map(|hit| text(&quantity::percent(hit)));
    match (ttl, hit) {
        (Some(only), None) | (None, Some(only)) => only,
        (ttl, hit) => {
            let mut map = Map::new();
            map.put_some("ttl", ttl);
            map.put_some("hit", hit);
            LayoutNode::Map(map)
        }
    }
}

fn expectation(expectation: &Expectation) -> LayoutNode {
    let mut given = Map::new();
    for (name, one) in &expectation.given {
        given.put(name, value::value(&one.value, None));
    }
    let mut map = Map::new();
    map.put_map("given", given);
    map.put("rows", LayoutNode::List(expectation.rows.iter().map(|row| text(row)).collect()));
    LayoutNode::Map(map)
}
