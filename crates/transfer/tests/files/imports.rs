//! Reading objects that anybody may have written.

use std::collections::BTreeMap;
use std::io::Write;

use item::{Item, Type, Value};
use transfer::import::{CsvOptions, InputFormat, Record};
use transfer::{Compression, Format, Import, ImportError, RECORD_BYTES_MAX};

use crate::support::{BUCKET, Place, every_type, export, item, items, number};

const JSON: InputFormat = InputFormat::Lines(Format::DynamodbJson);
const ION: InputFormat = InputFormat::Lines(Format::Ion);

async fn open(place: &Place, prefix: &str, format: InputFormat, compression: Compression) -> Import {
    Import::open(place.bucket.clone(), prefix, format, compression).await.unwrap()
}

/// Everything that an import finds: records, and errors as text.
async fn all(import: &mut Import) -> Vec<Result<Record, String>> {
    let mut found = Vec::new();
    loop {
        match import.next().await {
            Ok(None) => return found,
            Ok(Some(record)) => found.push(Ok(record)),
            Err(error) => found.push(Err(error.to_string())),
        }
        assert!(found.len() < 1_000_000, "the import never ends");
    }
}

/// `key#index item` or `key#index! message` for each record.
async fn outline(import: &mut Import) -> Vec<String> {
    let print = |found: Result<Record, String>| match found {
        Ok(Record { key, index, outcome: Ok(record) }) => format!("{key}#{index} {:?}", record.item),
        Ok(Record { key, index, outcome: Err(message) }) => format!("{key}#{index}! {message}"),
        Err(error) => format!("!! {error}"),
    };
    all(import).await.into_iter().map(print).collect()
}

