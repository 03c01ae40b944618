// Imports docs/examples/account.mjs, or a modified copy of it, and runs one test case with it.
//
//     account.mjs PROGRAM ENDPOINT CASE

import assert from "node:assert/strict";
import http from "node:http";
import {pathToFileURL} from "node:url";

const [program, endpoint, name] = process.argv.slice(2);
const account = await import(pathToFileURL(program));

const cases = {
  async one_of_two_concurrent_writers_fails() {
    const client = await opened(100, -500);
    const [first, second] = [await account.read(client, "a"), await account.read(client, "a")];
    assert.equal(await account.write(client, first, -300), true);
    assert.equal(await account.write(client, second, -200), false);
    await assert.rejects(account.withdraw(client, "a", 300), account.NotEnough);
    assert.equal(await account.withdraw(client, "a", 200), -500);
  },

  async concurrent_withdrawals_lose_no_update() {
    await opened(0, -1000);
    const clients = Array.from({length: 8}, () => account.clientFor(endpoint));
    const balances = await Promise.all(Array.from({length: 40}, (_, number) => (
      account.withdraw(clients[number % clients.length], "a", 10))));
    assert.deepEqual(balances.sort((one, other) => one - other),
      Array.from({length: 40}, (_, step) => -400 + 10 * step));
  },

  async a_write_without_a_response_is_not_repeated() {
    const client = await opened(100, -500);
    const proxy = await swallowing("DynamoDB_20120810.UpdateItem");
    const cut_off = account.clientFor(`http://127.0.0.1:${proxy.address().port}`);
    await assert.rejects(account.withdraw(cut_off, "a", 30), {code: "ECONNRESET"});
    assert.deepEqual(await account.read(client, "a"), {name: "a", balance: 70, overdraft: -500, version: 2});
    cut_off.destroy();
    proxy.close();
  },
};

async function opened(balance, overdraft) {
  const client = account.clientFor(endpoint);
  await account.prepare(client);
  await account.open(client, "a", balance, overdraft);
  return client;
}

// Returns a proxy that forwards all requests and responses, except that it drops the first response
// to `target` and closes the connection.
async function swallowing(target) {
  let swallowed = false;
  const proxy = http.createServer((request, response) => {
    const passed_on = http.request(endpoint, {method: request.method, headers: request.headers}, (answer) => {
      if (!swallowed && request.headers["x-amz-target"] === target) {
        swallowed = true;
        answer.resume().on("end", () => request.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed_on);
  });
  await new Promise((resolve) => {
    proxy.listen(0, "127.0.0.1", resolve);
  });
  return proxy;
}

await cases[name]();
