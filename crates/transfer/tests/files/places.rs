//! Buckets, keys and listings.

use futures_util::TryStreamExt;
use transfer::{Bucket, Buckets, PlaceError};

use crate::support::{BUCKET, Place};

#[tokio::test]
async fn a_missing_bucket_is_an_error_of_its_own() {
    let place = Place::new().await;
    std::fs::write(place.folder.path().join("file"), "").unwrap();
    let buckets = Buckets::open(place.folder.path().to_str().unwrap()).unwrap();
    for name in ["other", "file", "", ".", "..", "a/b", "/etc", "a\0b"] {
        let error = buckets.bucket(name).await.unwrap_err();
        assert!(matches!(&error, PlaceError::NoSuchBucket { bucket } if bucket == name), "{name:?}: {error}");
    }
    let error = buckets.bucket("other").await.unwrap_err();
    assert_eq!(error.to_string(), "The specified bucket does not exist: other");
    assert!(buckets.bucket(BUCKET).await.is_ok());
}

#[tokio::test]
async fn an_object_is_read_as_it_was_put() {
    let place = Place::new().await;
    let content: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
    place.put("a/b c/ü+%.bin", content.clone()).await;
    let pieces: Vec<_> = place.bucket.get("a/b c/ü+%.bin").await.unwrap().try_collect().await.unwrap();
    assert_eq!(pieces.concat(), content);
    assert_eq!(
        std::fs::read(place.file("a/b c/ü+%.bin")).unwrap(),
        content,
        "the folder has the key's own names"
    );
    assert_eq!(place.bucket.get_small("a/b c/ü+%.bin", 100_000).await.unwrap(), content);
    let error = place.bucket.get_small("a/b c/ü+%.bin", 99_999).await.unwrap_err();
    assert!(matches!(error, PlaceError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn only_the_owner_can_read_what_is_put() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new().await;
    let mode = |key: &str| std::fs::metadata(place.file(key)).unwrap().permissions().mode() & 0o777;
    let open = |key: &str, mode: u32| {
        std::fs::set_permissions(place.file(key), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for key in ["at the top", "a/b/c"] {
        place.put(key, b"content".to_vec()).await;
        assert_eq!(mode(key), 0o600, "{key}");
    }
    assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
    // What an earlier version left open is closed.
    open("a/b", 0o755);
    open("a/b/c", 0o644);
    place.put("a/b/c", b"again".to_vec()).await;
    assert_eq!((mode("a/b"), mode("a/b/c")), (0o700, 0o600));
}

#[tokio::test]
async fn a_missing_object_is_named() {
    let place = Place::new().await;
    let error = place.bucket.get("a/gone").await.err().unwrap();
    assert_eq!(error.to_string(), format!("{BUCKET}/a/gone does not exist"));
    place.bucket.delete("a/gone").await.unwrap();
}

#[tokio::test]
async fn a_key_never_leaves_its_bucket() {
    let place = Place::new().await;
    let invalid = [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../x",
        "a/../../x",
        "a//b",
        "a/",
        ".",
        "a/./b",
        "a\0b",
        "a\\..\\b",
        "a#1",
    ];
    for key in invalid {
        let put = place.bucket.put(key, "x".into()).await.unwrap_err();
        assert!(matches!(put, PlaceError::InvalidKey { .. }), "{key:?}: {put}");
        let get = place.bucket.get(key).await.err().unwrap();
        assert!(matches!(get, PlaceError::InvalidKey { .. }), "{key:?}: {get}");
        let delete = place.bucket.delete(key).await.unwrap_err();
        assert!(matches!(delete, PlaceError::InvalidKey { .. }), "{key:?}: {delete}");
    }
    for prefix in ["../", "/", "a/../b", "/etc/"] {
        let list = place.bucket.list(prefix).await.unwrap_err();
        assert!(matches!(list, PlaceError::InvalidKey { .. }), "{prefix:?}: {list}");
    }
    assert_eq!(
        std::fs::read_dir(place.folder.path()).unwrap().count(),
        1,
        "nothing was written beside the bucket"
    );
}

#[tokio::test]
async fn a_listing_goes_by_the_beginning_of_the_key() {
    let place = Place::new().await;
    for key in ["b/2", "b/10", "b/1/x", "bb/3", "c", "b.txt"] {
        place.put(key, key).await;
    }
    let listed = async |prefix: &str| -> Vec<String> {
        place.bucket.list(prefix).await.unwrap().into_iter().map(|object| object.key).collect()
    };
    assert_eq!(listed("").await, ["b.txt", "b/1/x", "b/10", "b/2", "bb/3", "c"]);
    assert_eq!(listed("b").await, ["b.txt", "b/1/x", "b/10", "b/2", "bb/3"]);
    assert_eq!(listed("b/").await, ["b/1/x", "b/10", "b/2"]);
    assert_eq!(listed("b/1").await, ["b/1/x", "b/10"]);
    assert_eq!(listed("c").await, ["c"]);
    assert!(listed("d").await.is_empty());
    assert!(listed("d/e/").await.is_empty());
    assert_eq!(place.bucket.list("b/1/").await.unwrap()[0].size_bytes, 5);
}

#[tokio::test]
async fn deleting_the_last_object_leaves_the_bucket() {
    let place = Place::new().await;
    place.put("a/b", "x").await;
    place.bucket.delete("a/b").await.unwrap();
    assert!(!place.file("a").exists(), "empty folders are removed");
    assert!(place.keys().await.is_empty());
    place.put("a/b", "y").await;
    assert_eq!(place.keys().await, ["a/b"]);
}

#[tokio::test]
async fn a_file_that_is_being_written_is_no_object() {
    let place = Place::new().await;
    std::fs::write(place.file("half#1"), "ha").unwrap();
    assert!(place.keys().await.is_empty());
}

#[tokio::test]
async fn a_folder_for_backups_is_made_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("new/backups");
    let bucket = Bucket::open(spec.to_str().unwrap()).await.unwrap();
    bucket.put("a", "x".into()).await.unwrap();
    assert_eq!(std::fs::read(spec.join("a")).unwrap(), b"x");
    for address in ["ftp://host/a", "", "s3://", "http://host"] {
        let error = Bucket::open(address).await.unwrap_err();
        assert!(matches!(error, PlaceError::Unusable { .. }), "{error}");
    }
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = Bucket::open(folder.path().join("file").to_str().unwrap()).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unusable { .. }), "{error}");
}

#[tokio::test]
async fn a_bucket_that_can_not_be_written_to_names_the_object() {
    let place = Place::new().await;
    std::fs::write(place.file("a"), "a file where a folder should be").unwrap();
    let error = place.bucket.put("a/b", "x".into()).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("{BUCKET}/a/b: ")), "{error}");
}
