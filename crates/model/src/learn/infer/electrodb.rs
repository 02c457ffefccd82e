//! Keys as ElectroDB makes them: `$taskapp#employee_e1`, `$workplaces#employee_1#team_sales`.
//!
//! A segment is the name of a service, a collection or an entity with its version; or the label of an attribute, `_`, and
//! the attribute's value. Keys are in lower case unless the entity says otherwise.

use super::{is_name, scalar};
use crate::dynamodb_json::Row;

/// `None` if these are not such keys.
pub fn template(key: &str, rows: &[&Row]) -> Option<String> {
    let texts: Vec<&str> = rows.iter().map(|row| row.get(key)?["S"].as_str()).collect::<Option<_>>()?;
    if !texts.iter().all(|text| text.starts_with('$')) {
        return None;
    }
    let mut template = String::new();
    let mut rests = texts;
    loop {
        let (written, ends) = attribute(rows, &rests).or_else(|| same(&rests))?;
        template.push_str(&written);
        rests = rests.into_iter().zip(ends).map(|(rest, end)| &rest[end..]).collect();
        if rests.iter().all(|rest| rest.is_empty()) {
            return Some(template);
        }
        rests = rests.into_iter().map(|rest| rest.strip_prefix('#')).collect::<Option<_>>()?;
        template.push('#');
    }
}

/// The attribute whose label and value every key has here, and where they end. Of several the longest label.
fn attribute(rows: &[&Row], rests: &[&str]) -> Option<(String, Vec<usize>)> {
    let mut names: Vec<&String> = rows.first()?.keys().filter(|name| is_name(name)).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.into_iter().find_map(|name| {
        let mut is_lowered = false;
        let mut label = "";
        let mut ends = Vec::with_capacity(rests.len());
        for (row, rest) in rows.iter().zip(rests) {
            let value = scalar(row.get(name)?)?;
            let end = name.len() + 1 + value.len();
            let here = rest.get(..end).filter(|_| rest[end..].is_empty() || rest[end..].starts_with('#'))?;
            let (labelled, written) = here.split_at(name.len() + 1);
            let is_label = labelled.eq_ignore_ascii_case(&format!("{name}_"));
            if !is_label || (written != value && written != value.to_lowercase()) {
                return None;
            }
            is_lowered |= written != value;
            label = labelled;
            ends.push(end);
        }
        let field = if is_lowered { format!("{{lower({name})}}") } else { format!("{{{name}}}") };
        Some((format!("{label}{field}"), ends))
    })
}

/// What every key has here.
fn same(rests: &[&str]) -> Option<(String, Vec<usize>)> {
    let first = rests.first()?.split('#').next()?;
    let is_here = |rest: &&str| rest.split('#').next() == Some(first);
    let is_name = !first.contains(['{', '}']) && rests.iter().all(is_here);
    is_name.then(|| (first.to_owned(), vec![first.len(); rests.len()]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template_of(rows: &[serde_json::Value]) -> Option<String> {
        let rows: Vec<Row> = rows.iter().filter_map(|row| serde_json::from_value(row.clone()).ok()).collect();
        template("pk", &rows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn labels_with_values_are_attributes_and_the_rest_are_words() {
        let row = |team: &str, id: u64| {
            json!({
                "pk": { "S": format!("$work#employee_1#team_{}#employeeid_{id}", team.to_lowercase()) },
                "team": { "S": team }, "employeeId": { "N": id.to_string() },
            })
        };
        let wanted = "$work#employee_1#team_{lower(team)}#employeeid_{employeeId}";
        assert_eq!(template_of(&[row("Sales", 1), row("dev", 22)]).as_deref(), Some(wanted));
    }

    #[test]
    fn other_keys_are_left_to_the_general_inference() {
        let row = |pk: &str| json!({ "pk": { "S": pk }, "id": { "S": "a" } });
        assert_eq!(template_of(&[row("ORDER#a")]), None);
        assert_eq!(template_of(&[row("$shop#id_b"), row("$shop#id_a")]), None);
    }
}
