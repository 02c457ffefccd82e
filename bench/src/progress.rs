//! Progress on the terminal; nothing if there is none.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::workload::Requests;

const TICK: Duration = Duration::from_millis(200);

/// A bar over turns, with a message for the current one.
pub fn bar(turns: u64) -> ProgressBar {
    ProgressBar::new(turns).with_style(style("{bar:40} {pos}/{len}, {eta} left · {msg}"))
}

pub fn spinner(message: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(message);
    spinner.enable_steady_tick(TICK);
    spinner
}

/// Shows how many items a load has touched while it runs.
pub async fn of_items<T>(requests: &Requests, items: u64, load: impl Future<Output = T>) -> T {
    let bar = ProgressBar::new(items)
        .with_style(style("{bar:40} {human_pos}/{human_len} items, {per_sec}, {eta} left"));
    let mut ticks = tokio::time::interval(TICK);
    let mut load = std::pin::pin!(load);
    loop {
        tokio::select! {
            loaded = &mut load => {
                bar.finish_and_clear();
                return loaded;
            }
            _ = ticks.tick() => bar.set_position(requests.items_touched()),
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that can't be parsed costs a plain bar, not a measurement.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
