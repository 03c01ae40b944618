// Typical operations on tables and items, sent by both versions of the SDK.

import assert from "node:assert/strict";

import {key_schema, table} from "../tables.mjs";

const things = table("things", {pk: "S", sk: "N"});
const TableName = "things";
const numbers = (count) => Array.from({length: count}, (_, number) => number);

export async function creates_describes_updates_and_deletes_tables({dynamodb}) {
  const made = await dynamodb.createTable(things);
  assert.equal(made.TableDescription.TableStatus, "ACTIVE");
  const {Table} = await dynamodb.describeTable({TableName});
  assert.deepEqual(Table.KeySchema, things.KeySchema);
  assert.ok(Math.abs(Table.CreationDateTime.getTime() - Date.now()) < 3600 * 1000, Table.CreationDateTime);
  await dynamodb.updateTable({TableName, DeletionProtectionEnabled: true});
  await assert.rejects(dynamodb.deleteTable({TableName}), /deletion protection/i);
  await dynamodb.updateTable({TableName, DeletionProtectionEnabled: false});
  await dynamodb.deleteTable({TableName});
  assert.deepEqual((await dynamodb.listTables({})).TableNames, []);
}

export async function keeps_values_of_every_type({dynamodb}) {
  await dynamodb.createTable(things);
  const Item = {
    pk: {S: "ключ 鍵 🔑"},
    sk: {N: "-0.00000000000000000000000000000000000012345678901234567890123456789012345678"},
    large: {N: "99999999999999999999999999999999999999"},
    empty: {S: ""},
    bytes: {B: Uint8Array.of(0, 255, 10)},
    no_bytes: {B: new Uint8Array(0)},
    yes: {BOOL: true},
    nothing: {NULL: true},
    list: {L: [{S: "a"}, {M: {deep: {N: "1"}}}, {L: []}]},
    map: {M: {"a.b": {S: "x"}, __proto: {S: "y"}}},
    strings: {SS: ["a", "b"]},
    numbers: {NS: ["1", "2.5"]},
    binaries: {BS: [Uint8Array.of(1), Uint8Array.of(2)]},
  };
  await dynamodb.putItem({TableName, Item});
  const got = (await dynamodb.getItem({TableName, Key: {pk: Item.pk, sk: Item.sk}})).Item;
  assert.deepEqual(plain(got), plain(Item));
}

// Returns `value` in a form that does not depend on the SDK's type for bytes or on the order of
// sets.
function plain(value) {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object") return value;
  const members = Object.entries(value).map(([name, each]) => [name, plain(each)]);
  return Object.fromEntries(members.map(([name, each]) => [name, /^.S$/.test(name) ? each.sort() : each]));
}

export async function keeps_documents({dynamodb, documents, set_of, values_of}) {
  await dynamodb.createTable(things);
  const document = {pk: "a", sk: 1.5, list: [1, {deep: [true, null]}], text: "", far: 9007199254740991, near: 1e-7};
  await documents.put({TableName, Item: {...document, tags: set_of("x", "y"), counts: set_of(1, 2)}});
  const {tags, counts, ...rest} = (await documents.get({TableName, Key: {pk: "a", sk: 1.5}})).Item;
  assert.deepEqual(rest, document);
  assert.deepEqual(values_of(tags).sort(), ["x", "y"]);
  assert.deepEqual(values_of(counts).sort(), [1, 2]);
  assert.equal((await documents.get({TableName, Key: {pk: "b", sk: 1}})).Item, undefined);
}

export async function updates_with_expressions({dynamodb, documents, set_of, values_of}) {
  await dynamodb.createTable(things);
  const update = (UpdateExpression, ExpressionAttributeValues, more = {}) => documents.update({
    TableName, Key: {pk: "a", sk: 1}, UpdateExpression, ExpressionAttributeValues, ReturnValues: "ALL_NEW", ...more});
  await update("SET notes = :none, n = if_not_exists(n, :zero) + :one", {":none": [], ":zero": 0, ":one": 1});
  const {Attributes} = await update("SET notes = list_append(notes, :entry) ADD n :one, tags :tags",
    {":entry": ["made"], ":one": 1, ":tags": set_of("x")});
  assert.deepEqual(values_of(Attributes.tags), ["x"]);
  assert.deepEqual({notes: Attributes.notes, n: Attributes.n}, {notes: ["made"], n: 2});
  const left = await update("REMOVE #notes[0] DELETE tags :tags", {":tags": set_of("x")},
    {ExpressionAttributeNames: {"#notes": "notes"}});
  assert.deepEqual(left.Attributes, {pk: "a", sk: 1, notes: [], n: 2});
}

