//! What a pattern does.

use super::layout::{LayoutNode, Map, text};
use super::{Writer, quantity};
use crate::Spanned;
use crate::model::{Action, ActionKind, AttributeChange, AttributesRead, OrderBy, Read, Returns, Write};
use crate::predicate::Operand;

impl Writer<'_> {
    pub fn action(&self, map: &mut Map, kind: &ActionKind) {
        match kind {
            ActionKind::Read(read) => self.read(map, read),
            ActionKind::Write(write) => self.write(map, write),
        }
    }

    /// `create LineItem × 5` if that says everything, else its fields.
    pub fn step(&self, action: &Action) -> LayoutNode {
        let (verb, entity) = match &action.kind {
            ActionKind::Read(read) => {
                (read.verb.name(), read.entities.first().map_or("", |id| self.name_of(id.value)))
            }
            ActionKind::Write(write) => (write.verb.name(), self.name_of(write.entity.value)),
        };
        let mut fields = Map::new();
        self.action(&mut fields, &action.kind);
        let mut nothing_more = Map::new();
        nothing_more.put(verb, text(entity));
        if fields.len() > nothing_more.len() {
            if action.times > 1 {
                fields.put("times", text(&action.times.to_string()));
            }
            return LayoutNode::Map(fields);
        }
        let times = if action.times > 1 { format!(" × {}", action.times) } else { String::new() };
        text(&format!("{verb} {entity}{times}"))
    }

    fn read(&self, map: &mut Map, read: &Read) {
        map.put_names(read.verb.name(), read.entities.iter().map(|id| self.name_of(id.value)));
        map.put_names("by", read.by.iter().map(|name| name.value.as_str()));
        map.put_some("where", read.conditions.as_ref().map(|one| text(&one.to_string())));
        map.put_some("filter", read.filter.as_ref().map(|one| text(&one.to_string())));
        let order: Vec<String> = read.order.iter().map(order).collect();
        map.put_names("order", order.iter().map(String::as_str));
        map.put_some("limit", read.limit.as_ref().map(|limit| text(&limit.value.to_string())));
        map.put_some("returns", read.returns.as_ref().map(|one| returns(&one.value)));
        map.put_some("paged", read.paged.as_ref().map(|paged| text(&paged.value.to_string())));
        map.put_some("read", read.attributes.as_ref().map(|one| attributes(&one.value)));
    }

    fn write(&self, map: &mut Map, write: &Write) {
        map.put(write.verb.name(), text(self.name_of(write.entity.value)));
        let by = write.by.iter().filter(|_| write.says_by);
        map.put_names("by", by.map(|name| name.value.as_str()));
        map.put_names("knows", write.knows.iter().map(|name| name.value.as_str()));
        put_changes(map, "set", &write.set);
        put_changes(map, "add", &write.add);
        map.put_names("remove", write.remove.iter().map(|name| name.value.as_str()));
        map.put_some("if", write.condition.as_ref().map(|one| text(&one.to_string())));
        map.put_some("version", write.version.as_ref().map(|name| text(name)));
    }
}

fn order(order: &OrderBy) -> String {
    let direction = if order.descending { " desc" } else { "" };
    format!("{}{direction}", order.attribute.value)
}

fn returns(returns: &Returns) -> LayoutNode {
    let typical = text(&quantity::number(returns.typical));
    let Some(max) = returns.max else { return typical };
    let mut map = Map::new();
    map.put("typical", typical);
    map.put("max", text(&quantity::number(max)));
    LayoutNode::Map(map)
}

fn attributes(read: &AttributesRead) -> LayoutNode {
    match read {
        AttributesRead::All => text("all"),
        AttributesRead::Keys => text("keys"),
        AttributesRead::Count => text("count"),
        AttributesRead::These(names) => {
            LayoutNode::List(names.iter().map(|name: &Spanned<String>| text(name)).collect())
        }
    }
}

/// `[status, total]`, or `{ status: OPEN -> SHIPPED }` if values are known.
fn put_changes(map: &mut Map, name: &str, changes: &[AttributeChange]) {
    if changes.iter().all(|change| change.to.is_none()) {
        return map.put_names(name, changes.iter().map(|change| change.attribute.value.as_str()));
    }
    let mut values = Map::new();
    for change in changes {
        let to = change.to.as_ref().map(plain).unwrap_or_default();
        let both = change.from.as_ref().map(|from| format!("{} -> {to}", plain(from)));
        values.put(&change.attribute.value, text(&both.unwrap_or(to)));
    }
    map.put_map(name, values);
}

/// The operand without quotes: it is the only value in its scalar.
fn plain(operand: &Operand) -> String {
    match operand {
        Operand::Literal(text) => text.clone(),
        Operand::Parameter(_) => operand.to_string(),
    }
}
