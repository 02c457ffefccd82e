//! The bucket that backups, exports and imports use: objects in memory, where every call is a round trip, and calls fail
//! for a while. A put that fails may have been carried out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryFutureExt as _};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;
use transfer::{Bucket, Buckets};

use crate::executor::Executor;

/// The name under which exports and imports find it.
pub const BUCKET: &str = "bucket";

/// A bucket. Clones share it.
#[derive(Clone)]
pub struct Objects(Arc<Shared>);

struct Shared {
    executor: Executor,
    memory: InMemory,
    chance: Mutex<fastrand::Rng>,
    failing: Mutex<Failing>,
}

/// Of a hundred calls, how many fail, until a time.
#[derive(Clone, Copy, Default)]
struct Failing {
    percent: u64,
    until_us: u64,
}

impl Objects {
    /// An empty bucket.
    pub fn new(executor: &Executor) -> Objects {
        Objects(Arc::new(Shared {
            executor: executor.clone(),
            memory: InMemory::new(),
            chance: Mutex::new(executor.chance("bucket")),
            failing: Mutex::default(),
        }))
    }

    /// What servers use it through.
    pub fn bucket(&self) -> Bucket {
        Bucket::of_store(BUCKET, Arc::new(self.clone()))
    }

    /// All buckets that there are.
    pub fn buckets(&self) -> Buckets {
        Buckets::of(self.bucket())
    }

    /// Lets some calls fail until a time.
    pub fn fail(&self, percent: u64, until_us: u64) {
        *self.0.failing.lock() = Failing { percent, until_us };
    }

    /// A round trip. The error says that the call fails.
    async fn reach(&self) -> Result<()> {
        let time_us = self.0.chance.lock().u64(500..60_000);
        self.0.executor.sleep(Duration::from_micros(time_us)).await;
        let Failing { percent, until_us } = *self.0.failing.lock();
        let fails = self.0.executor.now_us() < until_us && self.0.chance.lock().u64(0..100) < percent;
        match fails {
            true => Err(Error::Generic { store: BUCKET, source: "slow down".into() }),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(BUCKET)
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(BUCKET)
    }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        match self.reach().await {
            Err(error) => {
                if self.0.chance.lock().bool() {
                    self.0.memory.put_opts(location, payload, opts).await?;
                }
                Err(error)
            }
            Ok(()) => self.0.memory.put_opts(location, payload, opts).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.memory.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.reach().await?;
        self.0.memory.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let objects = self.clone();
        let delete = move |location: Result<Path>| {
            let objects = objects.clone();
            async move {
                let location = location?;
                objects.reach().await?;
                objects.0.memory.delete(&location).await?;
                Ok::<_, Error>(location)
            }
        };
        locations.then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (objects, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            objects.reach().await?;
            Ok::<_, Error>(objects.0.memory.list(prefix.as_ref()))
        };
        listed.try_flatten_stream().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.memory.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.memory.copy_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::WORLD;

    #[test]
    fn a_put_that_fails_may_have_been_carried_out() {
        let executor = Executor::new(1);
        let objects = Objects::new(&executor);
        let kept = Arc::new(Mutex::new(None));
        let (used, found) = (objects.clone(), kept.clone());
        let puts = async move {
            let bucket = used.bucket();
            used.fail(100, u64::MAX);
            for number in 0..40 {
                bucket.put(&number.to_string(), "content".into()).await.expect_err("it fails");
            }
            used.fail(0, 0);
            bucket.put("last", "content".into()).await.expect("it succeeds");
            *found.lock() = Some(bucket.list("").await.expect("it succeeds").len());
        };
        executor.spawn(WORLD, "test", Box::pin(puts));
        let ended = executor.run(u64::MAX, 1_000_000, || kept.lock().is_some());
        executor.clear();
        assert_eq!(ended, Ok(()));
        assert!((10..32).contains(&kept.lock().expect("it was counted")), "{kept:?}");
    }
}
