package caller;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import software.amazon.awssdk.core.SdkResponse;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.services.dynamodb.model.BatchGetItemRequest;
import software.amazon.awssdk.services.dynamodb.model.BatchGetItemResponse;
import software.amazon.awssdk.services.dynamodb.model.BatchWriteItemRequest;
import software.amazon.awssdk.services.dynamodb.model.BatchWriteItemResponse;
import software.amazon.awssdk.services.dynamodb.model.WriteRequest;

/** Makes answers say that a part of a batch was not processed, as those of a busy table do. */
final class Withholding implements ExecutionInterceptor {
    private int left = 0;

    /** So many of the next answers. */
    void answers(int count) {
        left = count;
    }

    @Override
    public SdkResponse modifyResponse(Context.ModifyResponse context, ExecutionAttributes attributes) {
        if (left == 0) {
            return context.response();
        }
        if (context.request() instanceof BatchWriteItemRequest request) {
            left--;
            return BatchWriteItemResponse.builder().unprocessedItems(withoutFirst(request.requestItems())).build();
        }
        if (context.request() instanceof BatchGetItemRequest request) {
            left--;
            return BatchGetItemResponse.builder().unprocessedKeys(request.requestItems()).build();
        }
        return context.response();
    }

    private static Map<String, List<WriteRequest>> withoutFirst(Map<String, List<WriteRequest>> all) {
        return all.entrySet().stream()
                .filter(table -> table.getValue().size() > 1)
                .collect(Collectors.toMap(
                        Map.Entry::getKey,
                        table -> table.getValue().subList(1, table.getValue().size())));
    }
}