async fn imported(import: &mut Import) -> Vec<Item> {
    all(import).await.into_iter().map(|record| record.unwrap().outcome.unwrap().item).collect()
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

async fn zstd(content: &[u8]) -> Vec<u8> {
    use tokio::io::AsyncWriteExt;
    let mut encoder = async_compression::tokio::write::ZstdEncoder::new(Vec::new());
    encoder.write_all(content).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}

fn csv(options: &[(&str, Type)], header: Option<&[&str]>, delimiter: u8) -> InputFormat {
    let key_types: BTreeMap<String, Type> =
        options.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
    let header = header.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    InputFormat::Csv(CsvOptions { delimiter, header, key_types })
}

#[tokio::test]
async fn an_export_is_imported_from_its_data_folder() {
    for format in [Format::DynamodbJson, Format::Ion] {
        let place = Place::new().await;
        let mut written = items(20_000);
        written.push(every_type());
        let key = export(&place, format, &written, 10_000).await;
        let data = key.replace("manifest-summary.json", "data/");
        let mut import = open(&place, &data, InputFormat::Lines(format), Compression::Gzip).await;
        let mut read = imported(&mut import).await;
        assert_eq!(import.processed_bytes(), import.size_bytes());
        // Files are read in the order of their names, which is that of their writing here.
        assert_eq!(read.len(), written.len());
        let bytes = |item: &Item| item.clone().into_stored();
        read.sort_by_key(bytes);
        written.sort_by_key(bytes);
        assert!(read == written);
    }
}

#[tokio::test]
async fn a_line_that_is_not_json_ends_its_object_and_no_other() {
    let place = Place::new().await;
    let good = |n: u32| format!("{{\"Item\":{{\"pk\":{{\"N\":\"{n}\"}}}}}}\n");
    let broken = format!("{}{}{{\"Item\":\n{}", good(0), good(1), good(3));
    place.put("in/1", broken).await;
    place.put("in/2", format!("\n{}  \r\n{}", good(4), good(5).trim_end())).await;
    let mut import = open(&place, "in/", JSON, Compression::None).await;
    assert_eq!(
        outline(&mut import).await,
        [
            r#"in/1#0 {"pk":{"N":"0"}}"#,
            r#"in/1#1 {"pk":{"N":"1"}}"#,
            "in/1#2! The line is not valid JSON",
            r#"in/2#0 {"pk":{"N":"4"}}"#,
            r#"in/2#1 {"pk":{"N":"5"}}"#,
        ]
    );
}

#[tokio::test]
async fn a_record_that_breaks_a_rule_is_reported_and_reading_goes_on() {
    let place = Place::new().await;
    place.put("a", "{\"Item\":{\"a\":{\"N\":\"x\"}}}\n{\"version\":1}\n{\"Item\":{}}\n").await;
    let mut import = open(&place, "", JSON, Compression::None).await;
    assert_eq!(
        outline(&mut import).await,
        [
            "a#0! The parameter cannot be converted to a numeric value: x",
            "a#1! The record has no Item",
            "a#2 {}",
        ]
    );
    place.put("a", "$ion_1_0\n{Item:{a:word}}\n$ion_1_0 {Item:{a:1.}}\n{Item:\n{Item:{}}\n").await;
    let mut import = open(&place, "", ION, Compression::None).await;
    assert_eq!(
        outline(&mut import).await,
        [
            "a#0! DynamoDB has no type for an Ion symbol",
            r#"a#1 {"a":{"N":"1"}}"#,
            "a#2! The line is not valid Ion: at byte 6, { is expected",
        ]
    );
}

#[tokio::test]
async fn all_compressions_give_the_same_records() {
    let place = Place::new().await;
    let mut lines = Vec::new();
    for item in items(5_000) {
        Format::DynamodbJson.write_item(item.as_ref(), &mut lines);
    }
    let (first, second) = lines.split_at(lines.len() / 3);
    place.put("plain", lines.clone()).await;
    place.put("gzip", [gzipped(first), gzipped(second)].concat()).await;
    place.put("zstd", [zstd(first).await, zstd(second).await].concat()).await;
    for (key, compression) in
        [("plain", Compression::None), ("gzip", Compression::Gzip), ("zstd", Compression::Zstd)]
    {
        let mut import = open(&place, key, JSON, compression).await;
        assert!(imported(&mut import).await == items(5_000), "{key}");
        assert_eq!(import.processed_bytes(), std::fs::metadata(place.file(key)).unwrap().len());
    }
}

#[tokio::test]
async fn a_damaged_object_is_named_and_the_next_one_is_read() {
    let line = b"{\"Item\":{}}\n";
    for (compression, content) in [
        (Compression::Gzip, gzipped(&line.repeat(10_000))),
        (Compression::Zstd, zstd(&line.repeat(10_000)).await),
    ] {
        let place = Place::new().await;
        let good = match compression {
            Compression::Gzip => gzipped(line),
            _ => zstd(line).await,
        };
        place.put("1-cut", &content[..content.len() - 3]).await;
        place.put("2-not compressed", *line).await;
        place.put("3-good", good).await;
        let mut import = open(&place, "", JSON, compression).await;
        let found = all(&mut import).await;
        let errors: Vec<&String> = found.iter().filter_map(|found| found.as_ref().err()).collect();
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].contains(&format!("{BUCKET}/1-cut is damaged")), "{errors:?}");
        assert!(errors[1].contains(&format!("{BUCKET}/2-not compressed is damaged")), "{errors:?}");
        let last = found.last().unwrap().as_ref().unwrap();
        assert_eq!((last.key.as_ref(), last.index), ("3-good", 0));
    }
}

#[tokio::test]
async fn a_flipped_bit_in_a_gzip_object_is_found() {
    let place = Place::new().await;
    let mut lines = Vec::new();
    items(20).iter().for_each(|item| Format::DynamodbJson.write_item(item.as_ref(), &mut lines));
    let right = gzipped(&lines);
    // The header has fields without meaning for the content: time, level and system.
    for at in 10..right.len() {
        let mut wrong = right.clone();
        wrong[at] ^= 1 << (at % 8);
        place.put("a", wrong).await;
        let mut import = open(&place, "a", JSON, Compression::Gzip).await;
        let found = all(&mut import).await;
        let reported = found.iter().any(|found| !matches!(found, Ok(Record { outcome: Ok(_), .. })));
        assert!(reported, "byte {at}");
    }
}

