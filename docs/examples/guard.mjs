// Edits orders under a lock, with version 3 of the SDK for JavaScript. The lock is presented in
// headers and checked with the write. This is a module to import. guard.py does the same with boto3
// and describes how to bind the table.
//
// Requires: npm install @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb

import {ConditionalCheckFailedException, DynamoDBClient} from "@aws-sdk/client-dynamodb";
import {DynamoDBDocumentClient, GetCommand, PutCommand} from "@aws-sdk/lib-dynamodb";

const TableName = "orders";

/** Sends a request of the lock API, to the same endpoint as the requests for tables. */
export async function call(endpoint, verb, members) {
  const answer = await fetch(endpoint, {
    method: "POST",
    headers: {"Content-Type": "application/json", "X-Amz-Target": `Rocklock_20261121.${verb}`},
    body: JSON.stringify(members),
  });
  const reply = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(reply.message), {name: reply.__type.split("#")[1], ...reply});
  return reply;
}

export async function acquire(endpoint, order, editor, seconds) {
  return call(endpoint, "Acquire", {
    Principal: editor, LeaseMs: seconds * 1000, Locks: [{Resource: `orders/${order}`}],
  });
}

export async function release(endpoint, {Session, Secret, Grant}) {
  await call(endpoint, "Release", {Session, Secret, Grant});
}

export function lockHeaders({Session, Secret, Token}) {
  return {"X-Rocklock-Session": `${Session}:${Secret}`, "X-Rocklock-Token": `${Token}`};
}

/** Adds headers to one command, or to every request of a client. */
export function show(headers, commandOrClient) {
  commandOrClient.middlewareStack.add((next) => (args) => {
    Object.assign(args.request.headers, headers);
    return next(args);
  }, {step: "build"});
  return commandOrClient;
}

/** Returns a client. Its responses contain the version of the item in `$metadata`. */
export function clientFor(endpoint) {
  const client = new DynamoDBClient({
    endpoint, region: "local", credentials: {accessKeyId: "any", secretAccessKey: "any"},
    // A conditional write without a response may have succeeded. If the SDK retried it, the
    // condition would fail because of the version that the first attempt has written.
    maxAttempts: 1,
  });
  client.middlewareStack.add((next) => async (args) => {
    const reply = await next(args);
    const version = reply.response.headers["x-rocklock-version"];
    if (version) reply.output.$metadata.version = Number(version);
    return reply;
  }, {step: "deserialize", name: "tellVersion", priority: "high"});
  return DynamoDBDocumentClient.from(client);
}

export async function write(client, order, text, headers) {
  await client.send(show(headers, new PutCommand({TableName, Item: {id: order, text}})));
}

/** Returns the text and the version of the order, or version 0 if it does not exist. */
export async function read(client, order) {
  const got = await client.send(new GetCommand({TableName, Key: {id: order}, ConsistentRead: true}));
  return {text: got.Item?.text, version: got.$metadata.version};
}

/** Returns false if the order has been written since it had this version. */
export async function writeIfUnchanged(client, order, text, version, headers) {
  try {
    await write(client, order, text, {...headers, "X-Rocklock-Version": `${version}`});
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
  return true;
}
