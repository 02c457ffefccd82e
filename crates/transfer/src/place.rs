//! Where objects are stored: the buckets below a folder, or those of an S3-compatible endpoint.
//!
//! What always holds:
//! - An object is visible whole or not at all: folders get a file under another name, synced and then renamed.
//! - A key names nothing outside its bucket.
//! - Only the owner can read what is written to a folder, whatever the umask is: files are 0600, and the folders that
//!   hold them 0700. A bucket's own folder keeps its mode: its owner made it, perhaps for more than this.
//! - A missing bucket and a missing object are errors of their own, and every error names the object.

#[cfg(feature = "s3")]
mod s3;

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

/// How many objects a listing may have: DynamoDB's limit for one import.
pub const OBJECTS_MAX: usize = 50_000;

/// The content of an object as it arrives.
pub type ByteStream = BoxStream<'static, Result<Bytes, PlaceError>>;

/// Why an object can't be reached.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("The specified bucket does not exist: {bucket}")]
    NoSuchBucket { bucket: String },
    #[error("{bucket}/{key} does not exist")]
    NoSuchObject { bucket: String, key: String },
    #[error("access to {bucket}/{key} is denied")]
    AccessDenied { bucket: String, key: String },
    #[error("{key:?} can't be the key of an object here: {reason}")]
    InvalidKey { key: String, reason: &'static str },
    #[error("more than {OBJECTS_MAX} objects begin with {bucket}/{prefix}")]
    TooManyObjects { bucket: String, prefix: String },
    #[error("{bucket}/{key} has more than {bytes_max} bytes")]
    TooLarge { bucket: String, key: String, bytes_max: usize },
    #[error("there is no room for {bucket}/{key}: {reason}")]
    NoRoom { bucket: String, key: String, reason: String },
    #[error("{place:?} can't be used as a place for objects: {reason}")]
    Unusable { place: String, reason: String },
    #[error("{bucket}/{key}: {reason}")]
    Failed { bucket: String, key: String, reason: String },
}

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    pub key: String,
    pub size_bytes: u64,
}

/// Where buckets are: what `--s3` names.
#[derive(Clone, Debug)]
pub struct Buckets(Root);

#[derive(Clone, Debug)]
enum Root {
    /// Each folder in it is a bucket.
    Folder(PathBuf),
    #[cfg(feature = "s3")]
    Endpoint(s3::Endpoint),
    /// There is one bucket.
    One(Bucket),
}

impl Buckets {
    /// One bucket under its own name, wherever it is.
    pub fn of(bucket: Bucket) -> Buckets {
        Buckets(Root::One(bucket))
    }

    /// `spec` is a folder, whose sub-folders are the buckets, or the `http` or `https` address of an S3-compatible
    /// endpoint, or `s3://` for AWS. Nothing is read or sent yet.
    pub fn open(spec: &str) -> Result<Buckets, PlaceError> {
        if !is_address(spec)? {
            return Ok(Buckets(Root::Folder(spec.into())));
        }
        #[cfg(feature = "s3")]
        return Ok(Buckets(Root::Endpoint(s3::Endpoint::new(spec)?)));
        #[cfg(not(feature = "s3"))]
        Err(unusable(spec, "this build has no S3 client"))
    }

    /// The bucket, if there is one of that name.
    pub async fn bucket(&self, name: &str) -> Result<Bucket, PlaceError> {
        match &self.0 {
            Root::Folder(folder) => Bucket::of_folder(name, bucket_folder(folder, name)?).await,
            #[cfg(feature = "s3")]
            Root::Endpoint(endpoint) => endpoint.bucket(name, "").await,
            Root::One(bucket) if bucket.name() == name => Ok(bucket.clone()),
            Root::One(_) => Err(PlaceError::NoSuchBucket { bucket: name.to_owned() }),
        }
    }
}

/// Whether `spec` is the address of an endpoint and not a folder.
fn is_address(spec: &str) -> Result<bool, PlaceError> {
    match spec.split_once("://") {
        None if spec.is_empty() => Err(unusable(spec, "it is empty")),
        None => Ok(false),
        Some(("http" | "https" | "s3", _)) => Ok(true),
        Some(_) => Err(unusable(spec, "an address begins with http://, https:// or s3://")),
    }
}

fn unusable(place: &str, reason: impl ToString) -> PlaceError {
    PlaceError::Unusable { place: place.to_owned(), reason: reason.to_string() }
}

/// The folder of a bucket. A name that is more than one part of a path names no bucket.
fn bucket_folder(folder: &std::path::Path, name: &str) -> Result<PathBuf, PlaceError> {
    match part_fault(name) {
        None => Ok(folder.join(name)),
        Some(_) => Err(PlaceError::NoSuchBucket { bucket: name.to_owned() }),
    }
}

