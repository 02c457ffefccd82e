//! Which statements are valid, what they become, and the messages for texts that are none.

use expression::Step;
use expression::partiql::{Order, Returning, SelectList, Statement};
use item::{Value, ValueBuf};

use crate::support::{item, map};

/// With the parameters 1 to 5.
fn parse(text: &str) -> Result<Statement, String> {
    let parameters: Vec<ValueBuf> = (1..=5).map(|number| ValueBuf::from(Value::from(number))).collect();
    Statement::parse(text, &parameters).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    parse(text).map(|statement| panic!("{text} is {statement:?}")).unwrap_err()
}

#[test]
fn select_names_a_table_or_index_and_what_it_wants() {
    #[track_caller]
    fn check(text: &str, table: &str, index: Option<&str>, columns: Option<&[&str]>) {
        let Statement::Select(select) = parse(text).unwrap() else { panic!("{text} selects nothing") };
        assert_eq!((select.table.as_str(), select.index.as_deref()), (table, index), "{text}");
        let names = |path: &expression::Path| {
            let steps = path.steps.iter().map(|step| match step {
                Step::Name(name) => format!(".{name}"),
                Step::Index(index) => format!("[{index}]"),
            });
            std::iter::once(path.attribute.clone()).chain(steps).collect::<String>()
        };
        let found = match select.list {
            SelectList::All => None,
            SelectList::Paths(paths) => Some(paths.iter().map(names).collect::<Vec<_>>()),
        };
        assert_eq!(found, columns.map(|columns| columns.iter().map(|&it| it.to_owned()).collect()), "{text}");
    }
    check("SELECT * FROM Music", "Music", None, None);
    check("select * from \"Music\"", "Music", None, None);
    check("SELECT * FROM \"Music\".\"By Year\"", "Music", Some("By Year"), None);
    check("SELECT * FROM Music.ByYear;", "Music", Some("ByYear"), None);
    check(
        "SELECT * FROM \"arn:aws:dynamodb:eu-west-1:1:table/T\"",
        "arn:aws:dynamodb:eu-west-1:1:table/T",
        None,
        None,
    );
    check("SELECT a FROM T WHERE a = 1", "T", None, Some(&["a"]));
    check("SELECT a.b[0], \"c d\".e, f['g h'][2] FROM T", "T", None, Some(&["a.b[0]", "c d.e", "f.g h[2]"]));
    check(
        "SELECT year, status, name, \"value\" FROM T",
        "T",
        None,
        Some(&["year", "status", "name", "value"]),
    );
    check("-- all of it\nSELECT /* really */ *\nFROM T -- the end", "T", None, None);
}

#[test]
fn order_is_asked_for_by_attributes() {
    #[track_caller]
    fn check(text: &str, expected: &[(&str, bool)]) {
        let Statement::Select(select) = parse(text).unwrap() else { panic!("{text} selects nothing") };
        let order =
            |&(attribute, descending): &(&str, bool)| Order { attribute: attribute.to_owned(), descending };
        assert_eq!(select.order, expected.iter().map(order).collect::<Vec<_>>(), "{text}");
    }
    check("SELECT * FROM T WHERE p = 1", &[]);
    check("SELECT * FROM T WHERE p = 1 ORDER BY s", &[("s", false)]);
    check("SELECT * FROM T WHERE p = 1 ORDER BY s ASC", &[("s", false)]);
    check("SELECT * FROM T WHERE p = 1 order by \"s\" desc;", &[("s", true)]);
    check("SELECT * FROM T WHERE p = 1 ORDER BY p, s DESC", &[("p", false), ("s", true)]);
}

#[test]
fn insert_holds_an_item() {
    #[track_caller]
    fn check(text: &str, expected: item::Item) {
        let Statement::Insert(insert) = parse(text).unwrap() else { panic!("{text} inserts nothing") };
        assert_eq!((insert.table.as_str(), insert.item), ("T", expected), "{text}");
    }
    check("INSERT INTO T VALUE {}", item([]));
    check("INSERT INTO T VALUE {'p': 'a'}", item([("p", "a".into())]));
    check(
        "insert into \"T\" value {'s': 'it''s', 'n': -1.50, 'b': TRUE, 'f': false, 'z': null};",
        item([
            ("s", "it's".into()),
            ("n", Value::N(item::Number::parse("-1.5").unwrap())),
            ("b", true.into()),
            ("f", false.into()),
            ("z", Value::Null),
        ]),
    );
    check(
        "INSERT INTO T VALUE {'l': [1, 'x', [], {}], 'm': {'a b': {'c': 1e2}}, 'ss': <<'b', 'a'>>, 'ns': <<1, .5>>}",
        item([
            ("l", Value::L(vec![1.into(), "x".into(), Value::L(vec![]), Value::M([].into())])),
            ("m", map([("a b", map([("c", 100.into())]))])),
            ("ss", Value::string_set(["a", "b"])),
            ("ns", Value::Ns(["1", "0.5"].map(|number| item::Number::parse(number).unwrap()).into())),
        ]),
    );
    check(
        "INSERT INTO T VALUE {'p': ?, 'l': [?, <<?, ?>>]}",
        item([("p", 1.into()), ("l", Value::L(vec![2.into(), Value::number_set([3, 4])]))]),
    );
}

