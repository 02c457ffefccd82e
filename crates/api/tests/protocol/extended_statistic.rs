//! The names of CloudWatch's extended statistics.

use api::cloudwatch::{ExtendedStatistic, Trim, TrimEnd};

#[test]
fn the_names_that_cloudwatch_has_are_known() {
    let upto = |high| Trim { low: TrimEnd::Percent(0.0), high };
    assert_eq!(ExtendedStatistic::named("p99.95"), Some(ExtendedStatistic::Percentile(99.95)));
    assert_eq!(
        ExtendedStatistic::named("tm90"),
        Some(ExtendedStatistic::TrimmedMean(upto(TrimEnd::Percent(90.0))))
    );
    assert_eq!(
        ExtendedStatistic::named("TC(:0.5)"),
        Some(ExtendedStatistic::TrimmedCount(upto(TrimEnd::Value(0.5))))
    );
    for name in ["p0", "p100", "ts99", "wm98", "IQM", "TM(10%:90%)", "TS(80%:)", "WM(150:95%)", "PR(:300)"] {
        assert!(ExtendedStatistic::named(name).is_some(), "{name}");
    }
}

#[test]
fn other_names_are_not() {
    for name in [
        "",
        "p",
        "p101",
        "p-1",
        "pinf",
        "p9 9",
        "P99",
        "tm",
        "TM99",
        "tm(1%:2%)",
        "TM(:)",
        "TM(10%)",
        "PR(10%:)",
        "TM(10%:110%)",
        "xx50",
        "é",
        "Median",
        "p1e2",
    ] {
        assert_eq!(ExtendedStatistic::named(name), None, "{name}");
    }
}
