"""The limit of the connections of all clients of a node."""

import signal

import tap
from harness import Connection, wait_until
from relayed import Relays


class NodeLimits(Relays):
    def setUp(self):
        super().setUp()
        self.nodes = self.folder / "nodes"

    def start_manager(self, *options):
        """Starts a manager without certificates. The limits of users must not apply first."""
        return self.manager("--max-user-connections", "0", *options)

    def ping(self, connection):
        connection.send("Ping", {}, "Content-Type: application/json\r\n")
        return connection.receive()

    def connect_all(self, daemon, count):
        """Connects `count` clients at once. Returns those that are served, and the responses of the others."""
        clients = [Connection(daemon.socket) for _ in range(count)]
        self.connections += clients
        answers = [(client, self.ping(client)) for client in clients]
        served = [client for client, answer in answers if answer.status == 200]
        return served, [answer for _, answer in answers if answer.status != 200]

    def has_place(self, daemon):
        client = Connection(daemon.socket)
        try:
            return self.ping(client).status == 200
        finally:
            client.close()

    def assert_refused(self, answers, node, limit):
        for answer in answers:
            self.assertEqual((answer.status, answer.error), (503, "LimitExceededException"))
            self.assertIn(f"the node {node} has {limit} connections, and the limit is {limit}", answer.json["message"])

    def test_clients_beyond_the_limit_are_refused(self):
        self.nodes.write_text("web1 connections=5\nweb2 connections=3\n")
        main = self.start_manager("--peer-nodes", self.nodes)
        webs = [self.relay(main.peer, node=node) for node in ("web1", "web2")]
        served, refused = self.connect_all(webs[0], 40)
        self.assertEqual((len(served), len(refused)), (5, 35))
        self.assert_refused(refused, "web1", 5)
        main.wait_for("a limit of connections was reached, and connections were refused")
        self.assertIn("the node web1 has 5 connections", main.log())
        # Clients of another node and of the manager's host are not affected.
        self.assertTrue(self.has_place(webs[1]))
        self.assertEqual(self.at(main, "acquire", "a", "--lease", "1m").returncode, 0)
        served[0].close()
        wait_until(lambda: self.has_place(webs[0]), "a place for another client")
        wait_until(lambda: self.has_place(webs[0]), "the place is free again")

    def test_the_limit_covers_all_links_of_a_node(self):
        self.nodes.write_text("web1 connections=4\n")
        main = self.start_manager("--peer-nodes", self.nodes)
        webs = [self.daemon(name, "--relay", main.peer, "--node", "web1") for name in ("first", "second")]
        for web in webs:
            web.wait_for("connected to the manager")
        self.assertEqual(len(self.connect_all(webs[0], 3)[0]), 3)
        served, refused = self.connect_all(webs[1], 3)
        self.assertEqual((len(served), len(refused)), (1, 2))
        self.assert_refused(refused, "web1", 4)
        # The connections of a link that has ended are not counted any more.
        webs[0].stop(signal.SIGKILL)

        def three_places():
            served, _ = self.connect_all(webs[1], 3)
            for client in served:
                client.close()
            return len(served) == 3
        wait_until(three_places, "the places are free")

    def test_the_default_is_three_quarters_of_all_connections(self):
        main = self.start_manager("--max-connections", "8")
        web = self.relay(main.peer)
        served, refused = self.connect_all(web, 8)
        self.assertEqual((len(served), len(refused)), (6, 2))
        self.assert_refused(refused, "web1", 6)
        self.assertEqual(self.at(main, "acquire", "a", "--lease", "1m").returncode, 0)

    def test_a_new_limit_applies_without_a_restart(self):
        self.nodes.write_text("web1 connections=2\n")
        main = self.start_manager("--peer-nodes", self.nodes)
        web = self.relay(main.peer)
        self.assertEqual(len(self.connect_all(web, 3)[0]), 2)
        self.nodes.write_text("web1 connections=3\n")
        main.process.send_signal(signal.SIGHUP)
        main.wait_for("the certificates and the file of nodes were read again")
        served, refused = self.connect_all(web, 3)
        self.assertEqual((len(served), len(refused)), (1, 2))
        self.assert_refused(refused, "web1", 3)
        self.assertNotIn("the connection to the manager has ended", web.log())


if __name__ == "__main__":
    tap.main()
