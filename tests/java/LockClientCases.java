// Test cases for the unmodified lock client for Java. tests/daemon/items/java_lock_client_test.py
// runs each of them as a test.

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.ReleaseLockOptions;
import com.amazonaws.services.dynamodbv2.SendHeartbeatOptions;
import com.amazonaws.services.dynamodbv2.model.LockCurrentlyUnavailableException;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import com.amazonaws.services.dynamodbv2.model.LockTableDoesNotExistException;
import com.amazonaws.services.dynamodbv2.util.LockClientUtils;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ResourceInUseException;

final class LockClientCases {
    static void makes_its_table(URI endpoint) throws Exception {
        try (var table = new LockTable(endpoint, "part")) {
            var client = table.silentClient("ann");
            Check.equal(false, client.lockTableExists());
            Check.refused(LockTableDoesNotExistException.class, doing(client::assertLockTableExists));
            table.make();
            client.assertLockTableExists();
            Check.refused(ResourceInUseException.class, doing(table::make));
            var schema = table.dynamodb.describeTable(asked -> asked.tableName(LockTable.NAME)).table().keySchema();
            Check.equal(List.of("key", "part"), schema.stream().map(key -> key.attributeName()).collect(Collectors.toList()));
            Check.equal(List.of(KeyType.HASH, KeyType.RANGE),
                schema.stream().map(key -> key.keyType()).collect(Collectors.toList()));
        }
    }

