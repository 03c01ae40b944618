// Imports docs/examples/guard.mjs, or a modified copy of it, and runs one test case with it.
//
//     guard.mjs PROGRAM ENDPOINT CASE

import assert from "node:assert/strict";
import {pathToFileURL} from "node:url";

const [program, endpoint, name] = process.argv.slice(2);
const guard = await import(pathToFileURL(program));
const client = guard.clientFor(endpoint);

async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail("it was done");
}

const cases = {
  async a_late_write_is_refused() {
    const ann = await guard.acquire(endpoint, "42", "ann", 60);
    await guard.write(client, "42", "ann's", guard.lockHeaders(ann));
    assert.equal((await refusal(guard.acquire(endpoint, "42", "bob", 60))).name, "LockConflictException");
    await guard.release(endpoint, ann);
    const bob = await guard.acquire(endpoint, "42", "bob", 60);
    await guard.write(client, "42", "bob's", guard.lockHeaders(bob));
    const refused = await refusal(guard.write(client, "42", "late", guard.lockHeaders(ann)));
    assert.equal(refused.name, "StaleTokenException");
    assert.match(refused.message, /has ended: released at 20\S+Z; "orders\/42" is held by bob now$/);
    assert.equal(refused.Outcome, "released");
    assert.equal(refused.Blockers[0].Principal, "bob");
    assert.equal((await guard.read(client, "42")).text, "bob's");
  },

  async a_write_without_a_lock_is_refused() {
    const refused = await refusal(guard.write(client, "42", "unguarded", {}));
    assert.equal(refused.name, "LockRequiredException");
    assert.deepEqual(await guard.read(client, "42"), {text: undefined, version: 0});
  },

  async one_of_two_concurrent_writers_fails() {
    const headers = guard.lockHeaders(await guard.acquire(endpoint, "42", "ann", 60));
    const {version} = await guard.read(client, "42");
    assert.equal(await guard.writeIfUnchanged(client, "42", "one", version, headers), true);
    assert.equal(await guard.writeIfUnchanged(client, "42", "two", version, headers), false);
    const now = await guard.read(client, "42");
    assert.equal(now.text, "one");
    assert.equal(await guard.writeIfUnchanged(client, "42", "two", now.version, headers), true);
  },

  async a_client_may_send_the_lock_with_every_request() {
    const shows = guard.show(guard.lockHeaders(await guard.acquire(endpoint, "42", "ann", 60)),
      guard.clientFor(endpoint));
    await guard.write(shows, "42", "ann's", {});
    assert.equal((await guard.read(client, "42")).text, "ann's");
    shows.destroy();
  },
};

await cases[name]();
client.destroy();
