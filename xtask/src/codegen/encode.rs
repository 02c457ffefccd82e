//! `generated/encode.rs`: how each structure prints itself as JSON.

use std::fmt::Write as _;

use super::name::snake;
use super::{Error, Source, mentions};

pub fn print(source: &Source<'_>) -> Result<String, Error> {
    let Source { facts, reach, .. } = source;
    let mut body = String::new();
    for name in reach.structures(facts) {
        let mut members = String::new();
        for member in facts.members(name)? {
            let field = snake(member.name);
            let is_timestamp = facts.shape(member.shape)?.kind == "timestamp";
            let value = match (is_timestamp, member.required) {
                (false, _) => format!("&self.{field}"),
                (true, true) => format!("&Timestamp(self.{field})"),
                (true, false) => format!("&self.{field}.map(Timestamp)"),
            };
            writeln!(members, "object.member(\"{}\", {value});", member.name)?;
        }
        let mutable = if members.is_empty() { "" } else { "mut " };
        writeln!(
            body,
            "impl Encode for {name} {{
                fn encode(&self, out: &mut Vec<u8>) {{
                    let {mutable}object = Object::new(out);
                    {members}object.end();
                }}
            }}\n",
        )?;
    }
    let timestamp = if mentions(&body, "Timestamp") { ", Timestamp" } else { "" };
    Ok(format!("use super::shape::*;\nuse crate::encode::{{Encode, Object{timestamp}}};\n\n{body}"))
}
