//! Redis' protocol.
//!
//! An order is a string of JSON; the orders of a customer and those of a product are sorted sets of their names. A put
//! writes all three in one transaction, as DynamoDB keeps an index beside its table. A query is one SORT, which reads a
//! sorted set in its order and gives back the orders that it names.

use std::io::Result;

use super::{Frame, malformed};
use crate::data::{Data, Order, QUERY_ITEMS};
use crate::workload::{Touched, Workload};

/// More levels than any reply has.
const DEPTH_MAX: usize = 4;

pub fn request(workload: Workload, data: Data, place: u64) -> Option<Vec<u8>> {
    let Touched { number, edition, numbers } = workload.touched(data, place);
    let puts = || numbers.iter().flat_map(|&number| put(&data.order(number, edition))).collect::<Vec<u8>>();
    let order = data.order(number, edition);
    match workload {
        Workload::Get => Some(command(&["GET", &format!("item:{}", name(&order))])),
        Workload::Query => Some(sort(&format!("customer:{}", data.customer(number * QUERY_ITEMS)))),
        Workload::IndexQuery => Some(sort(&format!("product:{}", data.product(number)))),
        Workload::Put => Some(transaction(&put(&order))),
        Workload::Load | Workload::Transaction | Workload::Batch => Some(transaction(&puts())),
        Workload::ConsistentGet | Workload::ConditionalPut | Workload::Update => None,
    }
}

fn name(order: &Order) -> String {
    format!("{}:{}", order.customer, order.order)
}

fn put(order: &Order) -> Vec<u8> {
    let name = name(order);
    let place = order.order.trim_start_matches("ORDER#");
    [
        command(&["SET", &format!("item:{name}"), &order.json()]),
        command(&["ZADD", &format!("customer:{}", order.customer), place, &name]),
        command(&["ZADD", &format!("product:{}", order.product), &order.placed, &name]),
    ]
    .concat()
}

/// The orders that a sorted set names, in its order.
fn sort(set: &str) -> Vec<u8> {
    command(&["SORT", set, "BY", "nosort", "GET", "item:*"])
}

fn transaction(commands: &[u8]) -> Vec<u8> {
    [&command(&["MULTI"]), commands, &command(&["EXEC"])].concat()
}

fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// `MULTI` and the commands after it are answered with a line each; what ends a reply is the first answer that is more
/// than a line: of a read, or of `EXEC`.
pub fn frame(bytes: &[u8]) -> Result<Option<Frame>> {
    let mut at = 0;
    loop {
        let Some(kind) = bytes.get(at) else { return Ok(None) };
        let Some(end) = value_end(bytes, at, 0)? else { return Ok(None) };
        match kind {
            b'+' => at = end,
            kind => {
                let status = if *kind == b'-' { 500 } else { 200 };
                return Ok(Some(Frame { status, body_start: at, body_length: end - at }));
            }
        }
    }
}

/// The end of the value that begins at `at`; `None` if it has not arrived whole.
fn value_end(bytes: &[u8], at: usize, depth: usize) -> Result<Option<usize>> {
    let Some((line, end)) = line(&bytes[at..]) else { return Ok(None) };
    let length = || -> Result<Option<usize>> {
        let text = std::str::from_utf8(&line[1..]).map_err(malformed)?;
        // What is not there has the length -1.
        Ok(usize::try_from(text.parse::<i64>().map_err(malformed)?).ok())
    };
    let end = at + end;
    match line.first() {
        Some(b'+' | b'-' | b':') => Ok(Some(end)),
        Some(b'$') => Ok(match length()? {
            None => Some(end),
            Some(length) => Some(end + length + 2).filter(|end| *end <= bytes.len()),
        }),
        Some(b'*') if depth < DEPTH_MAX => {
            let mut end = end;
            for _ in 0..length()?.unwrap_or(0) {
                match value_end(bytes, end, depth + 1)? {
                    Some(next) => end = next,
                    None => return Ok(None),
                }
            }
            Ok(Some(end))
        }
        _ => Err(malformed("a reply of another protocol")),
    }
}

/// The first line, and where the next begins.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\r')?;
    (bytes.len() > end + 1).then(|| (&bytes[..end], end + 2))
}

/// How many strings a reply has.
pub fn items(body: &[u8]) -> usize {
    let of_array = || body.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")).count();
    match body.first() {
        Some(b'$') => usize::from(!body.starts_with(b"$-1")),
        _ => of_array(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_with_the_first_answer_that_is_more_than_a_line() {
        let whole = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:1\r\n";
        assert!((0..whole.len()).all(|cut| frame(&whole[..cut]).unwrap().is_none()));
        assert_eq!(frame(whole).unwrap().map(|frame| (frame.status, frame.body_start)), Some((200, 23)));

        let string = b"$3\r\n{\"}\r\n";
        assert!((0..string.len()).all(|cut| frame(&string[..cut]).unwrap().is_none()));
        assert_eq!((frame(string).unwrap().map(|frame| frame.status), items(string)), (Some(200), 1));
        assert_eq!(items(b"$-1\r\n"), 0);
        assert_eq!(items(b"*2\r\n$2\r\n{}\r\n$2\r\n{}\r\n"), 2);

        assert_eq!(frame(b"-ERR no\r\n").unwrap().map(|frame| frame.status), Some(500));
        assert!(frame(b"HTTP/1.1 200 OK\r\n").is_err());
    }
}