#[test]
fn parameters_are_counted_from_the_first_to_the_last() {
    let parameters = [Value::from(vec![1_u8]), Value::from("x")].map(ValueBuf::from);
    let text = "INSERT INTO T VALUE {'b': ?, 'not': 'a ?', /* ? */ 'x': ?}";
    let Ok(Statement::Insert(insert)) = Statement::parse(text, &parameters) else { panic!("not an insert") };
    assert_eq!(insert.item, item([("b", vec![1_u8].into()), ("not", "a ?".into()), ("x", "x".into())]));
    let too_few = Statement::parse(text, &parameters[..1]).unwrap_err();
    assert_eq!(too_few.to_string(), "Number of parameters in request and statement don't match.");

    let whole = [ValueBuf::from(map([("p", Value::from(1))]))];
    let Ok(Statement::Insert(insert)) = Statement::parse("INSERT INTO T VALUE ?", &whole) else {
        panic!("not an insert")
    };
    assert_eq!(insert.item, item([("p", 1.into())]));
    assert_eq!(refused("INSERT INTO T VALUE ?"), "Item to insert must be a tuple");
}

#[test]
fn writes_say_what_they_return() {
    #[track_caller]
    fn check(text: &str, expected: Option<Returning>) {
        let statement = parse(text).unwrap();
        assert_eq!(statement.returning(), expected, "{text}");
        assert_eq!(statement.table(), "T");
        assert!(!statement.is_read());
    }
    check("UPDATE T SET a = 1 WHERE p = 1", None);
    check("UPDATE T SET a = 1 WHERE p = 1 RETURNING ALL OLD *", Some(Returning::AllOld));
    check("UPDATE T SET a = 1 WHERE p = 1 returning modified old *;", Some(Returning::ModifiedOld));
    check("UPDATE T SET a = 1 WHERE p = 1 RETURNING ALL NEW *", Some(Returning::AllNew));
    check("UPDATE T SET a = 1 WHERE p = 1 RETURNING MODIFIED NEW *", Some(Returning::ModifiedNew));
    check("DELETE FROM T WHERE p = 1", None);
    check("DELETE FROM \"T\" WHERE p = 1 RETURNING ALL OLD *", Some(Returning::AllOld));
    check("EXISTS(SELECT * FROM T WHERE p = 1)", None);
    check("exists (select * from T where p = ? and a = ?);", None);
    check("INSERT INTO T VALUE {'p': 1}", None);
    assert!(parse("SELECT * FROM T").unwrap().is_read());
}

#[test]
fn texts_that_are_no_statement() {
    #[track_caller]
    fn check(text: &str, detail: &str) {
        assert_eq!(
            refused(text),
            format!("Statement wasn't well formed, can't be processed: {detail}"),
            "{text}"
        );
    }
    for text in ["", " ", ";", "CREATE TABLE T", "SELEC * FROM T", "'SELECT'", "-- nothing", "EXISTS"] {
        check(text, "Expected data manipulation");
    }
    check("UPDATE My-Table SET a = 1 WHERE p = 1", "Expected data manipulation");
    check("UPDATE T WHERE p = 1", "Expected data manipulation");
    check("SELECT FROM T", "Unexpected keyword");
    check("SELECT value FROM T", "Unexpected keyword");
    check("SELECT DISTINCT a FROM T", "Unexpected keyword");
    check("SELECT * FROM user", "Unexpected keyword");
    check("SELECT * FROM T WHERE", "Unexpected end of statement");
    check("SELECT * FROM T WHERE a", "Unexpected end of statement");
    check("SELECT * FROM T WHERE a = ", "Unexpected end of statement");
    check("SELECT * FROM T WHERE a AND b = 1", "Unexpected keyword");
    check("SELECT * FROM T WHERE NOT a", "Unexpected end of statement");
    check("SELECT * FROM T WHERE a = MISSING AND b > MISSING", "Unexpected keyword");
    check("SELECT * FROM T WHERE a IS", "Unexpected end of statement");
    check("SELECT * FROM T WHERE a IS 5", "Unexpected term");
    check("SELECT * FROM T WHERE a IS SOMETHING", "Unexpected term");
    check("SELECT * FROM T WHERE 5 IS NULL", "Unexpected keyword");
    check("SELECT * FROM T WHERE a = 1 IS NULL", "Unexpected keyword");
    check("SELECT * FROM T WHERE a NOT = 1", "Unexpected term");
    check("SELECT * FROM T WHERE a IN []", "Unexpected term");
    check("SELECT * FROM T WHERE a IN ?", "Unexpected term");
    check("SELECT * FROM T WHERE a IN [1)", "Expected ']' at 1:30:1");
    check("SELECT * FROM T WHERE (a = 1", "Expected ')' at 1:29:0");
    check("SELECT * FROM T WHERE a LIKE 'x'", "Unexpected keyword");
    check("SELECT * FROM T WHERE a + 1 = 2", "Unexpected term");
    check("SELECT * FROM T WHERE a = -'x'", "Unexpected term");
    check("SELECT * FROM T t", "Unexpected token after expression");
    check("SELECT * FROM T, U", "Unexpected token after expression");
    check("SELECT * FROM T;;", "Unexpected token after expression");
    check("SELECT * FROM T WHERE p = 1 ORDER BY a.b", "Unexpected token after expression");
    check("SELECT * FROM T WHERE a[-1] = 1", "Unexpected term");
    check("SELECT * FROM T WHERE a[1.0] = 1", "Unexpected term");
    check("INSERT INTO T (key, a) VALUES (1, 2)", "Unexpected keyword");
    check("INSERT INTO T VALUE {\"p\": 1}", "Unexpected term");
    check("INSERT INTO T VALUE {'p' 1}", "Expected ':' at 1:26:1");
    check("INSERT INTO T VALUE {'p': a}", "Unexpected term");
    check("INSERT INTO T VALUE {'p': 1,}", "Unexpected term");
    check("UPDATE T SET a WHERE p = 1", "Expected '=' at 1:16:5");
    check("UPDATE T SET a = MISSING WHERE p = 1", "Unexpected keyword");
    check("UPDATE T SET a = b = c WHERE p = 1", "Unexpected token after expression");
    check("DELETE T WHERE p = 1", "Expected FROM at 1:8:1");
    check("DELETE FROM T WHERE p = 1 RETURNING *", "Expected MODIFIED at 1:37:1");
    check("SELECT * FROM 'T'", "Unexpected term");
    check("SELECT * FROM T WHERE a = `1`", "Invalid character at 1:27:1");
}

