#!/usr/bin/env node
// Concurrent withdrawals from one account. Each write is conditional on the version that was read.
// Amounts are whole numbers, of cents for example.
//
//     account.mjs ENDPOINT open NAME BALANCE OVERDRAFT
//     account.mjs ENDPOINT withdraw NAME AMOUNT
//     account.mjs ENDPOINT show NAME
//
// `withdraw` prints the new balance. If the balance is not sufficient, the exit status is 1.
//
// Requires: npm install @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb

import {realpathSync} from "node:fs";
import {fileURLToPath} from "node:url";

import {
  ConditionalCheckFailedException, CreateTableCommand, DynamoDBClient, ResourceInUseException, waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import {DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand} from "@aws-sdk/lib-dynamodb";

const TableName = "accounts";

export class NotEnough extends Error {}

export function clientFor(endpoint) {
  return DynamoDBDocumentClient.from(new DynamoDBClient({
    endpoint,
    region: "local",
    credentials: {accessKeyId: "any", secretAccessKey: "any"},
    // A write without a response may have succeeded. If the SDK retried it, the condition would
    // fail because of the version that the first attempt has written, and the caller would withdraw
    // the money again.
    maxAttempts: 1,
  }));
}

/** Creates the table if it does not exist. */
export async function prepare(client) {
  try {
    await client.send(new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{AttributeName: "name", AttributeType: "S"}],
      KeySchema: [{AttributeName: "name", KeyType: "HASH"}],
    }));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists({client, maxWaitTime: 60}, {TableName});
}

export async function open(client, name, balance, overdraft) {
  await client.send(new PutCommand({
    TableName,
    Item: {name, balance, overdraft, version: 1},
    ConditionExpression: "attribute_not_exists(#name)",
    ExpressionAttributeNames: {"#name": "name"},
  }));
}

export async function read(client, name) {
  const {Item} = await client.send(new GetCommand({TableName, Key: {name}, ConsistentRead: true}));
  if (!Item) throw new Error(`there is no account ${name}`);
  return Item;
}

/** Writes the new balance. Returns false if the account has been written since it was read. */
export async function write(client, account, balance) {
  try {
    await client.send(new UpdateCommand({
      TableName,
      Key: {name: account.name},
      UpdateExpression: "SET balance = :balance, version = version + :one",
      ConditionExpression: "version = :read",
      ExpressionAttributeValues: {":balance": balance, ":one": 1, ":read": account.version},
    }));
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
  return true;
}

/** Returns the new balance. If another client writes first, reads the account again and retries. */
export async function withdraw(client, name, amount) {
  for (;;) {
    const account = await read(client, name);
    const balance = account.balance - amount;
    if (balance < account.overdraft) {
      throw new NotEnough(`${account.balance} less ${amount} is below ${account.overdraft}`);
    }
    if (await write(client, account, balance)) return balance;
  }
}

const amountsOf = {open: 2, withdraw: 1, show: 0};

async function main([endpoint, verb, name, ...words]) {
  const amounts = words.map(Number);
  if (amounts.length !== amountsOf[verb] || !amounts.every(Number.isSafeInteger)) {
    console.error("account.mjs ENDPOINT {open NAME BALANCE OVERDRAFT | withdraw NAME AMOUNT | show NAME}");
    return 64;
  }
  const client = clientFor(endpoint);
  try {
    await prepare(client);
    if (verb === "open") {
      await open(client, name, ...amounts);
    } else if (verb === "withdraw") {
      console.log(await withdraw(client, name, ...amounts));
    } else {
      const {balance, version} = await read(client, name);
      console.log(`${balance}, version ${version}`);
    }
  } catch (error) {
    if (error instanceof NotEnough) {
      console.log(error.message);
      return 1;
    }
    console.error(`${error.name}: ${error.message}`);
    return 70;
  }
  return 0;
}

// Only if this file is run, not if it is imported.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2));
}
