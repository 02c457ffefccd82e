//! Functions of the Go package that the others use; each may use those before it. Four spaces are a tab of Go.

pub const VALUES: [(&str, &str); 32] = [
    (
        "Number",
        r#"
// Number is a number with all its digits, as DynamoDB has it: "12.5".
type Number string
"#,
    ),
    (
        "pointer(",
        "
func pointer[T any](value T) *T {
    return &value
}
",
    ),
    (
        "rational(",
        r#"
// rational is the number's exact value, if it is one.
func rational(number Number) (*big.Rat, bool) {
    if strings.Trim(string(number), "+-.0123456789eE") != "" {
        return nil, false
    }
    return new(big.Rat).SetString(string(number))
}
"#,
    ),
    (
        "numberText(",
        r#"
// numberText is a number as keys have it: no exponent, no zeros at the end. A text that is no number
// stays as it is.
func numberText(number Number) string {
    value, ok := rational(number)
    switch {
    case !ok:
        return string(number)
    case value.IsInt():
        return value.Num().String()
    }
    return strings.TrimRight(value.FloatString(170), "0")
}
"#,
    ),
    (
        "compareNumbers(",
        r#"
func compareNumbers(one, other Number) int {
    first, ok := rational(one)
    second, too := rational(other)
    if !ok || !too {
        return strings.Compare(string(one), string(other))
    }
    return first.Cmp(second)
}
"#,
    ),
    (
        "nextVersion(",
        r#"
// nextVersion is one more; a text that is no number stays as it is, and DynamoDB refuses it.
func nextVersion(version Number) Number {
    value, ok := rational(version)
    if !ok {
        return version
    }
    return Number(numberText(Number(value.Add(value, big.NewRat(1, 1)).FloatString(170))))
}
"#,
    ),
    (
        "increment(",
        "
func increment(version int64) int64 {
    return version + 1
}
",
    ),
    (
        "shardOf(",
        "
func shardOf(text string, count int64) int64 {
    return int64(crc32.ChecksumIEEE([]byte(text))) % count
}
",
    ),
    (
        "padded(",
        r#"
// padded has zeros in front, after the sign if there is one.
func padded(text string, width int) string {
    digits := strings.TrimPrefix(text, "-")
    sign := text[:len(text)-len(digits)]
    if len(digits) < width {
        digits = strings.Repeat("0", width-len(digits)) + digits
    }
    return sign + digits
}
"#,
    ),
    (
        "distance(",
        r#"
// distance is how far a whole number is from the largest one with this number of digits.
func distance(text string, digits int) string {
    number, ok := new(big.Int).SetString(text, 10)
    largest, too := new(big.Int).SetString(strings.Repeat("9", digits), 10)
    if !ok || !too {
        return text
    }
    return largest.Sub(largest, number).String()
}
"#,
    ),
    (
        "beginning(",
        "
func beginning(text string, length int) string {
    if len(text) < length {
        return text
    }
    return text[:length]
}
",
    ),
    (
        "before(",
        r#"
// before is the last key before this text.
func before(text string) string {
    last, size := utf8.DecodeLastRuneInString(text)
    if last > 0 {
        last--
    }
    return text[:len(text)-size] + string(last) + "\U0010ffff"
}
"#,
    ),
    (
        "contains(",
        "
func contains[T any](all []T, one T) bool {
    for _, other := range all {
        if reflect.DeepEqual(other, one) {
            return true
        }
    }
    return false
}
",
    ),
    (
        "digitsOf(",
        "
func digitsOf(numbers []Number) []string {
    texts := make([]string, 0, len(numbers))
    for _, number := range numbers {
        texts = append(texts, string(number))
    }
    return texts
}
",
    ),
    (
        "textOf(",
        r#"
func textOf(item map[string]types.AttributeValue, name string) string {
    if text, ok := item[name].(*types.AttributeValueMemberS); ok {
        return text.Value
    }
    return ""
}
"#,
    ),
    (
        "reader{",
        r#"
// reader takes attributes out of an item, and keeps the first error.
type reader struct {
    item map[string]types.AttributeValue
    err  error
}

func (from *reader) fail(name string) {
    if from.err == nil {
        from.err = fmt.Errorf("attribute %q is missing or of another type", name)
    }
}
"#,
    ),
    (
        "optional(",
        "
func optional[T any](from *reader, name string, read func(*reader, string) T) *T {
    if _, ok := from.item[name]; !ok {
        return nil
    }
    value := read(from, name)
    return &value
}
",
    ),
    (
        "orNone(",
        "
func orNone[T any](from *reader, name string, read func(*reader, string) T) (none T) {
    if _, ok := from.item[name]; !ok {
        return none
    }
    return read(from, name)
}
",
    ),
    (
        "readString",
        r#"
func readString(from *reader, name string) string {
    if member, ok := from.item[name].(*types.AttributeValueMemberS); ok {
        return member.Value
    }
    from.fail(name)
    return ""
}
"#,
    ),
    (
        "readNumber",
        r#"
func readNumber(from *reader, name string) Number {
    if member, ok := from.item[name].(*types.AttributeValueMemberN); ok {
        return Number(member.Value)
    }
    from.fail(name)
    return ""
}
"#,
    ),
    (
        "parseInteger",
        "
func parseInteger(from *reader, name, text string) int64 {
    value, err := strconv.ParseInt(text, 10, 64)
    if err != nil {
        from.fail(name)
    }
    return value
}
",
    ),
    (
        "readInteger",
        "
func readInteger(from *reader, name string) int64 {
    if member, ok := from.item[name].(*types.AttributeValueMemberN); ok {
        return parseInteger(from, name, member.Value)
    }
    from.fail(name)
    return 0
}
",
    ),
    (
        "parseBytes",
        "
func parseBytes(from *reader, name, text string) []byte {
    value, err := hex.DecodeString(text)
    if err != nil {
        from.fail(name)
    }
    return value
}
",
    ),
    (
        "readBool",
        "
func readBool(from *reader, name string) bool {
    if member, ok := from.item[name].(*types.AttributeValueMemberBOOL); ok {
        return member.Value
    }
    from.fail(name)
    return false
}
",
    ),
    (
        "readBytes",
        "
func readBytes(from *reader, name string) []byte {
    if member, ok := from.item[name].(*types.AttributeValueMemberB); ok {
        return member.Value
    }
    from.fail(name)
    return nil
}
",
    ),
    (
        "setOfStrings",
        "
func setOfStrings(from *reader, name string) []string {
    if member, ok := from.item[name].(*types.AttributeValueMemberSS); ok {
        return member.Value
    }
    from.fail(name)
    return nil
}
",
    ),
    (
        "setOfNumbers",
        "
func setOfNumbers(from *reader, name string) []Number {
    member, ok := from.item[name].(*types.AttributeValueMemberNS)
    if !ok {
        from.fail(name)
        return nil
    }
    numbers := make([]Number, 0, len(member.Value))
    for _, number := range member.Value {
        numbers = append(numbers, Number(number))
    }
    return numbers
}
",
    ),
    (
        "setOfBytes",
        "
func setOfBytes(from *reader, name string) [][]byte {
    if member, ok := from.item[name].(*types.AttributeValueMemberBS); ok {
        return member.Value
    }
    from.fail(name)
    return nil
}
",
    ),
    (
        "readList",
        "
func readList(from *reader, name string) []types.AttributeValue {
    if member, ok := from.item[name].(*types.AttributeValueMemberL); ok {
        return member.Value
    }
    from.fail(name)
    return nil
}
",
    ),
    (
        "readMap",
        "
func readMap(from *reader, name string) map[string]types.AttributeValue {
    if member, ok := from.item[name].(*types.AttributeValueMemberM); ok {
        return member.Value
    }
    from.fail(name)
    return nil
}
",
    ),
    (
        "partsOf(",
        r#"
// partsOf is what is between the literals of a key.
func partsOf(key string, literals ...string) []string {
    rest := strings.TrimPrefix(key, literals[0])
    parts := make([]string, 0, len(literals))
    for _, literal := range literals[1:] {
        part := rest
        if literal != "" {
            part, rest, _ = strings.Cut(rest, literal)
        }
        parts = append(parts, part)
    }
    return parts
}
"#,
    ),
    (
        "add(",
        "
// add reads an item into a record of the list.
func add[T any](list *[]T, item map[string]types.AttributeValue, read func(map[string]types.AttributeValue) (T, error)) error {
    record, err := read(item)
    if err == nil {
        *list = append(*list, record)
    }
    return err
}
",
    ),
];

