//! Patterns as code: what is sent, and how each language writes it.

use std::fs;
use std::path::Path;

use model::{Model, Source, file};
use model_code::library::{LibraryLanguage, calls, example_calls, library, source};
use model_code::{Effect, Example, Language, code, examples};

const MODEL: &str = r#"
model: orders
table: { name: app-main, partition: PK, sort: SK }
entities:
  Customer:
    key: { PK: "CUST#{customerId}", SK: PROFILE }
    attributes: { name: string, tags: string-set, photo: binary, points: number, born-on: date }
    samples: [{ customerId: c-1, name: "O'Brien \"Bo\"", points: 1.5, tags: { SS: [a, b] }, photo: { B: AP8= } }]
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes: { createdAt: timestamp, status: [OPEN, SHIPPED], total: number, version: number }
    count: 3 per Customer
    indexes:
      GSI1: { GSI1PK: "CUST#{customerId}#{status}", GSI1SK: "{createdAt}#{orderId}" }
      GSI2: { when: status = OPEN, GSI2PK: "OPEN#{shard(orderId, 3)}", GSI2SK: "{createdAt}#{orderId}" }
indexes: { GSI1: { project: [status, total] }, GSI2: { project: keys } }
patterns:
  P: "#;

fn model(pattern: &str) -> Model {
    let source = Source::new("model.yaml", format!("{MODEL}{pattern}\n"));
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn written(pattern: &str, language: Language) -> String {
    let model = model(pattern);
    code(&model, &examples(&model, None), language)
}

#[track_caller]
fn check(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

const BY_STATUS: &str =
    "{ query: Order, by: [customerId, status], order: createdAt desc, read: [status, total] }";
const OPEN: &str =
    "{ query: Order, where: status = OPEN, order: createdAt, limit: 10, read: keys, fan-out: allowed }";
const ALL: &str = "{ query: Order, by: customerId, paged: true }";

#[test]
fn only_names_that_must_be_are_aliased_and_a_comment_says_why() {
    let text = written(BY_STATUS, Language::Cli);
    check(
        &text,
        &[
            "# `status` is a reserved word, so it goes by `#status`\n",
            "--key-condition-expression 'GSI1PK = :GSI1PK'",
            "--projection-expression 'GSI1PK, GSI1SK, PK, SK, #status, #total'",
            r##"--expression-attribute-names '{"#status": "status", "#total": "total"}'"##,
            "--no-scan-index-forward",
        ],
    );
    let text = written("{ update: Customer, by: customerId, set: [born-on] }", Language::Boto3);
    check(
        &text,
        &[
            "# `born-on` has characters that expressions do not take, so it goes by `#bornon`\n",
            "UpdateExpression=\"SET #bornon = :bornon\"",
        ],
    );
}

#[test]
fn quotes_do_not_end_an_argument_of_the_shell() {
    let text = written("{ put: Customer }", Language::Cli);
    check(&text, &[r#"aws dynamodb put-item \"#, r#""photo": {"B": "AP8="}"#, r#"{"SS": ["a", "b"]}"#]);
    check(&text, &[r#""name": {"S": "O'\''Brien"#]);
}

#[test]
fn python_has_literals_of_its_own() {
    let text = written("{ create: Customer }", Language::Boto3);
    check(
        &text,
        &[
            "from decimal import Decimal\n",
            "def p():\n    table.put_item(\n        Item={\n",
            "            \"photo\": b\"\\x00\\xff\",\n",
            "            \"points\": Decimal(\"1.5\"),\n",
            "            \"tags\": {\"a\", \"b\"},\n",
            "            \"name\": \"O'Brien \\\"Bo\\\"\",\n",
            "        ConditionExpression=\"attribute_not_exists(PK)\",\n",
        ],
    );
}

#[test]
fn javascript_has_literals_of_its_own() {
    let text = written("{ create: Customer }", Language::JavaScript);
    check(
        &text,
        &[
            "import { DynamoDBDocumentClient, PutCommand } from \"@aws-sdk/lib-dynamodb\";\n",
            "photo: Buffer.from(\"AP8=\", \"base64\"),\n",
            "points: 1.5,\n",
            "tags: new Set([\"a\", \"b\"]),\n",
            "\"born-on\": ",
        ],
    );
    let exact = MODEL.replace("points: 1.5", "points: 12345678901234567890.5");
    let source = Source::new("model.yaml", format!("{exact}{{ create: Customer }}\n"));
    let model = file::read(&source).model.expect("a model");
    let text = code(&model, &examples(&model, None), Language::JavaScript);
    check(&text, &["points: NumberValue.from(\"12345678901234567890.5\")", "NumberValue, PutCommand"]);
}

#[test]
fn shards_are_a_loop_and_their_answers_are_put_in_order() {
    check(
        &written(OPEN, Language::Cli),
        &[
            "# Query on GSI2, 3 requests\n",
            "# Each answer is in order; together they are merged by GSI2SK\n",
            "for shard in 0 1 2; do\n    aws dynamodb query",
            r#"'{":GSI2PK": {"S": "OPEN#'"$shard"'"}}'"#,
            "--page-size 10 \\\n        --max-items 10\ndone\n",
        ],
    );
    check(
        &written(OPEN, Language::Boto3),
        &[
            "    for shard in range(3):\n",
            "{\":GSI2PK\": f\"OPEN#{shard}\"}",
            "    items.sort(key=lambda item: item[\"GSI2SK\"])\n    return items[:10]\n",
        ],
    );
    check(
        &written(OPEN, Language::JavaScript),
        &[
            "  for (let shard = 0; shard < 3; shard++) {\n",
            "{ \":GSI2PK\": `OPEN#${shard}` }",
            "  items.sort((a, b) => order(a.GSI2SK, b.GSI2SK));\n  return items.slice(0, 10);\n",
        ],
    );
}

#[test]
fn values_that_a_key_is_chosen_by_are_a_loop_too() {
    let pattern = "{ query: Order, by: customerId, where: 'status in (OPEN, SHIPPED)', fan-out: allowed }";
    check(
        &written(pattern, Language::Cli),
        &["for values in \\\n    '{\"", "--expression-attribute-values \"$values\""],
    );
    check(&written(pattern, Language::Boto3), &["    for values in [", "ExpressionAttributeValues=values"]);
    check(
        &written(pattern, Language::JavaScript),
        &["  for (const values of [", "ExpressionAttributeValues: values"],
    );
}

#[test]
fn pages_are_a_loop() {
    check(
        &written(ALL, Language::Boto3),
        &[
            "    while True:\n",
            "answer = table.query(**request)\n",
            "request[\"ExclusiveStartKey\"] = answer[\"LastEvaluatedKey\"]\n",
        ],
    );
    let text = written(ALL, Language::JavaScript);
    check(
        &text,
        &["for await (const { Items } of paginateQuery(", "items.push(...Items);", "paginateQuery } from"],
    );
    assert!(!written(ALL, Language::Cli).contains("for "), "the CLI pages by itself");
}

#[test]
fn what_is_created_is_new_and_stays_together() {
    let model = model("{ transact: [create Order × 2, { update: Customer, by: customerId, set: [name] }] }");
    let examples = examples(&model, None);
    let Ok(sending) = &examples[0].sending else { panic!("it can be sent") };
    let Effect::Leaves { items } = &sending.effect else { panic!("it writes") };
    let loaded: Vec<_> = model::sample::sample(&model, Default::default())
        .items
        .into_iter()
        .map(|item| model::sample::key_of(&model, item.table, &item.values))
        .collect();
    assert!(!loaded.contains(&items[0].key) && !loaded.contains(&items[1].key));
    assert!(loaded.contains(&items[2].key), "what is changed is there");
    assert_ne!(items[0].key, items[1].key);
}

#[test]
fn what_only_fills_items_up_is_left_out() {
    let sized = MODEL
        .replace("name: string,", "name: { size: 900 B },")
        .replace("    count: 3 per", "    size: 2 KB\n    count: 3 per");
    let source =
        Source::new("model.yaml", format!("{sized}{{ transact: [create Customer, create Order] }}\n"));
    let model = file::read(&source).model.expect("a model");
    let text = code(&model, &examples(&model, None), Language::Boto3);
    assert!(!text.contains("xxxx") && !text.contains("_filler"), "{text}");
}

#[test]
fn what_can_not_be_sent_is_reported() {
    let text = written("{ query: Order, by: customerId, external: OpenSearch }", Language::Boto3);
    check(&text, &["# No request: OpenSearch serves it, not the table\n"]);
    let text = written("{ scan: Order }", Language::Cli);
    check(&text, &["# Not one good request: it reads the whole table\n", "aws dynamodb scan"]);
}

fn all_examples() -> Vec<(String, Model)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = Source::new(name.clone(), fs::read_to_string(path).unwrap());
        (name, file::read(&source).model.unwrap())
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_pattern_of_every_example_is_a_request_that_the_api_takes() {
    for (name, model) in all_examples() {
        for Example { pattern, sending, notes, .. } in examples(&model, None) {
            match sending {
                Ok(sending) => {
                    assert!(!sending.requests.is_empty(), "{name} {pattern}");
                    for request in &sending.requests {
                        assert_eq!(request.check(), Ok(()), "{name} {pattern}");
                    }
                    assert!(
                        !notes.iter().any(|note| note.contains("refused")),
                        "{name} {pattern}: {notes:?}"
                    );
                }
                Err(why) => assert!(why.contains("serves it"), "{name} {pattern}: {why}"),
            }
        }
    }
}

#[test]
fn names_of_functions_are_names() {
    let text = MODEL.replace(
        "  P: ",
        "  by-id: { get: Customer, by: customerId }\n  by_id: { get: Customer, by: customerId }\n  return: ",
    );
    let source = Source::new("model.yaml", format!("{text}{ALL}\n"));
    let model = file::read(&source).model.expect("a model");
    let text = code(&model, &examples(&model, None), Language::Boto3);
    check(&text, &["def by_id():\n", "def by_id_():\n", "def return_():\n"]);
    let text = code(&model, &examples(&model, Some("return")), Language::JavaScript);
    check(&text, &["export async function return_() {\n"]);
}

fn written_library(pattern: &str, language: LibraryLanguage) -> String {
    source(&library(&model(pattern), None), language)
}

#[test]
fn every_pattern_of_every_example_has_a_function_that_the_example_data_has_arguments_for() {
    for (name, model) in all_examples() {
        let library = library(&model, None);
        let examples = examples(&model, None);
        let calls = example_calls(&model, &library, &examples);
        for function in &library.functions {
            match &function.written {
                Ok(_) => assert!(calls.iter().any(|call| call.pattern == function.pattern), "{name}"),
                Err(why) => assert!(why.contains("serves it"), "{name} {}: {why}", function.pattern),
            }
        }
    }
}

#[test]
fn a_library_has_types_and_key_builders() {
    let pattern = "{ query: Order, by: customerId, order: createdAt desc, limit: 20 }";
    check(
        &written_library(pattern, LibraryLanguage::Python),
        &[
            "    status: Literal[\"OPEN\", \"SHIPPED\"]\n",
            "    tags: set[str]\n",
            "    born_on: str  # ISO-8601\n",
            "def order_sk(created_at: str, order_id: str) -> str:\n",
            "    return f\"ORDER#{created_at}#{order_id}\"\n",
            "    def p(self, customer_id: str, limit: int = 20) -> list[Order]:\n",
            "ExpressionAttributeValues={\":PK\": order_pk(customer_id), \":SK\": \"ORDER#\"}",
        ],
    );
    check(
        &written_library(pattern, LibraryLanguage::TypeScript),
        &[
            "  status: \"OPEN\" | \"SHIPPED\";\n",
            "  tags: Set<string>;\n",
            "export function orderSk(createdAt: string, orderId: string): string {\n",
            "  return `ORDER#${createdAt}#${orderId}`;\n",
            "  async p(customerId: string, limit = 20): Promise<Order[]> {\n",
        ],
    );
    check(
        &written_library(pattern, LibraryLanguage::Rust),
        &[
            "    /// `OPEN` or `SHIPPED`\n    pub status: String,\n",
            "    pub tags: BTreeSet<String>,\n",
            "    pub points: Number,\n",
            "pub fn order_sk(created_at: &str, order_id: &str) -> String {\n",
            "    format!(\"ORDER#{created_at}#{order_id}\")\n",
            "/// The model's limit is 20.\n",
            "pub async fn p(client: &Client, customer_id: &str, limit: i32) -> Result<Vec<Order>, Error> {\n",
            "        .expression_attribute_values(\":PK\", AttributeValue::S(order_pk(customer_id)))\n",
        ],
    );
}

#[test]
fn a_rust_module_calls_a_record_by_another_name_if_it_has_that_name_itself() {
    let text = MODEL.replace("Customer", "Page").replace("Order", "Number");
    let pattern = "{ query: Number, by: customerId, order: createdAt, limit: 5, paged: true }";
    let source_text = Source::new("model.yaml", format!("{text}{pattern}\n"));
    let model = file::read(&source_text).model.expect("a model");
    let text = source(&library(&model, None), LibraryLanguage::Rust);
    check(
        &text,
        &[
            "pub struct PageRecord {\n",
            "pub struct NumberRecord {\n",
            ") -> Result<Page<Vec<NumberRecord>>, Error> {\n",
        ],
    );
}

#[test]
fn a_rust_module_looks_at_what_is_optional_before_it_builds_a_key_of_it() {
    let text = MODEL
        .replace("version: number }", "version: number, note: { optional: true }, item: { optional: true } }")
        .replace(
            "when: status = OPEN, GSI2PK: \"OPEN#",
            "when: status = OPEN and not exists item, GSI2PK: \"{note}#",
        );
    let source_text = Source::new("model.yaml", format!("{text}{{ put: Order }}\n"));
    let model = file::read(&source_text).model.expect("a model");
    check(
        &source(&library(&model, None), LibraryLanguage::Rust),
        &[
            "    if let Some(item_value) = order.item.as_deref() {\n",
            "    if let Some(note) = order.note.as_deref() {\n        if order.status == \"OPEN\" && order.item.is_none() {\n",
            "AttributeValue::S(order_gsi2pk(note, shard_of(&order.order_id, 3)))",
        ],
    );
}

#[test]
fn go_has_structs_pointers_and_numbers_with_all_their_digits() {
    let optional = MODEL.replace("points: number,", "points: number, nick: { optional: true },");
    let exact = optional.replace("points: 1.5", "points: 12345678901234567890.5");
    let source_text = Source::new("model.yaml", format!("{exact}{{ create: Customer }}\n"));
    let model = file::read(&source_text).model.expect("a model");
    let library = library(&model, None);
    check(
        &source(&library, LibraryLanguage::Go),
        &[
            "\npackage orders\n",
            "\tName       string\n",
            "\tNick       *string\n",
            "\tPoints     Number\n",
            "\tBornOn     string // ISO-8601\n",
            "func CustomerPK(customerID string) string {\n\treturn \"CUST#\" + customerID\n}\n",
            "\tif customer.Nick != nil {\n\t\titem[\"nick\"] = &types.AttributeValueMemberS{Value: *customer.Nick}\n\t}\n",
            "func P(ctx context.Context, client *dynamodb.Client, customer Customer) error {\n",
            "ConditionExpression: pointer(\"attribute_not_exists(PK)\"),\n",
        ],
    );
    let calls =
        calls(&library, &example_calls(&model, &library, &examples(&model, None)), LibraryLanguage::Go);
    check(&calls, &["\treturn nil, P(\n", "Points:     \"12345678901234567890.5\",\n"]);
}

#[test]
fn go_merges_shards_and_gives_types_and_functions_different_names() {
    check(
        &written_library(OPEN, LibraryLanguage::Go),
        &[
            "func OrderGSI2PK(shard int64) string {\n",
            "\tfor shard := int64(0); shard < 3; shard++ {\n",
            "\tsortItems(items, false, \"GSI2SK\")\n\tif len(items) > int(limit) {\n\t\titems = items[:limit]\n\t}\n",
        ],
    );
    let text = MODEL.replace("  P: ", "  order: ");
    let get = "{ get: Order, by: [customerId, createdAt, orderId] }";
    let source_text = Source::new("model.yaml", format!("{text}{get}\n"));
    let model = file::read(&source_text).model.expect("a model");
    check(
        &source(&library(&model, None), LibraryLanguage::Go),
        &[
            "type Order struct {\n",
            "func GetOrder(\n\tctx context.Context,\n\tclient *dynamodb.Client,\n\tcustomerID string,\n",
        ],
    );
}

/// A model with other names in the usual one.
fn renamed(from: &[(&str, &str)], pattern: &str) -> Model {
    let text = from.iter().fold(MODEL.to_owned(), |text, (from, to)| text.replace(from, to));
    let source = Source::new("model.yaml", format!("{text}{pattern}\n"));
    file::read(&source).model.expect("a model")
}

#[test]
fn java_has_records_key_builders_and_methods_of_a_class() {
    let model = renamed(
        &[(
            "points: number,",
            "points: number, nick: { optional: true }, seen: { type: epoch, optional: true },",
        )],
        "{ create: Customer, set: { name: new } }",
    );
    let library = library(&model, None);
    check(
        &source(&library, LibraryLanguage::Java),
        &[
            "package orders;\n",
            "public final class Orders {\n    private final DynamoDbClient client;\n    private final String table;\n",
            "        this(client, \"app-main\");\n",
            "            Set<String> tags,\n            SdkBytes photo,\n            BigDecimal points,\n",
            "     * @param nick null if there is none\n",
            "            String nick,\n            Long seen,\n",
            "            Objects.requireNonNull(customerId, \"customerId\");\n",
            "            tags = Set.copyOf(tags);\n",
            "        public Customer withName(String name) {\n",
            "    public static String customerPk(String customerId) {\n        Objects.requireNonNull(customerId, \"customerId\");\n        return \"CUST#\" + customerId;\n",
            "        if (customer.nick() != null) {\n            item.put(\"nick\", AttributeValue.fromS(customer.nick()));\n        }\n",
            "    public void p(Customer customer) {\n        client.putItem(PutItemRequest.builder()\n                .tableName(table)\n",
            "                .item(customerToItem(customer.withName(\"new\")))\n",
        ],
    );
    let calls =
        calls(&library, &example_calls(&model, &library, &examples(&model, None)), LibraryLanguage::Java);
    check(
        &calls,
        &[
            "        calls.put(\"P\", library -> {\n            library.p(new Orders.Customer(\n",
            "new BigDecimal(\"1.5\")",
        ],
    );
}

#[test]
fn java_merges_shards_returns_pages_and_has_an_optional_for_one_item() {
    check(
        &written_library(OPEN, LibraryLanguage::Java),
        &[
            "    public static String orderGsi2pk(long shard) {\n        return \"OPEN#\" + shard;\n",
            "        for (long shard = 0; shard < 3; shard++) {\n            QueryRequest request = QueryRequest.builder()\n",
            "            items.addAll(client.query(request).items());\n        }\n        items.sort(byText(\"GSI2SK\"));\n",
            "items.stream().limit(limit)",
        ],
    );
    check(
        &written_library("{ get: Customer, by: customerId }", LibraryLanguage::Java),
        &[
            "    public Optional<Customer> p(String customerId) {\n",
            "        return answer.hasItem() ? Optional.of(customerFromItem(answer.item())) : Optional.empty();\n",
        ],
    );
    check(
        &written_library("{ query: Order, by: customerId, limit: 5, paged: true }", LibraryLanguage::Java),
        &[
            "    public Page<List<Order>> p(String customerId, int limit, Map<String, AttributeValue> start) {\n",
            "                .exclusiveStartKey(start)\n",
            "answer.hasLastEvaluatedKey() ? answer.lastEvaluatedKey() : null",
        ],
    );
}

#[test]
fn java_has_other_names_for_what_is_taken() {
    let names = [
        ("model: orders", "model: customer"),
        ("Order", "String"),
        ("total: number", "class: number, hashCode: string, getClass: string"),
        ("total]", "class]"),
        ("  P: ", "  notify: "),
    ];
    let model = renamed(&names, "{ put: String }");
    check(
        &source(&library(&model, None), LibraryLanguage::Java),
        &[
            "package customer;\n",
            "public final class CustomerModel {\n",
            "    public record StringRecord(\n",
            "            BigDecimal class_,\n            String hashCode_,\n            String getClass_,\n",
            "    public void notify_(StringRecord string) {\n",
        ],
    );
}

#[test]
fn what_a_comment_or_a_text_of_java_would_take_for_code_is_escaped() {
    let model = renamed(
        &[("  P: ", "  P: { description: \"a */ <b> \\\\user @x\", "), ("CUST#", "CUST\\\\u#")],
        "get: Customer, by: customerId }",
    );
    check(
        &source(&library(&model, None), LibraryLanguage::Java),
        &["     * a *&#47; &lt;b&gt; &#92;user &#64;x.\n", "return \"CUST\\\\u#\" + customerId;"],
    );
}

#[test]
fn signs_are_in_front_of_the_zeros_of_a_padded_number() {
    let levels = [("ORDER#{createdAt}#{orderId}", "ORDER#{total:05}#{orderId}")];
    let text = |language| source(&library(&renamed(&levels, "{ put: Order }"), None), language);
    check(&text(LibraryLanguage::Python), &["return f\"ORDER#{_padded(_number(total), 5)}#{order_id}\"\n"]);
    check(
        &text(LibraryLanguage::TypeScript),
        &["return `ORDER#${zeroPadded(String(total), 5)}#${orderId}`;\n"],
    );
    check(&text(LibraryLanguage::Rust), &["padded(total.as_str(), 5)"]);
    check(
        &text(LibraryLanguage::Go),
        &["return \"ORDER#\" + padded(numberText(total), 5) + \"#\" + orderID\n"],
    );
    check(
        &text(LibraryLanguage::Java),
        &["return \"ORDER#\" + padded(digits(total), 5) + \"#\" + orderId;\n"],
    );
}

#[test]
fn an_entity_may_have_the_name_of_a_variable_or_a_type_of_the_language() {
    let names = [
        ("Customer", "Item"),
        ("Order", "Record"),
        ("points: number", "points: { type: number, optional: true }"),
    ];
    let text = |language| source(&library(&renamed(&names, "{ put: Item }"), None), language);
    check(
        &text(LibraryLanguage::Python),
        &[
            "def item_to_item(item: Item) -> dict[str, Any]:\n    stored: dict[str, Any] = {\n",
            "    if item.points is not None:\n        stored[\"points\"] = item.points\n    return stored\n",
        ],
    );
    check(
        &text(LibraryLanguage::TypeScript),
        &[
            "export interface RecordRecord {\n",
            "  const stored: Record<string, any> = {\n",
            "    stored.points = item.points;\n  }\n  return stored;\n",
        ],
    );
    check(
        &text(LibraryLanguage::Java),
        &[
            "    public record RecordRecord(\n",
            "itemToItem(Item item) {\n        Map<String, AttributeValue> stored = new HashMap<>();\n",
        ],
    );
}

#[test]
fn the_writer_and_the_reader_of_shards_build_their_keys_with_the_same_function() {
    let text = written_library(OPEN, LibraryLanguage::Python);
    check(
        &text,
        &[
            "def order_gsi2pk(shard: int) -> str:\n",
            "    if order.status == \"OPEN\":\n        item[\"GSI2PK\"] = order_gsi2pk(_shard(order.order_id, 3))\n",
            "    for shard in range(3):\n",
            "ExpressionAttributeValues={\":GSI2PK\": order_gsi2pk(shard)}",
            "    items.sort(key=lambda item: item[\"GSI2SK\"])\n",
        ],
    );
    check(
        &written_library(OPEN, LibraryLanguage::Rust),
        &[
            "pub fn order_gsi2pk(shard: i64) -> String {\n",
            "    if order.status == \"OPEN\" {\n",
            "AttributeValue::S(order_gsi2pk(shard_of(&order.order_id, 3)))",
            "    for shard in 0..3 {\n",
            "AttributeValue::S(order_gsi2pk(shard))",
            "    items.sort_by(|a, b| text_at(a, \"GSI2SK\").cmp(&text_at(b, \"GSI2SK\")));\n",
            "    items.truncate(",
        ],
    );
}

#[test]
fn what_an_index_has_only_in_its_keys_is_read_from_them() {
    let text = written_library(BY_STATUS, LibraryLanguage::Python);
    check(
        &text,
        &[
            "class OrderInGsi1:\n",
            "created_at=_parts(item[\"GSI1SK\"], \"\", \"#\", \"\")[0]",
            "total=item[\"total\"]",
        ],
    );
}

#[test]
fn an_update_moves_the_index_keys_and_asks_where_the_values_decide() {
    let known = "{ update: Order, by: [customerId, createdAt, orderId], set: { status: OPEN -> SHIPPED } }";
    check(
        &written_library(known, LibraryLanguage::Python),
        &["UpdateExpression=\"SET GSI1PK = :GSI1PK, #status = :status REMOVE GSI2PK, GSI2SK\""],
    );
    let open = "{ update: Order, by: [customerId, createdAt, orderId], set: [status] }";
    check(
        &written_library(open, LibraryLanguage::Python),
        &[
            "    if status == \"OPEN\":\n",
            "SET GSI1PK = :GSI1PK, GSI2PK = :GSI2PK, GSI2SK = :GSI2SK, #status = :status\"",
            "    else:\n",
            "SET GSI1PK = :GSI1PK, #status = :status REMOVE GSI2PK, GSI2SK\"",
        ],
    );
}

#[test]
fn what_no_function_can_do_is_reported() {
    let text = written_library(
        "{ query: Order, by: customerId, external: OpenSearch }",
        LibraryLanguage::TypeScript,
    );
    check(&text, &["// P: no function, because OpenSearch serves it, not the table.\n"]);
}
