"""The daemon on a local TCP port, and the pages that both its sockets offer for GET."""

import json
import re
import socket

import tap
from harness import PATIENCE_S, Connection, Sandbox, wait_until


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body
        self.text = body.decode()

    @property
    def error(self):
        return json.loads(self.text).get("__type", "").removeprefix("rocklock#")


class Web:
    """A connection on which each header can be chosen."""

    def __init__(self, where):
        if isinstance(where, int):
            self.socket = socket.create_connection(("127.0.0.1", where), timeout=PATIENCE_S)
            self.host = f"127.0.0.1:{where}"
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE_S)
            self.socket.connect(str(where))
            self.host = "localhost"
        self.file = self.socket.makefile("rb")

    def ask(self, method, target, headers=None, body=b""):
        lines = {"Host": self.host, **(headers or {})}
        if body:
            lines["Content-Length"] = str(len(body))
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        self.socket.sendall(head.encode("latin-1") + b"\r\n" + body)
        return self.receive(method == "HEAD")

    def receive(self, head=False):
        status = int(self.file.readline().split()[1])
        headers = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        body = b"" if head else self.file.read(int(headers["content-length"]))
        return Response(status, headers, body)

    def call(self, verb, members, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", "/", {"X-Amz-Target": f"Rocklock_20261121.{verb}",
                                      "Content-Type": "application/x-amz-json-1.0", **headers},
                        json.dumps(members).encode())

    def close(self):
        self.file.close()
        self.socket.close()


class TcpSandbox(Sandbox):
    def serve_tcp(self, *options):
        """Starts a daemon that also listens on TCP. Returns its port."""
        self.state.mkdir(exist_ok=True)
        process = self.serve("--memory", "--http", "127.0.0.1:0", *options)
        line = process.stderr.readline()
        found = re.fullmatch(r"rocklock: listening on http://127\.0\.0\.1:(\d+)\n", line)  # tidy: meant
        self.assertIsNotNone(found, line)
        return int(found.group(1))

    def web(self, where=None):
        web = Web(self.socket if where is None else where)
        self.connections.append(web)
        return web


LOCK = {"Principal": "ann", "Locks": [{"Resource": "a"}]}


