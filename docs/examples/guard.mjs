// Orders that are edited under a lock, with version 3 of the SDK for JavaScript: the lock is shown
// in headers, and checked with the write. For programs to import; guard.py is the same for boto3,
// and says how the table is bound.
//
// Wants: npm install @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb

import {ConditionalCheckFailedException, DynamoDBClient} from "@aws-sdk/client-dynamodb";
import {DynamoDBDocumentClient, GetCommand, PutCommand} from "@aws-sdk/lib-dynamodb";

const TableName = "orders";

/** A call of the lock API, which the endpoint of the tables takes too. */
export async function call(endpoint, verb, members) {
  const answer = await fetch(endpoint, {
    method: "POST",
    headers: {"Content-Type": "application/json", "X-Amz-Target": `Rocklock_20261121.${verb}`},
    body: JSON.stringify(members),
  });
  const told = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(told.message), {name: told.__type.split("#")[1], ...told});
  return told;
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

/** Has them sent along: with a command, or with all that a client asks for. */
export function show(headers, commandOrClient) {
  commandOrClient.middlewareStack.add((next) => (args) => {
    Object.assign(args.request.headers, headers);
    return next(args);
  }, {step: "build"});
  return commandOrClient;
}

/** Answers tell the version of their item in `$metadata`. */
export function clientFor(endpoint) {
  const client = new DynamoDBClient({
    endpoint, region: "local", credentials: {accessKeyId: "any", secretAccessKey: "any"},
    // A write on condition of a version that got no answer may have been done. Sent again by the SDK,
    // it would be refused because of the version that it has written itself.
    maxAttempts: 1,
  });
  client.middlewareStack.add((next) => async (args) => {
    const told = await next(args);
    const version = told.response.headers["x-rocklock-version"];
    if (version) told.output.$metadata.version = Number(version);
    return told;
  }, {step: "deserialize", name: "tellVersion", priority: "high"});
  return DynamoDBDocumentClient.from(client);
}

export async function write(client, order, text, headers) {
  await client.send(show(headers, new PutCommand({TableName, Item: {id: order, text}})));
}

/** The text, and the version that a write may be made on condition of: 0 where there is no order yet. */
export async function read(client, order) {
  const got = await client.send(new GetCommand({TableName, Key: {id: order}, ConsistentRead: true}));
  return {text: got.Item?.text, version: got.$metadata.version};
}

/** False when somebody has written since. */
export async function writeIfUnchanged(client, order, text, version, headers) {
  try {
    await write(client, order, text, {...headers, "X-Rocklock-Version": `${version}`});
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
  return true;
}
