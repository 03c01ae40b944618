// Features that only version 3 of the SDK has.

import assert from "node:assert/strict";

import {
  ConditionalCheckFailedException, CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient,
  DynamoDBServiceException, GetItemCommand, IdempotentParameterMismatchException, ListTablesCommand, PutItemCommand,
  ResourceInUseException, ResourceNotFoundException, TransactWriteItemsCommand, paginateListTables, paginateQuery,
  paginateScan, waitUntilTableExists, waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {DynamoDBDocumentClient, GetCommand, NumberValue, PutCommand, paginateQuery as paginateDocuments}
  from "@aws-sdk/lib-dynamodb";

import {refusal_of} from "../refusal.mjs";
import {table} from "../tables.mjs";

const things = table("things", {pk: "S", sk: "N"});
const TableName = "things";
const item = {pk: {S: "a"}, sk: {N: "1"}};

export async function refusals_have_classes({client}) {
  await client.send(new CreateTableCommand(things));
  const in_use = await refusal_of(client.send(new CreateTableCommand(things)));
  assert.ok(in_use instanceof ResourceInUseException);
  const not_found = await refusal_of(client.send(new DescribeTableCommand({TableName: "nothing"})));
  assert.ok(not_found instanceof ResourceNotFoundException);
  assert.equal(not_found.$fault, "client");
  assert.equal(not_found.$metadata.attempts, 1);
  const invalid = await refusal_of(client.send(new PutItemCommand({TableName, Item: {}})));
  assert.ok(invalid instanceof DynamoDBServiceException);
  assert.equal(invalid.name, "ValidationException");
  const transact = (members) => client.send(new TransactWriteItemsCommand({
    ClientRequestToken: "one", TransactItems: [{Put: {TableName, Item: {...item, ...members}}}]}));
  await transact({});
  assert.ok(await refusal_of(transact({more: {S: "x"}})) instanceof IdempotentParameterMismatchException);
}

export async function a_failed_condition_returns_the_item({client}) {
  await client.send(new CreateTableCommand(things));
  await client.send(new PutItemCommand({TableName, Item: {...item, owner: {S: "ann"}}}));
  const error = await refusal_of(client.send(new PutItemCommand({
    TableName, Item: item, ConditionExpression: "attribute_not_exists(pk)",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD"})));
  assert.ok(error instanceof ConditionalCheckFailedException);
  assert.deepEqual(error.Item, {...item, owner: {S: "ann"}});
}

export async function waits_for_tables({client}) {
  const waiting = {client, maxWaitTime: 60, minDelay: 1};
  await client.send(new CreateTableCommand(things));
  assert.equal((await waitUntilTableExists(waiting, {TableName})).state, "SUCCESS");
  await client.send(new DeleteTableCommand({TableName}));
  assert.equal((await waitUntilTableNotExists(waiting, {TableName})).state, "SUCCESS");
}

export async function reads_all_pages({client, documents}) {
  for (const name of ["things", "things-2", "things-3"]) {
    await client.send(new CreateTableCommand({...things, TableName: name}));
  }
  await documents.batchWrite({RequestItems: {things: Array.from({length: 20}, (_, sk) => (
    {PutRequest: {Item: {pk: "a", sk}}}))}});
  const counts = async (pages) => {
    const found = [];
    for await (const page of pages) found.push((page.Items ?? page.TableNames).length);
    return found;
  };
  const query = {TableName, KeyConditionExpression: "pk = :a"};
  assert.deepEqual(await counts(paginateQuery({client, pageSize: 8}, {
    ...query, ExpressionAttributeValues: {":a": {S: "a"}}})), [8, 8, 4]);
  assert.deepEqual(await counts(paginateDocuments({client: documents, pageSize: 9}, {
    ...query, ExpressionAttributeValues: {":a": "a"}})), [9, 9, 2]);
  assert.deepEqual(await counts(paginateScan({client, pageSize: 15}, {TableName})), [15, 5]);
  assert.deepEqual(await counts(paginateListTables({client, pageSize: 2}, {})), [2, 1]);
}

export async function keeps_numbers_that_javascript_cannot_represent({client}) {
  await client.send(new CreateTableCommand(things));
  const documents = DynamoDBDocumentClient.from(client, {unmarshallOptions: {wrapNumbers: true}});
  const large = "12345678901234567890123456789012345678";
  await documents.send(new PutCommand({TableName, Item: {
    pk: "a", sk: 1, large: NumberValue.from(large), whole: 12345678901234567890n}}));
  const stored = (await client.send(new GetItemCommand({TableName, Key: item}))).Item;
  assert.deepEqual([stored.large.N, stored.whole.N], [large, "12345678901234567890"]);
  const {Item} = await documents.send(new GetCommand({TableName, Key: {pk: "a", sk: 1}}));
  assert.equal(Item.large.toString(), large);
  await documents.send(new PutCommand({TableName, Item: {...Item, pk: "b"}}));
  const copy = await client.send(new GetItemCommand({TableName, Key: {...item, pk: {S: "b"}}}));
  assert.equal(copy.Item.large.N, large);
}

export async function reads_its_endpoint_from_the_environment({places}) {
  const variables = {
    AWS_ENDPOINT_URL_DYNAMODB: places.endpoint,
    AWS_REGION: "local",
    AWS_ACCESS_KEY_ID: "any",
    AWS_SECRET_ACCESS_KEY: "any",
  };
  Object.assign(process.env, variables);
  const client = new DynamoDBClient({requestHandler: places.requestHandler});
  try {
    assert.deepEqual((await client.send(new ListTablesCommand({}))).TableNames, []);
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    client.destroy();
  }
}

export async function cancels_a_request_and_continues({client}) {
  await client.send(new CreateTableCommand(things));
  const giving_up = new AbortController();
  const sent = client.send(new PutItemCommand({TableName, Item: item}), {abortSignal: giving_up.signal});
  giving_up.abort();
  assert.equal((await refusal_of(sent)).name, "AbortError");
  await client.send(new PutItemCommand({TableName, Item: item}));
  assert.deepEqual((await client.send(new GetItemCommand({TableName, Key: item}))).Item, item);
}
