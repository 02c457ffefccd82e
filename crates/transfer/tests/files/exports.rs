//! What an export consists of, and that it is read back as it was written.

use std::io::Read;

use item::{Item, Value};
use transfer::export::{Change, Period, ViewType};
use transfer::{Export, Format};

use crate::support::{EXPORT_ID, FULL, Place, begin, every_type, export, item, items, read};

/// Compares with a file of `tests/files/golden`, which ends in a line end in any case. `UPDATE_GOLDEN=1` writes it instead.
fn check_golden(name: &str, content: &[u8]) {
    let content = String::from_utf8_lossy(content).trim_end().to_owned() + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, content).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(content, golden, "{name}");
}

fn unzipped(place: &Place, key: &str) -> Vec<u8> {
    let mut text = Vec::new();
    let file = std::fs::File::open(place.file(key)).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut text).unwrap();
    text
}

#[tokio::test]
async fn a_full_export_has_the_files_of_dynamodb() {
    let place = Place::new().await;
    let two = [every_type(), item(&[("Id", 104.into())])];
    export(&place, Format::DynamodbJson, &two, 1 << 20).await;
    let folder = format!("AWSDynamoDB/{EXPORT_ID}");
    let data = format!("{folder}/data/aaaaaaaaaaaaaaaaaaaaaaaaae.json.gz");
    assert_eq!(
        place.keys().await,
        [
            format!("{folder}/_started"),
            data.clone(),
            format!("{folder}/manifest-files.json"),
            format!("{folder}/manifest-files.md5"),
            format!("{folder}/manifest-summary.json"),
            format!("{folder}/manifest-summary.md5"),
        ]
    );
    let file = |name: &str| std::fs::read(place.file(&format!("{folder}/{name}"))).unwrap();
    assert!(file("_started").is_empty());
    check_golden("full-summary.json", &file("manifest-summary.json"));
    check_golden("full-data.json", &unzipped(&place, &data));
    let files = String::from_utf8(file("manifest-files.json")).unwrap();
    let line: serde_json::Value = serde_json::from_str(files.strip_suffix('\n').unwrap()).unwrap();
    assert_eq!(line["itemCount"], 2);
    assert_eq!(line["dataFileS3Key"], data);
    assert!(line["etag"].as_str().unwrap().ends_with("-1"));
    let order = ["{\"itemCount\":2,\"md5Checksum\":\"", "\",\"etag\":\"", "\",\"dataFileS3Key\":\""];
    assert!(order.iter().all(|part| files.contains(part)) && files.starts_with(order[0]), "{files}");
    assert_eq!(file("manifest-summary.md5").len(), 24, "the base64 of 16 bytes, and nothing else");
}

#[tokio::test]
async fn an_ion_export_has_ion_lines() {
    let place = Place::new().await;
    export(&place, Format::Ion, &[every_type(), item(&[("Id", 104.into())])], 1 << 20).await;
    let folder = format!("AWSDynamoDB/{EXPORT_ID}");
    check_golden(
        "full-data.ion",
        &unzipped(&place, &format!("{folder}/data/aaaaaaaaaaaaaaaaaaaaaaaaae.ion.gz")),
    );
    check_golden(
        "full-ion-summary.json",
        &std::fs::read(place.file(&format!("{folder}/manifest-summary.json"))).unwrap(),
    );
}