#[tokio::test]
async fn a_line_without_end_is_an_error_and_not_memory() {
    // 64 MB of text in less than a megabyte.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"{\"Item\":{\"a\":{\"S\":\"").unwrap();
    (0..64).for_each(|_| gzip.write_all(&[b'x'; 1 << 20]).unwrap());
    let bomb = gzip.finish().unwrap();
    assert!(bomb.len() < 1 << 20);
    let place = Place::new().await;
    place.put("bomb", bomb).await;
    place.put("next", gzipped(b"{\"Item\":{}}")).await;
    for format in [JSON, ION, csv(&[], Some(&["a"]), b',')] {
        let mut import = open(&place, "bomb", format, Compression::Gzip).await;
        let found = outline(&mut import).await;
        assert_eq!(found, [format!("bomb#0! a record is longer than {RECORD_BYTES_MAX} bytes")]);
        assert!(import.processed_bytes() < import.size_bytes(), "the rest is not read");
    }
    let mut import = open(&place, "", JSON, Compression::Gzip).await;
    assert_eq!(outline(&mut import).await.last().unwrap(), "next#0 {}");
}

#[tokio::test]
async fn csv_has_typed_keys_and_strings_elsewhere() {
    let place = Place::new().await;
    place
        .put(
            "people.csv",
            "id,hash,name,note\r\n1.50,aGk=,\"Smith, \"\"Jo\"\"\",\"two\nlines\"\n2,,x,\n\n3,aGk=,y\nz,aGk=,y,n\n4,!,y,n\n",
        )
        .await;
    let format = csv(&[("id", Type::N), ("hash", Type::B)], None, b',');
    let found = all(&mut open(&place, "people", format, Compression::None).await).await;
    let outcomes: Vec<_> =
        found.into_iter().map(|record| record.unwrap().outcome.map(|record| record.item)).collect();
    let first = item(&[
        ("id", number("1.5").into()),
        ("hash", Value::B(b"hi".to_vec())),
        ("name", "Smith, \"Jo\"".into()),
        ("note", "two\nlines".into()),
    ]);
    let second = item(&[("id", 2.into()), ("name", "x".into())]);
    assert_eq!(outcomes[0], Ok(first));
    assert_eq!(outcomes[1], Ok(second));
    assert_eq!(outcomes[2], Err("The record has 3 fields, the header has 4".to_owned()));
    assert_eq!(outcomes[3], Err("The parameter cannot be converted to a numeric value: z".to_owned()));
    assert!(outcomes[4].as_ref().unwrap_err().starts_with("A field is not base64"), "{:?}", outcomes[4]);
    assert_eq!(outcomes.len(), 5);
}

#[tokio::test]
async fn csv_with_a_given_header_has_data_in_its_first_line() {
    let place = Place::new().await;
    for (delimiter, text) in
        [(b';', "a;b\nc;d"), (b'\t', "a\tb\nc\td\n"), (b' ', "a b\nc d"), (b'|', "a|b\nc|d")]
    {
        place.put("x", text).await;
        let format = csv(&[], Some(&["k", "v"]), delimiter);
        let read = imported(&mut open(&place, "x", format, Compression::None).await).await;
        let row = |k: &str, v: &str| item(&[("k", k.into()), ("v", v.into())]);
        assert_eq!(read, [row("a", "b"), row("c", "d")]);
    }
}

#[tokio::test]
async fn each_csv_object_has_its_own_header() {
    let place = Place::new().await;
    place.put("1", "a,b\n1,2\n").await;
    place.put("2", "b,a\n1,2\n").await;
    place.put("3", "only a header\n").await;
    place.put("4", "").await;
    place.put("5", b"caf\xe9,b\n1,2\n".to_vec()).await;
    let mut import = open(&place, "", csv(&[], None, b','), Compression::None).await;
    assert_eq!(
        outline(&mut import).await,
        [
            r#"1#0 {"a":{"S":"1"},"b":{"S":"2"}}"#,
            r#"2#0 {"a":{"S":"2"},"b":{"S":"1"}}"#,
            "5#0! The header of the CSV file is not UTF-8",
        ]
    );
}

