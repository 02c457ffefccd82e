//! The process that has started this one.

use std::time::Duration;

use clap::Args;
use rustix::process::getppid;

/// Between two looks. A look is one call of the system.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Args)]
pub struct ParentArguments {
    /// Stop when the process that has started this one ends, for test runners and shells that send no signal
    #[arg(long, help_heading = "How it ends")]
    end_with_parent: bool,
}

impl ParentArguments {
    /// Ends when the parent does: the system then gives this process another one. Never ends if that is not asked for.
    ///
    /// The system could also send a signal, but does so already when that thread of the parent ends which started this
    /// process.
    pub fn ended(&self) -> impl Future<Output = ()> + use<> {
        let (is_asked, parent) = (self.end_with_parent, getppid());
        async move {
            while !is_asked || getppid() == parent {
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        }
    }
}