    static void heartbeats_keep_a_second_client_out(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint)) {
            LockItem held = table.client("ann").acquireLock(asked("moe").build());
            String version = held.getRecordVersionNumber();
            var bob = table.client("bob");
            Check.refused(LockCurrentlyUnavailableException.class,
                () -> bob.acquireLock(asked("moe").withShouldSkipBlockingWait(true).build()));
            long began = System.nanoTime();
            // Waits for the lease plus the additional 500 ms.
            Check.equal(Optional.empty(), bob.tryAcquireLock(asked("moe").withAdditionalTimeToWaitForLock(500L).build()));
            Check.holds(millisecondsSince(began) >= LockTable.LEASE_MS + 500, "the second waited for a lease");
            Check.equal(false, held.isExpired());
            Check.holds(!held.getRecordVersionNumber().equals(version), "heartbeats were sent");
            Check.equal("ann", bob.getLock("moe", Optional.empty()).get().getOwnerName());
            Check.equal(false, bob.releaseLock(held));
        }
    }

    static void who_waits_is_let_in_by_a_release(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint)) {
            var ann = table.client("ann", 60_000, true);
            LockItem held = ann.acquireLock(asked("moe").build());
            var bob = table.client("bob", 60_000, true);
            var waiting = Executors.newSingleThreadExecutor();
            Future<LockItem> got = waiting.submit(() -> bob.acquireLock(asked("moe").build()));
            Thread.sleep(300);
            Check.equal(false, got.isDone());
            Check.equal(true, ann.releaseLock(held));
            Check.equal("bob", got.get(30, TimeUnit.SECONDS).getOwnerName());
            Check.equal(false, ann.releaseLock(held));
            Check.equal(true, bob.hasLock("moe", Optional.empty()));
            waiting.shutdown();
        }
    }

    static void without_heartbeats_it_is_taken_over_when_the_lease_is_over(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint)) {
            var ann = table.silentClient("ann");
            LockItem stale = ann.acquireLock(asked("moe").build());
            long began = System.nanoTime();
            LockItem held = table.client("bob").acquireLock(asked("moe").build());
            Check.holds(millisecondsSince(began) >= LockTable.LEASE_MS, "not before the lease was over");
            Check.equal(true, stale.isExpired());
            // The daemon refuses the heartbeat even if the client's own clock says that there is
            // time left.
            stale.updateLookUpTime(LockClientUtils.INSTANCE.millisecondTime());
            var refused = Check.refused(LockNotGrantedException.class, doing(stale::sendHeartBeat));
            Check.holds(refused.getCause() instanceof ConditionalCheckFailedException, "the daemon refused it");
            Check.equal(false, ann.releaseLock(stale));
            Check.equal(false, held.isExpired());
        }
    }

    static void a_heartbeat_by_hand_prolongs_the_lease(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint)) {
            var ann = table.silentClient("ann");
            LockItem held = ann.acquireLock(asked("moe").build());
            ann.sendHeartbeat(SendHeartbeatOptions.builder(held).withLeaseDurationToEnsure(60_000L)
                .withTimeUnit(TimeUnit.MILLISECONDS).build());
            Check.equal(60_000L, held.getLeaseDuration());
            Check.equal(60_000L, table.silentClient("bob").getLock("moe", Optional.empty()).get().getLeaseDuration());
            held.ensure(90_000, TimeUnit.MILLISECONDS);
            Check.equal(90_000L, held.getLeaseDuration());
            Check.equal(true, ann.releaseLock(held));
        }
    }

    static void data_comes_with_the_lock(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint)) {
            var ann = table.silentClient("ann");
            var bob = table.silentClient("bob");
            var attributes = Map.of("host", text("a"), "tries", AttributeValue.builder().n("3").build(), "tags",
                AttributeValue.builder().ss("x", "y").build());
            LockItem held = ann.acquireLock(
                asked("moe").withData(bytes("first")).withAdditionalAttributes(attributes).build());
            LockItem seen = bob.getLock("moe", Optional.empty()).get();
            Check.equal("first", text(seen));
            Check.equal(attributes, seen.getAdditionalAttributes());

            ann.sendHeartbeat(SendHeartbeatOptions.builder(held).withData(bytes("second")).build());
            Check.equal("second", text(bob.getLock("moe", Optional.empty()).get()));
            ann.sendHeartbeat(SendHeartbeatOptions.builder(held).withDeleteData(true).build());
            Check.equal(Optional.empty(), bob.getLock("moe", Optional.empty()).get().getData());

            Check.equal(true, ann.releaseLock(
                ReleaseLockOptions.builder(held).withDeleteLock(false).withData(bytes("third")).build()));
            Check.equal(Optional.empty(), bob.getLock("moe", Optional.empty()));
            LockItem next = bob.acquireLock(asked("moe").withReplaceData(false).withData(bytes("fourth")).build());
            Check.equal("third", text(next));
        }
    }

    static void each_sort_key_is_a_lock(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint, "part")) {
            var ann = table.client("ann");
            var bob = table.client("bob");
            LockItem left = ann.acquireLock(asked("moe").withSortKey("left").build());
            LockItem right = bob.acquireLock(asked("moe").withSortKey("right").build());
            bob.acquireLock(asked("joe").withSortKey("left").build());
            Check.refused(LockCurrentlyUnavailableException.class,
                () -> ann.acquireLock(asked("moe").withSortKey("right").withShouldSkipBlockingWait(true).build()));
            Check.equal(List.of("ann", "bob"), owners(ann.getLocksByPartitionKey("moe", false)));
            Check.equal(List.of("ann", "bob", "bob"), owners(bob.getAllLocksFromDynamoDB(false)));

            left.sendHeartBeat();
            Check.equal(true, ann.releaseLock(left));
            // Releases the lock but keeps its record.
            Check.equal(true, bob.releaseLock(ReleaseLockOptions.builder(right).withDeleteLock(false).build()));
            Check.equal(List.of("bob"), owners(ann.getLocksByPartitionKey("moe", false)));
            ann.acquireLock(asked("moe").withSortKey("right").build());
            Check.equal(List.of("ann"), owners(ann.getLocksByPartitionKey("moe", false)));
        }
    }

    static void all_locks_come_in_pages(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint, "part")) {
            var ann = table.client("ann", 60_000, false);
            // More than 1 MB in total, so that the result does not fit into one page.
            var much = ByteBuffer.wrap(new byte[300_000]);
            for (int number = 0; number < 8; ++number) {
                ann.acquireLock(asked("moe").withSortKey("" + number).withData(much.duplicate()).build());
            }
            Check.equal(8L, ann.getAllLocksFromDynamoDB(true).count());
            Check.equal(8L, ann.getLocksByPartitionKey("moe", true).count());
        }
    }

    static void what_was_released_or_is_stale_is_updated_or_replaced(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint)) {
            takeUpRecords(table, false);
        }
    }

    static void with_sort_keys_it_is_too(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint, "part")) {
            takeUpRecords(table, true);
        }
    }

    private static void takeUpRecords(LockTable table, boolean sorted) throws Exception {
        for (boolean consistently : List.of(false, true)) {
            for (boolean update : List.of(false, true)) {
                for (boolean stale : List.of(false, true)) takeUpRecord(table, sorted, consistently, update, stale);
            }
        }
    }

    private static void takeUpRecord(LockTable table, boolean sorted, boolean consistently, boolean update,
        boolean stale) throws Exception {
        String name = "consistently " + consistently + ", update " + update + ", stale " + stale;
        // Another client waits for as long as the lease that the record contains.
        var ann = table.client("ann", stale ? 50 : 60_000, false);
        var bob = table.client("bob", 60_000, false);
        var wanted = asked(name).withAcquireReleasedLocksConsistently(consistently).withUpdateExistingLockRecord(update)
            .withDeleteLockOnRelease(false);
        if (sorted) wanted.withSortKey("a");
        wanted.withAcquireOnlyIfLockAlreadyExists(true).withAdditionalTimeToWaitForLock(0L);
        Check.refused(LockNotGrantedException.class, () -> bob.acquireLock(wanted.build()));

        wanted.withAcquireOnlyIfLockAlreadyExists(false).withAdditionalTimeToWaitForLock(60_000L);
        LockItem held = ann.acquireLock(wanted.withAdditionalAttributes(Map.of("from", text("ann"))).build());
        if (!stale) Check.equal(true, ann.releaseLock(held));
        LockItem next = bob.acquireLock(wanted.withAcquireOnlyIfLockAlreadyExists(true)
            .withAdditionalAttributes(Map.of("by", text("bob"))).build());

        var key = sorted ? Map.of("key", text(name), "part", text("a")) : Map.of("key", text(name));
        var record = table.dynamodb.getItem(asked -> asked.tableName(LockTable.NAME).key(key)).item();
        Check.equal(text("bob"), record.get("ownerName"));
        Check.equal(text("bob"), record.get("by"));
        Check.equal(update ? text("ann") : null, record.get("from"));
        Check.equal(text(next.getRecordVersionNumber()), record.get("recordVersionNumber"));
        Check.equal(null, record.get("isReleased"));
        Check.equal(true, bob.releaseLock(ReleaseLockOptions.builder(next).withDeleteLock(true).build()));
    }

    static void the_holder_may_ask_again(URI endpoint) throws Exception {
        try (var table = LockTable.made(endpoint)) {
            var ann = table.client("ann");
            LockItem held = ann.acquireLock(asked("moe").build());
            Check.holds(held == ann.acquireLock(asked("moe").withReentrant(true).build()), "the same lock");
        }
    }

    // The counter is read and written without a condition. The final count is right only if the
    // lock admits one client at a time.
    static void of_many_one_at_a_time_has_it(URI endpoint) throws Exception {
        int clients = 6;
        int rounds = 4;
        try (var table = LockTable.made(endpoint)) {
            var key = Map.of("key", text("counter"));
            var threads = Executors.newFixedThreadPool(clients);
            var counting = new ArrayList<Future<?>>();
            for (int number = 0; number < clients; ++number) {
                var client = table.client("client " + number, 60_000, true);
                counting.add(threads.submit(() -> {
                    for (int round = 0; round < rounds; ++round) {
                        LockItem held = client.acquireLock(asked("moe").withRefreshPeriod(5L).build());
                        var item = table.dynamodb.getItem(asked -> asked.tableName(LockTable.NAME).key(key)).item();
                        int count = item.isEmpty() ? 0 : Integer.parseInt(item.get("count").n());
                        Thread.sleep(2);
                        var counted = AttributeValue.builder().n("" + (count + 1)).build();
                        table.dynamodb.putItem(asked -> asked.tableName(LockTable.NAME)
                            .item(Map.of("key", text("counter"), "count", counted)));
                        Check.equal(true, client.releaseLock(held));
                    }
                    return null;
                }));
            }
            for (var each : counting) each.get();
            threads.shutdown();
            var item = table.dynamodb.getItem(asked -> asked.tableName(LockTable.NAME).key(key)).item();
            Check.equal("" + clients * rounds, item.get("count").n());
        }
    }

    // The client polls every 20 ms, so that a waiting client gets the lock soon after it is
    // released.
    private static AcquireLockOptions.AcquireLockOptionsBuilder asked(String key) {
        return AcquireLockOptions.builder(key).withRefreshPeriod(20L).withAdditionalTimeToWaitForLock(60_000L)
            .withTimeUnit(TimeUnit.MILLISECONDS);
    }

    private static List<String> owners(Stream<LockItem> locks) {
        return locks.map(LockItem::getOwnerName).sorted().collect(Collectors.toList());
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static AttributeValue text(String text) {
        return AttributeValue.builder().s(text).build();
    }

    private static String text(LockItem lock) {
        return StandardCharsets.UTF_8.decode(lock.getData().get().duplicate()).toString();
    }

    private static Callable<Void> doing(Action action) {
        return () -> {
            action.run();
            return null;
        };
    }

    private static long millisecondsSince(long nanoTime) {
        return (System.nanoTime() - nanoTime) / 1_000_000;
    }

    private interface Action {
        void run() throws Exception;
    }
}
