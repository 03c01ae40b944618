// Version 2 of the SDK with the names that both versions share: methods that take the members of
// the request and return a promise.

import DynamoDB from "aws-sdk/clients/dynamodb.js";

import {CountingAgent} from "./counting_agent.mjs";

export function connect({endpoint, socket_path}) {
  const agent = new CountingAgent({keepAlive: true, ...(socket_path && {socketPath: socket_path})});
  const places = {
    endpoint,
    region: "local",
    credentials: {accessKeyId: "any", secretAccessKey: "any"},
    httpOptions: {agent},
  };
  const client = new DynamoDB(places);
  const document_client = new DynamoDB.DocumentClient({service: client});
  return {
    places,
    agent,
    client,
    document_client,
    dynamodb: promising(client),
    documents: promising(document_client),
    code_of: (error) => error.code,
    status_of: (error) => error.statusCode,
    request_id_of: (error) => error.requestId,
    set_of: (...values) => document_client.createSet(values),
    values_of: (set) => set.values,
    transact: (members) => transact(client, members),
    // The document client has its own copy of the service.
    show: (headers) => [client, document_client.service].forEach((service) => show(service, headers)),
    close: () => agent.destroy(),
  };
}

function promising(client) {
  return new Proxy(client, {get: (target, name) => (members) => target[name](members).promise()});
}

// Returns the cancellation reasons, or an empty list if the transaction succeeds. This version does
// not parse them, so programs read them from the body of the response.
async function transact(client, members) {
  const request = client.transactWriteItems(members);
  let reasons;
  request.on("extractError", ({httpResponse}) => {
    reasons = JSON.parse(httpResponse.body.toString()).CancellationReasons;
  });
  try {
    await request.promise();
  } catch (error) {
    if (error.code !== "TransactionCanceledException") throw error;
    return reasons;
  }
  return [];
}

// Adds these headers to every later request.
function show(service, headers) {
  service.customizeRequests((request) => {
    request.on("build", ({httpRequest}) => Object.assign(httpRequest.headers, headers));
  });
}
