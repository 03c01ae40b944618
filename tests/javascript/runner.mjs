// Plays the cases that it is told on its standard input, a line each, with one version of the SDK,
// and answers with what went wrong.

import {createInterface} from "node:readline";

const {connect} = await import(`./sdk_${process.argv[2]}.mjs`);

for await (const line of createInterface({input: process.stdin})) {
  const {file, name, ...places} = JSON.parse(line);
  let wrong = null;
  try {
    const cases = await import(`./cases/${file}.mjs`);
    const sdk = connect(places);
    try {
      await cases[name](sdk);
    } finally {
      sdk.close();
    }
  } catch (error) {
    wrong = error?.stack ?? String(error);
  }
  process.stdout.write(`${JSON.stringify({wrong})}\n`);
}