/// Objects by key; cheap to clone.
#[derive(Clone, Debug)]
pub struct Bucket {
    name: Arc<str>,
    store: Arc<dyn ObjectStore>,
    /// The same store, if it is a folder.
    folder: Option<Arc<LocalFileSystem>>,
}

impl Bucket {
    /// One place by itself, as `--backups` names it: a folder, which is made if it is missing, or
    /// `http://endpoint/bucket/prefix`, or `s3://bucket/prefix` on AWS.
    pub async fn open(spec: &str) -> Result<Bucket, PlaceError> {
        if !is_address(spec)? {
            let folder = PathBuf::from(spec);
            let made = blocking(move || make_folder(&folder)).await;
            made.map_err(|error| unusable(spec, error))?;
            return Bucket::of_folder(spec, spec.into()).await;
        }
        #[cfg(feature = "s3")]
        return s3::place(spec).await;
        #[cfg(not(feature = "s3"))]
        Err(unusable(spec, "this build has no S3 client"))
    }

    /// A place in memory, which is gone with the process.
    pub fn in_memory() -> Bucket {
        Bucket::of_store("memory", Arc::new(object_store::memory::InMemory::new()))
    }

    /// A place on any store, under a name that errors show.
    pub fn of_store(name: &str, store: Arc<dyn ObjectStore>) -> Bucket {
        Bucket { name: name.into(), store, folder: None }
    }

    async fn of_folder(name: &str, folder: PathBuf) -> Result<Bucket, PlaceError> {
        let is_folder = blocking({
            let folder = folder.clone();
            move || Ok(folder.is_dir())
        });
        if !is_folder.await.map_err(|error| unusable(name, error))? {
            return Err(PlaceError::NoSuchBucket { bucket: name.to_owned() });
        }
        let opened =
            blocking(move || LocalFileSystem::new_with_prefix(folder).map_err(io::Error::other)).await;
        let store = opened.map_err(|error| unusable(name, error))?;
        let store = Arc::new(store.with_fsync(true).with_automatic_cleanup(true));
        Ok(Bucket { folder: Some(store.clone()), ..Bucket::of_store(name, store) })
    }

    /// The name that errors show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replaces the object. A reader sees the old object or the whole new one. Once this returns, the new one is
    /// durable.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<(), PlaceError> {
        let path = parse_key(key)?;
        let failed = |error: io::Error| self.failure(key, local_error(error));
        let file = self.file_of(&path).map_err(|error| self.failure(key, error))?;
        // The folder first: it keeps others from the file until the file has its own mode.
        if let Some((file, is_in_folder)) = file.clone() {
            blocking(move || prepare_folder(&file, is_in_folder)).await.map_err(failed)?;
        }
        match self.store.put(&path, content.into()).await {
            Ok(_) => match file {
                Some((file, _)) => blocking(move || close_file(&file)).await.map_err(failed),
                None => Ok(()),
            },
            Err(object_store::Error::NotFound { .. }) => {
                Err(PlaceError::NoSuchBucket { bucket: self.name.to_string() })
            }
            Err(error) => Err(self.failure(key, error)),
        }
    }

    /// The file of an object, if the bucket is a folder, and whether the file is in a folder inside of the bucket.
    fn file_of(&self, path: &Path) -> Result<Option<(PathBuf, bool)>, object_store::Error> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let file = folder.path_to_filesystem(path)?;
        Ok(Some((file, path.parts().count() > 1)))
    }

    /// The content of the object, piece by piece.
    pub async fn get(&self, key: &str) -> Result<ByteStream, PlaceError> {
        let path = parse_key(key)?;
        let found = self.store.get(&path).await.map_err(|error| self.failure(key, error))?;
        let (bucket, key) = (self.clone(), key.to_owned());
        Ok(found.into_stream().map_err(move |error| bucket.failure(&key, error)).boxed())
    }

    /// The whole content of an object that is known to be small.
    pub async fn get_small(&self, key: &str, bytes_max: usize) -> Result<Vec<u8>, PlaceError> {
        let mut stream = self.get(key).await?;
        let mut content = Vec::new();
        while let Some(piece) = stream.try_next().await? {
            if content.len() + piece.len() > bytes_max {
                let (bucket, key) = (self.name.to_string(), key.to_owned());
                return Err(PlaceError::TooLarge { bucket, key, bytes_max });
            }
            content.extend_from_slice(&piece);
        }
        Ok(content)
    }

    /// All objects whose key begins with the text, in the order of their keys. As in S3, the text need not end where
    /// the name of a folder ends.
    pub async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, PlaceError> {
        let folder = match prefix.rsplit_once('/') {
            Some((folder, _)) => Some(parse_key(folder)?),
            None => None,
        };
        let mut listing = self.store.list(folder.as_ref());
        let mut objects = Vec::new();
        while let Some(object) = listing.try_next().await.map_err(|error| self.failure(prefix, error))? {
            if !object.location.as_ref().starts_with(prefix) {
                continue;
            }
            if objects.len() == OBJECTS_MAX {
                let (bucket, prefix) = (self.name.to_string(), prefix.to_owned());
                return Err(PlaceError::TooManyObjects { bucket, prefix });
            }
            objects.push(ObjectInfo { key: object.location.into(), size_bytes: object.size });
        }
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(objects)
    }

    /// Removes the object; that it is already gone is no error.
    pub async fn delete(&self, key: &str) -> Result<(), PlaceError> {
        let path = parse_key(key)?;
        match self.store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failure(key, error)),
        }
    }

    /// Removes all objects whose key begins with the text.
    pub async fn delete_all(&self, prefix: &str) -> Result<(), PlaceError> {
        for object in self.list(prefix).await? {
            self.delete(&object.key).await?;
        }
        Ok(())
    }

    fn failure(&self, key: &str, error: object_store::Error) -> PlaceError {
        #[cfg(feature = "s3")]
        if let Some(failure) = s3::ListingFailed::find(&error, &self.name, key) {
            return failure;
        }
        let (bucket, key) = (self.name.to_string(), key.to_owned());
        match error {
            object_store::Error::NotFound { .. } => PlaceError::NoSuchObject { bucket, key },
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                PlaceError::AccessDenied { bucket, key }
            }
            error if is_without_room(&error) => PlaceError::NoRoom { bucket, key, reason: error.to_string() },
            error => PlaceError::Failed { bucket, key, reason: error.to_string() },
        }
    }
}

