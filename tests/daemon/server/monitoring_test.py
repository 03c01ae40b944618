"""The metrics of the daemon, and the alert rules and the dashboard that use them."""

import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess

import tap
from harness import Sandbox, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
MONITORING = ROOT / "docs" / "monitoring"
RULES = MONITORING / "alerts.yml"
RULE_TESTS = pathlib.Path(__file__).with_name("alerts_test.yml")
PROMTOOL = shutil.which("promtool")
# The metric that Prometheus itself makes, and the labels that it adds to each line.
OF_PROMETHEUS = {"up"}
ADDED_LABELS = {"job", "instance"}
# Words of expressions that are not metrics.
WORDS = {"and", "or", "unless", "bool", "offset"}


class OverSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def samples_of(text):
    """Returns the labels and the value of each line, by metric."""
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line).groups()
        pairs = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
        samples.setdefault(name, []).append((pairs, float(value)))
    return samples


def selectors_in(expression):
    """Returns the metrics of an expression, each with the set of labels that select its lines."""
    # Removes the labels that results are grouped by, and the ranges.
    text = re.sub(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)|\[[^]]*\]", "", expression)
    return [(name, set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", labels)))
            for name, call, labels in re.findall(r"\b([a-zA-Z_]\w*)\s*(\()?(?:\{([^}]*)\})?", text)
            if not call and name not in WORDS]


def alerts():
    """Returns the expression and the runbook of each alert."""
    result = {}
    for block in re.split(r"(?m)^\s*- alert: ", RULES.read_text())[1:]:
        expression = re.search(r"(?ms)^\s+expr: (?:>-\n)?(.*?)^\s+(?:for|labels):", block).group(1)
        result[block.split()[0]] = (" ".join(expression.split()), re.search(r"runbook: (\S+)", block).group(1))
    return result


def dashboard():
    return json.loads((MONITORING / "dashboard.json").read_text())


def queries():
    """Returns the expressions of the dashboard, with values in place of its variables."""
    texts = [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", [])]
    return [text.replace("$__rate_interval", "5m").replace("$job", "rocklock").replace("$instance", ".*")
            for text in texts]


class Monitoring(Sandbox):
    def promtool(self, *words, **options):
        if PROMTOOL is None:
            self.fail("promtool is not installed: install the Debian package prometheus, as scripts/setup does")
        done = subprocess.run([PROMTOOL, *map(str, words)], capture_output=True, text=True, timeout=60, check=False,
                              **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def get_metrics(self):
        connection = OverSocket(self.socket)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def metrics(self):
        return samples_of(self.get_metrics())

    def value(self, name):
        (_, value), = self.metrics()[name]
        return value

    def used(self):
        """Starts a daemon on disk. Makes one call of each kind, so that each label has a value."""
        self.state.mkdir(mode=0o700)
        self.serve()
        api = self.connect()
        grant = api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}]).json
        api.call("Acquire", Principal="bob", Locks=[{"Resource": "a"}])
        connection = OverSocket(self.socket)
        for target, body in (("DynamoDB_20120810.ListTables", {}), ("Rocklock_20261121.ShowEdit", {})):
            connection.request("POST", "/", json.dumps(body), {
                "X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0",
                "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/local/dynamodb/aws4_request, "
                                 "SignedHeaders=host, Signature=0"})
            connection.getresponse().read()
        connection.close()
        return api, grant


