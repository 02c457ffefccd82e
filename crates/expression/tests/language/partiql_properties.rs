//! Properties of all statements: no text does harm, a condition means the same as natively, and a WHERE clause that
//! is split into keys and the rest selects the same items.

use std::fmt::Write;

use expression::condition::{Condition, Operand};
use expression::key_condition::{KeyAttribute, KeyRange, Range};
use expression::partiql::{Access, Statement};
use expression::syntax::Comparator;
use expression::{Path, Step};
use item::{Item, Type, Value, ValueBuf};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const P: KeyAttribute<'static> = KeyAttribute { name: "p", kind: Type::S };
const S: KeyAttribute<'static> = KeyAttribute { name: "s", kind: Type::N };

// Few names and values, so that conditions and items meet often.

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["", "a", "ab", "b", "it's"]).prop_map(Value::from)
}

fn number() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![-1_i64, 0, 1, 2]).prop_map(Value::from)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => text(),
        3 => number(),
        1 => prop::sample::select(vec![true, false]).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(Value::string_set(["a", "b"])),
        1 => Just(Value::list([Value::from("a"), Value::from(1)])),
        1 => Just(Value::map([("c", Value::from(1))])),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    prop_oneof![
        Just(Path::of_attribute("p")),
        Just(Path::of_attribute("s")),
        Just(Path::of_attribute("x y")),
        Just(Path { attribute: "x y".to_owned(), steps: vec![Step::Name("c".to_owned())] }),
        Just(Path { attribute: "x y".to_owned(), steps: vec![Step::Index(1)] }),
    ]
}

fn comparator() -> impl Strategy<Value = Comparator> {
    use Comparator::*;
    prop_oneof![4 => Just(Equal), 1 => prop::sample::select(vec![NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])]
}

fn term() -> impl Strategy<Value = Condition> {
    let operand = |value: Value| Operand::Value(ValueBuf::from(value));
    let ordered = prop_oneof![text(), number()];
    let compared =
        (comparator(), path(), ordered, any::<bool>()).prop_map(move |(comparator, path, value, swapped)| {
            let (left, right) = (Operand::Path(path), operand(value));
            let (left, right) = if swapped { (right, left) } else { (left, right) };
            Condition::Compare { comparator, left, right }
        });
    let equal = (path(), value()).prop_map(move |(path, value)| Condition::Compare {
        comparator: Comparator::Equal,
        left: Operand::Path(path),
        right: operand(value),
    });
    let between = (path(), 0..3_i64, 0..3_i64).prop_map(move |(path, lower, more)| Condition::Between {
        subject: Operand::Path(path),
        lower: operand(lower.into()),
        upper: operand((lower + more).into()),
    });
    let of_path = move |path: Path, member: Value| match member {
        // Now and then a path among the members, which no key can be.
        Value::Null => Operand::Path(Path::of_attribute(format!("{}?", path.attribute))),
        member => operand(member),
    };
    let within =
        (path(), prop::collection::vec(value(), 1..4)).prop_map(move |(path, members)| Condition::In {
            members: members.into_iter().map(|member| of_path(path.clone(), member)).collect(),
            subject: Operand::Path(path),
        });
    prop_oneof![
        3 => compared,
        1 => equal,
        1 => between,
        1 => within,
        1 => (path(), text()).prop_map(move |(path, value)| Condition::BeginsWith(Operand::Path(path), operand(value))),
        1 => (path(), value()).prop_map(move |(path, value)| Condition::Contains(Operand::Path(path), operand(value))),
        1 => path().prop_map(Condition::AttributeExists),
        1 => path().prop_map(Condition::AttributeNotExists),
        1 => path().prop_map(|path| Condition::AttributeType(Operand::Path(path), Type::N)),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    term().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::And),
            1 => prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::Or),
            1 => inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

/// Often about both keys.
fn keyed_condition() -> impl Strategy<Value = Condition> {
    let about = |name: &'static str, comparator, value| Condition::Compare {
        comparator,
        left: Operand::Path(Path::of_attribute(name)),
        right: Operand::Value(ValueBuf::from(value)),
    };
    let partition = (comparator(), text()).prop_map(move |(comparator, value)| about("p", comparator, value));
    let partitions = prop::collection::vec(text(), 1..4).prop_map(|members| Condition::In {
        subject: Operand::Path(Path::of_attribute("p")),
        members: members.into_iter().map(|member| Operand::Value(ValueBuf::from(member))).collect(),
    });
    let sort = (comparator(), number()).prop_map(move |(comparator, value)| about("s", comparator, value));
    (prop_oneof![3 => partition, 1 => partitions], sort, condition())
        .prop_map(|(partition, sort, rest)| Condition::And(vec![rest, sort, partition]))
}

