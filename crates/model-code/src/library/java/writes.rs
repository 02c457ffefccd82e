//! Methods that write, and the builders of requests.

use std::fmt::Write as _;

use super::layout::{BUILD, JavaCode, call, line, plain};
use super::names::{Java, variable, wither};
use super::values::{map, string};
use crate::library::writer::Member;
use crate::library::{Body, Request, Step, Value, Verb, Write};

/// A builder with its calls, and what is built.
pub fn built(open: &str, mut links: Vec<JavaCode>, close: &str) -> JavaCode {
    links.push(plain(BUILD));
    JavaCode::Chain(open.to_owned(), links, close.to_owned())
}

impl Java<'_> {
    /// The type of the result, and the statements.
    pub fn body(&self, body: &Body, depth: usize) -> (String, String) {
        let none = "void".to_owned();
        match body {
            Body::Read(read) => self.read(read),
            Body::TransactionGet { steps, found } => self.transaction_get(steps, found),
            Body::BatchGet { steps, found } => self.batch_get(steps, found),
            Body::Write(write) => (none, self.write(write, depth)),
            Body::Either { tests, then, otherwise } => {
                let indent = "    ".repeat(depth);
                let (_, then) = self.body(then, depth + 1);
                let (_, otherwise) = self.body(otherwise, depth + 1);
                let tests = self.tests(tests);
                (none, format!("{indent}if ({tests}) {{\n{then}{indent}}} else {{\n{otherwise}{indent}}}\n"))
            }
            Body::Transaction(steps) => (none, self.transaction(steps)),
            Body::BatchWrite(steps) => (none, self.batch_write(steps)),
        }
    }

    fn write(&self, write: &Write, depth: usize) -> String {
        let operation = write.verb.operation();
        let links = self.links(&write.request, self.item(write));
        let open = format!("client.{}({operation}Request.builder()", decapitalised(operation));
        line(&built(&open, links, ");"), depth)
    }

    fn transaction(&self, steps: &[Step<Write>]) -> String {
        let mut text = "        List<TransactWriteItem> actions = new ArrayList<>();\n".to_owned();
        text += &self.steps(steps, |write, depth| {
            let verb = write.verb.action();
            let links = self.links(&write.request, self.item(write));
            let inner = built(&format!(".{}({verb}.builder()", decapitalised(verb)), links, ")");
            line(&built("actions.add(TransactWriteItem.builder()", vec![inner], ");"), depth)
        });
        let open = "client.transactWriteItems(TransactWriteItemsRequest.builder()";
        text + &line(&built(open, vec![plain(".transactItems(actions)")], ");"), 2)
    }

    fn batch_write(&self, steps: &[Step<Write>]) -> String {
        let mut text = "        List<TableWrite> parts = new ArrayList<>();\n".to_owned();
        text += &self.steps(steps, |write, depth| {
            let request = match self.item(write) {
                Some(item) => call("putRequest(", vec![item], ")"),
                None => self.map("deleteRequest(", &write.request.key, ")"),
            };
            let arguments = vec![plain(self.table(&write.request.table)), request];
            line(&call("parts.add(new TableWrite(", arguments, "));"), depth)
        });
        text + "        batchWrite(parts);\n"
    }

    pub fn steps<T>(&self, steps: &[Step<T>], one: impl Fn(&T, usize) -> String) -> String {
        let mut text = String::new();
        for step in steps {
            let Some(each) = &step.each else {
                text.push_str(&one(&step.action, 2));
                continue;
            };
            let (element, list) = (variable(&each.element), variable(&each.list));
            let _ = writeln!(text, "        for ({} {element} : {list}) {{", self.record(&each.record));
            text.push_str(&one(&step.action, 3));
            text.push_str("        }\n");
        }
        text
    }

    /// The item that is put, with the values that the pattern sets.
    fn item(&self, write: &Write) -> Option<JavaCode> {
        let Verb::Put { entity, variable: of, record, with } = &write.verb else { return None };
        let fields = self.library.record(record).map(|record| record.fields.as_slice()).unwrap_or_default();
        let with = with.iter().map(|(name, value): &(String, Value)| {
            let kind = fields.iter().find(|field| field.name == *name).map(|field| field.kind);
            let value = self.value(value, kind.unwrap_or(value.kind()));
            format!(".{}({})", wither(name), value.inline())
        });
        let item = format!("{}{}", variable(of), with.collect::<String>());
        Some(call(format!("{}(", self.writers[*entity]), vec![plain(item)], ")"))
    }

    /// The members of a request.
    pub fn links(&self, request: &Request, item: Option<JavaCode>) -> Vec<JavaCode> {
        let link = |(name, member): (&str, Member<'_, JavaCode>)| {
            let open = format!(".{}(", decapitalised(name));
            match member {
                Member::Text(text) => plain(format!("{open}{})", string(text))),
                Member::Flag(flag) => plain(format!("{open}{flag})")),
                Member::Item(item) => call(open, vec![item], ")"),
                Member::Values(values) => self.map(&open, values, ")"),
                Member::Names(names) => {
                    let names = names.iter().map(|(alias, name)| (string(alias), plain(string(name))));
                    map(&open, names.collect(), ")")
                }
                Member::Count => plain(".select(Select.COUNT)"),
                Member::Limit => plain(".limit(limit)"),
            }
        };
        let table = plain(format!(".tableName({})", self.table(&request.table)));
        [table].into_iter().chain(request.members(item).into_iter().map(link)).collect()
    }
}

/// `IndexName` -> `indexName`.
pub fn decapitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}
