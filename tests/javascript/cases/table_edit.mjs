// Records which user edits which table of master data. One transaction of conditional updates
// covers the table and the tables to which its foreign keys refer.

import assert from "node:assert/strict";

import {table} from "../tables.mjs";

const statuses = "edited_tables";
const refers_to = {
  countries: [],
  currencies: [],
  customers: ["countries", "currencies"],
  suppliers: ["countries"],
  orders: ["customers"],
};

async function prepare({dynamodb, documents}) {
  await dynamodb.createTable(table(statuses, {name: "S"}));
  for (const name of Object.keys(refers_to)) {
    await documents.put({TableName: statuses, Item: {name, status: "normal"}});
  }
}

function change(name, members) {
  return {
    Update: {
      TableName: statuses,
      Key: {name: {S: name}},
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      ...members,
    },
  };
}

function begin(sdk, name, editor) {
  const take = (each, status, by) => change(each, {
    UpdateExpression: `SET #status = :taken, ${by} = :editor`,
    ConditionExpression: "#status = :normal",
    ExpressionAttributeNames: {"#status": "status"},
    ExpressionAttributeValues: {":taken": {S: status}, ":editor": {S: editor}, ":normal": {S: "normal"}},
  });
  return sdk.transact({TransactItems: [
    take(name, "editing", "editor"),
    ...refers_to[name].map((other) => take(other, "locked", "locked_by")),
  ]});
}

function end(sdk, name, editor) {
  const give_back = (each, status, by) => change(each, {
    UpdateExpression: `SET #status = :normal REMOVE ${by}`,
    ConditionExpression: `#status = :taken AND ${by} = :editor`,
    ExpressionAttributeNames: {"#status": "status"},
    ExpressionAttributeValues: {":taken": {S: status}, ":editor": {S: editor}, ":normal": {S: "normal"}},
  });
  return sdk.transact({TransactItems: [
    give_back(name, "editing", "editor"),
    ...refers_to[name].map((other) => give_back(other, "locked", "locked_by")),
  ]});
}

async function rows({documents}) {
  const {Items} = await documents.scan({TableName: statuses, ConsistentRead: true});
  return Object.fromEntries(Items.map(({name, ...row}) => [name, row]));
}

export async function an_edit_marks_a_table_and_the_tables_it_refers_to(sdk) {
  await prepare(sdk);
  assert.deepEqual(await begin(sdk, "customers", "ann"), []);
  assert.deepEqual(await rows(sdk), {
    countries: {status: "locked", locked_by: "ann"},
    currencies: {status: "locked", locked_by: "ann"},
    customers: {status: "editing", editor: "ann"},
    suppliers: {status: "normal"},
    orders: {status: "normal"},
  });
  assert.deepEqual(await end(sdk, "customers", "ann"), []);
  assert.deepEqual(await begin(sdk, "suppliers", "bob"), []);
}

export async function a_refusal_reports_the_status_of_each_table(sdk) {
  await prepare(sdk);
  await begin(sdk, "customers", "ann");
  const before = await rows(sdk);
  const message = "The conditional request failed";
  assert.deepEqual(await begin(sdk, "suppliers", "bob"), [
    {Code: "None"},
    {Code: "ConditionalCheckFailed", Message: message,
      Item: {name: {S: "countries"}, status: {S: "locked"}, locked_by: {S: "ann"}}},
  ]);
  assert.deepEqual((await begin(sdk, "customers", "bob")).map((reason) => reason.Item.status.S),
    ["editing", "locked", "locked"]);
  assert.deepEqual(await rows(sdk), before);
}

export async function the_message_of_a_refusal_names_the_reasons(sdk) {
  await prepare(sdk);
  await begin(sdk, "countries", "ann");
  const key = {Key: {name: {S: "countries"}}};
  await assert.rejects(
    sdk.dynamodb.transactWriteItems({TransactItems: [
      {Put: {TableName: statuses, Item: {name: {S: "cities"}}}},
      {ConditionCheck: {TableName: statuses, ...key, ConditionExpression: "attribute_not_exists(editor)"}},
    ]}),
    (error) => sdk.code_of(error) === "TransactionCanceledException" && sdk.status_of(error) === 400 &&
      error.message === "Transaction cancelled, please refer cancellation reasons for specific reasons " +
        "[None, ConditionalCheckFailed]");
}

export async function only_its_editor_ends_an_edit(sdk) {
  await prepare(sdk);
  await begin(sdk, "orders", "ann");
  assert.deepEqual((await end(sdk, "orders", "bob")).map((reason) => reason.Code),
    ["ConditionalCheckFailed", "ConditionalCheckFailed"]);
  assert.deepEqual(await end(sdk, "orders", "ann"), []);
  assert.deepEqual(new Set(Object.values(await rows(sdk)).map((row) => row.status)), new Set(["normal"]));
}

export async function one_of_many_concurrent_editors_succeeds(sdk) {
  await prepare(sdk);
  const editors = Array.from({length: 16}, (_, number) => `editor-${number}`);
  const refused = await Promise.all(editors.map((editor) => begin(sdk, "customers", editor)));
  const winners = editors.filter((_, number) => refused[number].length === 0);
  assert.equal(winners.length, 1);
  const {customers, countries, currencies} = await rows(sdk);
  assert.deepEqual([customers.editor, countries.locked_by, currencies.locked_by], Array(3).fill(winners[0]));
}
