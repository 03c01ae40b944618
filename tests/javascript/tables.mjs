// Definitions of the tables that the cases create.

// Returns the members of CreateTable. `keys` maps names to types, as in {id: "S"} or {pk: "S", sk:
// "N"}.
export function table(name, keys, more = {}) {
  return {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: Object.entries(keys).map(([key, type]) => ({AttributeName: key, AttributeType: type})),
    KeySchema: key_schema(Object.keys(keys)),
    ...more,
  };
}

export function key_schema([hash, range]) {
  const schema = [{AttributeName: hash, KeyType: "HASH"}];
  return range ? [...schema, {AttributeName: range, KeyType: "RANGE"}] : schema;
}
