//! What an editor gets to know about a file, at the place of its cursor: `‸`.

use model::editor::{Document, Edit};
use model::{Source, check};

const MODEL: &str = r#"model: shop
table: { name: app, partition: PK, sort: SK }
entities:
  Customer:
    key: { PK: "CUST#{customerId}", SK: PROFILE }
    attributes: { name: string, email: string }
    count: 1M
  Order:
    description: What a customer bought
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes:
      createdAt: timestamp
      status: [OPEN, SHIPPED]
      customerName: { copy-of: Customer.name, sync: stream }
    count: 20 per Customer
    size: 1 KB
    indexes:
      byStatus: { SPK: "{status}#{shard(orderId, 3)}", SSK: "{createdAt}" }
indexes:
  byStatus: { project: keys }
patterns:
  A1: { get: Customer, by: customerId, rate: 800/s }
  A2: { query: Order, by: customerId, order: createdAt desc, limit: 20, rate: 400/s }
  A3: { query: Order, where: status = OPEN, read: keys, limit: 10, fan-out: 3, rate: 1/s }
  A4: { transact: [create Order, { update: Customer, set: [email] }], rate: 1/s }
"#;

fn document(text: &str) -> Document {
    Document::new(Source::new("model.yaml", text))
}

/// The text without its cursor, and where that was.
fn cursor(text: &str) -> (String, usize) {
    let byte = text.find('‸').expect("the text has a cursor");
    (text.replace('‸', ""), byte)
}

/// The model with its first `old` written as `new`, which has a cursor.
fn edited(old: &str, new: &str) -> (Document, usize) {
    assert!(MODEL.contains(old), "{old} is in the model");
    let (text, byte) = cursor(&MODEL.replacen(old, new, 1));
    (document(&text), byte)
}

fn labels(old: &str, new: &str) -> Vec<String> {
    let (document, byte) = edited(old, new);
    document.completions(byte).into_iter().map(|one| one.label).collect()
}

fn offers(old: &str, new: &str, expected: &[&str]) {
    let labels = labels(old, new);
    for one in expected {
        assert!(labels.iter().any(|label| label == one), "{new}: {one} is missing in {labels:?}");
    }
}

fn only_offers(old: &str, new: &str, expected: &[&str]) {
    assert_eq!(labels(old, new), expected, "{new}");
}

/// The line and text of the declaration that the cursor's name leads to.
fn declaration(old: &str, new: &str) -> Option<(usize, String)> {
    let (document, byte) = edited(old, new);
    let symbol = document.definition(byte)?;
    let line = document.source.position(symbol.name_span.start).0;
    Some((line, document.source.slice(symbol.name_span).to_owned()))
}

