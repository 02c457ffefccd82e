//! The access file on disk: read with the policies that it names, and read again when any of them changes.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use iam::file::AccessFile;
use iam::{Authority, Directory, SealingKey};

/// How often the files are looked at. They are small, and a key that was taken away should stop working soon.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The variable that holds the key of sealed secrets.
pub const SEALING_KEY: &str = "LODESTONE_ACCESS_KEY";

/// An access file that was read.
pub struct Loaded {
    pub directory: Directory,
    /// Differs when the text of the file or of one of its policies differs.
    fingerprint: u64,
}

/// Reads the file and the policies that it names. The error says what to do.
pub fn load(path: &Path) -> Result<Loaded, String> {
    let file = read(path)?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let hasher = RefCell::new(DefaultHasher::new());
    file.text.hash(&mut *hasher.borrow_mut());
    let read_policy = |name: &str| {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("can't read the policy {}: {error}", path.display()))?;
        text.hash(&mut *hasher.borrow_mut());
        Ok(text)
    };
    let sealing = sealing_key()?;
    let directory = Directory::new(&file.content, &read_policy, sealing.as_ref())
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let fingerprint = hasher.borrow().finish();
    Ok(Loaded { directory, fingerprint })
}

/// The file alone.
pub struct AccessText {
    text: String,
    pub content: AccessFile,
}

/// Reads the file without its policies.
pub fn read(path: &Path) -> Result<AccessText, String> {
    let shown = path.display();
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("can't read the access file {shown}: {error}"))?;
    if metadata.mode() & 0o077 != 0 {
        return Err(format!(
            "others on this machine can read or change {shown}, which holds secrets. Run: chmod 600 {shown}"
        ));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("can't read the access file {shown}: {error}"))?;
    let content = AccessFile::parse(&text).map_err(|error| format!("{shown}: {error}"))?;
    Ok(AccessText { text, content })
}

/// The key of sealed secrets, if there is one.
pub fn sealing_key() -> Result<Option<SealingKey>, String> {
    let Ok(text) = std::env::var(SEALING_KEY) else { return Ok(None) };
    SealingKey::parse(&text).map(Some).map_err(|error| format!("{SEALING_KEY}: {error}"))
}

/// Starts to look after the file: as soon as it changes, the new keys and policies count. A file that can't be used
/// changes nothing; the log says why.
pub fn follow(path: PathBuf, authority: Arc<Authority>, loaded_fingerprint: u64) {
    tokio::spawn(async move {
        let mut last = Ok(loaded_fingerprint);
        let mut ticks = tokio::time::interval(LOOK_INTERVAL);
        loop {
            ticks.tick().await;
            let path = path.clone();
            let Ok(loaded) = tokio::task::spawn_blocking(move || load(&path)).await else { continue };
            let current = loaded.as_ref().map(|loaded| loaded.fingerprint).map_err(Clone::clone);
            if current == last {
                continue;
            }
            last = current;
            match loaded {
                Ok(loaded) => {
                    authority.replace(loaded.directory);
                    tracing::warn!("the access file has changed; its keys and policies count from now on");
                }
                Err(error) => {
                    tracing::error!(%error, "the access file can't be used; the keys and policies before it still count");
                }
            }
        }
    });
}

impl Loaded {
    /// What verifies signatures with these keys, and follows the file.
    pub fn into_authority(self, path: PathBuf) -> Arc<Authority> {
        let authority = Arc::new(Authority::new(self.directory));
        follow(path, authority.clone(), self.fingerprint);
        authority
    }
}
