import http from "node:http";

// Keeps connections, over TCP or to a Unix socket, and counts the requests that are really sent: an
// SDK need not say what it has sent again.
export class CountingAgent extends http.Agent {
  sent = 0;

  addRequest(...request) {
    this.sent += 1;
    super.addRequest(...request);
  }
}
