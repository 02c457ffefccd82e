package caller;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/**
 * A program that uses the classes of {@code lodestone model code --language java}.
 *
 * <p>Its argument names a model. For each name of a pattern that it reads, it calls the pattern's method with values of
 * the example data, and prints a line of JSON: the requests that were sent, and what the method returned.
 */
final class Caller {
    private Caller() {}

    /** Keeps the bodies of requests. One that is tried again is the same request. */
    private static final class Recorder implements ExecutionInterceptor {
        private final List<Json.Text> bodies = new ArrayList<>();

        @Override
        public void afterMarshalling(Context.AfterMarshalling context, ExecutionAttributes attributes) {
            try (InputStream body = context.requestBody().orElseThrow().contentStreamProvider().newStream()) {
                bodies.add(new Json.Text(new String(body.readAllBytes(), StandardCharsets.UTF_8)));
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }
    }

    private static DynamoDbClient connect(ExecutionInterceptor... interceptors) {
        return DynamoDbClient.builder()
                .endpointOverride(URI.create(System.getenv("AWS_ENDPOINT_URL")))
                .region(Region.US_EAST_1)
                .credentialsProvider(
                        StaticCredentialsProvider.create(AwsBasicCredentials.create("ACCEPTANCE", "secret")))
                .httpClientBuilder(UrlConnectionHttpClient.builder())
                .overrideConfiguration(configuration -> {
                    for (ExecutionInterceptor interceptor : interceptors) {
                        configuration.addExecutionInterceptor(interceptor);
                    }
                })
                .build();
    }

    /** The calls of a model's methods, by pattern. */
    static <T> Map<String, Supplier<Object>> bind(Map<String, Function<T, Object>> calls, T library) {
        Map<String, Supplier<Object>> bound = new TreeMap<>();
        calls.forEach((pattern, call) -> bound.put(pattern, () -> call.apply(library)));
        return bound;
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Recorder sent = new Recorder();
        Withholding withholding = new Withholding();
        try (DynamoDbClient client = connect(sent, withholding)) {
            Map<String, Supplier<Object>> calls = arguments[0].equals("application")
                    ? new TreeMap<>(Application.calls(client, withholding))
                    : Models.of(arguments[0], client);
            out.println(Json.of(List.copyOf(calls.keySet())));
            for (String pattern = in.readLine(); pattern != null; pattern = in.readLine()) {
                sent.bodies.clear();
                out.println(Json.of(answer(calls.get(pattern), sent)));
            }
        }
    }

    private static Map<String, Object> answer(Supplier<Object> call, Recorder sent) {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
            answer.put("Found", call.get());
            answer.put("Error", "");
        } catch (RuntimeException failure) {
            failure.printStackTrace();
            answer.put("Error", failure.toString());
        }
        answer.put("Requests", List.copyOf(sent.bodies));
        return answer;
    }
}
