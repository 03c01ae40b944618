// The effect of a lock's headers on a table that is not bound. (Only an administrator can bind a
// table.)

import assert from "node:assert/strict";
import http from "node:http";

import {refusal_of} from "../refusal.mjs";
import {table} from "../tables.mjs";

const orders = "orders";

// Sends a request of the lock API to the endpoint of the tables.
function call({places, agent}, verb, members) {
  return new Promise((resolve, reject) => {
    const request = http.request(places.endpoint, {
      method: "POST", agent,
      headers: {"Content-Type": "application/json", "X-Amz-Target": `Rocklock_20261121.${verb}`},
    }, async (answer) => {
      const reply = JSON.parse(Buffer.concat(await answer.toArray()).toString());
      return answer.statusCode === 200 ? resolve(reply) : reject(new Error(reply.message));
    });
    request.on("error", reject).end(JSON.stringify(members));
  });
}

function acquire(sdk, principal, lease_ms) {
  return call(sdk, "Acquire", {
    Principal: principal, LeaseMs: lease_ms, Locks: [{Resource: "orders/42"}], PatienceMs: 60000,
  });
}

function show(sdk, {Session, Secret, Token}) {
  sdk.show({"X-Rocklock-Session": `${Session}:${Secret}`, "X-Rocklock-Token": `${Token}`});
}

function put(sdk, text) {
  return sdk.documents.put({TableName: orders, Item: {id: "42", text}});
}

async function text({documents}) {
  return (await documents.get({TableName: orders, Key: {id: "42"}})).Item?.text;
}

export async function a_late_write_is_refused_and_names_the_next_holder(sdk) {
  await sdk.dynamodb.createTable(table(orders, {id: "S"}));
  const ann = await acquire(sdk, "ann", 200);
  // Bob's waiting request is granted as soon as ann's lease has ended.
  const bob = await acquire(sdk, "bob", 60000);
  show(sdk, bob);
  await put(sdk, "bob's");
  show(sdk, ann);
  const refused = await refusal_of(put(sdk, "ann's"));
  assert.equal(sdk.code_of(refused), "StaleTokenException");
  assert.equal(sdk.status_of(refused), 400);
  assert.match(refused.message, /has ended: expired/);
  show(sdk, bob);
  assert.equal(await text(sdk), "bob's");
}

export async function malformed_headers_are_refused(sdk) {
  await sdk.dynamodb.createTable(table(orders, {id: "S"}));
  const {Session} = await acquire(sdk, "ann", 60000);
  show(sdk, {Session, Secret: "none", Token: 1});
  const refused = await refusal_of(put(sdk, "wrong"));
  assert.equal(sdk.code_of(refused), "ValidationException");
  assert.match(refused.message, /X-Rocklock-Session must be <session>:<secret>/);
  show(sdk, await call(sdk, "OpenSession", {Principal: "bob"}).then(({Session: id, Secret}) => (
    {Session: id, Secret, Token: 1})));
  assert.equal(sdk.code_of(await refusal_of(put(sdk, "wrong"))), "StaleTokenException");
}