/// Those of requests.
pub const REQUESTS: [(&str, &str); 7] = [
    (
        "readAll(",
        "
func readAll[T any](items []map[string]types.AttributeValue, read func(map[string]types.AttributeValue) (T, error)) ([]T, error) {
    var list []T
    for _, item := range items {
        if err := add(&list, item, read); err != nil {
            return nil, err
        }
    }
    return list, nil
}
",
    ),
    (
        "readOne(",
        "
// readOne is nil if there is no item.
func readOne[T any](item map[string]types.AttributeValue, read func(map[string]types.AttributeValue) (T, error)) (*T, error) {
    if len(item) == 0 {
        return nil, nil
    }
    record, err := read(item)
    if err != nil {
        return nil, err
    }
    return &record, nil
}
",
    ),
    (
        "readFirst(",
        "
func readFirst[T any](items []map[string]types.AttributeValue, read func(map[string]types.AttributeValue) (T, error)) (*T, error) {
    if len(items) == 0 {
        return nil, nil
    }
    return readOne(items[0], read)
}
",
    ),
    (
        "sortItems(",
        "
// sortItems brings the answers of several requests into the order of these keys.
func sortItems(items []map[string]types.AttributeValue, descending bool, keys ...string) {
    sort.SliceStable(items, func(one, other int) bool {
        for _, key := range keys {
            if order := compareKeys(items[one][key], items[other][key]); order != 0 {
                return (order < 0) != descending
            }
        }
        return false
    })
}

func compareKeys(one, other types.AttributeValue) int {
    switch one := one.(type) {
    case *types.AttributeValueMemberS:
        if other, ok := other.(*types.AttributeValueMemberS); ok {
            return strings.Compare(one.Value, other.Value)
        }
    case *types.AttributeValueMemberN:
        if other, ok := other.(*types.AttributeValueMemberN); ok {
            return compareNumbers(Number(one.Value), Number(other.Value))
        }
    case *types.AttributeValueMemberB:
        if other, ok := other.(*types.AttributeValueMemberB); ok {
            return bytes.Compare(one.Value, other.Value)
        }
    }
    return 0
}
",
    ),
    (
        "pause(",
        r#"
// pause waits before a batch is sent again, and gives up after some time.
func pause(ctx context.Context, attempt int) error {
    switch attempt {
    case 0:
        return nil
    case 10:
        return errors.New("a part of the batch stayed unprocessed")
    }
    select {
    case <-ctx.Done():
        return ctx.Err()
    case <-time.After(50 * time.Millisecond << attempt):
        return nil
    }
}
"#,
    ),
    (
        "batchWrite(",
        "
type tableWrite struct {
    table   string
    request types.WriteRequest
}

// batchWrite writes 25 at a time, and what was left unprocessed again.
func batchWrite(ctx context.Context, client *dynamodb.Client, parts []tableWrite) error {
    for len(parts) > 0 {
        left := map[string][]types.WriteRequest{}
        for count := 0; count < 25 && len(parts) > 0; count++ {
            left[parts[0].table] = append(left[parts[0].table], parts[0].request)
            parts = parts[1:]
        }
        for attempt := 0; len(left) > 0; attempt++ {
            if err := pause(ctx, attempt); err != nil {
                return err
            }
            answer, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
            if err != nil {
                return err
            }
            left = answer.UnprocessedItems
        }
    }
    return nil
}
",
    ),
    (
        "batchGet(",
        "
type tableKey struct {
    table string
    key   map[string]types.AttributeValue
}

// batchGet gets a hundred at a time, and what was left unprocessed again.
func batchGet(ctx context.Context, client *dynamodb.Client, keys []tableKey, consistent *bool) ([]map[string]types.AttributeValue, error) {
    var items []map[string]types.AttributeValue
    for len(keys) > 0 {
        left := map[string]types.KeysAndAttributes{}
        for count := 0; count < 100 && len(keys) > 0; count++ {
            of := left[keys[0].table]
            of.ConsistentRead = consistent
            of.Keys = append(of.Keys, keys[0].key)
            left[keys[0].table] = of
            keys = keys[1:]
        }
        for attempt := 0; len(left) > 0; attempt++ {
            if err := pause(ctx, attempt); err != nil {
                return nil, err
            }
            answer, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left})
            if err != nil {
                return nil, err
            }
            for _, found := range answer.Responses {
                items = append(items, found...)
            }
            left = answer.UnprocessedKeys
        }
    }
    return items, nil
}
",
    ),
];
