//! Fits rendered findings into a width: a line that is wider goes on in the next one, below its own text. The gutter
//! with the line numbers stays on the left, and colours stay with their words.

/// Less room than this is too narrow for text: it goes on further left.
const ROOM_MIN: usize = 24;

/// One character, and the colours that it has.
#[derive(Clone, Copy)]
struct Cell<'t> {
    character: char,
    style: &'t str,
}

/// The text with no line wider than this.
pub fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let cells = cells(line.trim_end_matches('\n'));
        if cells.len() <= width {
            wrapped.push_str(line);
            continue;
        }
        let lines = lines(&cells, width);
        wrapped.push_str(&lines.iter().map(|line| print(line)).collect::<Vec<_>>().join("\n"));
        wrapped.push_str(if line.ends_with('\n') { "\n" } else { "" });
    }
    wrapped
}

const RESET: &str = "\u{1b}[0m";

/// The characters of a line. Bold and red are two sequences, one directly after the other: together they are one style.
fn cells(line: &str) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    let mut style = 0..0;
    let mut at = 0;
    while let Some(character) = line[at..].chars().next() {
        if character != '\u{1b}' {
            cells.push(Cell { character, style: &line[style.clone()] });
            at += character.len_utf8();
            continue;
        }
        let end = line[at..].find('m').map_or(line.len(), |length| at + length + 1);
        style = match &line[at..end] {
            RESET => 0..0,
            _ if style.end == at => style.start..end,
            _ => at..end,
        };
        at = end;
    }
    cells
}

fn lines<'t>(cells: &[Cell<'t>], width: usize) -> Vec<Vec<Cell<'t>>> {
    let gutter = gutter(cells);
    let further = further(cells, gutter, width);
    let margin: Vec<Cell<'t>> = (0..further)
        .map(|at| match cells.get(at).filter(|_| at < gutter) {
            Some(cell) if cell.character == '|' => *cell,
            _ => Cell { character: ' ', style: "" },
        })
        .collect();
    let mut lines: Vec<Vec<Cell<'t>>> = Vec::new();
    let mut rest = cells;
    let mut line: Vec<Cell<'t>> = Vec::new();
    while line.len() + rest.len() > width {
        let room = width - line.len();
        let least = if lines.is_empty() { further } else { 0 };
        let is_gap = |at: &usize| rest[*at].character == ' ';
        // A word without end (a key, an address) is broken where the line ends.
        let cut = (least + 1..=room).rev().find(is_gap).unwrap_or(room);
        line.extend(&rest[..cut]);
        rest = &rest[cut..];
        let spaces = rest.iter().take_while(|cell| cell.character == ' ').count();
        rest = &rest[spaces..];
        lines.push(std::mem::replace(&mut line, margin.clone()));
    }
    line.extend(rest);
    lines.push(line);
    lines
}

/// How many characters the line number and its bar take.
fn gutter(cells: &[Cell<'_>]) -> usize {
    let bar = cells.iter().position(|cell| !cell.character.is_ascii_digit() && cell.character != ' ');
    bar.filter(|at| cells[*at].character == '|').map_or(0, |at| at + 2)
}

/// Where the text goes on: below a label, below what follows `note: `, or a little further in than the line began.
fn further(cells: &[Cell<'_>], gutter: usize, width: usize) -> usize {
    let text: Vec<char> = cells.iter().map(|cell| cell.character).collect();
    let is_mark = |at: &usize| matches!(text[*at], '^' | '-') && text.get(at + 1) == Some(&' ');
    let label = (gutter..text.len()).find(is_mark).filter(|_| gutter > 0).map(|at| at + 2);
    let is_colon = |pair: &[char]| pair == [':', ' '];
    let heading = text.windows(2).position(is_colon).filter(|_| gutter == 0).map(|at| at + 2);
    let begun = text.iter().skip(gutter).take_while(|one| **one == ' ').count() + gutter;
    let wanted = label.or(heading).unwrap_or(begun + 2);
    if wanted + ROOM_MIN.min(width / 2) <= width { wanted } else { (gutter + 2).min(width / 2) }
}

fn print(line: &[Cell<'_>]) -> String {
    let mut text = String::new();
    let mut style = "";
    for cell in line {
        if cell.style != style {
            text.push_str(if style.is_empty() { "" } else { RESET });
            text.push_str(cell.style);
            style = cell.style;
        }
        text.push(cell.character);
    }
    text.push_str(if style.is_empty() { "" } else { RESET });
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_goes_on_below_its_text() {
        let text = "   = note: one two three four five six seven\n";
        let wrapped = "   = note: one two three four five\n           six seven\n";
        assert_eq!(wrap(text, 36), wrapped);
        assert_eq!(wrap(text, 80), text);
    }

    #[test]
    fn a_label_goes_on_below_itself_beside_the_gutter() {
        let text = "   |       ^^^^ one two three four five six\n";
        let wrapped = "   |       ^^^^ one two three four five\n   |            six\n";
        assert_eq!(wrap(text, 40), wrapped);
    }

    #[test]
    fn a_label_without_room_goes_on_at_the_left() {
        let text = "   |                ^^^^ one two three four\n";
        assert_eq!(wrap(text, 30), "   |                ^^^^ one\n   |   two three four\n");
    }

    #[test]
    fn a_word_that_is_wider_than_the_line_is_broken() {
        assert_eq!(wrap("a 0123456789012345678901234\n", 20), "a 012345678901234567\n  8901234\n");
    }

    #[test]
    fn colours_take_no_room_and_end_with_their_line() {
        let text = "\u{1b}[1m\u{1b}[31mred\u{1b}[0m: one two three four\n";
        let wrapped = "\u{1b}[1m\u{1b}[31mred\u{1b}[0m: one two\n     three four\n";
        assert_eq!(wrap(text, 15), wrapped);
    }
}
