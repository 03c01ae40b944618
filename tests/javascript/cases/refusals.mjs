// Which errors the SDK reports, and which requests it retries.

import assert from "node:assert/strict";

import {refusal_of} from "../refusal.mjs";
import {table} from "../tables.mjs";

const things = table("things", {pk: "S"});
const TableName = "things";
const key = {pk: {S: "a"}};

async function assert_refused({code_of, status_of, request_id_of}, promise, code, message) {
  const error = await refusal_of(promise);
  assert.equal(code_of(error), code, error);
  assert.ok(error instanceof Error);
  assert.match(error.message, message);
  assert.equal(status_of(error), 400);
  assert.match(request_id_of(error), /^[A-Z0-9]{52}$/);
}

export async function refusals_have_the_names_of_the_service(sdk) {
  const {dynamodb} = sdk;
  await dynamodb.createTable(things);
  await assert_refused(sdk, dynamodb.createTable(things), "ResourceInUseException", /Table already exists: things/);
  await assert_refused(sdk, dynamodb.describeTable({TableName: "nothing"}), "ResourceNotFoundException",
    /Requested resource not found: Table: nothing not found/);
  await assert_refused(sdk, dynamodb.getItem({TableName: "nothing", Key: key}), "ResourceNotFoundException",
    /^Requested resource not found$/);
  await assert_refused(sdk, dynamodb.putItem({TableName, Item: {pk: {N: "1"}}}), "ValidationException",
    /Type mismatch for key pk expected: S actual: N/);
  await assert_refused(sdk, dynamodb.getItem({TableName, Key: {}}), "ValidationException",
    /The provided key element does not match the schema/);
  await assert_refused(sdk, dynamodb.putItem({TableName, Item: key, ConditionExpression: "pk = "}),
    "ValidationException", /Invalid ConditionExpression: Syntax error/);
  await assert_refused(sdk, dynamodb.putItem({
    TableName, Item: key, ConditionExpression: "attribute_exists(pk)"}), "ConditionalCheckFailedException",
  /^The conditional request failed$/);
  await assert_refused(sdk, dynamodb.transactWriteItems({TransactItems: [
    {Put: {TableName, Item: key}}, {Delete: {TableName, Key: key}}]}), "ValidationException",
  /Transaction request cannot include multiple operations on one item/);
}

export async function unsupported_operations_are_unknown(sdk) {
  const asked = [
    () => sdk.dynamodb.listBackups({}),
    () => sdk.dynamodb.executeStatement({Statement: "SELECT * FROM things"}),
  ];
  for (const ask of asked) {
    const error = await refusal_of(ask());
    assert.deepEqual([sdk.code_of(error), sdk.status_of(error)], ["UnknownOperationException", 400]);
  }
}

export async function refused_requests_are_not_retried(sdk) {
  await sdk.dynamodb.createTable(things);
  const before = sdk.agent.sent;
  await refusal_of(sdk.dynamodb.describeTable({TableName: "nothing"}));
  await refusal_of(sdk.dynamodb.putItem({TableName, Item: {pk: {N: "1"}}}));
  await refusal_of(sdk.dynamodb.putItem({TableName, Item: key, ConditionExpression: "attribute_exists(pk)"}));
  await sdk.transact({TransactItems: [{ConditionCheck: {
    TableName, Key: key, ConditionExpression: "attribute_exists(pk)"}}]});
  assert.equal(sdk.agent.sent - before, 4);
}

// The test configures the daemon to throttle 30% of the requests.
export async function retries_throttled_requests(sdk) {
  await sdk.dynamodb.createTable(things);
  const before = sdk.agent.sent;
  for (let number = 0; number < 20; number += 1) {
    await sdk.documents.put({TableName, Item: {pk: `item ${number}`}});
  }
  assert.ok(sdk.agent.sent - before > 20, String(sdk.agent.sent));
}
