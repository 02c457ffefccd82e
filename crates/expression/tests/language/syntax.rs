//! Parsing and printing agree with each other, and no text that can be sent breaks them.

use expression::syntax::{ConditionTree, ProjectionTree, UpdateTree};
use expression::{ExpressionError, Fault, Kind, Placeholders, parser};
use proptest::prelude::*;

/// Texts made of the language's own pieces: many of them parse, and the others fail late.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b.c",
        "d[0].e",
        "#n",
        ":v",
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "=",
        "<>",
        "<",
        "<=",
        "+",
        "-",
        "AND",
        "or",
        "NOT",
        "BETWEEN",
        "IN",
        "SET",
        "REMOVE",
        "ADD",
        "DELETE",
        "size(",
        "contains(",
        "begins_with(a, :v)",
        "if_not_exists(",
        "list_append(",
        "f(",
        "status",
        "0",
        "17",
        "!",
        "é",
        "#",
        ":",
    ]);
    prop::collection::vec((piece, prop::sample::select(vec!["", " ", "  ", "\n"])), 0..40)
        .prop_map(|pieces| pieces.into_iter().flat_map(|(piece, blank)| [piece, blank]).collect())
}

fn path() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(vec!["a", "b2", "c_", "#n", "#0", "remove", "Xyz"]);
    let step =
        prop_oneof![name().prop_map(|name| format!(".{name}")), (0..100_u32).prop_map(|i| format!("[{i}]"))];
    (name(), prop::collection::vec(step, 0..4)).prop_map(|(name, steps)| format!("{name}{}", steps.concat()))
}

fn operand() -> BoxedStrategy<String> {
    let leaf = prop_oneof![path(), prop::sample::select(vec![":v", ":1", ":_x"]).prop_map(str::to_owned)];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let arguments = prop::collection::vec(inner.clone(), 1..3).prop_map(|operands| operands.join(" ,"));
        let function = prop::sample::select(vec!["size", "contains", "list_append", "if_not_exists"]);
        prop_oneof![(function, arguments).prop_map(|(f, arguments)| format!("{f} ({arguments})")), inner]
    })
    .boxed()
}

fn condition() -> impl Strategy<Value = String> {
    let comparator = prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        (operand(), comparator, operand()).prop_map(|(left, sign, right)| format!("{left}{sign}{right}")),
        (operand(), operand(), operand()).prop_map(|(a, b, c)| format!("{a} between {b} AND {c}")),
        (operand(), prop::collection::vec(operand(), 1..4))
            .prop_map(|(a, all)| format!("{a} in({})", all.join(","))),
        path().prop_map(|path| format!("attribute_exists({path})")),
    ];
    leaf.prop_recursive(6, 40, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} AND {right}")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} or {right}")),
            inner.clone().prop_map(|inner| format!("not {inner}")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("({left} OR {right})")),
        ]
    })
}

fn update() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        operand(),
        (operand(), operand()).prop_map(|(left, right)| format!("{left}+{right}")),
        (operand(), operand()).prop_map(|(left, right)| format!("({left} - {right})")),
    ];
    let set = (path(), value).prop_map(|(path, value)| format!("{path}={value}"));
    let with_value = || path().prop_map(|path| format!("{path} :v"));
    // `remove` is a keyword here.
    let section = |keyword: &'static str, actions: BoxedStrategy<String>| {
        prop::collection::vec(actions, 0..4).prop_map(move |actions| {
            let actions: Vec<String> =
                actions.iter().map(|action| action.replace("remove", "removed")).collect();
            if actions.is_empty() { String::new() } else { format!(" {keyword} {}", actions.join(" , ")) }
        })
    };
    (
        section("set", set.boxed()),
        section("REMOVE", path().boxed()),
        section("Add", with_value().boxed()),
        section("DELETE", with_value().boxed()),
    )
        .prop_map(|(set, remove, add, delete)| format!("{remove}{set}{delete}{add}"))
}

fn parse_condition(text: &str) -> Result<ConditionTree, ExpressionError> {
    parser::condition(Kind::Condition, text)
}

fn is_syntax_error<T>(result: &Result<T, ExpressionError>) -> bool {
    matches!(result, Err(ExpressionError::Invalid { fault, .. }) if matches!(**fault, Fault::Syntax { .. }))
}

