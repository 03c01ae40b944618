// Runs the cases that are named on its standard input, one JSON object per line, with one version
// of the SDK. Prints one JSON object per case: `wrong` is null, or the error if the case failed.

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
