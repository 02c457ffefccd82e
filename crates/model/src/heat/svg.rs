//! A picture of heat: one row for each key, one column for each hour, coloured by how much of a partition
//! is used.

use std::fmt::Write;

use super::{Heat, KeyHeat};
use crate::facts::Limits;
use crate::traffic::HOURS;

const LABEL_WIDTH: usize = 330;
const CELL_WIDTH: usize = 24;
const CELL_HEIGHT: usize = 22;
const TOP: usize = 54;
const KEYS_MAX: usize = 12;

/// The keys of each source that are worth a row, the hottest first, at most twelve.
pub fn svg(title: &str, heats: &[Heat], limits: &Limits) -> String {
    let rows: Vec<(String, &KeyHeat)> =
        heats.iter().flat_map(|heat| heat.keys.iter().take(KEYS_MAX).map(|key| (heat.name(), key))).collect();
    let (width, height) = (LABEL_WIDTH + HOURS * CELL_WIDTH + 90, TOP + rows.len() * CELL_HEIGHT + 44);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"15\" font-weight=\"600\">{}</text>\n",
        escaped(title)
    );
    hours(&mut picture);
    for (position, (source, key)) in rows.iter().enumerate() {
        row(&mut picture, TOP + position * CELL_HEIGHT, source, key, limits);
    }
    legend(&mut picture, height - 16);
    picture.push_str("</svg>\n");
    picture
}

fn hours(picture: &mut String) {
    for hour in (0..HOURS).step_by(3) {
        let x = LABEL_WIDTH + hour * CELL_WIDTH;
        let _ = writeln!(picture, "<text x=\"{x}\" y=\"{}\" fill=\"#666666\">{hour:02}:00</text>", TOP - 8);
    }
}

fn row(picture: &mut String, y: usize, source: &str, key: &KeyHeat, limits: &Limits) {
    let label = shortened(&format!("{source}  {}", key.key));
    let middle = y + 15;
    let _ = writeln!(picture, "<text x=\"12\" y=\"{middle}\">{}</text>", escaped(&label));
    for hour in 0..HOURS {
        let load = key.load_at(hour, limits);
        let (x, colour) = (LABEL_WIDTH + hour * CELL_WIDTH, colour(load));
        let tip = format!(
            "{source} {} at {hour:02}:00: {:.0} WCU, {:.0} RCU, {:.0} %",
            key.key,
            key.write.0[hour],
            key.read.0[hour],
            load * 100.0
        );
        let _ = writeln!(
            picture,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"><title>{}</title></rect>",
            CELL_WIDTH - 1,
            CELL_HEIGHT - 1,
            escaped(&tip)
        );
    }
    let x = LABEL_WIDTH + HOURS * CELL_WIDTH + 8;
    let _ = writeln!(picture, "<text x=\"{x}\" y=\"{middle}\">{:.0} %</text>", key.load * 100.0);
}

fn legend(picture: &mut String, y: usize) {
    let steps = [(0.05, "idle"), (0.4, "40 %"), (0.7, "70 %"), (1.0, "100 %"), (1.5, "beyond one partition")];
    for (position, (load, name)) in steps.into_iter().enumerate() {
        let x = 12 + position * 110;
        let _ = writeln!(
            picture,
            "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"14\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"{y}\">{name}</text>",
            y - 11,
            colour(load),
            x + 20
        );
    }
}

/// From pale through amber, at the full load of a partition, to dark red beyond.
fn colour(load: f64) -> String {
    let stops = [
        (0.0, [0xf2, 0xf5, 0xf9]),
        (0.4, [0xfd, 0xe0, 0x8b]),
        (0.7, [0xfb, 0xb0, 0x40]),
        (1.0, [0xe8, 0x59, 0x2b]),
        (2.0, [0x8b, 0x0a, 0x1a]),
    ];
    let load = load.clamp(0.0, 2.0);
    let upper = stops.iter().position(|(at, _)| *at >= load).unwrap_or(stops.len() - 1).max(1);
    let ((low, from), (high, to)) = (stops[upper - 1], stops[upper]);
    let part = (load - low) / (high - low);
    let mix =
        |one: u8, other: u8| (f64::from(one) + (f64::from(other) - f64::from(one)) * part).round() as u8;
    let [red, green, blue] = [0, 1, 2].map(|channel| mix(from[channel], to[channel]));
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn shortened(text: &str) -> String {
    const CHARACTERS: usize = 48;
    if text.chars().count() <= CHARACTERS {
        return text.to_owned();
    }
    text.chars().take(CHARACTERS - 1).chain(['…']).collect()
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
