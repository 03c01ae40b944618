"""The page for people, in a real headless browser."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import tap
from harness import SLOWNESS, Sandbox, wait_until

CHROMEDRIVER = shutil.which("chromedriver", path="/usr/bin") or shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium", path="/usr/bin") or shutil.which("chromium")
HOSTILE = "orders/<script>document.title='owned'</script><img src=x onerror=document.title='owned'>\"'&amp;"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """The parts of WebDriver that the tests need."""

    def __init__(self, folder):
        self.log = (folder / "chromedriver.log").open("w+")
        environment = os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"),
                                    "XDG_CACHE_HOME": str(folder / "cache")}
        try:
            port = self.start_driver(environment)
            self.root = f"http://127.0.0.1:{port}"
            options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                       f"--user-data-dir={folder / 'profile'}", "--window-size=1100,760"]
            session = self.send("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": {"binary": CHROMIUM, "args": options},
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.root += f"/session/{session['sessionId']}"
        except BaseException:
            self.stop()
            raise

    def start_driver(self, environment):
        """Returns the port of the driver. The driver chooses a port, and ends if it cannot use it, for example
        because another program has taken it meanwhile."""
        for _ in range(5):
            self.driver = subprocess.Popen([CHROMEDRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=self.log,
                                           text=True, env=environment, start_new_session=True)
            output = []
            for line in self.driver.stdout:
                if found := re.search(r"started successfully on port (\d+)", line):
                    return found.group(1)
                output.append(line)
            self.driver.wait(timeout=60)
            self.driver.stdout.close()
        raise AssertionError(f"the driver does not start: {''.join(output)}")

    def send(self, method, path, body=None):
        request = urllib.request.Request(self.root + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def run(self, script, *arguments):
        return self.send("POST", "/execute/sync", {"script": script, "args": arguments})

    def open(self, address):
        self.send("POST", "/url", {"url": address})

    def find(self, selector):
        return self.send("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def type(self, selector, text):
        self.send("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def resize(self, width, height):
        self.send("POST", "/window/rect", {"width": width, "height": height})

    def dark(self, wanted):
        self.send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}]}})

    def complaints(self):
        return [entry["message"] for entry in self.send("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self):
        return self.send("GET", "/screenshot")

    def stop(self):
        try:
            if "/session/" in getattr(self, "root", ""):
                self.send("DELETE", "")
        except (OSError, AssertionError):
            pass
        # Also kills the browser's processes, which belong to the group.
        try:
            os.killpg(self.driver.pid, 9)
        except ProcessLookupError:
            pass
        self.driver.wait()
        self.driver.stdout.close()
        self.log.close()


@unittest.skipUnless(CHROMEDRIVER and CHROMIUM, "chromium and chromium-driver are not installed")
class Page(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        process = self.serve("--memory", "--http", "127.0.0.1:0")
        self.address = process.stderr.readline().split()[-1]
        self.daemon = process
        self.locks = self.connect()
        self.browser = Browser(self.folder)

    def tearDown(self):
        # Before its folder is removed.
        self.browser.stop()
        super().tearDown()

    def acquire(self, resource, principal, **more):
        answer = self.locks.call("Acquire", Principal=principal, LeaseMs=600_000,
                                 Locks=[{"Resource": resource, "Mode": "write"}], **more)
        self.assertEqual(answer.status, 200, answer.json)
        return answer.json

    def cells(self):
        return self.browser.run("return [...document.querySelectorAll('#rows tr')].map(row => "
                                "[...row.children].map(cell => cell.textContent))")

    def names(self):
        return [row[0] for row in self.cells()]

    def text(self, selector):
        return self.browser.run("return document.querySelector(arguments[0]).innerText", selector)

    def open(self):
        self.browser.open(self.address + "/")
        wait_until(lambda: self.text("#state") == "live", "the page is live")

    def test_it_shows_locks_and_sessions(self):
        self.acquire("orders/42", "ann", Note="prices of May")
        self.acquire("orders/43", "ben")
        self.acquire("tables/customers", "ann")
        waiter = self.connect()
        waiter.send("Acquire", {"Principal": "cy", "PatienceMs": -1, "Locks": [{"Resource": "orders/42"}]})
        wait_until(lambda: len(self.locks.call("ShowLock", Resource="orders/42").json["Waiters"]) == 1, "cy waits")
        self.open()
        self.assertEqual(self.names(), ["orders/42", "orders/43", "tables/customers"])
        row = self.cells()[0]
        self.assertEqual((row[1], row[2], row[5], row[6]), ("write", "ann", "1", "prices of May"))
        self.assertRegex(row[3], r"^\d+s$")
        self.assertRegex(row[4], r"^9m \d+s$|^10m$|^9m$")
        # The page updates itself when a lock is acquired or released.
        new = self.acquire("orders/44", "dora")
        wait_until(lambda: "orders/44" in self.names(), "the new lock is shown")
        self.locks.call("Release", Session=new["Session"], Secret=new["Secret"], Grant=new["Grant"])
        wait_until(lambda: "orders/44" not in self.names(), "it is gone")
        # The history of a resource, newest first.
        old = self.acquire("orders/45", "emil")
        self.locks.call("Release", Session=old["Session"], Secret=old["Secret"], Grant=old["Grant"])
        self.acquire("orders/45", "fritz")
        wait_until(lambda: "orders/45" in self.names(), "it is shown")
        self.browser.run("[...document.querySelectorAll('#rows button')].find(open => "
                         "open.textContent === 'orders/45').click()")
        wait_until(lambda: re.search("fritz, write, held now.*emil, write, released", self.text("#history"), re.DOTALL),
                   "its history")
        # Search.
        self.browser.type("#prefix", "orders/")
        wait_until(lambda: self.names() == ["orders/42", "orders/43", "orders/45"], "by name")
        self.browser.type("#principal", "BE")
        wait_until(lambda: self.names() == ["orders/43"], "by principal")
        self.assertEqual(self.browser.complaints(), [])

    def stop_answering(self):
        self.daemon.send_signal(signal.SIGSTOP)
        wait_until(lambda: "not responded" in self.text("#state"), "it says that the daemon does not respond")

    def test_a_daemon_that_does_not_respond_is_noticed_within_seconds(self):
        self.acquire("a", "ann")
        self.open()

        def measure():
            wait_until(lambda: self.text("#state") == "live", "it is live")
            start = time.monotonic()
            self.stop_answering()
            took = time.monotonic() - start
            self.daemon.send_signal(signal.SIGCONT)
            return took

        self.assert_within(2.5, measure)
        wait_until(lambda: self.text("#state") == "live", "it is live again")
        start = time.monotonic()
        self.daemon.kill()
        wait_until(lambda: "cannot be reached" in self.text("#state"), "it says that the daemon has gone")
        self.assertLess(time.monotonic() - start, 2.5 * SLOWNESS)

    def watch_state(self, verb, delay_ms):
        """Delays the responses to a verb, and records every text of the state."""
        self.browser.run("""
            const [verb, delay] = arguments;
            const real = window.fetch;
            window.late = 0;
            window.fetch = async (address, request) => {
              const answer = await real(address, request);
              if (request.headers["X-Amz-Target"].endsWith("." + verb)) {
                await new Promise((resolve) => setTimeout(resolve, delay));
                ++window.late;
              }
              return answer;
            };
            const state = document.getElementById("state");
            window.states = [state.textContent];
            new MutationObserver(() => window.states.push(state.textContent))
              .observe(state, {childList: true, characterData: true, subtree: true});
            """, verb, delay_ms)

    def late_answers(self):
        return self.browser.run("return window.late")

    def states(self):
        return set(self.browser.run("return window.states"))

    def test_a_slow_response_is_not_taken_for_silence(self):
        self.open()
        self.watch_state("ListLocks", 3_000)
        self.acquire("a", "ann")
        wait_until(lambda: "a" in self.names(), "the slow list is shown")
        self.assertGreaterEqual(self.late_answers(), 2)
        self.assertEqual(self.states(), {"live"})

    def test_a_slow_daemon_is_not_reported_again_and_again(self):
        self.open()
        self.watch_state("Ping", 1_600 * SLOWNESS)
        wait_until(lambda: self.late_answers() >= 1, "a slow response")
        self.browser.run("window.states = []")
        wait_until(lambda: self.late_answers() >= 3, "more of them")
        self.assertLessEqual(self.states(), {"live"})

    def test_a_daemon_that_hangs_is_not_live(self):
        self.acquire("a", "ann")
        self.open()
        self.stop_answering()
        self.assertEqual(self.names(), ["a"])
        self.daemon.send_signal(signal.SIGCONT)
        wait_until(lambda: self.text("#state") == "live", "it is live again")
        self.assertEqual(self.opacity(), 1)

    def opacity(self):
        return self.browser.run("return Number(getComputedStyle(document.getElementById('locks')).opacity)")

    def test_a_daemon_that_hangs_stops_the_countdowns(self):
        self.acquire("a", "ann")
        self.open()
        self.stop_answering()
        self.assertRegex(self.text("#state"), r"^The daemon has not responded since \d+:\d\d:\d\d")
        self.assertLess(self.opacity(), 1)
        # Sets both clocks of the browser forward by five minutes.
        before = self.cells()
        self.browser.run("const later = (now) => () => now() + 300000;"
                         "performance.now = later(performance.now.bind(performance));"
                         "Date.now = later(Date.now); tick()")
        self.assertEqual(self.cells(), before)

    def lines(self):
        """Returns the number of text lines in each cell of the first row."""
        return self.browser.run("""
            return [...document.querySelector('#rows tr').children].map(cell => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              const bottoms = [...range.getClientRects()].filter(box => box.width > 0)
                .map(box => Math.round(box.bottom / 8));
              return new Set(bottoms).size;
            })""")

    def test_only_the_column_of_notes_wraps(self):
        self.acquire("orders/customers-4217", "ann@example.com", Note="Correcting the prices of May for all customers "
                     "in the north, as agreed with the sales department on Monday; call 4217 if you need it sooner")
        self.open()
        for width in (1280, 1000):
            self.browser.resize(width, 760)
            self.assertEqual(self.lines()[:6], [1, 1, 1, 1, 1, 0], width)
            self.assertGreater(self.lines()[6], 1)

    def test_a_note_of_maximum_length_is_cut_until_it_is_expanded(self):
        note = "".join(f"line {number:04} of a note\n" for number in range(186))[:4_096]
        self.acquire("a", "ann", Note=note)
        self.open()
        tall = "return document.querySelector('#rows tr').getBoundingClientRect().height"
        for width in (1280, 390):
            self.browser.resize(width, 800)
            self.assertLess(self.browser.run(tall), 300, width)
        self.browser.run("document.querySelector('#rows .more').click()")
        self.assertGreater(self.browser.run(tall), 1_000)
        # It stays expanded when the rows are created again.
        self.acquire("b", "ben")
        wait_until(lambda: "b" in self.names(), "the page is updated")
        self.assertGreater(self.browser.run(tall), 1_000)
        self.browser.run("document.querySelector('#rows .more').click()")
        self.assertLess(self.browser.run(tall), 300)
        self.browser.run("document.querySelector('#rows button').click()")
        wait_until(lambda: not self.browser.run("return document.getElementById('details').hidden"), "it opens")
        self.assertLess(self.browser.run("return document.getElementById('details').getBoundingClientRect().height"), 900)

    def test_a_note_does_not_hide_the_cause(self):
        self.locks.call("PutClass", Pattern="orders", Dependants=[{"Resource": "customers", "Mode": "read"}])
        self.acquire("orders", "ann", Note="prices of May")
        self.open()
        notes = dict((row[0], row[6]) for row in self.cells())
        self.assertEqual(notes["orders"], "prices of May")
        self.assertEqual(notes["customers"], "prices of Maybecause of orders")

    def test_permits_are_counted(self):
        self.locks.call("PutClass", Pattern="seats", Permits=3)
        for count in (1, 2):
            answer = self.locks.call("Acquire", Principal="ann", LeaseMs=600_000,
                                     Locks=[{"Resource": "seats", "Permits": count}])
            self.assertEqual(answer.status, 200, answer.json)
        self.open()
        self.assertEqual(sorted(row[1] for row in self.cells()), ["1 permit", "2 permits"])

    def test_locks_with_waiters_are_listed_first(self):
        self.acquire("a", "ann")
        self.acquire("z", "ann")
        waiter = self.connect()
        waiter.send("Acquire", {"Principal": "cy", "PatienceMs": -1, "Locks": [{"Resource": "z"}]})
        wait_until(lambda: len(self.locks.call("ShowLock", Resource="z").json["Waiters"]) == 1, "cy waits")
        self.open()
        self.assertEqual(self.names(), ["z", "a"])

    def test_it_can_be_used_with_the_keyboard(self):
        grant = self.acquire("orders/42", "ann")
        tab, enter, escape = "\ue004", "\ue007", "\ue00c"
        self.open()
        self.browser.press(tab, tab, tab, enter)
        wait_until(lambda: not self.browser.run("return document.getElementById('details').hidden"), "it opens")
        wait_until(lambda: self.browser.run("return document.activeElement.id") == "name", "it has the focus")
        self.assertIn("ann, write", self.text("#holders"))
        # The page keeps updating while the command below does not change.
        before = self.text("#holders span")
        wait_until(lambda: self.text("#holders span") != before, "its age rises")
        command = self.text("#holders code")
        self.assertEqual(command, f"rocklock break {grant['Grant']} --socket '{self.socket}' --reason 'why'")
        # The shown command works.
        done = subprocess.run(["sh", "-c", command.replace("rocklock", '"$0"', 1), os.environ["ROCKLOCK_PROGRAM"]],
                              env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "broken\n"), done.stderr)
        wait_until(lambda: "no holder" in self.text("#holders"), "it has no holder")
        wait_until(lambda: "broken" in self.text("#history"), "its history tells")
        self.assertIn(": why", self.text("#history"))
        self.browser.press(escape)
        wait_until(lambda: self.browser.run("return document.getElementById('details').hidden"), "it closes")

    def test_hostile_names_are_text(self):
        self.acquire(HOSTILE, "<b>ann</b>", Note="<svg onload=document.title='owned'>")
        self.open()
        wait_until(lambda: self.names() == [HOSTILE], "the name is shown as it is")
        self.assertEqual(self.cells()[0][2], "<b>ann</b>")
        self.browser.run("document.querySelector('#rows button').click()")
        wait_until(lambda: self.text("#name") == HOSTILE, "its details are")
        self.assertEqual(self.browser.run("return [document.title, document.querySelectorAll('img,svg,b').length, "
                                          "document.querySelectorAll('script').length]"), ["Rocklock", 0, 1])
        # A script that was inserted in another way would not run either.
        self.browser.run("const made = document.createElement('script'); made.textContent = \"document.title='owned'\";"
                         "document.body.append(made)")
        self.assertEqual(self.browser.run("return document.title"), "Rocklock")

    def test_it_fits_the_screen_of_a_phone(self):
        self.acquire("orders/" + "a-very-long-name-" * 12, "ann")
        self.browser.resize(360, 700)
        self.open()
        wide = "return [document.documentElement.scrollWidth, innerWidth]"
        width, room = self.browser.run(wide)
        self.assertLessEqual(width, room)
        self.browser.run("document.querySelector('#rows button').click()")
        wait_until(lambda: not self.browser.run("return document.getElementById('details').hidden"), "it opens")
        width, room = self.browser.run(wide)
        self.assertLessEqual(width, room)

    def test_it_shows_that_the_daemon_is_unreachable(self):
        self.open()
        self.daemon.kill()
        wait_until(lambda: self.text("#state").startswith("The daemon cannot be reached since"),
                   "it says so")

    def test_a_page_of_another_origin_cannot_lock(self):
        # Another port of the same machine is another origin. Its page sends requests as browsers
        # do.
        other = self.folder / "other"
        other.mkdir()
        second = self.start("serve", "--memory", "--socket", other / "s", "--http", "127.0.0.1:0")
        second.stderr.readline()
        self.browser.open(second.stderr.readline().split()[-1] + "/healthz")
        for kind in ("text/plain", "application/json"):
            got = self.browser.send("POST", "/execute/async", {"script": """
                const [address, kind, done] = arguments;
                fetch(address, {method: "POST", headers: {"Content-Type": kind,
                    ...(kind === "text/plain" ? {} : {"X-Amz-Target": "Rocklock_20261121.Acquire"})},
                    body: '{"Principal":"evil","Locks":[{"Resource":"a"}]}'})
                  .then(answer => done("read " + answer.status), problem => done("refused"));
                """, "args": [self.address + "/", kind]})
            self.assertEqual(got, "refused", kind)
        self.assertEqual(self.locks.call("ListLocks").json["Locks"], [])

    def test_its_headers_and_files(self):
        for accept, part in (("text/html,*/*", "<!doctype html>"), ("*/*", "healthy")):
            request = urllib.request.Request(self.address + "/", headers={"Accept": accept})
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read().decode()
                self.assertIn(part, text)
                if part != "healthy":
                    self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
                    self.assertNotIn("unsafe", answer.headers["Content-Security-Policy"])
                    self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
                    self.assertNotRegex(text, r'(?:src|href)="(?!/|data:,)')


if __name__ == "__main__":
    tap.main()
