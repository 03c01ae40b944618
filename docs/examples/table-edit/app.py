#!/usr/bin/python3
"""A web application for editing tables of master data, each under a lock.

    app.py SOCKET [--port PORT] [--lease SECONDS]

SOCKET is the socket of a running daemon (`rocklock serve`). The application must run as the daemon's
owner, because it prepares tables and classes. It prints the address of the page. It needs only
Python's standard library.

Editing a table locks it, and locks the tables that its foreign keys refer to in `read`, all or none.
So their rows cannot be deleted meanwhile, and another table that refers to them can still be edited.
The server does not store edits. The browser has the session and the token and sends them with each
request. If the lock has been lost, the daemon refuses a save as part of the commit.
"""

import argparse
import http.client
import http.server
import json
import pathlib
import socket
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = {"/": ("page.html", "text/html"), "/page.js": ("page.js", "text/javascript"),
         "/page.css": ("page.css", "text/css")}
TABLE = "masterdata"
# The tables to which the foreign keys of each table refer.
REFERS_TO = {"countries": [], "customers": ["countries"], "invoices": ["customers"], "orders": ["customers"]}


class Refused(Exception):
    """The daemon refused a request. `facts` has the members of its response."""

    def __init__(self, facts):
        super().__init__(facts["message"])
        self.facts = facts


class Daemon(http.client.HTTPConnection):
    """A connection to the daemon's Unix socket, for one request."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Masterdata:
    """The requests of the application to the daemon."""

    def __init__(self, path, lease_s):
        self.path = path
        self.lease_ms = int(lease_s * 1000)

    def call(self, verb, api="Rocklock_20261121", **members):
        daemon = Daemon(self.path)
        try:
            daemon.request("POST", "/", json.dumps(members), {
                "X-Amz-Target": f"{api}.{verb}", "Content-Type": "application/x-amz-json-1.0",
                # Requests for tables need a signature, but it is not verified.
                "Authorization": "AWS4-HMAC-SHA256 Credential=any/20260101/local/dynamodb/aws4_request, "
                                 "SignedHeaders=host, Signature=any", "X-Amz-Date": "20260101T000000Z"})
            answer = daemon.getresponse()
            facts = json.load(answer)
        finally:
            daemon.close()
        if answer.status != 200:
            raise Refused(facts)
        return facts

    def prepare(self):
        """Creates and binds the table and defines the classes. Can be repeated."""
        try:
            self.call("CreateTable", "DynamoDB_20120810", TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                      AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
                      KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}])
        except Refused as refusal:
            if not refusal.facts["__type"].endswith("#ResourceInUseException"):
                raise
        # After this, an item can be written only with the lock of its resource.
        self.call("BindTable", TableName=TABLE, Resource="masterdata/{name}")
        for name, others in REFERS_TO.items():
            self.call("PutClass", Pattern=f"masterdata/{name}", Steal="ask", StealAfterMs=self.lease_ms, Drafts=True,
                      Dependants=[{"Resource": f"masterdata/{other}", "Mode": "read"} for other in others])

    def state(self):
        holders, following = [], {}
        while True:
            page = self.call("ListLocks", Prefix="masterdata/", Limit=10_000, **following)
            holders += page["Locks"]
            if "Next" not in page:
                break
            following = {"Next": page["Next"]}
        return [{"name": name, "refersTo": others,
                 "held": [held(holder) for holder in holders if holder["Resource"] == f"masterdata/{name}"]}
                for name, others in REFERS_TO.items()]

    def begin(self, editor, name):
        edit = self.call("BeginEdit", Principal=editor, LeaseMs=self.lease_ms, Items=[item_of(name)])
        return opened(edit, edit["Secret"], name)

    def keep(self, edit):
        """Renews the lease, because the user types. Returns what remains of it."""
        return {"remainingMs": self.call("RenewSession", **proof(edit), Active=True)["RemainingMs"]}

    def requests(self, edit, after):
        """The requests to take over this edit since `after`, a position in the daemon's events (0: all)."""
        found = self.call("Watch", Prefix=f"masterdata/{edit['name']}", After=after, Limit=10_000)
        return {"after": found["After"],
                "wanted": [{"grant": event["Grant"], "by": event["By"]} for event in found["Events"]
                           if event["Type"] == "wanted" and event["Grant"] == edit["grant"]]}

    def save(self, edit, text, end):
        saved = self.call("SaveEdit", **proof(edit), Token=edit["token"], After="release" if end else "keep",
                          TransactItems=[{"Put": {"TableName": TABLE, "Item": {"name": {"S": edit["name"]},
                                                                               "text": {"S": text}}}}])
        return {"version": saved["Version"]}

    def end(self, edit):
        # Only this editor can do this: the daemon requires the session's secret.
        self.call("Release", **proof(edit), Grant=edit["grant"])
        return {}

    def take_over(self, editor, name, asking):
        """Asks the holder. Takes the table over if the holder allows it or does not answer in time."""
        held_by = [holder for holder in self.call("ShowEdit", **item_of(name))["Holders"] if not holder.get("Cause")]
        if not held_by:
            return {"edit": self.begin(editor, name)}
        if not asking:
            asking = self.call("OpenSession", Principal=editor, LeaseMs=self.lease_ms * 2)
        try:
            taken = self.call("TakeOverEdit", Session=asking["Session"], Secret=asking["Secret"],
                              Grant=held_by[0]["Grant"], Reason=f"{editor} took it over", Items=[item_of(name)])
        except Refused as refusal:
            if refusal.facts["__type"] != "rocklock#StealRefusedException":
                raise
            self.call("RenewSession", Session=asking["Session"], Secret=asking["Secret"])
            return {"asking": asking, "retryAfterMs": refusal.facts.get("RetryAfterMs", 0),
                    "message": f"{held_by[0]['Principal']} has been asked"}
        return {"edit": opened(taken, asking["Secret"], name)}

    def answer(self, edit, grant, allow):
        self.call("AnswerWanted", **proof(edit), Grant=grant, Allow=allow)
        return {}

    def drafts(self, editor):
        return [{"id": draft["Id"], "name": draft["Resource"].removeprefix("masterdata/"), "at": draft["At"],
                 "text": draft["Write"]["Put"]["Item"]["text"]["S"]}
                for draft in self.call("ListDrafts", Principal=editor)["Drafts"]]

    def discard(self, editor, draft):
        self.call("DiscardDraft", Principal=editor, Id=draft)
        return {}


