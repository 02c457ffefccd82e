//! Members of the Java class that its other methods use; each may use those before it.

/// Types.
pub const TYPES: [(&str, &str); 3] = [
    (
        "Page<",
        "
    /**
     * A page.
     *
     * @param items what is on it
     * @param next the start of the next page, null after the last
     */
    public record Page<T>(T items, Map<String, AttributeValue> next) {}
",
    ),
    (
        "TableWrite(",
        "
    private record TableWrite(String table, WriteRequest request) {}
",
    ),
    (
        "TableKey(",
        "
    private record TableKey(String table, Map<String, AttributeValue> key) {}
",
    ),
];

/// Methods about keys and values.
pub const VALUES: [(&str, &str); 14] = [
    (
        "digits(",
        "
    /** A number as keys have it: no exponent, no zeros at the end. */
    private static String digits(BigDecimal number) {
        return number.stripTrailingZeros().toPlainString();
    }
",
    ),
    (
        "unhex(",
        "
    private static SdkBytes unhex(String digits) {
        return SdkBytes.fromByteArray(HexFormat.of().parseHex(digits));
    }
",
    ),
    (
        "hex(",
        "
    private static String hex(SdkBytes bytes) {
        return HexFormat.of().formatHex(bytes.asByteArray());
    }
",
    ),
    (
        "shardOf(",
        "
    private static long shardOf(String text, long count) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.UTF_8));
        return crc.getValue() % count;
    }
",
    ),
    (
        "padded(",
        r#"
    /** With zeros in front, after the sign if there is one. */
    private static String padded(String text, int width) {
        String sign = text.startsWith("-") ? "-" : "";
        String digits = text.substring(sign.length());
        return sign + "0".repeat(Math.max(0, width - digits.length())) + digits;
    }
"#,
    ),
    (
        "distance(",
        "
    /** How far a whole number is from the largest one with this number of digits. */
    private static String distance(String number, int digits) {
        BigInteger largest = BigInteger.TEN.pow(digits).subtract(BigInteger.ONE);
        return largest.subtract(new BigInteger(number)).toString();
    }
",
    ),
    (
        "beginning(",
        "
    private static String beginning(String text, int length) {
        return text.substring(0, Math.min(length, text.length()));
    }
",
    ),
    (
        "before(",
        r#"
    /** The last key before this text. */
    private static String before(String text) {
        int last = text.codePointBefore(text.length());
        String rest = text.substring(0, text.length() - Character.charCount(last));
        return rest + Character.toString(Math.max(last - 1, 0)) + "\udbff\udfff";
    }
"#,
    ),
    (
        "partsOf(",
        r#"
    /** What is between the literals of a key. */
    private static List<String> partsOf(String key, String... literals) {
        List<String> parts = new ArrayList<>();
        int begin = literals[0].length();
        for (int at = 1; at < literals.length; at++) {
            int end = literals[at].isEmpty() ? -1 : key.indexOf(literals[at], begin);
            parts.add(key.substring(begin, end < 0 ? key.length() : end));
            begin = end < 0 ? key.length() : end + literals[at].length();
        }
        return parts;
    }
"#,
    ),
    (
        "compareTexts(",
        "
    /** In the order of their bytes, as keys are. */
    private static int compareTexts(String one, String other) {
        return Arrays.compareUnsigned(
                one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }
",
    ),
    (
        "containsNumber(",
        "
    private static boolean containsNumber(Set<BigDecimal> numbers, BigDecimal number) {
        return numbers.stream().anyMatch(one -> one.compareTo(number) == 0);
    }
",
    ),
    (
        "byText(",
        "
    private static Comparator<Map<String, AttributeValue>> byText(String key) {
        return (one, other) -> compareTexts(one.get(key).s(), other.get(key).s());
    }
",
    ),
    (
        "byNumber(",
        "
    private static Comparator<Map<String, AttributeValue>> byNumber(String key) {
        return Comparator.comparing(item -> new BigDecimal(item.get(key).n()));
    }
",
    ),
    (
        "byBytes(",
        "
    private static Comparator<Map<String, AttributeValue>> byBytes(String key) {
        return (one, other) ->
                Arrays.compareUnsigned(one.get(key).b().asByteArray(), other.get(key).b().asByteArray());
    }
",
    ),
];

