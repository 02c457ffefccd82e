//! Modules are read as far as they are data; the rest is carried along.

use model_format as format;
use serde_json::{Value, json};

/// The models of the only schema.
fn models(text: &str) -> Value {
    let format = format::format("onetable").unwrap();
    let document = (format.syntax.parse)(text).unwrap_or_else(|error| panic!("{}\n{text}", error.0));
    document["schemas"]["table"]["models"].clone()
}

fn schema(models: &str) -> String {
    format!("{{ indexes: {{ primary: {{ hash: 'pk' }} }}, models: {models} }}")
}

fn check(literal: &str, expected: &Value) {
    assert_eq!(models(&schema(literal)), *expected, "{literal}");
}

#[test]
fn literals_are_data() {
    check("{}", &json!({}));
    check(
        r#"{ // a comment, with { and '
             a: 1, 'b': -2.5, "c": 0x10, $d_1: 1_000, 5: .5, ["e f"]: 'it\'s', /* { */ f: [1, [true, null,],], }"#,
        &json!({ "a": 1, "b": -2.5, "c": 16, "$d_1": 1000, "5": 0.5, "e f": "it's", "f": [1, [true, null]] }),
    );
    check(
        "{ a: `plain`, b: { c: 'x' } as const, d: [1] satisfies List, e: 'y' as const }",
        &json!({
            "a": "plain", "b": { "c": "x" }, "d": [1], "e": "y",
        }),
    );
}

#[test]
fn what_is_no_data_is_carried_as_text() {
    let code = |text: &str| json!({ "$code": text });
    check(
        "{ a: String, b: 60 * 60, c: 'x' + y, d: `order#${id}` }",
        &json!({
            "a": code("String"), "b": code("60 * 60"), "c": code("'x' + y"), "d": code("`order#${id}`"),
        }),
    );
    check(
        r#"{ a: /[/'",{]+\//gi, b: (x, y) => { return /}/.test(x) ? "}" : `}${y ? `}` : {a: 1}}`; }, c: 1 }"#,
        &json!({
            "a": code(r#"/[/'",{]+\//gi"#),
            "b": code(r#"(x, y) => { return /}/.test(x) ? "}" : `}${y ? `}` : {a: 1}}`; }"#),
            "c": 1,
        }),
    );
    let raw = ["...base", "set(value) { return value; }", "short", "[name]: 1"];
    let expected = raw.iter().map(|text| (format!("...{text}"), code(text))).collect::<Value>();
    check(&format!("{{ {} }}", raw.join(", ")), &expected);
}

#[test]
fn a_schema_is_found_wherever_a_module_binds_it() {
    let literal = schema("{ Order: {} }");
    for text in [
        format!("export default {literal};"),
        format!("module.exports = {literal}"),
        format!(
            "'use strict'\nimport x from './x.js';\nconst schema = {literal} as const;\nexport default schema"
        ),
        format!(
            "const f = ({{ a, b }}) => {{ const schema = 1 }};\nexport const Schema: OneSchema<A, B> = {literal}"
        ),
        format!("exports.schema = define({literal}, 5)"),
        format!("// {{\n{literal};\n"),
    ] {
        assert_eq!(models(&text), json!({ "Order": {} }), "{text}");
    }
}

#[test]
fn a_mistake_is_reported_with_its_line() {
    let format = format::format("onetable").unwrap();
    let error = |text: &str| (format.syntax.parse)(text).unwrap_err().0;
    assert_eq!(error("{ indexes: {},\n  models: { a: 1 }"), "line 2: expected `,` or `}`");
    assert_eq!(error("{ a: }"), "line 1: expected a value");
    assert!(error("let a = 5;").contains("no object literal"));
    assert!(error(&"{a:".repeat(100_000)).contains("less nesting"));
    assert!(error(&"[".repeat(100_000)).contains("less nesting"));
}

#[test]
fn no_text_brings_the_reader_down() {
    let format = format::format("electrodb").unwrap();
    let pieces = [
        "{", "}", "[", "]", "(", ")", "`", "${", "\"", "'", "/", "*", "\\", ":", ",", "=", "const a", "é",
        "\n", "...",
    ];
    let mut chance = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let text: String = (0..12).map(|_| pieces[chance.usize(..pieces.len())]).collect();
        let _ = (format.syntax.parse)(&text);
        let _ = (format.syntax.parse)(&format!("const a = {{ b: {text}"));
    }
}

#[test]
fn a_key_that_is_nested_without_end_is_not_followed() {
    let format = format::format("dynamodb-toolbox").unwrap();
    for (open, close) in [("String(", ")"), ("`${", "}`"), ("(", ")"), ("'' + (", ")"), ("[", "].join('')")] {
        let key = format!("{}id{}", open.repeat(20_000), close.repeat(20_000));
        let text = format!(
            "import {{ Table }} from 'dynamodb-toolbox'\n\
             const T = new Table({{ name: 'things', partitionKey: {{ name: 'pk', type: 'string' }} }})\n\
             const E = new Entity({{ name: 'E', table: T, schema: item({{ id: string().key() }}).and({{\n\
             pk: string().key().link(({{ id }}) => {key}) }}) }})\n"
        );
        let _ = format::import(format, &text);
    }
}
