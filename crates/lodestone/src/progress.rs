//! Progress of a slow command: one line, only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

pub struct Progress(ProgressBar);

impl Progress {
    pub fn new() -> Progress {
        let bar = ProgressBar::no_length();
        bar.set_style(style("{spinner} {msg}"));
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        Progress(bar)
    }

    pub fn tell(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }

    pub fn count(&self, text: &str, done: usize, all: usize) {
        self.0.set_style(style("{msg} [{bar:30}] {pos}/{len}"));
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
        self.tell(text);
    }

    /// Removes the line, before something else is printed.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
