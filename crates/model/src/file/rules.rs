//! `rules` and `allow`.

use indexmap::IndexMap;

use super::quantity;
use super::reader::Reader;
use super::yaml::{Node, Scalar};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Allowance, RuleLevel, RuleSetting};
use crate::{Span, Spanned};

/// R1 to R55.
pub const RULES: std::ops::RangeInclusive<u8> = 1..=55;

const LEVELS: [(&str, RuleLevel); 4] = [
    ("off", RuleLevel::Off),
    ("info", RuleLevel::At(Level::Info)),
    ("warning", RuleLevel::At(Level::Warning)),
    ("error", RuleLevel::At(Level::Error)),
];

/// `{ R18: { level: error, max: 8 }, R4: off }`.
pub fn settings(reader: &mut Reader<'_>, node: &Node) -> Vec<RuleSetting> {
    let entries = reader.named(node, "rules");
    entries.iter().filter_map(|(name, node)| setting(reader, name, node)).collect()
}

fn setting(reader: &mut Reader<'_>, name: &Scalar, node: &Node) -> Option<RuleSetting> {
    let rule = rule(reader, name)?;
    let span = name.span.to(node.span);
    if node.scalar().is_some() {
        let level = reader.choice(node, &LEVELS)?;
        return Some(RuleSetting { rule, level: Some(level.value), parameters: IndexMap::new(), span });
    }
    let mut fields = reader.fields(node, "the setting of a rule")?;
    let level = fields.take("level").and_then(|node| reader.choice(node, &LEVELS)).map(|level| level.value);
    let mut parameters = IndexMap::new();
    for (name, node) in fields.take_rest() {
        if let Some(value) = reader.parse(node, quantity::number) {
            parameters.insert(name.text.clone(), Spanned::new(value.value, name.span.to(node.span)));
        }
    }
    Some(RuleSetting { rule, level, parameters, span })
}

/// `{ R18: "reason" }`.
pub fn allowances(reader: &mut Reader<'_>, node: &Node, scope: Span) -> Vec<Allowance> {
    let entries = reader.named(node, "allow");
    entries.iter().filter_map(|(name, node)| allowance(reader, name, node, scope)).collect()
}

fn allowance(reader: &mut Reader<'_>, name: &Scalar, node: &Node, scope: Span) -> Option<Allowance> {
    let rule = rule(reader, name)?;
    let reason = reader.text(node)?;
    if reason.trim().is_empty() {
        let help = format!("`allow: {{ {rule}: \"why it is right here\" }}`");
        reader.error_with_help(name.span, format!("say why {rule} is allowed here"), help);
        return None;
    }
    Some(Allowance { rule, reason: reason.value, scope, span: name.span })
}

fn rule(reader: &mut Reader<'_>, name: &Scalar) -> Option<RuleId> {
    let rule = name.text.parse::<RuleId>().ok().filter(|rule| RULES.contains(&rule.0));
    if rule.is_none() {
        let help = "rules are R1 to R55; `lodestone model explain` lists them";
        reader.error_with_help(name.span, format!("there is no rule `{}`", name.text), help);
    }
    rule
}