class Tcp(TcpSandbox):
    def test_locks_can_be_acquired_and_listed(self):
        web = self.web(self.serve_tcp())
        granted = web.call("Acquire", LOCK)
        self.assertEqual(granted.status, 200, granted.text)
        self.assertEqual(web.call("Acquire", LOCK | {"Principal": "bob"}).error, "LockConflictException")
        # The TCP port has the same lock table as the Unix socket.
        unix = Connection(self.socket)
        self.connections.append(unix)
        self.assertEqual([row["Principal"] for row in unix.call("ListLocks").json["Locks"]], ["ann"])

    def test_tcp_clients_neither_administer_nor_bind_processes(self):
        web = self.web(self.serve_tcp())
        grant = json.loads(web.call("Acquire", LOCK).text)
        for verb, members in (("Break", {"Grant": grant["Grant"], "Reason": "x"}),
                              ("PutClass", {"Pattern": "x"}), ("DeleteClass", {"Pattern": "x"}),
                              ("EndSession", {"Session": grant["Session"], "Reason": "x"}),
                              ("EndSessions", {"Principal": "ann", "Reason": "x"})):
            self.assertEqual(web.call(verb, members).error, "AccessDeniedException", verb)
        thief = json.loads(web.call("OpenSession", {"Principal": "bob"}).text)
        proof = {"Session": thief["Session"], "Secret": thief["Secret"]}
        stolen = web.call("Steal", {**proof, "Grant": grant["Grant"], "Reason": "x"})
        self.assertEqual(stolen.error, "StealRefusedException")
        bound = web.call("OpenSession", {"Principal": "bob", "Bound": "process"})
        self.assertEqual(bound.error, "ValidationException")
        self.assertIn("TCP", bound.text)
        self.assertEqual(len(json.loads(web.call("ListLocks", {}).text)["Locks"]), 1)

    def test_a_foreign_host_name_is_refused(self):
        web = self.web(self.serve_tcp())
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
                     "127.evil", "", "[::2]", "localhost:x", "10.0.0.1", None):
            answer = web.call("Acquire", LOCK, Host=host)
            self.assertEqual((answer.status, answer.error), (403, "AccessDeniedException"), host)
            self.assertIn("must be localhost, 127.x.x.x or [::1]", answer.text)
        web.socket.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        self.assertIn(web.receive().status, (400, 403))
        web = self.web(int(web.host.split(":")[1]))
        for host in ("localhost", "LocalHost:1", "127.0.0.1", "127.1.2.3:99", "[::1]:8000"):
            self.assertEqual(web.call("Ping", {}, Host=host).status, 200, host)
        self.assertEqual(json.loads(web.call("ListLocks", {}).text)["Locks"], [])

    def test_a_page_of_another_site_cannot_lock(self):
        web = self.web(self.serve_tcp())
        for origin in ("http://evil.example", "null", f"https://{web.host}", "http://127.0.0.1:1",  # tidy: meant
                       f"http://{web.host}.evil.example", f"http://{web.host}, http://evil.example"):  # tidy: meant
            answer = web.call("Acquire", LOCK, Origin=origin)
            self.assertEqual((answer.status, answer.error), (403, "AccessDeniedException"), origin)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                     None, "text/plain; application/json"):
            answer = web.call("Acquire", LOCK, Content_Type=kind)
            self.assertEqual((answer.status, answer.error), (400, "ValidationException"), kind)
        for site in ("cross-site", "same-site"):
            self.assertEqual(web.call("Acquire", LOCK, Sec_Fetch_Site=site).status, 403)
            self.assertEqual(web.ask("GET", "/metrics", {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors",
                                                         "Sec-Fetch-Dest": "image"}).status, 403)
        # A browser sends this preflight request first, and stops if it is refused.
        asked = web.ask("OPTIONS", "/", {"Origin": "http://evil.example",  # tidy: meant
                                         "Access-Control-Request-Method": "POST"})
        self.assertEqual(asked.status, 403)
        self.assertFalse([name for name in asked.headers if name.startswith("access-control")])
        self.assertEqual(json.loads(web.call("ListLocks", {}).text)["Locks"], [])
        # Allowed: the daemon's own page, a link that a user follows, and programs that are not
        # browsers.
        own = web.call("Acquire", LOCK, Origin=f"http://{web.host}", Sec_Fetch_Site="same-origin",
                       Content_Type="application/json; charset=utf-8")
        self.assertEqual(own.status, 200, own.text)
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        self.assertEqual(web.ask("GET", "/", link).status, 200)
        self.assertEqual(web.ask("GET", "/", link | {"Sec-Fetch-Dest": "iframe"}).status, 403)

    def test_only_this_machine_can_reach_it(self):
        self.state.mkdir(exist_ok=True)
        for address in ("0.0.0.0:0", "[::]:0", "10.1.2.3:0", "[::ffff:127.0.0.1]:0", "8000", "example.com:80",
                        "127.0.0.1:99999", "127.0.0.1:", ":0"):
            done = self.rocklock("serve", "--memory", "--http", address)
            self.assertEqual(done.returncode, 64, (address, done.stderr))
            self.assertIn(address, done.stderr)
        self.assertIn("other machines", self.rocklock("serve", "--memory", "--http", "0.0.0.0:0").stderr)

    def test_a_port_that_is_in_use(self):
        port = self.serve_tcp()
        done = self.rocklock("serve", "--memory", "--socket", self.folder / "other", "--http", f"127.0.0.1:{port}")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn(f"http://127.0.0.1:{port}", done.stderr)

    def test_more_than_one_address(self):
        self.state.mkdir(exist_ok=True)
        process = self.serve("--memory", "--http", "127.0.0.1:0", "--http=localhost:0")
        ports = [int(process.stderr.readline().rpartition(":")[2]) for _ in range(2)]
        for port in ports:
            self.assertEqual(self.web(port).call("Ping", {}).status, 200)


