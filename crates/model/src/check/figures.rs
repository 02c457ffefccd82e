//! Numbers as messages show them.

/// `1,200`; a decimal only below ten.
pub fn count(number: f64) -> String {
    if number < 10.0 {
        let short = format!("{number:.1}");
        return short.strip_suffix(".0").map(str::to_owned).unwrap_or(short);
    }
    let digits = format!("{:.0}", number.max(0.0));
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `600 B`, `12 KB`, `1.5 MB`.
pub fn bytes(number: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let power = (0..UNITS.len() - 1).find(|power| number < 1024f64.powi(*power as i32 + 1));
    let power = power.unwrap_or(UNITS.len() - 1);
    format!("{} {}", count(number / 1024f64.powi(power as i32)), UNITS[power])
}

/// `3 hours`, `200 days`, `2.5 years`.
pub fn duration(seconds: f64) -> String {
    const UNITS: [(&str, f64); 4] =
        [("year", 365.0 * 86_400.0), ("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0)];
    let (unit, length) = UNITS.into_iter().find(|(_, length)| seconds >= *length).unwrap_or(("second", 1.0));
    let amount = count(seconds / length);
    if amount == "1" { format!("1 {unit}") } else { format!("{amount} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_readable() {
        assert_eq!([0.5, 3.0, 1200.0, 1_234_567.0].map(count), ["0.5", "3", "1,200", "1,234,567"]);
        assert_eq!([600.0, 12_288.0, 1_572_864.0].map(bytes), ["600 B", "12 KB", "1.5 MB"]);
        assert_eq!([1.0, 7200.0, 200.0 * 86_400.0].map(duration), ["1 second", "2 hours", "200 days"]);
    }
}