fn hover(old: &str, new: &str) -> String {
    let (document, byte) = edited(old, new);
    document.hover(byte).map(|hover| hover.markdown).unwrap_or_default()
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut text = text.to_owned();
    let mut edits = edits.to_vec();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

/// The text after the first cure of the finding of this rule, or of the file's own problem.
fn cured(text: &str, rule: Option<&str>) -> String {
    let document = document(text);
    let found = document
        .diagnostics
        .iter()
        .find(|one| one.rule.map(|rule| rule.to_string()).as_deref() == rule)
        .unwrap_or_else(|| panic!("{rule:?} finds nothing in\n{text}"));
    let fixes = document.quick_fixes(found);
    let fix = fixes.iter().find(|fix| fix.cures).unwrap_or_else(|| panic!("no fix for {}", found.message));
    apply(text, &fix.edits)
}

#[test]
fn members_are_completed_by_the_schema() {
    offers("by: customerId, rate", "by: customerId, ra‸", &["rate", "consistency", "limit"]);
    offers("    size: 1 KB\n", "    si‸\n", &["size", "growth", "expires"]);
    offers("indexes:\n  byStatus", "in‸\nindexes:\n  byStatus", &["description", "relations"]);
    let present = labels("by: customerId, rate", "by: customerId, c‸, rate");
    assert!(!present.contains(&"by".to_owned()), "what is there is not offered again: {present:?}");
}

#[test]
fn a_line_of_its_own_is_a_member_even_below_a_value() {
    offers("    count: 1M\n", "    count: 1M\n    gr‸\n", &["growth", "size"]);
    offers("    count: 1M\n", "    count: 1M\n    ‸\n", &["growth", "size"]);
    offers("  A1: { get: Customer, by: customerId, rate: 800/s }", "  A1:\n    ‸", &["get", "query", "rate"]);
}

#[test]
fn names_are_completed_where_they_are_meant() {
    only_offers("get: Customer, by", "get: ‸, by", &["Customer", "Order"]);
    only_offers("get: Customer, by", "get: Cu‸", &["Customer", "Order"]);
    offers("by: customerId, order", "by: [‸], order", &["customerId", "createdAt", "status", "orderId"]);
    offers("where: status = OPEN", "where: st‸", &["status"]);
    only_offers("fan-out: 3", "index: ‸", &["byStatus"]);
    offers(
        "PK: \"CUST#{customerId}\", SK: PROFILE",
        "PK: \"CUST#{‸}\", SK: PROFILE",
        &["name", "email", "shard", "day"],
    );
    offers("PK: \"CUST#{customerId}\", SK: PROFILE", "PK: \"CUST#{cu‸", &["name", "email"]);
    only_offers(
        "SPK: \"{status}#{shard(orderId, 3)}\"",
        "SPK: \"{day(‸)}\"",
        &["createdAt", "status", "customerName", "customerId", "orderId"],
    );
    only_offers("count: 20 per Customer", "count: 20 per ‸", &["Customer", "Order"]);
    offers("copy-of: Customer.name", "copy-of: Customer.‸", &["name", "email"]);
}

#[test]
fn keys_and_indexes_of_an_entity_are_completed_by_what_they_need() {
    only_offers("key: { PK: \"CUST#{customerId}\", SK: PROFILE }", "key: { ‸ }", &["PK", "SK"]);
    only_offers("      byStatus: { SPK", "      ‸: { SPK", &["byStatus"]);
    offers("indexes:\n  byStatus", "allow: { ‸ }\nindexes:\n  byStatus", &["R1", "R14", "R46"]);
}

#[test]
fn values_are_completed_by_the_schema() {
    only_offers("sort: SK }", "sort: SK, billing: ‸ }", &["on-demand", "provisioned"]);
    only_offers("sort: SK }", "sort: SK, pitr: ‸ }", &["true", "false"]);
    offers("name: string, email", "name: ‸, email", &["string", "timestamp", "ulid"]);
    let types = labels("name: string, email", "name: ‸, email");
    assert!(!types.contains(&"email".to_owned()), "an attribute is no type: {types:?}");
    only_offers(
        "project: keys",
        "project: k‸",
        &["all", "keys", "name", "email", "customerId", "createdAt", "status", "customerName", "orderId"],
    );
}

#[test]
fn steps_are_completed_word_by_word() {
    only_offers("create Order, {", "‸, {", &["create", "put", "update", "delete", "check", "get"]);
    only_offers("create Order, {", "create ‸, {", &["Customer", "Order"]);
    offers("set: [email]", "set: [‸]", &["name", "email", "customerId"]);
}

#[test]
fn completions_replace_the_word_that_is_there() {
    let (document, byte) = edited("sort: SK }", "sort: SK, deletion-pro‸ }");
    let completion = document.completions(byte).into_iter().find(|one| one.label == "deletion-protection");
    let completion = completion.expect("it is offered");
    assert_eq!(document.source.slice(completion.span), "deletion-pro");
    assert_eq!(completion.text, "deletion-protection: ");
}

#[test]
fn a_text_that_is_broken_elsewhere_below_is_still_completed() {
    let (text, byte) =
        cursor(&format!("{}\n  A9: {{ {{ broken", MODEL.replacen("get: Customer, by", "get: ‸, by", 1)));
    assert!(document(&text).model.is_none());
    assert_eq!(document(&text).completions(byte).len(), 2);
}

#[test]
fn every_prefix_of_a_model_is_answered() {
    for (byte, _) in MODEL.char_indices() {
        let document = document(&MODEL[..byte]);
        let _ =
            (document.completions(byte), document.hover(byte), document.definition(byte), document.symbols());
    }
}

#[test]
fn every_slip_of_the_keyboard_is_answered() {
    let places: Vec<usize> = MODEL.char_indices().map(|(byte, _)| byte).step_by(13).collect();
    for (byte, typed) in
        places.into_iter().flat_map(|byte| ["é😀", "{", "\"", "'", "\n", "#"].map(|typed| (byte, typed)))
    {
        let document = document(&format!("{}{typed}{}", &MODEL[..byte], &MODEL[byte..]));
        let cursor = byte + typed.len();
        let _ = (
            document.completions(cursor),
            document.hover(cursor),
            document.definition(cursor),
            document.symbols(),
        );
        for found in &document.diagnostics {
            for fix in document.quick_fixes(found) {
                let _ = apply(&document.source.text, &fix.edits);
            }
        }
    }
}

#[test]
fn a_name_leads_to_its_declaration() {
    let line = |text: &str| {
        MODEL.lines().position(|line| line.contains(text)).map(|line| line + 1).expect("it is there")
    };
    let found = |old, new| declaration(old, new).unwrap_or_else(|| panic!("{new} leads nowhere"));
    assert_eq!(found("get: Customer", "get: Cust‸omer"), (line("  Customer:"), "Customer".into()));
    assert_eq!(found("create Order", "create Or‸der"), (line("  Order:"), "Order".into()));
    assert_eq!(found("20 per Customer", "20 per Cu‸stomer"), (line("  Customer:"), "Customer".into()));
    assert_eq!(
        found("order: createdAt desc", "order: cre‸atedAt desc"),
        (line("createdAt: timestamp"), "createdAt".into())
    );
    assert_eq!(found("where: status", "where: sta‸tus"), (line("status: [OPEN"), "status".into()));
    assert_eq!(
        found("\"{createdAt}\"", "\"{cre‸atedAt}\""),
        (line("createdAt: timestamp"), "createdAt".into())
    );
    assert_eq!(found("Customer.name", "Customer.na‸me"), (line("{ name: string"), "name".into()));
    assert_eq!(
        found("      byStatus:", "      by‸Status:"),
        (line("byStatus: { project"), "byStatus".into())
    );
    assert_eq!(declaration("order: createdAt desc", "order: createdAt de‸sc"), None);
}

#[test]
fn a_name_leads_to_all_places_that_use_it() {
    let lines = |old: &str, new: &str| -> Vec<usize> {
        let (document, byte) = edited(old, new);
        document.references(byte).iter().map(|span| document.source.position(span.start).0).collect()
    };
    let line = |text: &str| MODEL.lines().position(|line| line.contains(text)).expect("it is there") + 1;
    let uses = ["  Customer:", "copy-of", "20 per", "A1:", "A4:"].map(line);
    assert_eq!(lines("get: Customer", "get: Cust‸omer"), uses);
    assert_eq!(lines("  Customer:", "  Cust‸omer:"), uses);
    assert_eq!(lines("fan-out: 3", "index: by‸Status"), ["  byStatus: {", "project: keys", "A3:"].map(line));
    assert_eq!(lines("status: [OPEN", "sta‸tus: [OPEN"), ["status: [OPEN", "SPK:", "A3:"].map(line));
    assert_eq!(lines("model: shop", "model: sh‸op"), [0_usize; 0]);
}

#[test]
fn a_pattern_shows_its_plan_and_cost() {
    let text = hover("  A2: {", "  A‸2: {");
    for part in [
        "`Query` on `app`",
        "`PK = CUST#{customerId}`",
        "begins_with ORDER#",
        "1 request",
        "read units",
        "a month",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let text = hover("read: keys, limit: 10, fan-out: 3", "‸read: keys, limit: 10");
    assert!(
        text.contains("the attributes that are read") && text.contains("⚠ it takes 3 requests"),
        "{text}"
    );
}

#[test]
fn names_and_members_are_explained() {
    let text = hover("get: Customer", "get: Cust‸omer");
    assert!(text.contains("`PK = CUST#{customerId}`") && text.contains("1,000,000 items"), "{text}");
    let text = hover("      byStatus:", "      by‸Status:");
    assert!(text.contains("keys only") && text.contains("read by A3"), "{text}");
    assert!(hover("where: status", "where: sta‸tus").contains("one of OPEN, SHIPPED"));
    assert_eq!(hover("    size: 1 KB", "    si‸ze: 1 KB"), "How large an item is, as in `1 KB`");
    assert!(hover("patterns:\n", "rules: { R‸14: off }\npatterns:\n").contains("R14"));
}

#[test]
fn a_mistyped_name_is_written_as_it_was_meant() {
    for (wrong, right) in [
        ("get: Custmer", "get: Customer"),
        ("billling: on-demand", "billing: on-demand"),
        ("billing: on-demnd", "billing: on-demand"),
        ("by: custmerId", "by: customerId"),
        ("copy-of: Customer.nme", "copy-of: Customer.name"),
    ] {
        let right_text = MODEL.replacen("sort: SK }", "sort: SK, billing: on-demand }", 1);
        let wrong_text = right_text.replacen(right, wrong, 1);
        assert_ne!(wrong_text, right_text, "{right}");
        assert_eq!(cured(&wrong_text, None), right_text);
    }
}

#[test]
fn rules_that_have_a_fix_find_nothing_after_it() {
    let with = |old: &str, new: &str| MODEL.replacen(old, new, 1);
    let lines = with(
        "table: { name: app, partition: PK, sort: SK }",
        "table:\n  name: app   # ours\n  partition: PK\n  sort: SK",
    );
    let number =
        with("createdAt: timestamp\n", "createdAt: timestamp\n      line: { type: number, max: 500 }\n");
    for (rule, text) in [
        ("R14", number.replacen("SSK: \"{createdAt}\"", "SSK: \"{line}\"", 1)),
        ("R33", MODEL.to_owned()),
        ("R33", lines.clone()),
        ("R33", with("sort: SK }", "sort: SK, pitr: false }")),
        ("R45", lines),
        ("R28", MODEL.to_owned()),
        ("R31", with(", fan-out: 3", "")),
        (
            "R37",
            with(", limit: 20", "").replacen(
                "count: 20 per Customer",
                "count: { typical: 20, max: 1M, per: Customer }",
                1,
            ),
        ),
        ("R3", with("read: keys", "read: [customerName]")),
        ("R21", with("fan-out: 3", "fan-out: 3, consistency: strong")),
        ("R46", with("get: Customer,", "get: Customer, consistency: strong, cached: 50%,")),
    ] {
        let count = |text: &str| {
            let document = document(text);
            let model = document.model.unwrap_or_else(|| panic!("not a model:\n{text}"));
            check::check(&model)
                .iter()
                .filter(|one| one.rule.map(|rule| rule.to_string()).as_deref() == Some(rule))
                .count()
        };
        let (before, fixed) = (count(&text), cured(&text, Some(rule)));
        assert!(count(&fixed) < before, "{rule} still finds it:\n{fixed}");
    }
}

#[test]
fn any_finding_of_a_rule_can_be_allowed_with_a_reason() {
    let mut text = MODEL.to_owned();
    for _ in 0..40 {
        let document = document(&text);
        let open = document.diagnostics.iter().find(|one| one.rule.is_some() && one.allowed.is_none());
        let Some(found) = open else { return };
        let fixes = document.quick_fixes(found);
        let allow = fixes.iter().find(|fix| !fix.cures).expect("it can be allowed");
        text = apply(&text, &allow.edits);
        assert!(self::document(&text).model.is_some(), "still a model:\n{text}");
    }
    panic!("findings are left:\n{text}");
}

#[test]
fn an_allowance_that_allows_nothing_is_removed_with_its_line_or_comma() {
    for (old, new) in [
        ("    count: 1M\n", "    count: 1M\n    allow: { R41: short }\n"),
        ("rate: 800/s }", "rate: 800/s, allow: { R41: short } }"),
    ] {
        assert_eq!(cured(&MODEL.replacen(old, new, 1), None), MODEL);
    }
}
