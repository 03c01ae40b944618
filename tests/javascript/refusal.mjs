// For calls that a case expects to fail.

import assert from "node:assert/strict";

/** Returns the error with which `promise` is rejected. Fails if it is fulfilled. */
export async function refusal_of(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail("it was done");
}