/// Methods that read attributes.
pub const READERS: [(&str, &str); 13] = [
    (
        "read(",
        r#"
    /** An attribute that must be there, and of the type that this takes out of it. */
    private static <T> T read(
            Map<String, AttributeValue> item, String name, Function<AttributeValue, T> type) {
        AttributeValue value = item.get(name);
        T found = value == null ? null : type.apply(value);
        if (found == null) {
            throw new IllegalStateException("attribute " + name + " is missing or of another type");
        }
        return found;
    }
"#,
    ),
    (
        "readOptional(",
        "
    private static <T> T readOptional(
            Map<String, AttributeValue> item,
            String name,
            BiFunction<Map<String, AttributeValue>, String, T> read) {
        return item.containsKey(name) ? read.apply(item, name) : null;
    }
",
    ),
    (
        "readString",
        "
    private static String readString(Map<String, AttributeValue> item, String name) {
        return read(item, name, AttributeValue::s);
    }
",
    ),
    (
        "readNumber",
        "
    private static BigDecimal readNumber(Map<String, AttributeValue> item, String name) {
        return new BigDecimal(read(item, name, AttributeValue::n));
    }
",
    ),
    (
        "readLong",
        "
    private static long readLong(Map<String, AttributeValue> item, String name) {
        return Long.parseLong(read(item, name, AttributeValue::n));
    }
",
    ),
    (
        "readBoolean",
        "
    private static boolean readBoolean(Map<String, AttributeValue> item, String name) {
        return read(item, name, AttributeValue::bool);
    }
",
    ),
    (
        "readBytes",
        "
    private static SdkBytes readBytes(Map<String, AttributeValue> item, String name) {
        return read(item, name, AttributeValue::b);
    }
",
    ),
    (
        "readStringSet",
        "
    private static Set<String> readStringSet(Map<String, AttributeValue> item, String name) {
        return read(item, name, value -> value.hasSs() ? Set.copyOf(value.ss()) : null);
    }
",
    ),
    (
        "readNumberSet",
        "
    private static Set<BigDecimal> readNumberSet(Map<String, AttributeValue> item, String name) {
        List<String> numbers = read(item, name, value -> value.hasNs() ? value.ns() : null);
        return numbers.stream().map(BigDecimal::new).collect(Collectors.toUnmodifiableSet());
    }
",
    ),
    (
        "readBytesSet",
        "
    private static Set<SdkBytes> readBytesSet(Map<String, AttributeValue> item, String name) {
        return read(item, name, value -> value.hasBs() ? Set.copyOf(value.bs()) : null);
    }
",
    ),
    (
        "readList",
        "
    private static List<AttributeValue> readList(Map<String, AttributeValue> item, String name) {
        return read(item, name, value -> value.hasL() ? value.l() : null);
    }
",
    ),
    (
        "readMap",
        "
    private static Map<String, AttributeValue> readMap(
            Map<String, AttributeValue> item, String name) {
        return read(item, name, value -> value.hasM() ? value.m() : null);
    }
",
    ),
    (
        "textOf(",
        r#"
    private static String textOf(Map<String, AttributeValue> item, String name) {
        AttributeValue value = item.get(name);
        return value == null || value.s() == null ? "" : value.s();
    }
"#,
    ),
];

/// Methods that send batches.
pub const BATCHES: [(&str, &str); 6] = [
    (
        "putRequest(",
        "
    private static WriteRequest putRequest(Map<String, AttributeValue> item) {
        PutRequest put = PutRequest.builder().item(item).build();
        return WriteRequest.builder().putRequest(put).build();
    }
",
    ),
    (
        "deleteRequest(",
        "
    private static WriteRequest deleteRequest(Map<String, AttributeValue> key) {
        DeleteRequest delete = DeleteRequest.builder().key(key).build();
        return WriteRequest.builder().deleteRequest(delete).build();
    }
",
    ),
    (
        "slices(",
        "
    /** Parts of the list, each with this number of elements at most. */
    private static <T> List<List<T>> slices(List<T> all, int most) {
        List<List<T>> slices = new ArrayList<>();
        for (int begin = 0; begin < all.size(); begin += most) {
            slices.add(all.subList(begin, Math.min(begin + most, all.size())));
        }
        return slices;
    }
",
    ),
    (
        "pause(",
        r#"
    /** Waits before a batch is sent again, and gives up after some time. */
    private static void pause(int attempt) {
        if (attempt == 10) {
            throw new IllegalStateException("a part of the batch stayed unprocessed");
        }
        try {
            Thread.sleep(attempt == 0 ? 0 : 50L << attempt);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw AbortedException.create("interrupted before the batch was done", interrupted);
        }
    }
"#,
    ),
    (
        "batchWrite(",
        "
    /** Writes 25 at a time, and what was left unprocessed again. */
    private void batchWrite(List<TableWrite> parts) {
        for (List<TableWrite> slice : slices(parts, 25)) {
            Map<String, List<WriteRequest>> left = slice.stream().collect(Collectors.groupingBy(
                    TableWrite::table, Collectors.mapping(TableWrite::request, Collectors.toList())));
            for (int attempt = 0; !left.isEmpty(); attempt++) {
                pause(attempt);
                BatchWriteItemRequest request =
                        BatchWriteItemRequest.builder().requestItems(left).build();
                left = client.batchWriteItem(request).unprocessedItems();
            }
        }
    }
",
    ),
    (
        "batchGet(",
        "
    /** Gets a hundred at a time, and what was left unprocessed again. */
    private List<Map<String, AttributeValue>> batchGet(List<TableKey> keys, boolean consistent) {
        List<Map<String, AttributeValue>> items = new ArrayList<>();
        for (List<TableKey> slice : slices(keys, 100)) {
            Map<String, KeysAndAttributes> left = slice.stream().collect(Collectors.groupingBy(
                    TableKey::table,
                    Collectors.collectingAndThen(
                            Collectors.mapping(TableKey::key, Collectors.toList()),
                            of -> KeysAndAttributes.builder()
                                    .keys(of)
                                    .consistentRead(consistent ? true : null)
                                    .build())));
            for (int attempt = 0; !left.isEmpty(); attempt++) {
                pause(attempt);
                BatchGetItemRequest request =
                        BatchGetItemRequest.builder().requestItems(left).build();
                BatchGetItemResponse answer = client.batchGetItem(request);
                answer.responses().values().forEach(items::addAll);
                left = answer.unprocessedKeys();
            }
        }
        return items;
    }
",
    ),
];
