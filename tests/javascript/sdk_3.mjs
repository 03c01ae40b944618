// Version 3 of the SDK with the names that both versions share.

import {DynamoDB, TransactionCanceledException} from "@aws-sdk/client-dynamodb";
import {DynamoDBDocument} from "@aws-sdk/lib-dynamodb";

import {CountingAgent} from "./counting_agent.mjs";

export function connect({endpoint, socket_path}) {
  const agent = new CountingAgent({keepAlive: true, maxSockets: 50, ...(socket_path && {socketPath: socket_path})});
  const places = {
    endpoint,
    region: "local",
    credentials: {accessKeyId: "any", secretAccessKey: "any"},
    requestHandler: {httpAgent: agent},
  };
  // The same number of attempts as version 2 makes.
  const client = new DynamoDB({...places, maxAttempts: 11});
  return {
    places,
    agent,
    client,
    dynamodb: client,
    documents: DynamoDBDocument.from(client),
    code_of: (error) => error.name,
    status_of: (error) => error.$metadata.httpStatusCode,
    request_id_of: (error) => error.$metadata.requestId,
    set_of: (...values) => new Set(values),
    values_of: (set) => [...set],
    transact: (members) => transact(client, members),
    show: (headers) => show(client, headers),
    close: () => client.destroy(),
  };
}

// Returns the cancellation reasons, or an empty list if the transaction succeeds.
async function transact(client, members) {
  try {
    await client.transactWriteItems(members);
  } catch (error) {
    if (!(error instanceof TransactionCanceledException)) throw error;
    return error.CancellationReasons;
  }
  return [];
}

// Adds these headers to every later request of the client.
function show(client, headers) {
  client.middlewareStack.add((next) => (args) => {
    Object.assign(args.request.headers, headers);
    return next(args);
  }, {step: "build", name: "show", override: true});
}
