//! Methods that read.

use std::fmt::Write as _;

use super::layout::{JavaCode, call, line, plain};
use super::names::{Java, variable};
use super::values::{string, type_of};
use super::writes::{built, decapitalised};
use crate::library::{Found, Get, Kind, Loop, Pages, Part, Read, ReadOperation, Recognised, Request, Step};

const ITEMS: &str = "List<Map<String, AttributeValue>> items";

impl Java<'_> {
    /// The type of the result, and the statements.
    pub fn read(&self, read: &Read) -> (String, String) {
        if read.loops.is_empty() {
            return self.read_once(read);
        }
        let counts = matches!(read.found, Found::Count);
        let mut text = match counts {
            true => "        int count = 0;\n".to_owned(),
            false => format!("        {ITEMS} = new ArrayList<>();\n"),
        };
        let mut depth = 2;
        for one in &read.loops {
            text.push_str(&line(&self.loop_head(one), depth));
            depth += 1;
        }
        text.push_str(&self.request(read, depth));
        let called = called(read);
        let add = match (read.operation, read.pages, counts) {
            (ReadOperation::Get, ..) => {
                let inner = "    ".repeat(depth);
                format!(
                    "GetItemResponse answer = {called};\n{inner}if (answer.hasItem()) {{\n{inner}    items.add(answer.item());\n{inner}}}"
                )
            }
            (_, Pages::All, true) => {
                format!("count += {called}.stream().mapToInt(answer -> answer.count()).sum();")
            }
            (_, _, true) => format!("count += {called}.count();"),
            (_, Pages::All, false) => format!("{called}.items().forEach(items::add);"),
            (_, _, false) => format!("items.addAll({called}.items());"),
        };
        text.push_str(&line(&plain(add), depth));
        for depth in (2..depth).rev() {
            let _ = writeln!(text, "{}}}", "    ".repeat(depth));
        }
        if counts {
            return ("int".to_owned(), text + "        return count;\n");
        }
        if !read.merge_by.is_empty() {
            let _ = writeln!(text, "        items.sort({});", order(&read.merge_by, read.descending));
        }
        let (kind, found) = self.found(&read.found, "items", read.cut);
        (kind, text + &returned(found))
    }

    /// A request whose answer, or all of whose answers, are the result.
    fn read_once(&self, read: &Read) -> (String, String) {
        let text = self.request(read, 2);
        let called = called(read);
        if read.pages == Pages::Next {
            let (kind, found) = self.found(&read.found, "answer.items()", false);
            let next = plain("answer.hasLastEvaluatedKey() ? answer.lastEvaluatedKey() : null");
            let answer = format!("        {}Response answer = {called};\n", read.operation.name());
            let page = call("new Page<>(", vec![found, next], ")");
            return (format!("Page<{kind}>"), text + &answer + &returned(page));
        }
        match (&read.found, read.operation, read.pages) {
            (Found::Count, _, Pages::All) => {
                let sum = format!("{called}.stream().mapToInt(answer -> answer.count()).sum()");
                ("int".to_owned(), text + &returned(plain(sum)))
            }
            (Found::Count, ..) => ("int".to_owned(), text + &returned(plain(format!("{called}.count()")))),
            (Found::One(view), ReadOperation::Get, _) => {
                let class = self.record(&view.record);
                let answer = format!("        GetItemResponse answer = {called};\n");
                let item = format!("Optional.of({}(answer.item()))", self.reader(&view.reader));
                let found = plain(format!("answer.hasItem() ? {item} : Optional.empty()"));
                (format!("Optional<{class}>"), text + &answer + &returned(found))
            }
            (Found::Mixed { .. }, _, pages) => {
                let all = if pages == Pages::All { ".stream().toList()" } else { "" };
                let items = format!("        {ITEMS} = {called}.items(){all};\n");
                let (kind, found) = self.found(&read.found, "items", false);
                (kind, text + &items + &returned(found))
            }
            (found, ..) => {
                let (kind, found) = self.found(found, &format!("{called}.items()"), false);
                (kind, text + &returned(found))
            }
        }
    }

    /// `QueryRequest request = …`.
    fn request(&self, read: &Read, depth: usize) -> String {
        let name = format!("{}Request", read.operation.name());
        let mut links = self.links(&read.request, None);
        links.extend(read.request.starts.then(|| plain(".exclusiveStartKey(start)")));
        line(&built(&format!("{name} request = {name}.builder()"), links, ";"), depth)
    }

    fn loop_head(&self, one: &Loop) -> JavaCode {
        match one {
            Loop::Shards { variable: name, count } => {
                let name = variable(name);
                plain(format!("for (long {name} = 0; {name} < {count}; {name}++) {{"))
            }
            Loop::Values { variable: name, kind, values, .. } => {
                let values = values.iter().map(|value| self.value(value, *kind)).collect();
                let head = format!("for ({} {} : List.of(", type_of(*kind, false), variable(name));
                call(head, values, ")) {")
            }
        }
    }

    /// The type of what is found in these items, and an expression for it.
    fn found(&self, found: &Found, items: &str, cut: bool) -> (String, JavaCode) {
        let limit = if cut { ".limit(limit)" } else { "" };
        let each = |filter: &str, reader: &str| {
            let mut links = Vec::new();
            links.extend([limit, filter].into_iter().filter(|link| !link.is_empty()).map(plain));
            links.push(plain(format!(".map({}::{})", self.class, self.reader(reader))));
            links.push(plain(".toList()"));
            JavaCode::Chain(format!("{items}.stream()"), links, String::new())
        };
        match found {
            Found::Count => ("int".to_owned(), plain(format!("{items}.size()"))),
            Found::One(view) => {
                let reader = self.reader(&view.reader);
                let first = format!("{items}.stream().findFirst().map({}::{reader})", self.class);
                (format!("Optional<{}>", self.record(&view.record)), plain(first))
            }
            Found::Many(view) => (format!("List<{}>", self.record(&view.record)), each("", &view.reader)),
            Found::Mixed { record, parts } => {
                let part = |part: &Part| each(&filter(&part.is), &part.view.reader);
                let record = self.record(record).to_owned();
                let code = call(format!("new {record}("), parts.iter().map(part).collect(), ")");
                (record, code)
            }
        }
    }

    pub fn transaction_get(&self, steps: &[Step<Get>], found: &Found) -> (String, String) {
        let mut text = "        List<TransactGetItem> actions = new ArrayList<>();\n".to_owned();
        text += &self.steps(steps, |get, depth| {
            let key = Request { table: get.table.clone(), ..Request::default() };
            let mut links = self.links(&key, None);
            links.push(self.map(".key(", &get.key, ")"));
            let inner = built(".get(Get.builder()", links, ")");
            line(&built("actions.add(TransactGetItem.builder()", vec![inner], ");"), depth)
        });
        let name = "TransactGetItemsRequest";
        text += &line(
            &built(
                &format!("{name} request = {name}.builder()"),
                vec![plain(".transactItems(actions)")],
                ";",
            ),
            2,
        );
        let links = [".filter(ItemResponse::hasItem)", ".map(ItemResponse::item)", ".toList()"];
        let items = JavaCode::Chain(
            format!("{ITEMS} = client.transactGetItems(request).responses().stream()"),
            links.map(plain).to_vec(),
            ";".to_owned(),
        );
        let (kind, found) = self.found(found, "items", false);
        (kind, text + &line(&items, 2) + &returned(found))
    }

    pub fn batch_get(&self, steps: &[Step<Get>], found: &Found) -> (String, String) {
        let mut text = "        List<TableKey> keys = new ArrayList<>();\n".to_owned();
        text += &self.steps(steps, |get, depth| {
            let key = self.map("", &get.key, "");
            let arguments = vec![plain(self.table(&get.table)), key];
            line(&call("keys.add(new TableKey(", arguments, "));"), depth)
        });
        let consistent = steps.iter().any(|step| step.action.consistent);
        let _ = writeln!(text, "        {ITEMS} = batchGet(keys, {consistent});");
        let (kind, found) = self.found(found, "items", false);
        (kind, text + &returned(found))
    }
}