#[tokio::test]
async fn incremental_exports_share_a_data_folder_and_show_what_their_view_type_shows() {
    let before = item(&[("pk", "b".into()), ("n", 1.into())]);
    let after = item(&[("pk", "b".into()), ("n", 2.into())]);
    let keys = |pk: &str| item(&[("pk", pk.into())]);
    let changes: [(Item, Option<&Item>, Option<&Item>); 4] = [
        (keys("inserted"), None, Some(&after)),
        (keys("updated"), Some(&before), Some(&after)),
        (keys("deleted"), Some(&before), None),
        (keys("inserted and deleted"), None, None),
    ];
    for (format, view, golden) in [
        (Format::DynamodbJson, ViewType::NewAndOldImages, "incremental-both.json"),
        (Format::DynamodbJson, ViewType::NewImage, "incremental-new.json"),
        (Format::Ion, ViewType::NewAndOldImages, "incremental-both.ion"),
        (Format::Ion, ViewType::NewImage, "incremental-new.ion"),
    ] {
        let place = Place::new().await;
        let period = Period::Incremental { from_millis: 1695056400000, to_millis: 1695096000000, view };
        let mut writer = begin(&place, format, period, Some("20230919-prefix/")).await;
        for (keys, old, new) in &changes {
            let (old_image, new_image) = (old.map(Item::as_ref), new.map(Item::as_ref));
            let write_timestamp_micros = 1680109764000000;
            let change = Change { write_timestamp_micros, keys: keys.as_ref(), old_image, new_image };
            writer.change(change).await.unwrap();
        }
        let done = writer.finish(1695098424780, 10_000_000).await.unwrap();
        assert_eq!(done.item_count, 3);
        let key = &done.files[0].key;
        assert!(key.starts_with("20230919-prefix/AWSDynamoDB/data/"), "{key}");
        assert_eq!(
            done.manifest_key,
            format!("20230919-prefix/AWSDynamoDB/{EXPORT_ID}/manifest-summary.json")
        );
        check_golden(golden, &unzipped(&place, key));
        if golden == "incremental-both.json" {
            check_golden("incremental-summary.json", &std::fs::read(place.file(&done.manifest_key)).unwrap());
        }
        let export = Export::open(place.bucket.clone(), &done.manifest_key).await.unwrap();
        export.verify().await.unwrap();
        assert_eq!(export.summary().period, period);
        let mut read = export.changes();
        for (keys, old, new) in &changes[..3] {
            let change = read.next().await.unwrap().unwrap();
            assert_eq!(&change.keys, keys);
            assert_eq!(change.write_timestamp_micros, 1680109764000000);
            assert_eq!(change.new_image.as_ref(), *new);
            assert_eq!(change.old_image.as_ref(), old.filter(|_| view == ViewType::NewAndOldImages));
        }
        assert_eq!(read.next().await.unwrap(), None);
    }
}

#[tokio::test]
async fn an_export_is_read_back_as_it_was_written() {
    for format in [Format::DynamodbJson, Format::Ion] {
        let place = Place::new().await;
        let mut written = items(30_000);
        written.push(every_type());
        let key = export(&place, format, &written, 10_000).await;
        let opened = Export::open(place.bucket.clone(), &key).await.unwrap();
        assert!(opened.files().len() > 2, "{} files", opened.files().len());
        assert_eq!(opened.item_count(), 30_001);
        assert_eq!(opened.format(), format);
        assert_eq!(
            (opened.summary().end_time_millis, opened.summary().billed_size_bytes),
            (1695098424780, 1234)
        );
        assert_eq!(opened.summary().period, FULL);
        opened.verify().await.unwrap();
        assert!(read(&place, &key).await.unwrap() == written);
    }
}

#[tokio::test]
async fn an_export_without_items_has_one_empty_data_file() {
    let place = Place::new().await;
    let key = export(&place, Format::DynamodbJson, &[], 1 << 20).await;
    let opened = Export::open(place.bucket.clone(), &key).await.unwrap();
    assert_eq!(opened.files().len(), 1);
    assert_eq!(opened.files()[0].item_count, 0);
    assert!(unzipped(&place, &opened.files()[0].key).is_empty());
    assert!(read(&place, &key).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_unfinished_export_has_no_summary() {
    let place = Place::new().await;
    let mut writer = begin(&place, Format::DynamodbJson, FULL, Some("a/b")).await;
    writer.item(every_type().as_ref()).await.unwrap();
    drop(writer);
    assert_eq!(place.keys().await, [format!("a/b/AWSDynamoDB/{EXPORT_ID}/_started")]);
}

#[tokio::test]
async fn the_largest_item_fits_into_a_line() {
    // Empty strings in a list take one byte each in DynamoDB and nine in JSON.
    let place = Place::new().await;
    let elements = Value::L(vec![Value::from(""); 400 * 1024 - 10]);
    let largest = item(&[("pk", elements)]);
    assert!(largest.as_ref().size_bytes() > 400 * 1024 - 10);
    for format in [Format::DynamodbJson, Format::Ion] {
        let key = export(&place, format, std::slice::from_ref(&largest), 1 << 20).await;
        assert!(read(&place, &key).await.unwrap() == [largest.clone()]);
    }
}

#[tokio::test]
async fn an_export_that_lost_a_write_can_not_be_completed() {
    let place = Place::new().await;
    let mut writer = begin(&place, Format::DynamodbJson, FULL, None).await.with_file_bytes(1);
    let data = place.file(&format!("AWSDynamoDB/{EXPORT_ID}/data"));
    std::fs::write(&data, "a file where the folder should be").unwrap();
    let mut failures = 0;
    for item in items(20_000) {
        failures += u32::from(writer.item(item.as_ref()).await.is_err());
    }
    assert!(failures > 0);
    std::fs::remove_file(&data).unwrap();
    let error = writer.finish(1, 2).await.unwrap_err();
    assert!(error.to_string().contains("an earlier write of this export did not end well"), "{error}");
    assert_eq!(place.keys().await, [format!("AWSDynamoDB/{EXPORT_ID}/_started")]);
}
