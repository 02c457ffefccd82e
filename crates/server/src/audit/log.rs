//! Where the lines of the audit log go: through a bounded queue to a thread that writes them, into a file that is
//! replaced when it is large or old.
//!
//! A request never waits for the disk. When the queue is full, or the file can't be written, lines are lost. Their
//! number is reported: in the server's log, in `lodestone_audit_lost_total`, and in the audit log itself as soon as it
//! can be written again (`{"time":…,"lost":17}`). [`AuditLog::is_writing`] lets the server refuse requests instead.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::timestamp;

/// Lines that wait to be written: seconds of a busy server.
const LINES_MAX: usize = 8192;
/// What the lines in the queue may take together.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How often a file that can't be written is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Which file, and how long it is kept.
#[derive(Clone, Debug)]
pub struct AuditFile {
    /// The file that is written. A full one is renamed: `audit.jsonl` to `audit-20261117T040000Z.jsonl`.
    pub path: PathBuf,
    /// A file above this size is replaced.
    pub bytes_max: u64,
    /// A file above this age is replaced.
    pub age_max: Duration,
    /// Files that are kept beside the one that is written. The oldest are removed.
    pub kept: usize,
}

/// Takes lines and has them written.
#[derive(Debug)]
pub struct AuditLog {
    lines: Mutex<Option<SyncSender<Vec<u8>>>>,
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    queued_bytes: AtomicUsize,
    lost: AtomicU64,
    is_failing: AtomicBool,
}

impl AuditLog {
    /// Opens the file, and starts the thread that writes.
    pub fn open(file: AuditFile) -> io::Result<AuditLog> {
        let state = Arc::new(State::default());
        let (sender, receiver) = sync_channel(LINES_MAX);
        let mut writer =
            Writer { current: Some(Current::open(&file.path)?), file, state: state.clone(), reported: 0 };
        let thread =
            std::thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(&receiver))?;
        Ok(AuditLog { lines: Mutex::new(Some(sender)), state, thread: Mutex::new(Some(thread)) })
    }

    /// Hands a line over. It is lost if the queue is full.
    pub(super) fn write(&self, line: Vec<u8>) {
        let bytes = line.len();
        let has_room = self.state.queued_bytes.fetch_add(bytes, Relaxed) + bytes <= QUEUE_BYTES_MAX;
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if !has_room || lines.as_ref().is_none_or(|lines| lines.try_send(line).is_err()) {
            self.state.queued_bytes.fetch_sub(bytes, Relaxed);
            self.state.lost.fetch_add(1, Relaxed);
        }
    }

    /// Whether a line that is handed over now can be expected to be written.
    pub(super) fn is_writing(&self) -> bool {
        !self.state.is_failing.load(Relaxed) && self.state.queued_bytes.load(Relaxed) < QUEUE_BYTES_MAX / 2
    }

    /// How many lines were lost.
    pub fn lost(&self) -> u64 {
        self.state.lost.load(Relaxed)
    }

    /// Writes what is queued, and ends. Later lines are lost.
    pub fn close(&self) {
        drop(self.lines.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

struct Writer {
    file: AuditFile,
    /// None after a failure.
    current: Option<Current>,
    state: Arc<State>,
    /// Lost lines that the log itself has reported.
    reported: u64,
}

struct Current {
    output: BufWriter<File>,
    bytes: u64,
    opened: Instant,
}

impl Current {
    fn open(path: &Path) -> io::Result<Current> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let metadata = file.metadata()?;
        // A file that was there before may be open to others.
        if metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
        let bytes = metadata.len();
        Ok(Current { output: BufWriter::new(file), bytes, opened: Instant::now() })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.output.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }
}

impl Writer {
    /// Until no further line can come.
    fn run(&mut self, lines: &Receiver<Vec<u8>>) {
        loop {
            let line = match lines.recv_timeout(RETRY_INTERVAL) {
                Ok(line) => Some(line),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut taken = 0;
            let written = self.write(line.into_iter().chain(lines.try_iter()), &mut taken);
            if let Err(error) = written {
                self.fail(&error, taken);
            } else if self.state.is_failing.swap(false, Relaxed) {
                tracing::error!("the audit log is written again");
            }
        }
    }

    /// Writes lines, counts them, and makes the system have them. After an error some may be in the file.
    fn write(&mut self, lines: impl Iterator<Item = Vec<u8>>, taken: &mut u64) -> io::Result<()> {
        let prepared = self.prepare();
        for line in lines.take(LINES_MAX) {
            self.state.queued_bytes.fetch_sub(line.len(), Relaxed);
            *taken += 1;
            if let (Ok(()), Some(current)) = (&prepared, &mut self.current) {
                current.write(&line)?;
            }
        }
        prepared?;
        self.current.as_mut().map_or(Ok(()), |current| current.output.flush())
    }

    /// A file with room for more, which tells of lines that were lost.
    fn prepare(&mut self) -> io::Result<()> {
        let is_full = |current: &Current| {
            current.bytes > self.file.bytes_max || current.opened.elapsed() > self.file.age_max
        };
        if self.current.as_ref().is_some_and(|current| current.bytes > 0 && is_full(current)) {
            self.current = None;
            self.set_aside()?;
        }
        if self.current.is_none() {
            self.current = Some(Current::open(&self.file.path)?);
        }
        let lost = self.state.lost.load(Relaxed);
        if let (Some(current), true) = (&mut self.current, lost > self.reported) {
            let line = format!("{{\"time\":\"{}\",\"lost\":{}}}\n", timestamp(), lost - self.reported);
            current.write(line.as_bytes())?;
            current.output.flush()?;
            self.reported = lost;
        }
        Ok(())
    }

    fn fail(&mut self, error: &io::Error, lines: u64) {
        // What the buffer holds must not be written a second time, nor a line in two halves.
        if let Some(current) = self.current.take() {
            let _ = current.output.into_parts();
        }
        self.state.lost.fetch_add(lines, Relaxed);
        if !self.state.is_failing.swap(true, Relaxed) {
            tracing::error!("THE AUDIT LOG {} CAN'T BE WRITTEN: {error}", self.file.path.display());
        }
    }

    /// Renames the full file, and removes the oldest of those that were full before.
    fn set_aside(&self) -> io::Result<()> {
        let path = &self.file.path;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
        let extension = extension.unwrap_or_default();
        let time: String = timestamp().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        fs::rename(path, path.with_file_name(format!("{stem}-{time}{extension}")))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut full: Vec<PathBuf> = fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let time =
                    name.strip_prefix(&format!("{stem}-")).and_then(|name| name.strip_suffix(&extension));
                time.is_some_and(is_time)
            })
            .collect();
        full.sort_unstable();
        for old in full.iter().take(full.len().saturating_sub(self.file.kept)) {
            fs::remove_file(old)?;
        }
        Ok(())
    }
}

/// `20261117T040000123Z`, as [`Writer::set_aside`] names files.
fn is_time(text: &str) -> bool {
    text.len() == 19
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            18 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        })
}