class Metrics(Monitoring):
    # B1: Prometheus can read the metrics.
    def test_follow_the_format_of_prometheus(self):
        self.used()
        self.promtool("check", "metrics", input=self.get_metrics())

    def test_each_has_a_help_text_and_is_documented(self):
        self.used()
        text = self.get_metrics()
        helped = dict(re.findall(r"(?m)^# HELP (\S+) (.*)$", text))
        typed = dict(re.findall(r"(?m)^# TYPE (\S+) (\w+)$", text))
        self.assertEqual(set(helped), set(typed))
        described = (ROOT / "docs" / "operations.md").read_text()
        for name in typed:
            self.assertTrue(helped[name].endswith("."), name)
            self.assertTrue(re.search(rf"`{name}(\{{[^`]*\}})?`", described), name)
        for name in samples_of(text):
            family = re.sub("_(bucket|sum|count)$", "", name)
            self.assertTrue(typed.get(name) in ("counter", "gauge") or typed.get(family) == "histogram", name)

    def test_of_the_store_change_with_its_use(self):
        api, _ = self.used()
        before = self.metrics()
        syncs = before["rocklock_sync_duration_seconds_count"][0][1]
        self.assertGreater(syncs, 0)
        api.call("Acquire", Principal="ann", Locks=[{"Resource": "b"}])
        after = self.metrics()
        self.assertGreater(after["rocklock_sync_duration_seconds_count"][0][1], syncs)
        self.assertGreater(after["rocklock_sync_duration_seconds_sum"][0][1],
                           before["rocklock_sync_duration_seconds_sum"][0][1])
        allocated = sum(path.lstat().st_blocks * 512 for path in (self.state / "db").rglob("*"))
        self.assertGreater(self.value("rocklock_store_bytes"), 0.5 * allocated)
        system = os.statvfs(self.state)
        self.assertEqual(self.value("rocklock_store_file_system_bytes"), system.f_blocks * system.f_frsize)
        self.assertLessEqual(self.value("rocklock_store_free_bytes"), system.f_bfree * system.f_frsize * 1.5)

    def test_of_a_store_in_memory_have_no_sizes(self):
        self.state.mkdir()
        self.serve("--memory")
        metrics = self.metrics()
        self.assertNotIn("rocklock_store_bytes", metrics)
        self.assertNotIn("rocklock_store_free_bytes", metrics)
        self.assertEqual(metrics["rocklock_sync_duration_seconds_count"], [({}, 0)])

    def test_of_the_process_are_those_that_the_kernel_reports(self):
        self.used()
        process = pathlib.Path(f"/proc/{self.daemon_pid()}")
        before = self.value("process_open_fds")
        clients = [self.connect() for _ in range(20)]
        for client in clients:
            client.call("Ping")
        # Connections of earlier requests for the metrics may be closed meanwhile.
        self.assertLessEqual(abs(self.value("process_open_fds") - before - 20), 3)
        self.assertLessEqual(abs(self.value("process_open_fds") - len(list((process / "fd").iterdir()))), 3)
        limit = re.search(r"Max open files\s+(\d+)", (process / "limits").read_text()).group(1)
        self.assertEqual(self.value("process_max_fds"), int(limit))
        resident = 1024 * int(re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text()).group(1))
        self.assertLess(abs(self.value("process_resident_memory_bytes") - resident), 0.2 * resident)

    def test_of_holds_and_of_the_audit(self):
        api, grant = self.used()
        wait_until(lambda: self.value("rocklock_oldest_hold_seconds") > 0.05, "the hold has an age")
        self.assertEqual(self.value("rocklock_audit_rows"), 0)
        self.assertEqual(api.call("Break", Grant=grant["Grant"], Reason="test").status, 200)
        self.assertEqual(self.value("rocklock_audit_rows"), 1)
        self.assertEqual(self.value("rocklock_oldest_hold_seconds"), 0)
        self.assertEqual(self.value("rocklock_drafts"), 0)


class Rules(Monitoring):
    def test_are_valid_for_prometheus(self):
        said = self.promtool("check", "rules", RULES)
        self.assertIn(f"{len(alerts())} rules found", said)

    def test_fire_when_they_should(self):
        # The names of files in the test are relative to it.
        shutil.copy(RULES, self.folder)
        shutil.copy(RULE_TESTS, self.folder)
        self.promtool("test", "rules", self.folder / RULE_TESTS.name)
        tested = set(re.findall(r"alertname: (\w+)", RULE_TESTS.read_text()))
        self.assertEqual(tested, set(alerts()))

    def test_name_a_runbook_that_exists(self):
        headings = re.findall(r"(?m)^#+ (.*)$", (ROOT / "docs" / "operations.md").read_text())
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        for name, (_, runbook) in alerts().items():
            page, _, anchor = runbook.partition("#")
            self.assertEqual(page, "docs/operations.md", name)
            self.assertIn(anchor, anchors, name)


class Expressions(Monitoring):
    def assert_known(self, expressions):
        metrics = self.metrics()
        for expression in expressions:
            selectors = selectors_in(expression)
            self.assertTrue(selectors, expression)
            for name, labels in selectors:
                if name in OF_PROMETHEUS:
                    continue
                self.assertIn(name, metrics, expression)
                known = set().union(*(pairs for pairs, _ in metrics[name]))
                self.assertLessEqual(labels - ADDED_LABELS, known, expression)

    def test_of_the_alerts_name_metrics_that_the_daemon_has(self):
        self.used()
        self.assert_known(expression for expression, _ in alerts().values())

    def test_of_the_dashboard_name_metrics_that_the_daemon_has(self):
        self.used()
        self.assert_known(queries())

    def test_are_read_as_prometheus_reads_them(self):
        self.assertEqual(selectors_in('sum by (le, verb) (rate(a_bucket{job="j", x=~"io|b"}[5m])) > 2 * b or c'),
                         [("a_bucket", {"job", "x"}), ("b", set()), ("c", set())])

    def test_of_the_dashboard_are_valid_for_prometheus(self):
        rules = {"groups": [{"name": "dashboard", "rules": [
            {"record": f"query_{number}", "expr": text} for number, text in enumerate(queries())]}]}
        # JSON is valid YAML.
        path = self.folder / "dashboard.yml"
        path.write_text(json.dumps(rules))
        self.assertIn(f"{len(queries())} rules found", self.promtool("check", "rules", path))


class Dashboard(Sandbox):
    def test_has_panels_that_do_not_overlap(self):
        panels = dashboard()["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    def test_uses_the_variables_that_it_declares(self):
        text = json.dumps(dashboard()["panels"])
        declared = {variable["name"] for variable in dashboard()["templating"]["list"]}
        used = set(re.findall(r"\$\{?([a-z]+)", text))
        self.assertEqual(used, declared)


if __name__ == "__main__":
    tap.main()
