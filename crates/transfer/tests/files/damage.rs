//! Damage of any byte of any file is found and named, and never changes an item silently.

use transfer::{Export, ExportError, Format, PlaceError};

use crate::support::{Place, every_type, export, item, items, read};

/// What a restore does before it uses any item.
async fn verify(place: &Place, manifest_key: &str) -> Result<(), ExportError> {
    Export::open(place.bucket.clone(), manifest_key).await?.verify().await
}

fn files(place: &Place, keys: Vec<String>) -> Vec<std::path::PathBuf> {
    keys.iter().filter(|key| !key.ends_with("_started")).map(|key| place.file(key)).collect()
}

#[tokio::test]
async fn a_flipped_bit_in_any_file_is_found() {
    let place = Place::new().await;
    let key = export(&place, Format::DynamodbJson, &[every_type(), item(&[("pk", 1.into())])], 1 << 20).await;
    verify(&place, &key).await.unwrap();
    for path in files(&place, place.keys().await) {
        let right = std::fs::read(&path).unwrap();
        for at in 0..right.len() {
            let mut wrong = right.clone();
            wrong[at] ^= 1 << (at % 8);
            std::fs::write(&path, &wrong).unwrap();
            let error = verify(&place, &key).await.expect_err(&format!("byte {at} of {}", path.display()));
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(error.to_string().contains(name), "{error} should name {name}");
        }
        std::fs::write(&path, &right).unwrap();
    }
    verify(&place, &key).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_cut_anywhere_is_found() {
    let place = Place::new().await;
    let key = export(&place, Format::Ion, &[every_type()], 1 << 20).await;
    for path in files(&place, place.keys().await) {
        let right = std::fs::read(&path).unwrap();
        for length in 0..right.len() {
            std::fs::write(&path, &right[..length]).unwrap();
            let found = verify(&place, &key).await;
            assert!(found.is_err(), "{} cut to {length} bytes", path.display());
        }
        std::fs::write(&path, [&right[..], b"\0"].concat()).unwrap();
        assert!(verify(&place, &key).await.is_err(), "{} with a byte more", path.display());
        std::fs::write(&path, &right).unwrap();
    }
}

#[tokio::test]
async fn a_missing_part_is_named() {
    let place = Place::new().await;
    let key = export(&place, Format::DynamodbJson, &items(20_000), 10_000).await;
    let keys = place.keys().await.into_iter().filter(|key| !key.ends_with("_started"));
    for missing in keys {
        let path = place.file(&missing);
        let right = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let error = verify(&place, &key).await.unwrap_err();
        let named =
            matches!(&error, ExportError::Place(PlaceError::NoSuchObject { key, .. }) if *key == missing);
        assert!(named, "{error}");
        std::fs::write(&path, &right).unwrap();
    }
}

#[tokio::test]
async fn a_data_file_of_another_export_in_the_place_of_one_is_found() {
    let (place, other) = (Place::new().await, Place::new().await);
    let key = export(&place, Format::DynamodbJson, &items(10), 1 << 20).await;
    export(&other, Format::DynamodbJson, &items(11), 1 << 20).await;
    let data = Export::open(place.bucket.clone(), &key).await.unwrap().files()[0].key.clone();
    std::fs::copy(other.file(&data), place.file(&data)).unwrap();
    let error = verify(&place, &key).await.unwrap_err();
    assert!(matches!(error, ExportError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&data) && error.to_string().contains("its MD5 is"), "{error}");
}

#[tokio::test]
async fn a_manifest_whose_counts_do_not_add_up_is_found() {
    let place = Place::new().await;
    let key = export(&place, Format::DynamodbJson, &items(10), 1 << 20).await;
    let rewrite = |key: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(place.file(key)).unwrap().replace(from, to);
        let checksum = md5_base64(text.as_bytes());
        std::fs::write(place.file(key), text).unwrap();
        std::fs::write(place.file(&key.replace(".json", ".md5")), checksum).unwrap();
    };
    let files_key = key.replace("summary", "files");
    rewrite(&files_key, "\"itemCount\":10", "\"itemCount\":9");
    let error = verify(&place, &key).await.unwrap_err();
    assert!(error.to_string().contains("the summary counts 10"), "{error}");
    rewrite(&key, "\"itemCount\":10", "\"itemCount\":9");
    let error = verify(&place, &key).await.unwrap_err();
    assert!(error.to_string().contains("it has 10 records, the manifest says 9"), "{error}");
    let error = read(&place, &key).await.unwrap_err();
    assert!(error.to_string().contains("it has 10 records, the manifest says 9"), "{error}");
}

#[tokio::test]
async fn a_manifest_that_points_out_of_the_bucket_is_refused() {
    let place = Place::new().await;
    let key = export(&place, Format::DynamodbJson, &items(1), 1 << 20).await;
    let text = std::fs::read_to_string(place.file(&key)).unwrap();
    let text = text.replace("\"manifestFilesS3Key\":\"AWS", "\"manifestFilesS3Key\":\"../AWS");
    std::fs::write(place.file(&key.replace(".json", ".md5")), md5_base64(text.as_bytes())).unwrap();
    std::fs::write(place.file(&key), text).unwrap();
    let error = verify(&place, &key).await.unwrap_err();
    assert!(matches!(error, ExportError::Place(PlaceError::InvalidKey { .. })), "{error}");
}

fn md5_base64(bytes: &[u8]) -> String {
    use base64::Engine;
    use md5::Digest;
    base64::engine::general_purpose::STANDARD.encode(md5::Md5::digest(bytes))
}