#[tokio::test]
async fn csv_records_are_the_same_wherever_the_pieces_of_an_object_end() {
    // Longer than any buffer on the way.
    let place = Place::new().await;
    let rows = 20_000;
    let text: String = (0..rows).map(|n| format!("{n},\"row \"\"{n}\"\"\n, \"\n")).collect();
    place.put("x", gzipped(format!("n,t\n{text}").as_bytes())).await;
    let format = csv(&[("n", Type::N)], None, b',');
    let read = imported(&mut open(&place, "x", format, Compression::Gzip).await).await;
    assert_eq!(read.len(), rows);
    for (n, read) in read.into_iter().enumerate() {
        assert_eq!(read, item(&[("n", (n as u64).into()), ("t", format!("row \"{n}\"\n, ").into())]));
    }
}

#[tokio::test]
async fn nothing_below_the_prefix_is_an_import_without_records() {
    let place = Place::new().await;
    let mut import = open(&place, "none/", JSON, Compression::None).await;
    assert!(matches!(import.next().await, Ok(None)));
    assert_eq!((import.size_bytes(), import.processed_bytes()), (0, 0));
}

#[tokio::test]
async fn an_object_that_vanishes_is_named() {
    let place = Place::new().await;
    place.put("a", "{\"Item\":{}}").await;
    let mut import = open(&place, "", JSON, Compression::None).await;
    std::fs::remove_file(place.file("a")).unwrap();
    let error = import.next().await.unwrap_err();
    assert!(matches!(error, ImportError::Place(_)), "{error}");
    assert_eq!(error.to_string(), format!("{BUCKET}/a does not exist"));
}

/// Files are read by the runtime's blocking threads. With one of them, and that one kept busy, whatever has to be read
/// is waited for.
#[test]
fn a_call_that_is_dropped_while_it_waits_loses_nothing() {
    use std::future::Future;
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let place = Place::new().await;
        let rows: String = (0..3_000).map(|n| format!("{n},\"row \"\"{n}\"\" of many\"\n")).collect();
        let json: String =
            (0..3_000).map(|n| format!("{{\"Item\":{{\"n\":{{\"N\":\"{n}\"}}}}}}\n")).collect();
        place.put("csv/1", format!("n,t\n{rows}")).await;
        place.put("csv/2", format!("n,t\n{rows}")).await;
        place.put("json/1", json.clone()).await;
        place.put("json/2", json).await;
        for (prefix, format) in [("csv/", csv(&[("n", Type::N)], None, b',')), ("json/", JSON)] {
            let mut import = open(&place, prefix, format, Compression::None).await;
            let (mut read, mut dropped) = (Vec::new(), 0);
            loop {
                // The first call is dropped if it has to wait. The second one goes on where the first stopped.
                let (release, released) = mpsc::channel::<()>();
                let busy = tokio::task::spawn_blocking(move || released.recv());
                let polled = std::pin::pin!(import.next()).poll(&mut Context::from_waker(Waker::noop()));
                drop(release);
                assert!(busy.await.unwrap().is_err());
                let record = match polled {
                    Poll::Ready(record) => record,
                    Poll::Pending => {
                        dropped += 1;
                        import.next().await
                    }
                };
                match record.unwrap() {
                    Some(record) => read.push(record.outcome.unwrap().item.get("n").unwrap().to_value()),
                    None => break,
                }
            }
            assert!(dropped >= 2, "both objects are waited for");
            let expected: Vec<Value> = (0..2).flat_map(|_| (0..3_000u64).map(Value::from)).collect();
            assert!(read == expected, "{prefix}: {} records", read.len());
        }
    });
}
