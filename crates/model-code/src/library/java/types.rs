//! Records, and the methods that make items of them and read them out of items.

use std::fmt::Write as _;

use super::comment::{Comment, escaped, one_of};
use super::layout::{JavaCode, after, call, line, plain};
use super::names::{Java, component, variable, wither};
use super::values::{string, type_of};
use crate::library::{EntityItem, Field, Kind, Part, Reader, Record, Source};

const ITEM: &str = "Map<String, AttributeValue>";

impl Java<'_> {
    pub fn record_type(&self, record: &Record) -> String {
        let name = self.record(&record.name);
        let mut comment = Comment::new(&record.comment);
        for field in &record.fields {
            let values = (!field.values.is_empty()).then(|| one_of(&field.values));
            let said: Vec<String> = [
                field.note.map(str::to_owned),
                values,
                field.optional.then(|| "null if there is none".to_owned()),
            ]
            .into_iter()
            .flatten()
            .collect();
            if !said.is_empty() {
                comment.parameter(&component(&field.name), &said.join("; "));
            }
        }
        let components: Vec<JavaCode> = record
            .fields
            .iter()
            .map(|field| plain(format!("{} {}", type_of(field.kind, field.optional), component(&field.name))))
            .collect();
        let checks: String = record.fields.iter().map(check).collect();
        let mut members: Vec<String> = Vec::new();
        if !checks.is_empty() {
            members.push(format!("        public {name} {{\n{checks}        }}\n"));
        }
        for replaced in self.replaced(&record.name) {
            members.extend(record.fields.iter().find(|field| field.name == replaced).map(|field| {
                let all = record.fields.iter().map(|one| plain(component(&one.name))).collect();
                format!(
                    "        public {name} {}({} {}) {{\n{}        }}\n",
                    wither(&field.name),
                    type_of(field.kind, field.optional),
                    component(&field.name),
                    line(&call(format!("return new {name}("), all, ");"), 3)
                )
            }));
        }
        let close = if members.is_empty() { ") {}" } else { ") {" };
        let head = line(&call(format!("public record {name}("), components, close), 1);
        let end = if members.is_empty() { "" } else { "    }\n" };
        format!("\n{}{head}{}{end}", comment.text(1), members.join("\n"))
    }

    /// What a read of several entities returns.
    pub fn mixed_type(&self, record: &str, parts: &[Part]) -> String {
        let parts = parts
            .iter()
            .map(|part| plain(format!("List<{}> {}", self.record(&part.view.record), component(&part.name))));
        let head = call(format!("public record {}(", self.record(record)), parts.collect(), ") {}");
        format!("\n{}", line(&head, 1))
    }

    pub fn item_writer(&self, entity: &EntityItem, name: &str) -> String {
        let (parameter, record) = (variable(&entity.name), self.record(&entity.record));
        let item = if parameter == "item" { "stored" } else { "item" };
        let put = |attribute: &str, value, depth| {
            let arguments = vec![plain(string(attribute)), self.attribute(value)];
            line(&call(format!("{item}.put("), arguments, ");"), depth)
        };
        let (always, tested) = entity.divided();
        let mut text = format!(
            "\n    /** The item that is stored for a {}. */\n    public static {ITEM} {name}({record} {parameter}) {{\n        \
             {ITEM} {item} = new HashMap<>();\n",
            escaped(record)
        );
        for one in always {
            text.push_str(&put(&one.attribute, &one.value, 2));
        }
        for run in tested {
            let _ = writeln!(text, "        if ({}) {{", self.tests(&run[0].when));
            for one in run {
                text.push_str(&put(&one.attribute, &one.value, 3));
            }
            text.push_str("        }\n");
        }
        let _ = writeln!(text, "        return {item};\n    }}");
        text
    }

    pub fn item_reader(&self, reader: &Reader, name: &str) -> String {
        let record = self.record(&reader.record);
        let fields = reader.fields.iter().map(|field| self.read_field(field)).collect();
        format!(
            "\n    /** Reads a {record} out of an item. */\n    public static {record} {name}({ITEM} item) {{\n{}    }}\n",
            line(&call(format!("return new {record}("), fields, ");"), 2)
        )
    }

    /// A field's value out of an item.
    fn read_field(&self, field: &Field) -> JavaCode {
        let reader = match field.kind {
            Kind::Text => "readString",
            Kind::Number => "readNumber",
            Kind::Integer => "readLong",
            Kind::Bool => "readBoolean",
            Kind::Binary => "readBytes",
            Kind::TextSet => "readStringSet",
            Kind::NumberSet => "readNumberSet",
            Kind::BinarySet => "readBytesSet",
            Kind::List => "readList",
            Kind::Map => "readMap",
        };
        let Source::Key { key, literals, position, descending } = &field.source else {
            let name = string(&field.attribute);
            return plain(match field.optional {
                true => format!("readOptional(item, {name}, {}::{reader})", self.class),
                false => format!("{reader}(item, {name})"),
            });
        };
        let literals: Vec<String> = literals.iter().map(|literal| string(literal)).collect();
        let parts = format!("partsOf(readString(item, {}), {})", string(key), literals.join(", "));
        let part = format!("{parts}.get({position})");
        let part = match descending {
            Some(digits) => format!("distance({part}, {digits})"),
            None => part,
        };
        plain(match field.kind {
            Kind::Number => format!("new BigDecimal({part})"),
            Kind::Integer => format!("Long.parseLong({part})"),
            Kind::Bool => format!("Boolean.parseBoolean({part})"),
            Kind::Binary => format!("unhex({part})"),
            _ => part,
        })
    }
}

/// A statement of a record's constructor: what must be there is, and no one else can change collections.
fn check(field: &Field) -> String {
    let name = component(&field.name);
    let copy = match field.kind {
        Kind::TextSet | Kind::NumberSet | Kind::BinarySet => "Set.copyOf",
        Kind::List => "List.copyOf",
        Kind::Map => "Map.copyOf",
        Kind::Integer | Kind::Bool => return String::new(),
        Kind::Text | Kind::Number | Kind::Binary if field.optional => return String::new(),
        Kind::Text | Kind::Number | Kind::Binary => {
            return format!("            Objects.requireNonNull({name}, {});\n", string(&name));
        }
    };
    let copied = plain(format!("{copy}({name});"));
    let copied = if field.optional { after(format!("{name} == null ? null : "), copied) } else { copied };
    line(&after(format!("{name} = "), copied), 3)
}
