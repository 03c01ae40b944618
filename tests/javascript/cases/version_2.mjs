// Features that only version 2 of the SDK has.

import assert from "node:assert/strict";

import DynamoDB from "aws-sdk/clients/dynamodb.js";

import {table} from "../tables.mjs";

const things = table("things", {pk: "S", sk: "N"});
const TableName = "things";
const item = {pk: {S: "a"}, sk: {N: "1"}};

export async function calls_back({client}) {
  const call = (operation, members) => new Promise((resolve) => {
    client[operation](members, (error, data) => resolve([error, data]));
  });
  assert.equal((await call("createTable", things))[0], null);
  const [error, data] = await call("describeTable", {TableName: "nothing"});
  assert.equal(data, null);
  assert.deepEqual([error.code, error.statusCode, error.retryable],
    ["ResourceNotFoundException", 400, false]);
}

export async function waits_for_tables({client}) {
  await client.createTable(things).promise();
  const there = await client.waitFor("tableExists", {TableName, $waiter: {delay: 1}}).promise();
  assert.equal(there.Table.TableName, TableName);
  await client.deleteTable({TableName}).promise();
  await client.waitFor("tableNotExists", {TableName, $waiter: {delay: 1}}).promise();
}

export async function reads_all_pages({client}) {
  await client.createTable(things).promise();
  await client.batchWriteItem({RequestItems: {things: Array.from({length: 20}, (_, number) => (
    {PutRequest: {Item: {pk: {S: "a"}, sk: {N: String(number)}}}}))}}).promise();
  const counts = [];
  await new Promise((resolve, reject) => {
    client.query({TableName, KeyConditionExpression: "pk = :a", ExpressionAttributeValues: {":a": {S: "a"}}, Limit: 8})
      .eachPage((error, page) => {
        if (error) return reject(error);
        if (!page) return resolve();
        counts.push(page.Count);
        return true;
      });
  });
  assert.deepEqual(counts, [8, 8, 4]);
}

export async function checks_the_checksum_of_answers({client, places}) {
  await client.createTable(things).promise();
  const sent = client.putItem({TableName, Item: item});
  let checksum;
  sent.on("httpHeaders", (_, headers) => {
    checksum = headers["x-amz-crc32"];
  });
  await sent.promise();
  assert.match(checksum, /^\d+$/);

  // Proves that the SDK checks the checksum: a response with another one is refused.
  const spoilt = new DynamoDB({...places, maxRetries: 0}).getItem({TableName, Key: item});
  spoilt.on("httpHeaders", (_, headers) => {
    headers["x-amz-crc32"] = "1";
  });
  await assert.rejects(spoilt.promise(), {code: "CRC32CheckFailed"});
}

export async function keeps_numbers_that_javascript_cannot_represent({client, places}) {
  await client.createTable(things).promise();
  const documents = new DynamoDB.DocumentClient({service: client, wrapNumbers: true});
  const large = "12345678901234567890123456789012345678";
  await client.putItem({TableName, Item: {...item, large: {N: large}}}).promise();
  const {Item} = await documents.get({TableName, Key: {pk: "a", sk: 1}}).promise();
  assert.equal(Item.large.toString(), large);
  await documents.put({TableName, Item: {...Item, pk: "b"}}).promise();
  const copy = await client.getItem({TableName, Key: {...item, pk: {S: "b"}}}).promise();
  assert.equal(copy.Item.large.N, large);
}

export async function uses_the_given_endpoint_even_if_discovery_is_enabled({places}) {
  // If an endpoint is given, version 2 does not look one up, even if the environment enables
  // discovery.
  process.env.AWS_ENABLE_ENDPOINT_DISCOVERY = "true";
  try {
    assert.deepEqual((await new DynamoDB(places).listTables().promise()).TableNames, []);
  } finally {
    delete process.env.AWS_ENABLE_ENDPOINT_DISCOVERY;
  }
}
