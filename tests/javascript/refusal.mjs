// What a case expects to be refused.

import assert from "node:assert/strict";

/** The error of what must not be done. */
export async function refusal_of(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail("it was done");
}
