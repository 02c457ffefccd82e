//! A folder with one bucket, and exports in it.

use item::{Item, Number, Value};
use tempfile::TempDir;
use transfer::export::{ExportWriter, Period, Summary};
use transfer::{Bucket, Buckets, Export, ExportError, Format};

pub const BUCKET: &str = "my-bucket";
pub const EXPORT_ID: &str = "01695097218000-d6299cbd";
const TABLE_ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/ProductCatalog";

/// A folder whose only bucket is [`BUCKET`]. It is removed when dropped.
pub struct Place {
    pub folder: TempDir,
    pub bucket: Bucket,
}

impl Place {
    pub async fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let buckets = Buckets::open(folder.path().to_str().unwrap()).unwrap();
        let bucket = buckets.bucket(BUCKET).await.unwrap();
        Place { folder, bucket }
    }

    pub fn file(&self, key: &str) -> std::path::PathBuf {
        self.folder.path().join(BUCKET).join(key)
    }

    pub async fn put(&self, key: &str, content: impl Into<Vec<u8>>) {
        self.bucket.put(key, content.into().into()).await.unwrap();
    }

    pub async fn keys(&self) -> Vec<String> {
        self.bucket.list("").await.unwrap().into_iter().map(|object| object.key).collect()
    }
}

pub fn summary(period: Period, prefix: Option<&str>) -> Summary {
    Summary {
        export_arn: format!("{TABLE_ARN}/export/{EXPORT_ID}"),
        table_arn: TABLE_ARN.to_owned(),
        table_id: "b116b490-6460-4d4a-9a6b-5d360abf4fb3".to_owned(),
        start_time_millis: 1695097218000,
        end_time_millis: 0,
        period,
        s3_bucket: BUCKET.to_owned(),
        s3_prefix: prefix.map(str::to_owned),
        s3_sse_algorithm: Some("AES256".to_owned()),
        s3_sse_kms_key_id: None,
        billed_size_bytes: 0,
    }
}

/// Names that count up, so that files are the same in every run.
pub fn counted_names() -> transfer::export::FileNames {
    let mut count = 0u128;
    Box::new(move || {
        count += 1;
        count.to_be_bytes()
    })
}

pub const FULL: Period = Period::Full { time_millis: 1604474914028 };

pub async fn begin(place: &Place, format: Format, period: Period, prefix: Option<&str>) -> ExportWriter {
    let summary = summary(period, prefix);
    ExportWriter::begin(place.bucket.clone(), format, summary, counted_names()).await.unwrap()
}

/// Writes a full export and returns the key of its summary.
pub async fn export(place: &Place, format: Format, items: &[Item], file_bytes: usize) -> String {
    let mut writer = begin(place, format, FULL, None).await.with_file_bytes(file_bytes);
    for item in items {
        writer.item(item.as_ref()).await.unwrap();
    }
    writer.finish(1695098424780, 1234).await.unwrap().manifest_key
}

/// All items of an export, each checksum and count compared.
pub async fn read(place: &Place, manifest_key: &str) -> Result<Vec<Item>, ExportError> {
    let export = Export::open(place.bucket.clone(), manifest_key).await?;
    let mut items = export.items();
    let mut read = Vec::new();
    while let Some(item) = items.next().await? {
        read.push(item);
    }
    Ok(read)
}

pub fn item(attributes: &[(&str, Value)]) -> Item {
    let mut item = item::ItemBuilder::default();
    for (name, value) in attributes {
        item.put(name, item::ValueBuf::from(value).as_ref());
    }
    item.build()
}

pub fn number(text: &str) -> Number {
    Number::parse(text).unwrap()
}

/// An item with a value of each type.
pub fn every_type() -> Item {
    item(&[
        ("Id", number("103").into()),
        ("Title", "Book \"103\"\n\u{1}é😀".into()),
        ("empty", "".into()),
        ("PageCount", number("600").into()),
        ("Price", number("-19.95").into()),
        ("tiny", number("1.5e-9").into()),
        ("zero", number("0").into()),
        ("raw", Value::B(vec![0, 1, 255])),
        ("no bytes", Value::B(vec![])),
        ("Flag", false.into()),
        ("nothing", Value::Null),
        ("Authors", Value::string_set(["Author2", "Author1"])),
        ("sizes", Value::number_set([number("2.5"), number("100")])),
        ("parts", Value::binary_set([vec![1u8], vec![]])),
        ("list", Value::L(vec!["a".into(), Value::L(vec![]), Value::Null])),
        ("map", Value::map([("null", Value::from(1)), ("it's", Value::M(Default::default()))])),
        ("$10", true.into()),
    ])
}

/// Many small items, different from each other.
pub fn items(count: u64) -> Vec<Item> {
    (0..count).map(|n| item(&[("pk", format!("item {n}").into()), ("n", (n * 7919).into())])).collect()
}
