//! Other processes, as `/proc` shows them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// The processes that a process has started and that still run.
pub fn children_of(parent: i32) -> Result<Vec<i32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if status_fields(process).get(1).and_then(|field| field.parse().ok()) == Some(parent) {
            children.push(process);
        }
    }
    Ok(children)
}

/// Processor time of a process so far, without that of its children.
pub fn time_of(process: i32) -> Result<Duration> {
    ticks(process, 11..=12)
}

/// Processor time of all that a process has started and that has ended, and of what those have started.
pub fn time_of_ended_children_of(process: i32) -> Result<Duration> {
    ticks(process, 13..=14)
}

/// The sum of fields that count ticks. `man proc` counts from 1, and the state is 3.
fn ticks(process: i32, fields: std::ops::RangeInclusive<usize>) -> Result<Duration> {
    let all = status_fields(process);
    let fields = all.get(fields).with_context(|| format!("reading the times of process {process}"))?;
    let ticks = fields.iter().map(|field| field.parse::<u64>()).sum::<Result<u64, _>>()?;
    Ok(Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second())?)
}

/// The fields after the name in brackets. There are none if the process has ended.
fn status_fields(process: i32) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = status.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
    fields.split_whitespace().map(str::to_owned).collect()
}

/// Kills a process and all that it has started.
pub fn kill_with_children(process: u32) {
    let mut found = vec![process.cast_signed()];
    let mut seen = 0;
    while let Some(parent) = found.get(seen) {
        found.extend(children_of(*parent).unwrap_or_default());
        seen += 1;
    }
    for process in found.into_iter().filter_map(Pid::from_raw) {
        // One that has ended in the meantime is as dead.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// The letter for its state, if it is there.
pub fn state(process: i32) -> Option<char> {
    status_fields(process).first()?.chars().next()
}