proptest! {
    #[test]
    fn printed_conditions_parse_to_the_same_tree(text in condition()) {
        let tree = parse_condition(&text);
        prop_assert!(!is_syntax_error(&tree), "{text}");
        if let Ok(tree) = tree {
            prop_assert_eq!(parse_condition(&tree.to_string()), Ok(tree));
        }
    }

    #[test]
    fn printed_updates_parse_to_the_same_tree(text in update()) {
        let tree: Result<UpdateTree, ExpressionError> = parser::update(&text);
        prop_assert!(text.is_empty() || !is_syntax_error(&tree), "{text}");
        if let Ok(tree) = tree {
            prop_assert_eq!(parser::update(&tree.to_string()), Ok(tree));
        }
    }

    #[test]
    fn printed_projections_parse_to_the_same_tree(paths in prop::collection::vec(path(), 1..6)) {
        let tree: ProjectionTree = parser::projection(&paths.join(",")).unwrap();
        prop_assert_eq!(parser::projection(&tree.to_string()), Ok(tree));
    }

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![pieces(), "\\PC{0,200}", ".{0,80}"]) {
        let placeholders = || Placeholders::new(None, None);
        let _ = expression::Condition::parse(Kind::Filter, &text, &mut placeholders());
        let _ = expression::KeyCondition::parse(&text, &mut placeholders());
        let _ = expression::Update::parse(&text, &mut placeholders());
        let _ = expression::Projection::parse(&text, &mut placeholders());
    }

    #[test]
    fn any_piece_repeated_to_the_limit_is_read_or_refused(text in pieces()) {
        prop_assume!(!text.is_empty());
        let long: String = text.chars().cycle().take(4000 / 2).collect();
        let placeholders = || Placeholders::new(None, None);
        let _ = expression::Condition::parse(Kind::Condition, &long, &mut placeholders());
        let _ = expression::Update::parse(&long, &mut placeholders());
        let _ = expression::Projection::parse(&long, &mut placeholders());
    }
}

#[test]
fn trees_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<(ConditionTree, UpdateTree, ProjectionTree)>();
    shared::<(expression::Condition, expression::Update, expression::Projection, expression::KeyCondition)>();
}

/// The deepest texts that fit and the deepest that are accepted, on a stack much smaller than a server's thread has.
#[test]
fn depth_costs_little_stack() {
    let nested = |depth: usize, open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    let filling = |open: &str, middle: &str, close: &str| {
        nested((4096 - 20 - middle.len()) / (open.len() + close.len()), open, middle, close)
    };
    let accepted = [
        nested(299, "NOT ", "a = b", ""),
        nested(149, "a = b OR (", "a = b", ")"),
        nested(149, "NOT (", "a = b", ")"),
    ];
    let refused = [
        filling("(", "a = b", ")"),
        filling("NOT ", "a = b", ""),
        filling("NOT(", "a = b", ")"),
        filling("a = b OR ", "a = b", ""),
        filling("a=b or(", "a = b", ")"),
        format!("a < {}", filling("size(", "b", ")")),
        format!("a < {}", filling("f(", "b", ")")),
        format!("a IN {}", filling("(", "b", ")")),
        filling("a.", "b", ""),
        filling("(", "", ""),
    ];
    let accepted_updates = [
        format!("SET a = {}", nested(226, "if_not_exists(b, ", "c", ")")),
        format!("SET a = {}", nested(120, "list_append(if_not_exists(b,", "c", "),c)")),
        format!("SET a = {}", nested(300, "(b + ", "c", ")")),
    ];
    let refused_updates = [
        format!("SET a = {}", filling("list_append(b, ", "c", ")")),
        format!("SET a = {}", filling("(", "c", ")")),
        format!("SET a = {}", filling("(b + ", "c", ")")),
        format!("SET a = {}", filling("b+", "c", "")),
    ];
    let parse = move || {
        let condition = |text: &str| {
            assert!(text.len() <= 4096);
            expression::Condition::parse(Kind::Condition, text, &mut Placeholders::new(None, None))
        };
        let update = |text: &str| {
            assert!(text.len() <= 4096);
            expression::Update::parse(text, &mut Placeholders::new(None, None))
        };
        for text in accepted {
            condition(&text).unwrap().evaluate(None);
            assert_eq!(parse_condition(&text).unwrap().to_string(), text);
        }
        for text in accepted_updates {
            let update = update(&text).unwrap();
            assert!(update.apply(item::Item::default().as_ref(), true).is_err());
            assert!(update.charge_bytes() > 4096 && update.paths().count() > 120);
        }
        assert!(refused.iter().all(|text| condition(text).is_err()));
        assert!(refused_updates.iter().all(|text| update(text).is_err()));
    };
    std::thread::Builder::new().stack_size(512 * 1024).spawn(parse).unwrap().join().unwrap();
}
