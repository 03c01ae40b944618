// Creates a table with the lock client's own helper, and lock clients for it with short leases.

import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;

final class LockTable implements AutoCloseable {
    static final String NAME = "lockTable";
    static final long LEASE_MS = 3000;
    static final long HEARTBEAT_MS = 300;

    final DynamoDbClient dynamodb;
    // null if the table has no sort key.
    private final String sortKeyName;
    private final List<AmazonDynamoDBLockClient> clients = new ArrayList<>();

    LockTable(URI endpoint, String sortKeyName) {
        dynamodb = DynamoDbClient.builder().endpointOverride(endpoint).region(Region.of("local"))
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any"))).build();
        this.sortKeyName = sortKeyName;
    }

    static LockTable made(URI endpoint, String sortKeyName) {
        var table = new LockTable(endpoint, sortKeyName);
        table.make();
        return table;
    }

    static LockTable made(URI endpoint) {
        return made(endpoint, null);
    }

    void make() {
        var capacity = ProvisionedThroughput.builder().readCapacityUnits(5L).writeCapacityUnits(5L).build();
        var options = CreateDynamoDBTableOptions.builder(dynamodb, capacity, NAME);
        if (sortKeyName != null) options.withSortKeyName(sortKeyName);
        AmazonDynamoDBLockClient.createLockTableInDynamoDB(options.build());
    }

    // Returns a client that sends heartbeats automatically.
    AmazonDynamoDBLockClient client(String owner) {
        return client(owner, LEASE_MS, true);
    }

    // Returns a client that sends a heartbeat only when the case calls for it.
    AmazonDynamoDBLockClient silentClient(String owner) {
        return client(owner, LEASE_MS, false);
    }

    AmazonDynamoDBLockClient client(String owner, long leaseMs, boolean heartbeats) {
        var options = AmazonDynamoDBLockClientOptions.builder(dynamodb, NAME).withOwnerName(owner)
            .withTimeUnit(TimeUnit.MILLISECONDS).withLeaseDuration(leaseMs).withHeartbeatPeriod(HEARTBEAT_MS)
            .withCreateHeartbeatBackgroundThread(heartbeats);
        if (sortKeyName != null) options.withSortKeyName(sortKeyName);
        clients.add(new AmazonDynamoDBLockClient(options.build()));
        return clients.get(clients.size() - 1);
    }

    @Override
    public void close() throws IOException {
        for (var client : clients) client.close();
        dynamodb.close();
    }
}