/// Makes a folder, and those above it that are missing, for its owner alone.
fn make_folder(folder: &std::path::Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes the folder of a file. One that an earlier version made, open to others, is closed.
fn prepare_folder(file: &std::path::Path, is_in_folder: bool) -> io::Result<()> {
    let Some(folder) = file.parent().filter(|_| is_in_folder) else { return Ok(()) };
    make_folder(folder)?;
    match std::fs::metadata(folder)?.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => std::fs::set_permissions(folder, Permissions::from_mode(0o700)),
    }
}

fn close_file(file: &std::path::Path) -> io::Result<()> {
    std::fs::set_permissions(file, Permissions::from_mode(0o600))
}

/// The store's error for what failed beside it.
fn local_error(error: io::Error) -> object_store::Error {
    object_store::Error::Generic { store: "LocalFileSystem", source: Box::new(error) }
}

/// Whether a disk is full, or a quota is used up.
fn is_without_room(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut chain = std::iter::successors(Some(error), |error| error.source());
    let shortage =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    chain.any(|error| error.downcast_ref::<io::Error>().is_some_and(shortage))
}

/// Whether objects can have the key; `PlaceError::InvalidKey` if not.
pub(crate) fn check_key(key: &str) -> Result<(), PlaceError> {
    parse_key(key).map(drop)
}

/// Checks that a folder can hold the key, and that the key stays inside it.
fn parse_key(key: &str) -> Result<Path, PlaceError> {
    let invalid = |reason| PlaceError::InvalidKey { key: key.to_owned(), reason };
    if let Some(fault) = key.split('/').find_map(part_fault) {
        return Err(invalid(fault));
    }
    // The store keeps unfinished files under such names.
    let unfinished = |suffix: &str| !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_digit());
    if key
        .rsplit('/')
        .next()
        .and_then(|name| name.split_once('#'))
        .is_some_and(|(_, suffix)| unfinished(suffix))
    {
        return Err(invalid("it ends in # and a number"));
    }
    Path::parse(key).map_err(|_| invalid("it holds characters that no folder can hold"))
}

/// What is wrong with one part of a key, between two slashes.
fn part_fault(part: &str) -> Option<&'static str> {
    match part {
        "" => Some("it is empty, or has an empty part"),
        "." | ".." => Some("a part of it is . or .."),
        _ if part.contains(['/', '\\']) => Some("it holds a slash or backslash"),
        _ if part.chars().any(char::is_control) => Some("it holds a control character"),
        _ => None,
    }
}

/// Runs what may wait for a disk or take long: on a thread of its own where there is a runtime that has them.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(io::Error::other)?,
        Err(_) => work(),
    }
}
