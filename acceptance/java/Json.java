package caller;

import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/** Values of the classes as JSON, so that the tests can compare them. */
final class Json {
    private Json() {}

    /** A text that is JSON already. */
    record Text(String json) {}

    static String of(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long) {
            return String.valueOf(value);
        }
        if (value instanceof Text text) {
            return text.json();
        }
        if (value instanceof Optional<?> optional) {
            return of(optional.orElse(null));
        }
        if (value instanceof BigDecimal number) {
            return quoted(number.toString());
        }
        if (value instanceof SdkBytes bytes) {
            return quoted(Base64.getEncoder().encodeToString(bytes.asByteArray()));
        }
        if (value instanceof AttributeValue attribute) {
            return object(Map.of("Value", inside(attribute)));
        }
        if (value instanceof Collection<?> all) {
            return all.stream().map(Json::of).collect(Collectors.joining(",", "[", "]"));
        }
        if (value instanceof Map<?, ?> map) {
            return object(map);
        }
        if (value instanceof Record record) {
            return of(record);
        }
        return quoted(value.toString());
    }

    /** An object of the components. Of a page, the tests look at the items. */
    private static String of(Record record) {
        Map<String, Object> members = new LinkedHashMap<>();
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            try {
                members.put(component.getName(), component.getAccessor().invoke(record));
            } catch (ReflectiveOperationException failure) {
                throw new IllegalStateException(failure);
            }
        }
        return record.getClass().getSimpleName().equals("Page") ? of(members.get("items")) : object(members);
    }

    private static Object inside(AttributeValue value) {
        return switch (value.type()) {
            case S -> value.s();
            case N -> value.n();
            case B -> value.b();
            case SS -> value.ss();
            case NS -> value.ns();
            case BS -> value.bs();
            case M -> value.m();
            case L -> value.l();
            case BOOL -> value.bool();
            case NUL -> value.nul();
            case UNKNOWN_TO_SDK_VERSION -> throw new IllegalStateException("unknown type of " + value);
        };
    }

    private static String object(Map<?, ?> members) {
        return members.entrySet().stream()
                .map(member -> quoted(member.getKey().toString()) + ":" + of(member.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char one : text.toCharArray()) {
            if (one == '"' || one == '\\') {
                quoted.append('\\').append(one);
            } else if (one < ' ') {
                quoted.append(String.format("\\u%04x", (int) one));
            } else {
                quoted.append(one);
            }
        }
        return quoted.append('"').toString();
    }
}
