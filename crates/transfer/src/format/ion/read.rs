//! Ion text to canonical bytes.
//!
//! A line that is not Ion is [`LineFault::Unparseable`]. Ion that DynamoDB has no type for (timestamps, symbols,
//! clobs, …) is [`LineFault::Refused`]. Recursion is bounded by DynamoDB's 32 levels.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::{
    Item, ItemBuilder, ListBuilder, Number, NumberError, SetBuilder, Type, Value, ValueBuf, ValueError,
};

use super::super::{LineFault, Members};
use super::{VERSION_MARKER, annotation};

const LEVELS_MAX: usize = 32;
const NAME_BYTES_MAX: usize = 65_535;

type Read<T> = Result<T, LineFault>;

/// Reads the members of one record. Members of other names are read and dropped.
pub fn read(line: &[u8]) -> Read<Members> {
    let text = std::str::from_utf8(line).map_err(|_| unparseable("it is not UTF-8"))?;
    let mut parser = Parser { text, at: 0 };
    parser.blank()?;
    if parser.rest().as_bytes().starts_with(VERSION_MARKER) {
        parser.at += VERSION_MARKER.len();
        parser.blank()?;
    }
    let mut members = Members::default();
    parser.fields(|parser, name| parser.member(name, &mut members))?;
    parser.blank()?;
    match parser.rest() {
        "" => Ok(members),
        _ => Err(parser.expected("the end of the line")),
    }
}

fn unparseable(what: &str) -> LineFault {
    LineFault::Unparseable(format!("The line is not valid Ion: {what}"))
}

fn refused(error: impl ToString) -> LineFault {
    LineFault::Refused(error.to_string())
}

