//! Model files: what was read is what may be overwritten.

use http::StatusCode;
use serde_json::{Value, json};
use studio::Options;

use crate::support::{Desk, desk, desk_with};

async fn save(desk: &Desk, name: &str, text: &str, hash: Option<&Value>) -> (StatusCode, Value) {
    desk.post(&format!("file/{name}"), &json!({ "text": text, "hash": hash })).await
}

async fn is_kept_and_guarded(desk: &Desk) {
    assert_eq!(desk.ask("file", &json!({})).await, json!({ "files": [] }));
    let (status, first) = save(desk, "shop", "one", None).await;
    assert_eq!(status, StatusCode::OK, "{first}");
    let (status, answer) = save(desk, "shop", "two", None).await;
    assert_eq!((status, &answer["text"]), (StatusCode::CONFLICT, &json!("one")));
    let (status, second) = save(desk, "shop", "two", Some(&first["hash"])).await;
    assert_eq!(status, StatusCode::OK, "{second}");
    let (status, answer) = save(desk, "shop", "three", Some(&first["hash"])).await;
    assert_eq!((status, &answer["text"]), (StatusCode::CONFLICT, &json!("two")));
    assert_eq!(desk.ask("file/shop", &json!({})).await["text"], "two");
    assert_eq!(desk.ask("file", &json!({})).await["files"][0]["name"], "shop");
}

#[tokio::test]
async fn a_file_in_memory_is_kept_and_guarded() {
    is_kept_and_guarded(&desk().await).await;
}

#[tokio::test]
async fn a_file_in_a_folder_is_kept_and_guarded_and_outlives_the_studio() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = || Options { models: Some(folder.path().join("models")), ..Options::default() };
    is_kept_and_guarded(&desk_with(options()).await).await;
    assert_eq!(desk_with(options()).await.ask("file/shop", &json!({})).await["text"], "two");
}

#[tokio::test]
async fn no_name_leaves_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let desk = desk_with(Options { models: Some(folder.path().to_owned()), ..Options::default() }).await;
    for name in ["..", "../x", "a/b", ".hidden", "a%2fb", &"x".repeat(101)] {
        let (status, answer) = save(&desk, name, "text", None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{name}: {answer}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}