fn any_item() -> impl Strategy<Value = Item> {
    (text(), number(), prop::option::of(value())).prop_map(|(p, s, x)| {
        [("p", Some(p)), ("s", Some(s)), ("x y", x)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    })
}

// A condition as text.

fn write(condition: &Condition, out: &mut String) -> std::fmt::Result {
    let mut joined = |terms: &[Condition], word: &str| {
        for (place, term) in terms.iter().enumerate() {
            out.push_str(if place == 0 { "(" } else { word });
            write(term, out)?;
        }
        write!(out, ")")
    };
    match condition {
        Condition::And(terms) => joined(terms, " AND "),
        Condition::Or(terms) => joined(terms, " or "),
        Condition::Not(inner) => {
            out.push_str("NOT ");
            write(inner, out)
        }
        Condition::Compare { comparator, left, right } => {
            write!(out, "{} {} {}", operand(left), comparator.sign(), operand(right))
        }
        Condition::Between { subject, lower, upper } => {
            write!(out, "{} BETWEEN {} AND {}", operand(subject), operand(lower), operand(upper))
        }
        Condition::In { subject, members } => {
            let members: Vec<String> = members.iter().map(operand).collect();
            write!(out, "{} IN [{}]", operand(subject), members.join(", "))
        }
        Condition::AttributeExists(path) => write!(out, "{} IS NOT MISSING", written(path)),
        Condition::AttributeNotExists(path) => write!(out, "{} IS MISSING", written(path)),
        Condition::AttributeType(of, kind) => {
            write!(out, "attribute_type({}, '{}')", operand(of), kind.name())
        }
        Condition::BeginsWith(whole, prefix) => {
            write!(out, "BEGINS_WITH({}, {})", operand(whole), operand(prefix))
        }
        Condition::Contains(whole, part) => write!(out, "contains({}, {})", operand(whole), operand(part)),
    }
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Path(path) => written(path),
        Operand::Size(path) => format!("size({})", written(path)),
        Operand::Value(value) => literal(&value.to_value()),
    }
}

fn written(path: &Path) -> String {
    path.steps.iter().fold(format!("\"{}\"", path.attribute), |text, step| match step {
        Step::Name(name) => format!("{text}.{name}"),
        Step::Index(index) => format!("{text}[{index}]"),
    })
}

