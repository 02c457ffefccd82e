//! A picture of a model: each table and index with the keys of its entities, and the patterns that read or write it.
//!
//! An entity has one colour wherever it is stored. All rows have one height and all letters one width, so that the layout
//! needs no measuring.

use std::fmt::Write;

use crate::Model;
use crate::heat::svg::escaped;
use crate::model::{EntityId, KeyAttribute, Place};
use crate::plan::{ActionPlan, plan};
use crate::template::Template;

const LETTER_WIDTH: usize = 7;
const ROW_HEIGHT: usize = 22;
const MARGIN: usize = 12;
const PADDING: usize = 8;
/// A longer text is cut: a template of more letters is not read in a picture.
const CELL_LETTERS_MAX: usize = 44;
const COLOURS: [&str; 8] =
    ["#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#ccfbf1", "#ffedd5", "#e2e8f0"];

/// A table or index: its headings, a row for each entity, and what its patterns do.
struct Panel {
    title: String,
    headings: [String; 4],
    rows: Vec<(EntityId, [String; 4])>,
    patterns: Vec<String>,
}

/// The picture as SVG.
pub fn svg(model: &Model) -> String {
    let panels = panels(model);
    let widths: Vec<usize> = panels.iter().map(Panel::width).collect();
    let width = widths.iter().max().copied().unwrap_or_default().max(320) + 2 * MARGIN;
    let mut body = String::new();
    let mut y = 44;
    for panel in &panels {
        panel.draw(&mut body, y);
        y += panel.height() + MARGIN;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" viewBox=\"0 0 {width} {y}\" \
         font-family=\"ui-monospace, monospace\" font-size=\"11.5\">\n\
         <rect width=\"{width}\" height=\"{y}\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"26\" font-size=\"16\" font-weight=\"600\">{}</text>\n{body}</svg>\n",
        escaped(&model.name.value)
    )
}

fn panels(model: &Model) -> Vec<Panel> {
    let mut panels = Vec::new();
    for table in model.table_ids() {
        let indexes = model.table(table).index_ids().map(Some);
        for index in std::iter::once(None).chain(indexes) {
            let places = model.places();
            let here: Vec<&Place<'_>> =
                places.iter().filter(|one| one.table_id == table && one.index_id() == index).collect();
            let name = &model.table(table).name.value;
            let title = match index {
                None => format!("table {name}"),
                Some(index) => format!("index {} of {name}", model.table(table).index(index).name.value),
            };
            let headings = match here.first() {
                Some(place) => [
                    String::new(),
                    names(&place.partition()),
                    names(&place.sort()),
                    if index.is_some() { "when".to_owned() } else { String::new() },
                ],
                None => Default::default(),
            };
            let rows = here.iter().map(|place| (place.entity_id, row(place))).collect();
            let patterns = model.patterns.iter().filter_map(|pattern| {
                let plan = plan(model, pattern);
                let uses = plan.steps.iter().any(|step| match &step.kind {
                    ActionPlan::Read(read) => read.table == table && read.index == index,
                    ActionPlan::Write(write) => write.table == table && index.is_none(),
                });
                uses.then(|| format!("{} {}", plan.operation(), pattern.id.value))
            });
            panels.push(Panel { title, headings, rows, patterns: patterns.collect() });
        }
    }
    panels
}

fn names(keys: &[(&KeyAttribute, &Template)]) -> String {
    keys.iter().map(|(key, _)| key.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn row(place: &Place<'_>) -> [String; 4] {
    let templates = |keys: Vec<(&KeyAttribute, &Template)>| {
        keys.iter().map(|(_, template)| template.to_string()).collect::<Vec<_>>().join(", ")
    };
    let when = place.index.and_then(|(_, _, entry)| entry.when.as_ref());
    [
        place.entity.name.value.clone(),
        templates(place.partition()),
        templates(place.sort()),
        when.map(ToString::to_string).unwrap_or_default(),
    ]
    .map(|text| shortened(&text))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(CELL_LETTERS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn width(text: &str) -> usize {
    text.chars().count() * LETTER_WIDTH
}

impl Panel {
    /// The width of each column, with its padding; that of an empty one is 0.
    fn columns(&self) -> [usize; 4] {
        [0, 1, 2, 3].map(|at| {
            let cells = self.rows.iter().map(|(_, row)| &row[at]).chain([&self.headings[at]]);
            match cells.map(|text| width(text)).max().unwrap_or_default() {
                0 => 0,
                widest => widest + 2 * PADDING,
            }
        })
    }

    fn width(&self) -> usize {
        let texts = self.lines().iter().chain([&self.title]).map(|text| width(text) + 2 * PADDING).max();
        self.columns().iter().sum::<usize>().max(texts.unwrap_or_default())
    }

    /// The patterns, several to a line.
    fn lines(&self) -> Vec<String> {
        const LETTERS_PER_LINE: usize = 100;
        let mut lines: Vec<String> = Vec::new();
        for pattern in &self.patterns {
            match lines.last_mut().filter(|line| line.chars().count() < LETTERS_PER_LINE) {
                Some(line) => {
                    let _ = write!(line, " · {pattern}");
                }
                None => lines.push(pattern.clone()),
            }
        }
        lines
    }

    fn height(&self) -> usize {
        (2 + self.rows.len() + self.lines().len()) * ROW_HEIGHT + PADDING
    }

    fn draw(&self, picture: &mut String, top: usize) {
        let _ = writeln!(
            picture,
            "<rect x=\"{MARGIN}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"none\" stroke=\"#94a3b8\"/>",
            self.width(),
            self.height()
        );
        let mut y = top;
        text(picture, MARGIN + PADDING, y, &self.title, "font-weight=\"600\"");
        y += ROW_HEIGHT;
        self.cells(picture, y, &self.headings, "fill=\"#64748b\"");
        for (entity, row) in &self.rows {
            y += ROW_HEIGHT;
            let colour = COLOURS[entity.0 % COLOURS.len()];
            let inside = self.width() - 2;
            let _ = writeln!(
                picture,
                "<rect x=\"{}\" y=\"{y}\" width=\"{inside}\" height=\"{}\" fill=\"{colour}\"/>",
                MARGIN + 1,
                ROW_HEIGHT - 1
            );
            self.cells(picture, y, row, "fill=\"#0f172a\"");
        }
        for line in self.lines() {
            y += ROW_HEIGHT;
            text(picture, MARGIN + PADDING, y, &line, "fill=\"#475569\"");
        }
    }

    fn cells(&self, picture: &mut String, y: usize, cells: &[String; 4], style: &str) {
        let mut x = MARGIN + PADDING;
        for (cell, width) in cells.iter().zip(self.columns()) {
            text(picture, x, y, cell, style);
            x += width;
        }
    }
}

/// `y` is the top of the text's row.
fn text(picture: &mut String, x: usize, y: usize, text: &str, style: &str) {
    if !text.is_empty() {
        let _ = writeln!(picture, "<text x=\"{x}\" y=\"{}\" {style}>{}</text>", y + 15, escaped(text));
    }
}