export async function writes_and_reads_batches({dynamodb, documents}) {
  await dynamodb.createTable(things);
  const written = await documents.batchWrite({RequestItems: {
    things: numbers(25).map((sk) => ({PutRequest: {Item: {pk: "a", sk}}}))}});
  assert.deepEqual(written.UnprocessedItems, {});
  await documents.batchWrite({RequestItems: {things: [{DeleteRequest: {Key: {pk: "a", sk: 7}}}]}});
  const got = await documents.batchGet({RequestItems: {
    things: {Keys: numbers(100).map((sk) => ({pk: "a", sk})), ConsistentRead: true}}});
  assert.deepEqual(got.UnprocessedKeys, {});
  assert.deepEqual(got.Responses.things.map((item) => item.sk).sort((one, other) => one - other),
    numbers(25).filter((sk) => sk !== 7));
}

export async function writes_and_reads_in_transactions({dynamodb, documents}) {
  await dynamodb.createTable(things);
  await documents.transactWrite({TransactItems: [
    {Put: {TableName, Item: {pk: "a", sk: 1, n: 1}}},
    {Update: {TableName, Key: {pk: "b", sk: 1}, UpdateExpression: "SET n = :n", ExpressionAttributeValues: {":n": 2}}},
    {ConditionCheck: {TableName, Key: {pk: "c", sk: 1}, ConditionExpression: "attribute_not_exists(pk)"}},
  ]});
  const {Responses} = await documents.transactGet({TransactItems: ["a", "b", "c"].map(
    (pk) => ({Get: {TableName, Key: {pk, sk: 1}}}))});
  assert.deepEqual(Responses.map(({Item}) => Item?.n), [1, 2, undefined]);
}

export async function repeats_a_transaction_once_only({dynamodb, documents, code_of}) {
  await dynamodb.createTable(things);
  const add = (count) => documents.transactWrite({ClientRequestToken: "the same", TransactItems: [{Update: {
    TableName, Key: {pk: "a", sk: 1}, UpdateExpression: "ADD n :n", ExpressionAttributeValues: {":n": count}}}]});
  await add(5);
  await add(5);
  assert.equal((await documents.get({TableName, Key: {pk: "a", sk: 1}})).Item.n, 5);
  await assert.rejects(add(6), (error) => code_of(error) === "IdempotentParameterMismatchException");
}

export async function pages_through_queries_and_scans({dynamodb, documents}) {
  await dynamodb.createTable(things);
  for (const pk of ["a", "b"]) {
    await documents.batchWrite({RequestItems: {things: numbers(25).map((sk) => ({PutRequest: {Item: {pk, sk}}}))}});
  }
  const query = {TableName, KeyConditionExpression: "pk = :pk AND sk BETWEEN :from AND :to", ScanIndexForward: false,
    ExpressionAttributeValues: {":pk": "b", ":from": 3, ":to": 20}, Limit: 7};
  const found = await pages((members) => documents.query(members), query);
  assert.deepEqual(found.flat().map((item) => item.sk), numbers(18).map((step) => 20 - step));
  assert.deepEqual(found.map((page) => page.length), [7, 7, 4]);
  const scans = numbers(3).map((Segment) => pages((members) => documents.scan(members),
    {TableName, Limit: 4, Segment, TotalSegments: 3}));
  const scanned = (await Promise.all(scans)).flat(2).map(({pk, sk}) => `${pk}${sk}`).sort();
  assert.deepEqual(scanned, ["a", "b"].flatMap((pk) => numbers(25).map((sk) => `${pk}${sk}`)).sort());
}

async function pages(ask, members) {
  const found = [];
  let from;
  do {
    const page = await ask({...members, ExclusiveStartKey: from});
    found.push(page.Items);
    from = page.LastEvaluatedKey;
  } while (from);
  return found;
}

export async function adds_and_queries_an_index({dynamodb, documents}) {
  await dynamodb.createTable(things);
  await documents.put({TableName, Item: {pk: "a", sk: 1, owner: "ann", n: 1}});
  await dynamodb.updateTable({TableName, AttributeDefinitions: [{AttributeName: "owner", AttributeType: "S"}],
    GlobalSecondaryIndexUpdates: [{Create: {
      IndexName: "by_owner", KeySchema: key_schema(["owner"]), Projection: {ProjectionType: "KEYS_ONLY"}}}]});
  const found = await documents.query({TableName, IndexName: "by_owner", KeyConditionExpression: "#o = :o",
    ExpressionAttributeNames: {"#o": "owner"}, ExpressionAttributeValues: {":o": "ann"}});
  assert.deepEqual(found.Items, [{pk: "a", sk: 1, owner: "ann"}]);
}