def item_of(name):
    if name not in REFERS_TO:
        raise ValueError(f"there is no table {name}")
    return {"TableName": TABLE, "Key": {"name": {"S": name}}}


def proof(edit):
    return {"Session": edit["session"], "Secret": edit["secret"]}


def opened(answer, secret, name):
    """Returns the state of an edit that the browser stores."""
    item = answer["Items"][0].get("Item", {})
    return {"session": answer["Session"], "secret": secret, "grant": answer["Grant"], "token": answer["Token"],
            "name": name, "text": item.get("text", {"S": ""})["S"], "remainingMs": answer["RemainingMs"]}


def held(holder):
    """Returns the editor and the edited table, which is the cause if the holder locks a dependant."""
    edited = holder.get("Cause") or holder["Resource"]
    return {"by": holder["Principal"], "edits": edited.removeprefix("masterdata/"), "since": holder["AcquiredAt"],
            "mode": holder["Mode"]}


def message_of(refusal):
    """Returns the error for the user."""
    facts = refusal.facts
    kind = facts["__type"].rpartition("#")[2]
    who = [held(holder) for holder in facts.get("Blockers", [])]
    message = facts["message"]
    if kind == "LockConflictException" and who:
        message = "; ".join(f"{each['by']} is editing {each['edits']}" for each in who)
    if kind in ("StaleTokenException", "SessionExpiredException", "SessionNotFoundException"):
        message = "The lock is not yours any more"
        if facts.get("By"):
            took = {"stolen": "took it over", "broken": "broke it"}.get(facts["Outcome"], "has it")
            message += f": {facts['By']} {took} ({facts.get('Reason', '')})"
        if facts.get("Drafts"):
            message += ". What you wrote has been kept as a draft"
    return {"error": kind, "message": message, "blockers": who}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/state":
            return self.answer(self.asked(self.server.masterdata.state))
        if self.path not in FILES:
            return self.send(404, b"there is nothing here", "text/plain")
        name, kind = FILES[self.path]
        self.send(200, (HERE / name).read_bytes(), f"{kind}; charset=utf-8")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # A page of another origin cannot send JSON without a preflight request.
        if self.headers.get("Content-Type") != "application/json":
            return self.send(415, b"JSON is wanted", "text/plain")
        action = getattr(self.server.masterdata, self.path[1:], None)
        if self.path[1:] not in ("begin", "keep", "requests", "save", "end", "take_over", "answer", "drafts", "discard"):
            return self.send(404, b"there is nothing here", "text/plain")
        self.answer(self.asked(lambda: action(**json.loads(body))))

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # The browser has disconnected.

    def asked(self, ask):
        try:
            return 200, ask()
        except Refused as refusal:
            return 409, message_of(refusal)
        except (ValueError, TypeError, KeyError) as error:
            return 400, {"error": "Request", "message": str(error)}
        except OSError as error:
            return 503, {"error": "Daemon", "message": f"the daemon does not answer: {error}"}

    def answer(self, result):
        status, members = result
        self.send(status, json.dumps(members).encode(), "application/json")

    def send(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("socket")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--lease", type=float, default=60)
    arguments = parser.parse_args()
    masterdata = Masterdata(arguments.socket, arguments.lease)
    try:
        masterdata.prepare()
    except (OSError, Refused) as error:
        sys.exit(f"{arguments.socket}: {error}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.masterdata = masterdata
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
