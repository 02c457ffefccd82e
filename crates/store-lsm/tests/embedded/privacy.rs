//! The data folder is for its owner alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use store::Store;
use store_lsm::{Durability, LsmStore, repair, simulation};

use crate::support::write;

/// Every folder and file below a folder, and the folder itself, that others could read.
fn open_to_others(path: &Path, found: &mut Vec<String>) {
    let metadata = fs::symlink_metadata(path).expect("a file");
    let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
    let mode = metadata.permissions().mode() & 0o777;
    if mode != wanted {
        found.push(format!("{} has mode {mode:o}", path.display()));
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("a folder is listed") {
            open_to_others(&entry.expect("an entry").path(), found);
        }
    }
}

fn assert_private(path: &Path) {
    let mut found = Vec::new();
    open_to_others(path, &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

fn loosen(path: &Path) {
    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode is set");
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder is listed") {
            loosen(&entry.expect("an entry").path());
        }
    }
}

#[tokio::test]
async fn only_the_owner_can_read_a_data_folder_and_its_checkpoint() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let (data, copy) = (parent.path().join("data"), parent.path().join("copy"));
    let options = simulation::small(Durability::Fsync);
    let store = LsmStore::open(&data, options.clone()).expect("an empty folder opens");
    write(&store, 0..300).await;
    store.checkpoint(&copy).await.expect("a checkpoint");
    store.close().await.expect("a store closes");
    assert!(fs::read_dir(data.join("store/tree/tables")).expect("a folder").count() > 0, "there are tables");
    assert_private(&data);
    assert_private(&copy);

    loosen(&data);
    LsmStore::open(&data, options.clone()).expect("the folder opens").close().await.expect("a store closes");
    assert_private(&data);

    repair(&data, &options).expect("a repair");
    assert_private(&data);
}