class Places(TcpSandbox):
    def test_health_on_both_sockets(self):
        port = self.serve_tcp()
        for where in (port, None):
            web = self.web(where)
            for place in ("/healthz", "/readyz", "/healthz?x=1"):
                self.assertEqual((web.ask("GET", place).status, web.ask("GET", place).text), (200, "ok\n"))
            head = web.ask("HEAD", "/metrics")
            self.assertEqual((head.status, head.body), (200, b""))
            self.assertGreater(int(head.headers["content-length"]), 0)
            self.assertTrue(web.ask("GET", "/", {"Accept": "*/*"}).text.startswith("healthy: "))

    def test_unknown_paths(self):
        self.serve_tcp()
        web = self.web()
        for place in ("/nothing", "/healthz/", "//", "/metrics\xff"):
            answer = web.ask("GET", place)
            self.assertEqual((answer.status, answer.error), (404, "UnknownOperationException"), place)
            self.assertIn("/metrics", answer.text)
        for method, place in (("DELETE", "/metrics"), ("POST", "/healthz"), ("PUT", "/")):
            answer = web.ask(method, place)
            self.assertEqual((answer.status, answer.error), (405, "UnknownOperationException"))
            self.assertIn("GET", answer.headers["allow"])
        self.assertEqual(web.ask("GET", "/healthz").status, 200)

    def metrics(self, web):
        """Returns the metrics by name and labels. Checks the format as Prometheus would."""
        answer = web.ask("GET", "/metrics")
        self.assertTrue(answer.headers["content-type"].startswith("text/plain; version=0.0.4"))
        figures, types = {}, {}
        for line in answer.text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.assertNotIn(name, types)
                types[name] = kind
            elif not line.startswith("# HELP "):
                found = re.fullmatch(r'([a-z_]+)(\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})? (\S+)', line)
                self.assertIsNotNone(found, line)
                name, labels, value = found.groups()
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertTrue(name in types or types.get(base) == "histogram", line)
                self.assertNotIn(name + (labels or ""), figures)
                figures[name + (labels or "")] = float(value)
        return figures

    # B1: the counters rise with each request and grant.
    def test_metrics_count_requests_and_locks(self):
        self.serve_tcp("--durability", "written")
        web = self.web()
        before = self.metrics(web)
        for _ in range(3):
            web.call("Ping", {})
        web.call("Acquire", LOCK)
        web.call("Acquire", LOCK | {"Principal": "bob"})
        after = self.metrics(web)

        def rise(name):
            return after.get(name, 0) - before.get(name, 0)
        self.assertEqual(rise('rocklock_requests_total{verb="Ping",outcome="ok"}'), 3)
        self.assertEqual(rise('rocklock_requests_total{verb="Acquire",outcome="ok"}'), 1)
        self.assertEqual(rise('rocklock_requests_total{verb="Acquire",outcome="conflict"}'), 1)
        self.assertEqual(rise('rocklock_request_duration_seconds_count{verb="Acquire"}'), 2)
        self.assertGreater(rise('rocklock_request_duration_seconds_sum{verb="Acquire"}'), 0)
        self.assertEqual(rise("rocklock_grants_total"), 1)
        self.assertEqual(rise("rocklock_grants_held"), 1)
        self.assertEqual(rise("rocklock_refusals_total"), 1)
        self.assertEqual(after["rocklock_connections"], 1)
        self.assertEqual(after["rocklock_ready"], 1)
        build = [name for name in after if name.startswith("rocklock_build_info")]
        self.assertIn('durability="written"', build[0])
        # The buckets of a histogram are cumulative, up to its count.
        buckets = [value for name, value in after.items()
                   if name.startswith('rocklock_request_duration_seconds_bucket{verb="Ping"')]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], after['rocklock_request_duration_seconds_count{verb="Ping"}'])

    def test_metrics_include_the_duration_of_a_wait(self):
        self.serve_tcp()
        web, other = self.web(), self.web()
        web.call("Acquire", LOCK)
        answer = other.call("Acquire", LOCK | {"Principal": "bob", "PatienceMs": 120})
        self.assertEqual(answer.error, "PatienceExpiredException")
        figures = self.metrics(web)
        self.assertEqual(figures['rocklock_requests_total{verb="Acquire",outcome="patience_expired"}'], 1)
        self.assertGreaterEqual(figures['rocklock_request_duration_seconds_sum{verb="Acquire"}'], 0.12)
        self.assertEqual(figures["rocklock_timeouts_total"], 1)
        third = json.loads(other.call("Acquire", LOCK | {"Locks": [{"Resource": "b", "Mode": "exclusive"}]}).text)
        other.call("Release", {name: third[name] for name in ("Session", "Secret", "Grant")})
        figures = self.metrics(web)
        for name, count in (("acquire", 2), ("hold", 1)):
            self.assertEqual(figures[f"rocklock_{name}_duration_seconds_count"], count, name)
            self.assertEqual(figures[f'rocklock_{name}_duration_seconds_bucket{{le="+Inf"}}'], count, name)
            self.assertGreater(figures[f"rocklock_{name}_duration_seconds_sum"], 0, name)
        self.assertEqual(figures['rocklock_locks_granted_total{mode="exclusive"}'], 1)
        wait_until(lambda: self.metrics(web)["rocklock_waiters"] == 0, "nobody waits")


class Stream:
    """A stream of events, read as it arrives."""

    def __init__(self, web, query="", headers=None):
        lines = {"Host": web.host, **(headers or {})}
        head = f"GET /events{query} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        web.socket.sendall(head.encode() + b"\r\n")
        self.file = web.file
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(": ")
            self.headers[name.lower()] = value

    def block(self):
        """Returns the lines of the next block, or None at the end."""
        lines = {}
        while (line := self.file.readline()):
            line = line.decode().rstrip("\n")
            if not line and lines:
                return lines
            name, _, value = line.partition(": ")
            if line:
                lines[name or "comment"] = value
        return None

    def event(self):
        """Returns the next block that is an event."""
        while (block := self.block()) is not None:
            if "data" in block:
                return block
        return None


