//! A picture of a simulation: for every table and index what was provisioned, consumed and throttled over time.

use std::fmt::Write;

use capacity::Access;

use super::{Column, PlaceRun, Simulation};
use crate::heat::svg::escaped;

const COLUMNS: usize = 480;
const LEFT: usize = 70;
const PANEL_HEIGHT: usize = 110;
const PANEL_STEP: usize = 160;
const TOP: usize = 60;

/// One panel for the reads and one for the writes of every table and index that is used, for each simulation.
pub fn svg(title: &str, simulations: &[Simulation]) -> String {
    let panels: Vec<(String, Vec<Column>, usize)> = simulations
        .iter()
        .flat_map(|simulation| {
            let way = simulation.way.name();
            simulation.places.iter().flat_map(move |place| panels(way, place))
        })
        .collect();
    let (width, height) = (LEFT + COLUMNS + 30, TOP + panels.len() * PANEL_STEP + 10);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"15\" font-weight=\"600\">{}</text>\n",
        escaped(title)
    );
    legend(&mut picture);
    for (number, (name, columns, minutes)) in panels.iter().enumerate() {
        panel(&mut picture, TOP + number * PANEL_STEP, name, columns, *minutes);
    }
    picture.push_str("</svg>\n");
    picture
}

fn panels(way: &str, place: &PlaceRun) -> Vec<(String, Vec<Column>, usize)> {
    let used = Access::BOTH.into_iter().filter(|access| place.side(*access).requests() > 0.0);
    let panel = |access: Access| {
        let side = place.side(access);
        let unit = if access == Access::Read { "read units/s" } else { "write units/s" };
        (format!("{}, {unit}, {way}", place.name), side.columns(COLUMNS), side.minutes.len())
    };
    used.map(panel).collect()
}

fn legend(picture: &mut String) {
    let entries = [("consumed", CONSUMED), ("throttled", THROTTLED), ("provisioned", PROVISIONED)];
    for (number, (name, colour)) in entries.into_iter().enumerate() {
        let x = 12 + number * 110;
        let _ = writeln!(
            picture,
            "<rect x=\"{x}\" y=\"34\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"45\">{name}</text>",
            x + 18
        );
    }
}

const CONSUMED: &str = "#4a90c2";
const THROTTLED: &str = "#d9482b";
const PROVISIONED: &str = "#333333";

fn panel(picture: &mut String, top: usize, name: &str, columns: &[Column], minutes: usize) {
    let most = columns.iter().map(Column::top).fold(1.0, f64::max);
    let bottom = top + 20 + PANEL_HEIGHT;
    let y = |units: f64| bottom as f64 - units / most * PANEL_HEIGHT as f64;
    let x = |number: usize| LEFT as f64 + number as f64 * COLUMNS as f64 / columns.len().max(1) as f64;
    let _ =
        writeln!(picture, "<text x=\"12\" y=\"{}\" font-weight=\"600\">{}</text>", top + 8, escaped(name));
    let sum = |column: &Column| column.consumed + column.throttled;
    area(picture, THROTTLED, columns, &x, &y, sum, bottom);
    area(picture, CONSUMED, columns, &x, &y, |column| column.consumed, bottom);
    let provisioned: String = columns
        .iter()
        .enumerate()
        .filter_map(|(number, column)| Some((number, column.provisioned?)))
        .flat_map(|(number, units)| {
            [number, number + 1].map(|edge| format!("{:.1},{:.1} ", x(edge), y(units as f64)))
        })
        .collect();
    if !provisioned.is_empty() {
        let _ = writeln!(
            picture,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{PROVISIONED}\" stroke-width=\"1.2\"/>",
            provisioned.trim_end()
        );
    }
    let _ = writeln!(
        picture,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#666666\">{}</text>\
         <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\" fill=\"#666666\">0</text>",
        LEFT - 6,
        top + 28,
        most.round(),
        LEFT - 6
    );
    for part in 0..=4 {
        let _ = writeln!(
            picture,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666666\">{}</text>",
            LEFT + part * COLUMNS / 4,
            bottom + 15,
            super::clock(minutes * part / 4)
        );
    }
}

fn area(
    picture: &mut String,
    colour: &str,
    columns: &[Column],
    x: &impl Fn(usize) -> f64,
    y: &impl Fn(f64) -> f64,
    value: impl Fn(&Column) -> f64,
    bottom: usize,
) {
    let top = columns.iter().enumerate().flat_map(|(number, column)| {
        [number, number + 1].map(|edge| format!("{:.1},{:.1} ", x(edge), y(value(column))))
    });
    let top: String = top.collect();
    let (left, right) = (x(0), x(columns.len()));
    let _ = writeln!(
        picture,
        "<polygon points=\"{left:.1},{bottom} {top}{right:.1},{bottom}\" fill=\"{colour}\"/>"
    );
}
