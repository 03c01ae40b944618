// Optimistic locking with the document client. A write is conditional on the version that was read.
// If the condition fails, the client reads the item again and retries.

import assert from "node:assert/strict";

import {key_schema, table} from "../tables.mjs";

const products = "products";

async function read({documents}, id) {
  const {Item} = await documents.get({TableName: products, Key: {id}, ConsistentRead: true});
  return Item;
}

// Writes the new stock. Returns false if another client has written the item since it was read.
async function write({documents, code_of}, product, stock) {
  try {
    await documents.update({
      TableName: products,
      Key: {id: product.id},
      UpdateExpression: "SET stock = :stock, version = version + :one",
      ConditionExpression: "version = :read",
      ExpressionAttributeValues: {":stock": stock, ":one": 1, ":read": product.version},
    });
  } catch (error) {
    if (code_of(error) !== "ConditionalCheckFailedException") throw error;
    return false;
  }
  return true;
}

// Sells `count` pieces. Returns false if fewer than `least` would remain.
async function sell(sdk, id, count, least = 0) {
  for (;;) {
    const product = await read(sdk, id);
    if (product.stock - count < least) return false;
    if (await write(sdk, product, product.stock - count)) return true;
  }
}

async function prepare({dynamodb, documents}, stock) {
  await dynamodb.createTable(table(products, {id: "S"}));
  await documents.put({TableName: products, Item: {id: "p", stock, version: 1}});
}

export async function one_of_two_concurrent_writers_fails(sdk) {
  await prepare(sdk, 10);
  const [first, second] = [await read(sdk, "p"), await read(sdk, "p")];
  assert.equal(await write(sdk, first, 9), true);
  assert.equal(await write(sdk, second, 8), false);
  assert.deepEqual(await read(sdk, "p"), {id: "p", stock: 9, version: 2});
}

// An account with a balance of 100 and an overdraft limit of 500.
export async function one_of_two_concurrent_withdrawals_succeeds(sdk) {
  await prepare(sdk, 100);
  const done = await Promise.all([sell(sdk, "p", 400, -500), sell(sdk, "p", 300, -500)]);
  assert.equal(done.filter(Boolean).length, 1);
  assert.deepEqual(await read(sdk, "p"), {id: "p", stock: done[0] ? -300 : -200, version: 2});
}

export async function concurrent_buyers_never_buy_more_than_the_stock(sdk) {
  await prepare(sdk, 12);
  const served = await Promise.all(Array.from({length: 20}, () => sell(sdk, "p", 1)));
  assert.equal(served.filter(Boolean).length, 12);
  assert.deepEqual(await read(sdk, "p"), {id: "p", stock: 0, version: 13});
}

export async function a_global_index_refuses_a_consistent_read(sdk) {
  await sdk.dynamodb.createTable(table(products, {id: "S"}, {
    AttributeDefinitions: ["id", "shelf"].map((name) => ({AttributeName: name, AttributeType: "S"})),
    GlobalSecondaryIndexes: [{
      IndexName: "by_shelf", KeySchema: key_schema(["shelf"]), Projection: {ProjectionType: "ALL"}}],
  }));
  await sdk.documents.put({TableName: products, Item: {id: "p", shelf: "s", stock: 1, version: 1}});
  const query = {
    TableName: products,
    IndexName: "by_shelf",
    KeyConditionExpression: "shelf = :shelf",
    ExpressionAttributeValues: {":shelf": "s"},
  };
  assert.deepEqual((await sdk.documents.query(query)).Items.map((item) => item.id), ["p"]);
  await assert.rejects(sdk.documents.query({...query, ConsistentRead: true}),
    (error) => sdk.code_of(error) === "ValidationException" &&
      error.message === "Consistent reads are not supported on global secondary indexes");
}
