"""docs/examples/table-edit in real browsers: edits, refusals, and the recovery of an editor's text
after a crash.
"""

import pathlib
import subprocess
import sys
import unittest

import tap
from harness import SLOWNESS, Sandbox, wait_until
from page_test import CHROMEDRIVER, CHROMIUM, Browser

APPLICATION = pathlib.Path(__file__).resolve().parents[3] / "docs/examples/table-edit/app.py"


@unittest.skipUnless(CHROMEDRIVER and CHROMIUM, "chromium and chromium-driver are not installed")
class TableEdit(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        self.serve("--memory")
        self.browsers = []

    def start_application(self, lease_s):
        application = subprocess.Popen(
            [sys.executable, APPLICATION, self.socket, "--port", "0", "--lease", str(lease_s * SLOWNESS)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.started.append(application)
        self.address = application.stdout.readline().strip()

    def tearDown(self):
        # Before their folders are removed.
        for browser in self.browsers:
            browser.stop()
        super().tearDown()

    def page(self, editor):
        folder = self.folder / editor.replace(" ", "-")
        folder.mkdir()
        browser = Browser(folder)
        self.browsers.append(browser)
        browser.open(self.address)
        browser.type("#editor", editor)
        wait_until(lambda: self.text(browser, "#row-orders"), "the tables are there")
        return browser

    def text(self, browser, selector):
        return browser.run("return document.querySelector(arguments[0])?.innerText", selector)

    def press(self, browser, selector, text):
        """Clicks the button with this text."""
        pressed = browser.run("const all = [...document.querySelectorAll(arguments[0])];"
                              "const one = all.find(each => each.textContent === arguments[1]);"
                              "one?.click(); return Boolean(one)", f"{selector} button", text)
        self.assertTrue(pressed, f"there is no {text} in {selector}")

    def edits(self, browser, name):
        return browser.run("return document.getElementById('edit').hidden") is False and \
            self.text(browser, "#title") == name

    def edit(self, browser, name):
        browser.run("say('')")
        self.press(browser, f"#row-{name}", "Edit")
        wait_until(lambda: self.edits(browser, name) or self.text(browser, "#message"), f"{name} is edited")
        self.assertTrue(self.edits(browser, name), self.text(browser, "#message"))

    def says(self, browser, text):
        wait_until(lambda: text in self.text(browser, "#message"), f"the page says {text}")
        return self.text(browser, "#message")

    def row(self, browser, name, text):
        wait_until(lambda: text in self.text(browser, f"#row-{name}"), f"{name}: {text}")

    def test_two_pages_and_which_one_is_refused(self):
        self.start_application(lease_s=60)
        first, second = self.page("editor 1"), self.page("editor 2")
        self.edit(first, "orders")
        # The table to which both refer is locked in read mode.
        self.edit(second, "invoices")
        self.row(second, "orders", "editor 1 is editing, since")
        self.row(first, "customers", "locked: editor 1 is editing orders, editor 2 is editing invoices")
        second.run("document.getElementById('editor').value = 'editor 3'")
        self.press(second, "#row-customers", "Edit")
        said = self.says(second, "editor 1 is editing orders, since ")
        self.assertRegex(said, r"editor 1 is editing orders, since \d{1,2}:\d\d:\d\d")
        self.assertRegex(said, r"editor 2 is editing invoices, since \d{1,2}:\d\d:\d\d")
        self.assertRegex(self.text(second, "#row-orders"), r"editor 1 is editing, since \d{1,2}:\d\d:\d\d")
        self.assertTrue(self.edits(second, "invoices"))
        first.type("#text", "4711, nails")
        self.press(first, "#edit", "Save and close")
        wait_until(lambda: not self.edits(first, "orders"), "the edit is over")
        self.row(second, "orders", "normal")
        second.run("document.getElementById('editor').value = 'editor 2'")
        self.press(second, "#edit", "Close")
        self.row(first, "customers", "normal")
        self.edit(first, "customers")
        self.assertEqual(first.complaints(), [])

    def test_a_phone_and_dark_colours(self):
        self.start_application(lease_s=60)
        first, second = self.page("editor 1"), self.page("editor-with-a-very-long-name-" * 6)
        self.edit(first, "orders")
        second.resize(390, 800)
        self.row(second, "orders", "editor 1 is editing, since")
        second.run("say('x'.repeat(300))")
        for media in ("light", "dark"):
            second.dark(media == "dark")
            width, room = second.run("return [document.documentElement.scrollWidth, innerWidth]")
            self.assertLessEqual(width, room, media)
            back, text = second.run("const style = getComputedStyle(document.body);"
                                    "return [style.backgroundColor, style.color].map(colour => "
                                    "Number(colour.match(/\\d+/)[0]))")
            self.assertEqual(back < text, media == "dark", (back, text))

    def test_a_closed_page_blocks_for_a_lease_and_loses_no_text(self):
        # Long enough for a browser to end.
        self.start_application(lease_s=8)
        first, second = self.page("editor 1"), self.page("editor 2")
        self.edit(first, "orders")
        first.type("#text", "never saved")
        kept = first.run("return edit")
        text = first.run("return document.getElementById('text').value")
        first.stop()
        self.browsers.remove(first)
        self.press(second, "#row-orders", "Edit")
        self.says(second, "editor 1 is editing orders")
        self.row(second, "orders", "editor 1 is editing")
        self.row(second, "orders", "normal")
        self.edit(second, "orders")
        second.type("#text", "the second's")
        self.press(second, "#edit", "Save and close")
        wait_until(lambda: not self.edits(second, "orders"), "the edit is over")
        # The write that the browser had prepared when it was killed arrives late.
        self.browsers.append(again := self.page("editor 1 again"))
        again.run("document.getElementById('editor').value = 'editor 1'; open(arguments[0]);"
                  "document.getElementById('text').value = arguments[1]", kept, text)
        self.press(again, "#edit", "Save")
        self.says(again, "What you wrote has been kept as a draft")
        wait_until(lambda: "never saved" in (self.text(again, "#draft-list") or ""), "the draft is offered")
        self.edit(second, "orders")
        self.assertEqual(second.run("return document.getElementById('text').value"), "the second's")
        self.press(again, "#draft-list", "Discard")
        wait_until(lambda: not self.text(again, "#draft-list"), "the draft is gone")

    def test_unsaved_text_is_kept_and_a_request_to_take_over_is_answered(self):
        self.start_application(lease_s=20)
        first, second = self.page("editor 1"), self.page("editor 2")
        self.edit(first, "orders")
        self.row(second, "orders", "editor 1 is editing")
        self.press(second, "#row-orders", "Take over")
        self.says(second, "editor 1 has been asked")
        # Appears without any input by editor 1, and stays when editor 1 types.
        asks = "editor 2 asks to take this over"
        wait_until(lambda: asks in (self.text(first, "#wanted") or ""), "editor 1 is asked")
        first.run("keptAt = -Infinity")
        kept = first.run("return endsAt")
        first.type("#text", "x")
        wait_until(lambda: first.run("return endsAt") > kept, "the lease is renewed")
        self.assertIn(asks, self.text(first, "#wanted"))
        self.press(first, "#edit", "Save")
        self.says(first, "Saved.")
        self.press(first, "#wanted", "Allow")
        wait_until(lambda: "asks" not in (self.text(first, "#wanted") or ""), "it is allowed")
        saved = first.run("return document.getElementById('text').value")
        self.press(second, "#row-orders", "Take over")
        wait_until(lambda: self.edits(second, "orders"), "editor 2 has it")
        self.assertEqual(second.run("return document.getElementById('text').value"), saved)
        self.press(first, "#edit", "Save")
        self.says(first, "The lock is not yours any more: editor 2 took it over")

    def test_the_keyboard_focus_stays_while_the_page_refreshes(self):
        self.start_application(lease_s=60)
        page, other = self.page("editor 1"), self.page("editor 2")
        page.run("document.querySelector('#row-orders button').focus()")
        self.edit(other, "orders")
        self.row(page, "orders", "editor 2 is editing")
        self.assertEqual(page.run("const now = document.activeElement; return [now.textContent, now.closest('tr')?.id]"),
                         ["Edit", "row-orders"])

    def test_a_page_warns_before_its_lock_ends(self):
        self.start_application(lease_s=6)
        first = self.page("editor 1")
        self.edit(first, "orders")
        self.assertNotIn("type to keep it", self.text(first, "#left"))
        wait_until(lambda: "type to keep it" in self.text(first, "#left"), "it warns")
        first.type("#text", "x")
        wait_until(lambda: "type to keep it" not in self.text(first, "#left"), "it is kept")
        wait_until(lambda: "The lock has ended" in self.text(first, "#left"), "it has ended")


if __name__ == "__main__":
    tap.main()
