//! `status = OPEN and createdAt between :from and :to` -> [`Predicate`].

use super::Parsed;
use super::cursor::Cursor;
use super::yaml::Scalar;
use crate::Spanned;
use crate::predicate::{Operand, Operator, Predicate, Term};

const SYMBOLS: [(&str, Operator); 8] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<>", Operator::NotEqual),
    ("!=", Operator::NotEqual),
    ("==", Operator::Equal),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

pub fn predicate(scalar: &Scalar) -> Parsed<Predicate> {
    let mut cursor = Cursor::new(scalar);
    let mut terms = vec![term(&mut cursor)?];
    while cursor.take_word("and") {
        terms.push(term(&mut cursor)?);
    }
    if cursor.take_word("or") {
        let message = "`or` is not a predicate here: no key serves it with one request";
        return Err(Box::new(
            crate::Diagnostic::error(cursor.scalar.span, message)
                .help("write `attribute in (A, B)`, or one pattern for each side"),
        ));
    }
    cursor.end()?;
    Ok(Predicate { terms, span: scalar.span })
}

fn term(cursor: &mut Cursor<'_>) -> Parsed<Term> {
    cursor.skip_space();
    let start = cursor.at;
    if let Some(operator) = existence(cursor) {
        let attribute = existing(cursor)?;
        return Ok(Term { attribute, operator, operands: Vec::new(), span: cursor.since(start) });
    }
    let (name, span) = cursor.word("an attribute")?;
    let operator = operator(cursor)?;
    let operands = operands(cursor, operator)?;
    Ok(Term { attribute: Spanned::new(name.to_owned(), span), operator, operands, span: cursor.since(start) })
}

/// `exists` and `not exists` come before their attribute.
fn existence(cursor: &mut Cursor<'_>) -> Option<Operator> {
    let start = cursor.at;
    if cursor.take_word("exists") {
        return Some(Operator::Exists);
    }
    if cursor.take_word("not") && cursor.take_word("exists") {
        return Some(Operator::NotExists);
    }
    cursor.at = start;
    None
}

/// The attribute of an existence test, in brackets or not; empty if the item itself is meant.
fn existing(cursor: &mut Cursor<'_>) -> Parsed<Spanned<String>> {
    let bracket = cursor.take("(");
    let nothing_named = cursor.at_end() || {
        let start = cursor.at;
        let next = cursor.take_word("and");
        cursor.at = start;
        next
    };
    if nothing_named && !bracket {
        return Ok(Spanned::new(String::new(), cursor.scalar.span));
    }
    let (name, span) = cursor.word("an attribute")?;
    if bracket && !cursor.take(")") {
        return Err(cursor.error("expected `)`"));
    }
    Ok(Spanned::new(name.to_owned(), span))
}

fn operator(cursor: &mut Cursor<'_>) -> Parsed<Operator> {
    let symbol = SYMBOLS.iter().find(|(symbol, _)| cursor.take(symbol)).map(|(_, operator)| *operator);
    if let Some(operator) = symbol {
        return Ok(operator);
    }
    let words = [
        ("between", Operator::Between),
        ("begins_with", Operator::BeginsWith),
        ("contains", Operator::Contains),
        ("in", Operator::In),
    ];
    words.iter().find(|(word, _)| cursor.take_word(word)).map(|(_, operator)| *operator).ok_or_else(|| {
        cursor.error("expected a comparison: `=`, `<>`, `<`, `<=`, `>`, `>=`, `between`, `begins_with`, `in`")
    })
}

fn operands(cursor: &mut Cursor<'_>, operator: Operator) -> Parsed<Vec<Operand>> {
    match operator {
        Operator::Between => {
            let low = operand(cursor)?;
            if !cursor.take_word("and") {
                return Err(cursor.error("expected `and` and the upper bound"));
            }
            Ok(vec![low, operand(cursor)?])
        }
        Operator::In => list(cursor),
        _ => Ok(vec![operand(cursor)?]),
    }
}

fn list(cursor: &mut Cursor<'_>) -> Parsed<Vec<Operand>> {
    if !cursor.take("(") {
        return Err(cursor.error("expected `(` and the values"));
    }
    let mut operands = vec![operand(cursor)?];
    while cursor.take(",") {
        operands.push(operand(cursor)?);
    }
    if cursor.take(")") { Ok(operands) } else { Err(cursor.error("expected `)`")) }
}

/// `:name`, a quoted text, or a word.
pub fn operand(cursor: &mut Cursor<'_>) -> Parsed<Operand> {
    cursor.skip_space();
    if cursor.take(":") {
        return Ok(Operand::Parameter(cursor.word("the name of a parameter")?.0.to_owned()));
    }
    for quote in ['\'', '"'] {
        if cursor.rest().starts_with(quote) {
            return quoted(cursor, quote);
        }
    }
    let text = cursor.take_while(|c| !c.is_whitespace() && !matches!(c, ',' | ')' | '('));
    if text.is_empty() {
        return Err(cursor.error("expected a value, or a parameter such as `:since`"));
    }
    Ok(Operand::Literal(text.to_owned()))
}

fn quoted(cursor: &mut Cursor<'_>, quote: char) -> Parsed<Operand> {
    cursor.at += quote.len_utf8();
    let text = cursor.take_while(|c| c != quote).to_owned();
    if !cursor.rest().starts_with(quote) {
        return Err(cursor.error("the quoted text has no end"));
    }
    cursor.at += quote.len_utf8();
    Ok(Operand::Literal(text))
}