#[test]
fn what_sql_has_and_dynamodb_has_not() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(refused(text), expected, "{text}");
    }
    check("SELECT COUNT(*) FROM T", "Unexpected path component at 1:8:5");
    check("SELECT a,\n  max (b) FROM T", "Unexpected path component at 2:3:3");
    check("SELECT * FROM T LIMIT 5", "Unsupported clause: LIMIT at 1:17:5");
    check("SELECT * FROM T WHERE a = 1 GROUP BY a", "Unsupported clause: GROUP at 1:29:5");
    check("SELECT * FROM T AS t", "Unsupported clause: AS at 1:17:2");
    check("SELECT * FROM T RETURNING ALL OLD *", "Unsupported clause: RETURNING at 1:17:9");
    check("INSERT INTO T VALUE {'p': 1} RETURNING ALL OLD *", "Unsupported clause: RETURNING at 1:30:9");
    for variant in ["MODIFIED OLD", "ALL NEW", "MODIFIED NEW"] {
        check(
            &format!("DELETE FROM T WHERE p = 1 RETURNING {variant} *"),
            "Only RETURNING ALL OLD * is supported in a DELETE statement",
        );
    }
    check("SELECT * FROM T WHERE lower(a) = 'x'", "Invalid function name; function: lower");
    check(
        "UPDATE T SET a = if_not_exists(a, 1) WHERE p = 1",
        "Invalid function name; function: if_not_exists",
    );
}

#[test]
fn values_that_dynamodb_cannot_hold() {
    #[track_caller]
    fn check(value: &str, expected: &str) {
        assert_eq!(refused(&format!("INSERT INTO T VALUE {{'p': {value}}}")), expected, "{value}");
        assert_eq!(refused(&format!("SELECT * FROM T WHERE p = {value}")), expected, "{value}");
    }
    check("<<>>", "One or more parameter values were invalid: An string set  may not be empty");
    let mixed =
        "One or more parameter values were invalid: The members of a set must be of one type: S, N or B";
    check("<<1, 'a'>>", mixed);
    check("<<?, 'a'>>", mixed);
    check("<<[1]>>", mixed);
    check("<<<<1>>>>", mixed);
    check("<<TRUE>>", mixed);
    check(
        "<<'a', 'b', 'a'>>",
        "One or more parameter values were invalid: Input collection [a, b, a] contains duplicates.",
    );
    check("<<1, 1.0>>", "Input collection contains duplicates");
    check(
        "1e126",
        "Number overflow. Attempting to store a number with magnitude larger than supported range",
    );
    check(
        "0.1e-130",
        "Number underflow. Attempting to store a number with magnitude smaller than supported range",
    );
    check(&"1".repeat(39), "Attempting to store more than 38 significant digits in a Number");
    check("{'': 1}", "Empty attribute name");
    assert_eq!(refused("SELECT \"\" FROM T"), "Empty attribute name");
}