fn literal(value: &Value) -> String {
    let all = |values: Vec<String>| values.join(",");
    match value {
        Value::S(text) => format!("'{}'", text.replace('\'', "''")),
        Value::N(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Null => "NULL".to_owned(),
        Value::Ss(members) => {
            format!("<<{}>>", all(members.iter().map(|text| format!("'{text}'")).collect()))
        }
        Value::L(elements) => format!("[{}]", all(elements.iter().map(literal).collect())),
        Value::M(entries) => {
            format!(
                "{{{}}}",
                all(entries.iter().map(|(name, value)| format!("'{name}': {}", literal(value))).collect())
            )
        }
        other => panic!("no literal stands for {other:?}"),
    }
}

fn select(condition: &Condition) -> (String, Statement) {
    let mut text = "SELECT * FROM T WHERE ".to_owned();
    write(condition, &mut text).unwrap();
    let statement = Statement::parse(&text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    (text, statement)
}

/// What a Query of the range would find.
fn reads(range: &KeyRange, item: &Item) -> bool {
    let sort = item.get("s").unwrap();
    let order = |value: &ValueBuf| sort.partial_cmp_same_type(value.as_ref()).unwrap();
    item.get("p") == Some(range.partition[0].as_ref())
        && range.sort.as_ref().is_none_or(|range| match range {
            Range::Equal(value) => order(value).is_eq(),
            Range::Less(value) => order(value).is_lt(),
            Range::LessOrEqual(value) => order(value).is_le(),
            Range::Greater(value) => order(value).is_gt(),
            Range::GreaterOrEqual(value) => order(value).is_ge(),
            Range::Between(lower, upper) => order(lower).is_ge() && order(upper).is_le(),
            Range::BeginsWith(_) => panic!("numbers have no prefixes"),
        })
}

/// Pieces of statements, good and bad.
const PIECES: [&str; 66] = [
    "SELECT",
    "*",
    "FROM",
    "\"T\"",
    ".",
    "\"I\"",
    "WHERE",
    "ORDER",
    "BY",
    "DESC",
    "INSERT",
    "INTO",
    "VALUE",
    "UPDATE",
    "T",
    "SET",
    "REMOVE",
    "RETURNING",
    "ALL",
    "OLD",
    "MODIFIED",
    "NEW",
    "DELETE",
    "EXISTS",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<<",
    ">>",
    ",",
    ":",
    ";",
    "=",
    "<>",
    "!=",
    "<",
    ">=",
    "+",
    "-",
    "--\n",
    "/*",
    "*/",
    "?",
    "'a'",
    "'",
    "\"",
    "1",
    "1e5",
    ".5",
    "p = 'a'",
    "s",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "MISSING",
    "NULL",
    "TRUE",
    "size(",
    "set_add(",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, rng_seed: RngSeed::Fixed(38), ..ProptestConfig::default() })]

    #[test]
    fn no_text_does_harm(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40),
        start in prop::sample::select(vec!["", "SELECT * FROM T WHERE ", "UPDATE T SET ", "INSERT INTO T VALUE {"]),
        noise in ".{0,12}",
        spaced in any::<bool>(),
    ) {
        let text = format!("{start}{}{noise}", pieces.join(if spaced { " " } else { "" }));
        let parameters = [ValueBuf::from("a"), ValueBuf::from(&Value::Null)];
        match Statement::parse(&text, &parameters) {
            Ok(Statement::Select(select) | Statement::Exists(select)) => {
                let _ = (select.access(&[P], &[S]), select.keyed(&[P], &[S]), select.existence(&[P], &[]));
                let _ = select.condition.map(|condition| condition.evaluate(None));
                let _ = select.list.apply(Item::default().as_ref());
            }
            Ok(Statement::Update(update)) => {
                let _ = (update.keyed(&[P], &[S]), update.changes.apply(Item::default().as_ref(), true));
            }
            Ok(Statement::Delete(delete)) => drop(delete.keyed(&[P], &[S])),
            Ok(Statement::Insert(_)) => {}
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_condition_means_the_same_as_natively(condition in condition(), item in any_item()) {
        let (text, statement) = select(&condition);
        let Statement::Select(select) = statement else { panic!("{text} selects nothing") };
        let item = Some(item.as_ref());
        prop_assert_eq!(select.condition.unwrap().evaluate(item), condition.evaluate(item), "{}", text);
    }

    #[test]
    fn keys_and_filter_together_select_what_where_selects(condition in keyed_condition(), item in any_item()) {
        let (text, statement) = select(&condition);
        let Statement::Select(select) = statement else { panic!("{text} selects nothing") };
        let selected = match select.access(&[P], &[S]) {
            Ok(Access::Query { ranges, filter, .. }) => {
                let read = ranges.iter().filter(|range| reads(range, &item)).count();
                prop_assert!(read <= 1, "{} reads an item {} times", text, read);
                read == 1 && filter.is_none_or(|filter| filter.evaluate(Some(item.as_ref())))
            }
            Ok(Access::Scan { filter }) => filter.is_none_or(|filter| filter.evaluate(Some(item.as_ref()))),
            Err(_) => return Ok(()), // a key of another type
        };
        prop_assert_eq!(selected, condition.evaluate(Some(item.as_ref())), "{}", text);
    }

    #[test]
    fn a_key_and_the_rest_together_hold_where_where_holds(condition in keyed_condition(), item in any_item()) {
        let (text, statement) = select(&condition);
        let Statement::Select(select) = statement else { panic!("{text} selects nothing") };
        if let Ok(keyed) = select.keyed(&[P], &[S]) {
            let named = ["p", "s"].into_iter().all(|name| keyed.key.get(name) == item.get(name));
            let rest = keyed.condition.is_none_or(|condition| condition.evaluate(Some(item.as_ref())));
            prop_assert_eq!(named && rest, condition.evaluate(Some(item.as_ref())), "{}", text);
        }
    }
}
