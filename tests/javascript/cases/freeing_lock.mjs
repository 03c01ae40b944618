// A lock that expires: if several replicas receive the same message, one of them may process it. If
// the time limit has passed, another replica may retry.

import assert from "node:assert/strict";

import {table} from "../tables.mjs";

const locks = "locks";
const now = () => Math.floor(Date.now() / 1000);

// Returns whether the caller has the lock now.
async function take({documents, code_of}, message, expired_at, owner = "me") {
  try {
    await documents.put({
      TableName: locks,
      Item: {primary_id: message, expired_at, owner},
      ConditionExpression: "attribute_not_exists(primary_id) OR expired_at < :timestamp",
      ExpressionAttributeValues: {":timestamp": now()},
    });
  } catch (error) {
    if (code_of(error) !== "ConditionalCheckFailedException") throw error;
    return false;
  }
  return true;
}

async function holder({documents}, message) {
  const {Item} = await documents.get({TableName: locks, Key: {primary_id: message}, ConsistentRead: true});
  return Item?.owner;
}

export async function a_lock_is_held_once_until_it_expires(sdk) {
  await sdk.dynamodb.createTable(table(locks, {primary_id: "S"}));
  assert.equal(await take(sdk, "m1", now() + 3600, "ann"), true);
  assert.equal(await take(sdk, "m1", now() + 3600, "bob"), false);
  assert.equal(await holder(sdk, "m1"), "ann");
  assert.equal(await take(sdk, "m2", now() - 5, "ann"), true);
  assert.equal(await take(sdk, "m2", now() + 3600, "bob"), true);
  assert.equal(await holder(sdk, "m2"), "bob");
}

export async function one_of_many_replicas_acquires_an_expired_lock(sdk) {
  await sdk.dynamodb.createTable(table(locks, {primary_id: "S"}));
  await take(sdk, "m1", now() - 5);
  const replicas = Array.from({length: 16}, (_, number) => `replica-${number}`);
  const taken = await Promise.all(replicas.map((replica) => take(sdk, "m1", now() + 3600, replica)));
  assert.equal(taken.filter(Boolean).length, 1);
  assert.equal(await holder(sdk, "m1"), replicas[taken.indexOf(true)]);
}

export async function an_expired_lock_is_still_stored_and_can_be_acquired(sdk) {
  await sdk.dynamodb.createTable(table(locks, {primary_id: "S"}));
  await sdk.dynamodb.updateTimeToLive({
    TableName: locks, TimeToLiveSpecification: {AttributeName: "expired_at", Enabled: true}});
  await take(sdk, "m1", now() - 60, "ann");
  assert.equal(await holder(sdk, "m1"), "ann");
  await assert.rejects(
    sdk.documents.put({
      TableName: locks, Item: {primary_id: "m1"}, ConditionExpression: "attribute_not_exists(primary_id)"}),
    (error) => sdk.code_of(error) === "ConditionalCheckFailedException");
  assert.equal(await take(sdk, "m1", now() + 3600, "bob"), true);
}

export async function its_owner_renews_and_releases_a_lock(sdk) {
  await sdk.dynamodb.createTable(table(locks, {primary_id: "S"}));
  const until = now() + 60;
  await take(sdk, "m1", until, "ann");
  const prolong = (owner) => sdk.documents.update({
    TableName: locks,
    Key: {primary_id: "m1"},
    UpdateExpression: "SET expired_at = expired_at + :more",
    ConditionExpression: "#owner = :owner AND expired_at >= :now",
    ExpressionAttributeNames: {"#owner": "owner"},
    ExpressionAttributeValues: {":more": 60, ":owner": owner, ":now": now()},
    ReturnValues: "UPDATED_NEW",
  });
  const free = (owner) => sdk.documents.delete({
    TableName: locks,
    Key: {primary_id: "m1"},
    ConditionExpression: "#owner = :owner",
    ExpressionAttributeNames: {"#owner": "owner"},
    ExpressionAttributeValues: {":owner": owner},
    ReturnValues: "ALL_OLD",
  });
  const refused = (error) => sdk.code_of(error) === "ConditionalCheckFailedException" &&
    error.message === "The conditional request failed";
  await assert.rejects(prolong("bob"), refused);
  assert.deepEqual((await prolong("ann")).Attributes, {expired_at: until + 60});
  await assert.rejects(free("bob"), refused);
  assert.deepEqual((await free("ann")).Attributes, {primary_id: "m1", owner: "ann", expired_at: until + 60});
  assert.equal(await take(sdk, "m1", now() + 60, "bob"), true);
}
