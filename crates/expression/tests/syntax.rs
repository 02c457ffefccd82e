//! Reading and printing: they agree with each other, and nothing that can be sent breaks them.

use expression::syntax::{Condition, Projection, Update};
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

fn parse_condition(text: &str) -> Result<Condition, ExpressionError> {
    parser::condition(Kind::Condition, text)
}

fn is_syntax_error<T>(result: &Result<T, ExpressionError>) -> bool {
    matches!(result, Err(ExpressionError::Invalid { fault: Fault::Syntax { .. }, .. }))
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
        let tree: Result<Update, ExpressionError> = parser::update(&text);
        prop_assert!(text.is_empty() || !is_syntax_error(&tree), "{text}");
        if let Ok(tree) = tree {
            prop_assert_eq!(parser::update(&tree.to_string()), Ok(tree));
        }
    }

    #[test]
    fn printed_projections_parse_to_the_same_tree(paths in prop::collection::vec(path(), 1..6)) {
        let tree: Projection = parser::projection(&paths.join(",")).unwrap();
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

/// The deepest texts that fit, on a stack as small as a server thread might have.
#[test]
fn depth_costs_no_stack() {
    let nested = |open: &str, middle: &str, close: &str| {
        let depth = (4096 - middle.len() - 20) / (open.len() + close.len());
        format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    let conditions = [
        nested("(", "a = b", ")"),
        nested("NOT ", "a = b", ""),
        nested("NOT(", "a = b", ")"),
        nested("a = b OR ", "a = b", ""),
        nested("a=b or(", "a = b", ")"),
        format!("a < {}", nested("size(", "b", ")")),
        format!("a < {}", nested("f(", "b", ")")),
        format!("a IN {}", nested("(", "b", ")")),
        nested("a.", "b", ""),
        nested("a", "", "[0]"),
        nested("(", "", ""),
    ];
    let updates = [
        format!("SET a = {}", nested("if_not_exists(b, ", "c", ")")),
        format!("SET a = {}", nested("list_append(b, ", "c", ")")),
        format!("SET a = {}", nested("(", "c", ")")),
        format!("SET a = {}", nested("(b + ", "c", ")")),
        format!("SET a = {}", nested("b+", "c", "")),
    ];
    let parse = move || {
        for text in conditions {
            assert!(text.len() <= 4096);
            if let Ok(tree) = parse_condition(&text) {
                assert_eq!(tree.to_string().len() / 8192, 0);
            }
            let mut placeholders = Placeholders::new(None, None);
            if let Ok(condition) = expression::Condition::parse(Kind::Condition, &text, &mut placeholders) {
                condition.evaluate(None);
            }
        }
        for text in updates {
            assert!(text.len() <= 4096);
            let mut placeholders = Placeholders::new(None, None);
            if let Ok(update) = expression::Update::parse(&text, &mut placeholders) {
                let _ = update.apply(item::Item::default().as_ref(), true);
                update.charge_bytes();
            }
        }
    };
    std::thread::Builder::new().stack_size(512 * 1024).spawn(parse).unwrap().join().unwrap();
}