class Events(TcpSandbox):
    def release(self, web, grant):
        return web.call("Release", {name: grant[name] for name in ("Session", "Secret", "Grant")})

    def test_they_are_sent_immediately_and_can_be_resumed(self):
        port = self.serve_tcp()
        web = self.web()
        first = Stream(self.web(port), "?prefix=a")
        self.assertEqual((first.status, first.headers["content-type"]), (200, "text/event-stream"))
        grant = json.loads(web.call("Acquire", LOCK).text)
        web.call("Acquire", LOCK | {"Locks": [{"Resource": "b"}]})
        self.release(web, grant)
        granted, released = first.event(), first.event()
        self.assertEqual((granted["event"], released["event"]), ("granted", "released"))
        event_data = json.loads(granted["data"])
        self.assertEqual((event_data["Resource"], event_data["Principal"], event_data["Grant"], str(event_data["Sequence"])),
                         ("a", "ann", grant["Grant"], granted["id"]))
        # After a lost connection, a browser sends the id of the last event in a header. The query
        # does the same.
        again = Stream(self.web(), "?prefix=&after=0", {"Last-Event-ID": granted["id"]})
        self.assertEqual([json.loads(again.event()["data"])["Resource"] for _ in range(2)], ["b", "a"])
        queried = Stream(self.web(), f"?after={granted['id']}&prefix=%61")
        self.assertEqual(queried.event()["id"], released["id"])

    def test_they_are_the_events_of_watch(self):
        self.serve_tcp()
        web = self.web()
        for _ in range(300):
            self.release(web, json.loads(web.call("Acquire", LOCK).text))
        stream = Stream(self.web())
        streamed = [json.loads(stream.event()["data"]) for _ in range(600)]
        watched, after = [], 0
        while len(watched) < 600:
            page = json.loads(web.call("Watch", {"After": after, "Limit": 1000}).text)
            watched += page["Events"]
            after = page["After"]
        self.assertEqual(streamed, watched)

    def test_a_gap_is_reported(self):
        self.serve_tcp()
        web = self.web()
        web.call("Acquire", LOCK)
        stream = Stream(self.web(), "?after=9007199254740990")
        self.assertEqual(stream.event()["event"], "gap")
        self.assertEqual(stream.event()["event"], "granted")

    def test_invalid_queries_are_refused(self):
        self.serve_tcp()
        web = self.web()
        for query in ("?after=x", "?after=-1", "?after=9007199254740992", "?prefix=%f", "?prefix=%zz", "?other=1"):
            answer = web.ask("GET", "/events" + query)
            self.assertEqual((answer.status, answer.error), (400, "ValidationException"), query)
        self.assertEqual(web.ask("GET", "/events", {"Last-Event-ID": "x"}).status, 400)
        self.assertEqual(web.ask("HEAD", "/events").status, 200)
        self.assertEqual(web.ask("POST", "/events").status, 405)

    def test_requests_before_it_are_answered_first(self):
        self.serve_tcp()
        web = self.web()
        web.socket.sendall(b"GET /healthz HTTP/1.1\r\n\r\nGET /events HTTP/1.1\r\n\r\n")
        self.assertEqual(web.receive().text, "ok\n")
        self.assertEqual(web.file.readline(), b"HTTP/1.1 200 OK\r\n")
        self.assertIn(b"text/event-stream", web.file.readline())

    def test_a_client_that_does_not_read_is_disconnected(self):
        self.serve_tcp()
        web = self.web()
        deaf = self.web()
        deaf.socket.sendall(b"GET /events HTTP/1.1\r\n\r\n")
        wait_until(lambda: "rocklock_connections 2\n" in web.ask("GET", "/metrics").text, "both are there")
        note = {"Resource": "a" * 1000}
        for _ in range(600):
            self.release(web, json.loads(web.call("Acquire", LOCK | {"Locks": [note]}).text))
        wait_until(lambda: "rocklock_connections 1\n" in web.ask("GET", "/metrics").text, "it is dropped")

    def test_a_client_that_disconnects_is_removed(self):
        self.serve_tcp()
        web = self.web()
        for _ in range(20):
            other = self.web()
            Stream(other)
            other.close()
        wait_until(lambda: "rocklock_connections 1\n" in web.ask("GET", "/metrics").text, "all are gone")

    def test_the_end_of_the_stream_is_reported(self):
        self.state.mkdir()
        process = self.serve("--memory")
        stream = Stream(self.web())
        self.connections.append(stream.file)
        process.terminate()
        last = stream.event()
        self.assertEqual((last["event"], json.loads(last["data"])["__type"]),
                         ("end", "rocklock#ManagerClosingException"))
        self.assertIsNone(stream.event())
        self.assertEqual(process.wait(PATIENCE_S), 0)


if __name__ == "__main__":
    tap.main()
