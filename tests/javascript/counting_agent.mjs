import http from "node:http";

// Keeps connections open, over TCP or a Unix socket, and counts the requests that are sent. The
// count includes the retries of an SDK, which does not have to report them.
export class CountingAgent extends http.Agent {
  sent = 0;

  addRequest(...request) {
    this.sent += 1;
    super.addRequest(...request);
  }
}
