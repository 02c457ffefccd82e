//! How much of its bounds the server uses, for `GET /metrics`.

use crate::audit::Audit;
use crate::budget::Budget;
use crate::limits::Limits;
use crate::peer::Peers;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// As Prometheus reads it.
pub(crate) fn text(
    peers: &Peers,
    limits: &Limits,
    bodies: &Budget,
    answers: &Budget,
    audit: Option<&Audit>,
) -> String {
    let totals = &peers.totals;
    let mut text = String::with_capacity(2048);
    for (name, help, used, bound) in [
        ("connections", "Open connections.", peers.connections(), limits.connections_max),
        (
            "requests_in_flight",
            "Requests whose answer is not yet sent.",
            totals.requests(),
            limits.requests_max,
        ),
        ("body_bytes", "Memory of large requests.", bodies.bytes_used(), bodies.bytes_max()),
        ("answer_bytes", "Memory of large answers.", answers.bytes_used(), answers.bytes_max()),
    ] {
        gauge(&mut text, name, help, used);
        gauge(&mut text, &format!("{name}_max"), &format!("The bound of lodestone_{name}."), bound);
    }
    for (name, help, count) in [
        (
            "connections_refused_total",
            "Connections refused because their address had too many.",
            &totals.connections_refused,
        ),
        (
            "requests_refused_total",
            "Requests refused because too many were in flight.",
            &totals.requests_refused,
        ),
        (
            "slow_clients_disconnected_total",
            "Clients that were slow or at rest and made way for others.",
            &totals.slow_disconnected,
        ),
        ("tls_handshakes_failed_total", "TLS handshakes that failed.", &totals.handshakes_failed),
    ] {
        counter(&mut text, name, help, count.load(Relaxed));
    }
    if let Some(audit) = audit {
        counter(&mut text, "audit_lost_total", "Lines that the audit log lost.", audit.lost());
    }
    text
}

fn gauge(text: &mut String, name: &str, help: &str, value: usize) {
    figure(text, name, "gauge", help, value as u64);
}

fn counter(text: &mut String, name: &str, help: &str, value: u64) {
    figure(text, name, "counter", help, value);
}

fn figure(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    let _ = write!(
        text,
        "# HELP lodestone_{name} {help}\n# TYPE lodestone_{name} {kind}\nlodestone_{name} {value}\n"
    );
}
