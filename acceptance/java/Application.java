package caller;

import comments.Comments;
import comments.Comments.Comment;
import comments.Comments.Page;
import comments.Comments.Post;
import everykind.EveryKind;
import everykind.EveryKind.Reading;
import everykind.EveryKindCalls;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;

/** What an application does with the classes, beside single calls. */
final class Application {
    private Application() {}

    static Map<String, Supplier<Object>> calls(DynamoDbClient client, Withholding withholding) {
        Comments comments = new Comments(client);
        EveryKind desk = new EveryKind(client);
        return Map.of(
                "pages", () -> pages(comments),
                "missing", () -> missing(comments),
                "nulls", () -> nulls(comments),
                "digits", () -> digits(desk),
                "unprocessed", () -> unprocessed(desk, withholding));
    }

    private static Post post(String id) {
        return new Post("t", "b", "2026-01-01T00:00:00Z", id);
    }

    /** Writes a post with five comments, and reads the comments in two pages. */
    private static Object pages(Comments comments) {
        comments.writePost(post("p-1"));
        check(comments.post("p-1").equals(Optional.of(post("p-1"))), "the post is another");
        for (int second = 0; second < 5; second++) {
            String at = "2026-01-01T00:00:0" + second + "Z";
            comments.comment(new Comment(at, "c-" + second, "hello", "u-1", "p-1"));
        }
        List<List<String>> found = new ArrayList<>();
        Map<String, AttributeValue> start = null;
        do {
            Page<List<Comment>> page = comments.commentsOnPost("p-1", 3, start);
            found.add(page.items().stream().map(Comment::createdAt).toList());
            start = page.next();
        } while (start != null);
        return found;
    }

    /** Reads a post that is not there, and writes one that is. */
    private static Object missing(Comments comments) {
        check(comments.post("none").isEmpty(), "there is a post");
        comments.writePost(post("p-2"));
        try {
            comments.writePost(post("p-2"));
            return false;
        } catch (ConditionalCheckFailedException failed) {
            return true;
        }
    }

    /** What is said to be null where nothing may be. */
    private static Object nulls(Comments comments) {
        return List.of(
                nameOfNull(() -> comments.post(null)),
                nameOfNull(() -> new Post(null, "b", "2026-01-01T00:00:00Z", "p-3")));
    }

    private static String nameOfNull(Supplier<Object> call) {
        try {
            return "nothing of " + call.get();
        } catch (NullPointerException refused) {
            return refused.getMessage();
        }
    }

    private static List<Reading> readings(String device, int count) {
        return LongStream.range(0, count)
                .mapToObj(at -> new Reading(
                        device, at, new BigDecimal(at + ".0000000000000000000000000000000001"), null))
                .toList();
    }

    /** Writes more readings than a batch takes, with more digits than a double has, and reads them. */
    private static Object digits(EveryKind desk) {
        List<Reading> readings = readings("d-digits", 60);
        desk.load(readings, List.of());
        List<Reading> found = desk.readings("d-digits", 0, 59);
        check(found.equals(readings), found + " instead of " + readings);
        return found.size();
    }

    /** Sends batches of which the first answers withhold a part. */
    private static Object unprocessed(EveryKind desk, Withholding withholding) {
        Object whole = EveryKindCalls.calls().get("several").apply(desk);
        withholding.answers(1);
        check(EveryKindCalls.calls().get("several").apply(desk).equals(whole), "not all was read");
        withholding.answers(2);
        desk.load(readings("d-unprocessed", 3), List.of());
        return desk.readings("d-unprocessed", 0, 2).size();
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
