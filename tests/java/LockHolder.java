// Holds one lock in a process of its own, which the test can stop or kill.

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import java.net.URI;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

final class LockHolder {
    private static LockTable table;
    private static AmazonDynamoDBLockClient client;
    private static LockItem held;

    static void makes_the_table(URI endpoint) {
        LockTable.made(endpoint).dynamodb.close();
    }

    static void takes_it(URI endpoint) throws Exception {
        table = new LockTable(endpoint, null);
        client = table.client("process " + ProcessHandle.current().pid());
        held = client.acquireLock(AcquireLockOptions.builder("moe").withRefreshPeriod(20L)
            .withAdditionalTimeToWaitForLock(60_000L).withTimeUnit(TimeUnit.MILLISECONDS).build());
    }

    static void is_refused(URI endpoint) throws Exception {
        try (var others = new LockTable(endpoint, null)) {
            Check.equal(Optional.empty(), others.silentClient("another").tryAcquireLock(
                AcquireLockOptions.builder("moe").withRefreshPeriod(20L).withAdditionalTimeToWaitForLock(200L)
                    .withTimeUnit(TimeUnit.MILLISECONDS).build()));
        }
    }

    static void has_it(URI endpoint) {
        Check.equal(false, held.isExpired());
    }

    static void releases_it(URI endpoint) throws Exception {
        Check.equal(true, client.releaseLock(held));
        table.close();
    }

    static void has_lost_it(URI endpoint) throws Exception {
        Check.equal(true, held.isExpired());
        Check.equal(false, client.releaseLock(held));
        table.close();
    }
}
