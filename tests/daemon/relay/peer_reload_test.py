"""SIGHUP: a manager reads its certificates and its file of nodes again, and a relay its certificates."""

import shutil
import signal

import tap
from harness import wait_until
from relayed import Relays, certificates, temporary_folder

KEYS = temporary_folder()
# The certificates of another authority.
OTHER = KEYS / "other"


def files(folder, name):
    return folder / f"{name}.pem", folder / f"{name}.key", folder / "ca.pem"


def tls(certificate, key, authority):
    return "--peer-cert", certificate, "--peer-key", key, "--peer-ca", authority


class Reloads(Relays):
    @classmethod
    def setUpClass(cls):
        certificates(KEYS, "locks", "web1", "web2")
        certificates(OTHER, "locks", "web1", "web2")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(KEYS)

    def setUp(self):
        super().setUp()
        self.nodes = self.folder / "nodes"
        self.nodes.write_text("web1\nweb2\n")

    def install(self, name, folder=KEYS):
        """Copies the files of a daemon to the place where it reads them. Returns their options."""
        place = self.folder / "tls" / name
        place.mkdir(parents=True, exist_ok=True)
        paths = [place / path.name for path in files(folder, name)]
        for source, target in zip(files(folder, name), paths):
            shutil.copy(source, target)
        return tls(*paths)

    def start_manager(self):
        return self.manager("--peer-nodes", self.nodes, *self.install("locks"))

    def relay_to(self, main, options, **more):
        return self.relay(f"localhost:{main.peer.rpartition(':')[2]}", *options, **more)

    def reload(self, daemon, text="were read again", reason=""):
        """Sends SIGHUP. Returns when the log contains the text once more, in a line with the reason."""
        count = daemon.log().count(text)
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for_more(text, count)
        line = [line for line in daemon.log().splitlines() if text in line][-1]
        self.assertIn(reason, line)

    def assert_works(self, daemon, resource):
        done = self.at(daemon, "acquire", resource, "--lease", "1m")
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_works_soon(self, daemon, resource):
        wait_until(lambda: self.at(daemon, "acquire", resource, "--lease", "1m").returncode == 0, daemon.log())

    def assert_stays_connected(self, relay):
        self.assertNotIn("the connection to the manager has ended", relay.log())


class Manager(Reloads):
    def test_new_certificates_apply_to_new_links_only(self):
        main = self.start_manager()
        web = self.relay_to(main, tls(*files(KEYS, "web1")))
        self.install("locks", OTHER)
        self.reload(main, "the certificates and the file of nodes were read again", "links_closed=0")
        self.relay_to(main, tls(*files(OTHER, "web2")), node="web2")
        # This relay does not trust the new certificate of the manager.
        late = self.relay_to(main, tls(*files(KEYS, "web1")), node="late", connected=False)
        late.wait_for("cannot connect to the manager")
        self.assertRegex(late.log(), 'reason="TLS: [^"]*certificate')
        self.assert_works(web, "a")
        self.assert_stays_connected(web)

    def test_an_invalid_file_changes_nothing(self):
        main = self.start_manager()
        web = self.relay_to(main, tls(*files(KEYS, "web1")))
        key = self.folder / "tls" / "locks" / "locks.key"
        text = "the settings could not be read again, and none has changed"
        # The new file of nodes is valid, but it is not used without the key.
        self.nodes.write_text("web2\n")
        key.write_text("no key")
        self.reload(main, text, "peer-key: the file")
        self.install("locks")
        self.nodes.write_text("web2 rights=all\n")
        self.reload(main, text, "unknown right 'all'")
        self.nodes.unlink()
        self.reload(main, text, "cannot be read")
        self.assertNotIn("the certificates and the file of nodes were read again", main.log())
        self.assert_works(web, "a")
        self.assert_stays_connected(web)
        web.stop(signal.SIGTERM)
        self.assert_works(self.relay_to(main, tls(*files(KEYS, "web1"))), "b")

    def test_the_links_of_a_removed_node_end(self):
        main = self.start_manager()
        webs = [self.relay_to(main, tls(*files(KEYS, name)), node=name) for name in ("web1", "web2")]
        self.assert_works(webs[0], "a")
        self.nodes.write_text("web2\n")
        self.reload(main, "the certificates and the file of nodes were read again")
        main.wait_for("the connection of a relay has ended node=web1")
        webs[0].wait_for("the manager has refused this relay: the file peer-nodes has no node")
        self.assert_works(webs[1], "b")
        self.assert_stays_connected(webs[1])
        # The clients of the removed node keep their locks until their leases end.
        self.assertEqual(self.resources(main), ["a", "b"])
        self.nodes.write_text("web1\nweb2\n")
        self.reload(main)
        self.assert_works_soon(webs[0], "c")

    def test_a_relay_connects_again_with_its_new_rights(self):
        self.nodes.write_text("web1 resources=orders/\nweb2\n")
        main = self.start_manager()
        webs = [self.relay_to(main, tls(*files(KEYS, name)), node=name) for name in ("web1", "web2")]
        self.assertEqual(self.at(webs[0], "acquire", "stock/1").returncode, 77)
        self.nodes.write_text("web1 resources=stock/\nweb2\n")
        self.reload(main, "the certificates and the file of nodes were read again")
        main.wait_for("the rights of the node have changed")
        self.assert_works_soon(webs[0], "stock/1")
        self.assertEqual(self.at(webs[0], "acquire", "orders/1").returncode, 77)
        self.assert_stays_connected(webs[1])

    def test_a_link_ends_if_the_certificate_is_that_of_no_node_or_of_another_node(self):
        main = self.start_manager()
        web = self.relay_to(main, tls(*files(KEYS, "web1")))
        self.nodes.write_text("web1 certificate=elsewhere\nweb2\n")
        self.reload(main)
        web.wait_for("which is for 'web1'")
        self.nodes.write_text("shop certificate=web1\n")
        self.reload(main)
        main.wait_for("a relay has connected node=shop")
        self.nodes.write_text("web1\n")
        self.reload(main)
        main.wait_for("the relay is now the node web1")
        self.assert_works_soon(web, "a")


class Relay(Reloads):
    def test_new_certificates_apply_to_the_next_link(self):
        main = self.start_manager()
        web = self.relay_to(main, self.install("web1"))
        self.install("web1", OTHER)
        self.reload(web, "the certificates were read again")
        self.assert_works(web, "a")
        self.assert_stays_connected(web)
        self.install("locks", OTHER)
        self.nodes.write_text("web1 rights=locks\n")
        self.reload(main)
        web.wait_for("the connection to the manager has ended")
        self.assert_works_soon(web, "b")
        self.assertNotIn("cannot connect to the manager", web.log())

    def test_an_invalid_file_changes_nothing(self):
        main = self.start_manager()
        web = self.relay_to(main, self.install("web1"))
        (self.folder / "tls" / "web1" / "web1.pem").write_text("no certificate")
        self.reload(web, "the certificates could not be read again", "peer-cert: the file")
        self.nodes.write_text("web1 rights=locks\n")
        self.reload(main)
        web.wait_for("the connection to the manager has ended")
        self.assert_works_soon(web, "a")


if __name__ == "__main__":
    tap.main()