fn no_type(what: &str) -> LineFault {
    LineFault::Refused(format!("DynamoDB has no type for an Ion {what}"))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Read<()> {
        if self.take(token) { Ok(()) } else { Err(self.expected(token)) }
    }

    fn expected(&self, what: &str) -> LineFault {
        unparseable(&format!("at byte {}, {what} is expected", self.at))
    }

    /// Skips white space and comments.
    fn blank(&mut self) -> Read<()> {
        loop {
            let trimmed = self.rest().trim_start_matches([' ', '\t', '\r', '\n', '\u{b}', '\u{c}']);
            self.at = self.text.len() - trimmed.len();
            if self.take("/*") {
                let end = self.rest().find("*/").ok_or_else(|| self.expected("*/"))?;
                self.at += end + 2;
            } else if self.take("//") {
                self.at = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end);
            } else {
                return Ok(());
            }
        }
    }

    /// One member of a record.
    fn member(&mut self, name: String, members: &mut Members) -> Read<()> {
        let place = match name.as_str() {
            "Item" => &mut members.item,
            "ExpressionAttributeValues" => &mut members.expression_attribute_values,
            "Metadata" => &mut members.metadata,
            "Keys" => &mut members.keys,
            "OldImage" => &mut members.old_image,
            "NewImage" => &mut members.new_image,
            "ConditionExpression" => {
                members.condition_expression = Some(self.string_member(&name)?);
                return Ok(());
            }
            "ExpressionAttributeNames" => {
                members.expression_attribute_names = Some(self.names(&name)?);
                return Ok(());
            }
            _ => return self.value(1).map(drop),
        };
        if self.rest().is_empty() {
            return Err(self.expected("{"));
        }
        if self.peek() != Some('{') || self.rest().starts_with("{{") {
            return Err(refused(format!("{name} is not a struct")));
        }
        *place = Some(self.item(1)?);
        Ok(())
    }

    fn string_member(&mut self, name: &str) -> Read<String> {
        let value = self.value(1)?;
        value.as_ref().as_str().map(str::to_owned).ok_or_else(|| refused(format!("{name} is not a string")))
    }

    fn names(&mut self, name: &str) -> Read<BTreeMap<String, String>> {
        let mut names = BTreeMap::new();
        self.fields(|parser, placeholder| {
            names.insert(placeholder, parser.string_member(name)?);
            Ok(())
        })?;
        Ok(names)
    }

    /// A struct; `level` is that of its values.
    fn item(&mut self, level: usize) -> Read<Item> {
        let mut item = ItemBuilder::default();
        self.fields(|parser, name| {
            match name.len() {
                0 => return Err(refused(ValueError::EmptyName)),
                length if length > NAME_BYTES_MAX => return Err(refused(ValueError::LongName)),
                _ => {}
            }
            item.put(&name, parser.value(level)?.as_ref());
            Ok(())
        })?;
        Ok(item.build())
    }

    /// The fields of a struct, from its opening brace to its closing one. `each` reads the value.
    fn fields(&mut self, mut each: impl FnMut(&mut Parser<'t>, String) -> Read<()>) -> Read<()> {
        self.expect("{")?;
        loop {
            self.blank()?;
            if self.take("}") {
                return Ok(());
            }
            let name = self.field_name()?;
            self.blank()?;
            self.expect(":")?;
            self.blank()?;
            each(self, name)?;
            self.blank()?;
            if !self.take(",") && self.peek() != Some('}') {
                return Err(self.expected(", or }"));
            }
        }
    }

    fn field_name(&mut self) -> Read<String> {
        match self.peek() {
            Some('"') => self.quoted('"'),
            Some('\'') if self.rest().starts_with("'''") => self.long_string(),
            Some('\'') => self.quoted('\''),
            _ => self.identifier(),
        }
    }

    /// A word without quotes. The number of a symbol would need a table of symbols.
    fn identifier(&mut self) -> Read<String> {
        let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
        let end = self.rest().find(|letter| !word(letter)).unwrap_or(self.rest().len());
        let name = &self.rest()[..end];
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(self.expected("a name"));
        }
        if name.len() > 1 && name[1..].bytes().all(|byte| byte.is_ascii_digit()) && name.starts_with('$') {
            return Err(self.expected("a name and not the number of a symbol"));
        }
        self.at += end;
        Ok(name.to_owned())
    }

    /// A value of an item, with its annotations.
    fn value(&mut self, level: usize) -> Read<ValueBuf> {
        if level > LEVELS_MAX {
            return Err(refused(ValueError::Nesting));
        }
        let mut set = None;
        loop {
            self.blank()?;
            let word = match self.peek() {
                Some('\'') if !self.rest().starts_with("'''") => self.quoted('\'')?,
                Some(first) if first.is_ascii_alphabetic() || first == '_' || first == '$' => {
                    self.identifier()?
                }
                _ => break,
            };
            self.blank()?;
            if !self.take("::") {
                return self.word(&word);
            }
            set = [Type::Ss, Type::Ns, Type::Bs].into_iter().find(|set| annotation(*set) == word).or(set);
        }
        match (set, self.peek()) {
            (Some(kind), Some('[')) => self.set(kind),
            (Some(kind), _) => Err(refused(format!("{} is not followed by a list", annotation(kind)))),
            (None, first) => self.plain(first, level),
        }
    }

    /// A word that is no annotation.
    fn word(&mut self, word: &str) -> Read<ValueBuf> {
        match word {
            "true" | "false" => Ok(ValueBuf::from(word == "true")),
            "null" => {
                // A null may have a type, as in `null.string`.
                if self.take(".") {
                    self.identifier()?;
                }
                Ok(Value::Null.into())
            }
            "nan" => Err(no_type("float that is not a number")),
            _ => Err(no_type("symbol")),
        }
    }

    fn plain(&mut self, first: Option<char>, level: usize) -> Read<ValueBuf> {
        match first {
            Some('"') => Ok(ValueBuf::from(self.quoted('"')?.as_str())),
            Some('\'') => Ok(ValueBuf::from(self.long_string()?.as_str())),
            Some('{') if self.rest().starts_with("{{") => self.blob(),
            Some('{') => Ok(self.item(level + 1)?.as_ref().into()),
            Some('[') => self.list(level),
            Some('(') => Err(no_type("s-expression")),
            Some('0'..='9' | '-' | '+') => self.number(),
            _ => Err(self.expected("a value")),
        }
    }

    fn list(&mut self, level: usize) -> Read<ValueBuf> {
        let mut list = ListBuilder::default();
        self.elements(level, |element| list.push(element.as_ref()))?;
        Ok(list.build())
    }

    fn set(&mut self, kind: Type) -> Read<ValueBuf> {
        let mut members = Vec::new();
        self.elements(LEVELS_MAX - 1, |member| members.push(member))?;
        if members.iter().any(|member| Some(member.as_ref().kind()) != kind.member()) {
            return Err(refused(format!("A member of a set of type {} has another type", kind.name())));
        }
        let mut set = SetBuilder::new(kind);
        members.iter().for_each(|member| set.insert(member.as_ref()));
        let set = set.build().ok_or_else(|| refused(ValueError::EmptySet(kind)))?;
        match set.as_ref().as_set().map(|distinct| distinct.len()) {
            Some(distinct) if distinct == members.len() => Ok(set),
            _ => Err(refused(duplicates(kind, &members))),
        }
    }

    /// The elements of a list at `level`, brackets included.
    fn elements(&mut self, level: usize, mut each: impl FnMut(ValueBuf)) -> Read<()> {
        self.expect("[")?;
        loop {
            self.blank()?;
            if self.take("]") {
                return Ok(());
            }
            each(self.value(level + 1)?);
            self.blank()?;
            if !self.take(",") && self.peek() != Some(']') {
                return Err(self.expected(", or ]"));
            }
        }
    }

    /// A decimal, integer or float; underscores may separate digits.
    fn number(&mut self) -> Read<ValueBuf> {
        let ends = |letter: char| letter.is_whitespace() || matches!(letter, ',' | ']' | '}' | '/');
        let end = self.rest().find(ends).unwrap_or(self.rest().len());
        let token = &self.rest()[..end];
        let number = token.replace('_', "").replace(['d', 'D'], "e");
        match Number::parse(&number) {
            Ok(number) => {
                self.at += end;
                Ok(number.into())
            }
            Err(NumberError::NotNumeric(_)) if token.starts_with(|first: char| first.is_ascii_digit()) => {
                Err(no_type(&format!("value like {token}")))
            }
            Err(NumberError::NotNumeric(_)) => Err(self.expected("a number")),
            Err(error) => Err(refused(error)),
        }
    }

    fn blob(&mut self) -> Read<ValueBuf> {
        self.expect("{{")?;
        let end = self.rest().find("}}").ok_or_else(|| self.expected("}}"))?;
        let content: String = self.rest()[..end].chars().filter(|letter| !letter.is_whitespace()).collect();
        if content.starts_with(['"', '\'']) {
            return Err(no_type("clob"));
        }
        let bytes = STANDARD.decode(content).map_err(|_| self.expected("base64"))?;
        self.at += end + 2;
        Ok(Value::B(bytes).into())
    }

    /// A string or symbol between quotes, on one line.
    fn quoted(&mut self, quote: char) -> Read<String> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some(letter) if letter == quote => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some(letter) => text.push(letter),
                None => return Err(self.expected("a closing quote")),
            }
        }
    }

    /// Strings between three quotes each, which together are one.
    fn long_string(&mut self) -> Read<String> {
        let mut text = String::new();
        while self.take("'''") {
            while !self.take("'''") {
                match self.next() {
                    Some('\\') => text.push(self.escape()?),
                    Some(letter) => text.push(letter),
                    None => return Err(self.expected("'''")),
                }
            }
            self.blank()?;
        }
        Ok(text)
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Read<char> {
        Ok(match self.next() {
            Some('0') => '\0',
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('t') => '\t',
            Some('n') => '\n',
            Some('f') => '\u{c}',
            Some('r') => '\r',
            Some('v') => '\u{b}',
            Some(same @ ('"' | '\'' | '?' | '\\' | '/')) => same,
            Some('x') => self.code_point(2)?,
            Some('u') => self.code_point(4)?,
            Some('U') => self.code_point(8)?,
            _ => return Err(self.expected("an escape")),
        })
    }

    fn code_point(&mut self, digits: usize) -> Read<char> {
        let mut code = self.hexadecimal(digits)?;
        // A character beyond 16 bits may be written as two halves.
        if (0xD800..0xDC00).contains(&code) && self.take("\\u") {
            let low = self.hexadecimal(4)?;
            if !(0xDC00..0xE000).contains(&low) {
                return Err(self.expected("the second half of a character"));
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        char::from_u32(code).ok_or_else(|| self.expected("a character"))
    }

    fn hexadecimal(&mut self, digits: usize) -> Read<u32> {
        let text = self.rest().get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = text.and_then(|text| u32::from_str_radix(text, 16).ok());
        let code = code.ok_or_else(|| self.expected("hexadecimal digits"))?;
        self.at += digits;
        Ok(code)
    }
}

fn duplicates(kind: Type, members: &[ValueBuf]) -> ValueError {
    let print = |member: &ValueBuf| match member.to_value() {
        Value::S(text) => text,
        Value::B(bytes) => STANDARD.encode(bytes),
        _ => String::new(),
    };
    ValueError::Duplicates { kind, members: members.iter().map(print).collect::<Vec<_>>().join(", ") }
}