fn returned(code: JavaCode) -> String {
    let code = match code {
        JavaCode::Call(open, arguments, close) => {
            JavaCode::Call(format!("return {open}"), arguments, close + ";")
        }
        JavaCode::Chain(head, links, close) => JavaCode::Chain(format!("return {head}"), links, close + ";"),
        other => plain(format!("return {};", other.inline())),
    };
    line(&code, 2)
}

/// The call that sends the request: `client.query(request)`.
fn called(read: &Read) -> String {
    let paginator = if read.pages == Pages::All { "Paginator" } else { "" };
    format!("client.{}{paginator}(request)", decapitalised(read.operation.name()))
}

/// Which items are of an entity.
fn filter(is: &Recognised) -> String {
    let method = if is.begins { "startsWith" } else { "equals" };
    format!(".filter(item -> textOf(item, {}).{method}({}))", string(&is.attribute), string(&is.text))
}

/// The order of the answers of several requests.
fn order(keys: &[(String, Kind)], descending: bool) -> String {
    let by = |(name, kind): &(String, Kind)| {
        let by = match kind {
            Kind::Number => "byNumber",
            Kind::Binary => "byBytes",
            _ => "byText",
        };
        format!("{by}({})", string(name))
    };
    let mut text = String::new();
    for key in keys {
        text = match text.is_empty() {
            true => by(key),
            false => format!("{text}.thenComparing({})", by(key)),
        };
    }
    if descending { text + ".reversed()" } else { text }
}