export async function accepts_the_legacy_parameters({dynamodb, documents, code_of}) {
  await dynamodb.createTable(things);
  await documents.put({TableName, Item: {pk: "a", sk: 1}, Expected: {pk: {Exists: false}}});
  const update = (expected) => documents.update({TableName, Key: {pk: "a", sk: 1}, ReturnValues: "ALL_NEW",
    AttributeUpdates: {n: {Action: "ADD", Value: 1}}, Expected: expected});
  assert.equal((await update({n: {Exists: false}})).Attributes.n, 1);
  await assert.rejects(update({n: {ComparisonOperator: "GT", AttributeValueList: [1]}}),
    (error) => code_of(error) === "ConditionalCheckFailedException");
  const found = await documents.query({TableName,
    KeyConditions: {pk: {ComparisonOperator: "EQ", AttributeValueList: ["a"]}},
    QueryFilter: {n: {ComparisonOperator: "GE", AttributeValueList: [1]}}});
  assert.equal(found.Count, 1);
}

export async function sets_times_to_live_and_tags({dynamodb}) {
  const ResourceArn = (await dynamodb.createTable(things)).TableDescription.TableArn;
  await dynamodb.updateTimeToLive({TableName, TimeToLiveSpecification: {AttributeName: "until", Enabled: true}});
  assert.deepEqual((await dynamodb.describeTimeToLive({TableName})).TimeToLiveDescription,
    {TimeToLiveStatus: "ENABLED", AttributeName: "until"});
  const Tags = [{Key: "team", Value: "locks"}];
  await dynamodb.tagResource({ResourceArn, Tags});
  assert.deepEqual((await dynamodb.listTagsOfResource({ResourceArn})).Tags, Tags);
  await dynamodb.untagResource({ResourceArn, TagKeys: ["team"]});
  assert.deepEqual((await dynamodb.listTagsOfResource({ResourceArn})).Tags, []);
}

export async function describes_its_endpoint_and_limits({dynamodb, places}) {
  const {Endpoints} = await dynamodb.describeEndpoints({});
  assert.deepEqual(Endpoints.map(({Address}) => Address), [new URL(places.endpoint).host]);
  assert.ok(Endpoints[0].CachePeriodInMinutes > 0);
  assert.equal((await dynamodb.describeLimits({})).TableMaxReadCapacityUnits, 40000);
  const backups = await dynamodb.describeContinuousBackups({TableName: (await dynamodb.createTable(things))
    .TableDescription.TableName});
  assert.equal(backups.ContinuousBackupsDescription.ContinuousBackupsStatus, "ENABLED");
}

export async function returns_the_consumed_capacity({dynamodb}) {
  await dynamodb.createTable(things);
  const key = {pk: {S: "a"}, sk: {N: "1"}};
  const {ConsumedCapacity} = await dynamodb.putItem({TableName, Item: key, ReturnConsumedCapacity: "TOTAL"});
  assert.deepEqual(ConsumedCapacity, {TableName, CapacityUnits: 1});
}

export async function sends_many_concurrent_requests({dynamodb, documents, agent}) {
  await dynamodb.createTable(things);
  await Promise.all(numbers(200).map((sk) => documents.put({TableName, Item: {pk: "a", sk, text: "x".repeat(2000)}})));
  const {Count} = await documents.query({TableName, KeyConditionExpression: "pk = :a",
    ExpressionAttributeValues: {":a": "a"}});
  assert.equal(Count, 200);
  assert.equal(agent.sent, 202);
}

export async function sends_items_of_400_kb({dynamodb, documents}) {
  await dynamodb.createTable(things);
  const text = "ä".repeat(200 * 1000);
  await documents.put({TableName, Item: {pk: "a", sk: 1, text}});
  assert.equal((await documents.get({TableName, Key: {pk: "a", sk: 1}})).Item.text, text);
  await assert.rejects(documents.put({TableName, Item: {pk: "a", sk: 2, text: "x".repeat(400 * 1024)}}),
    /Item size has exceeded the maximum allowed size/);
}
