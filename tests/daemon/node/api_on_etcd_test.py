"""The tests of the lock API and of steals, with a store on etcd."""

import api_test
import steal_test
import tap
from on_etcd import OnEtcd, shared


class Verbs(OnEtcd, api_test.Verbs):
    def test_ping(self):
        answer = self.api().call("Ping").json
        self.assertTrue(answer["Store"].startswith("etcd://"), answer)


class Refusals(OnEtcd, api_test.Refusals):
    pass


class EndingSessions(OnEtcd, api_test.EndingSessions):
    pass


class Http(OnEtcd, api_test.Http):
    pass


class HangingUp(OnEtcd, api_test.HangingUp):
    pass


class Policies(OnEtcd, steal_test.Policies):
    pass


class Answering(OnEtcd, steal_test.Answering):
    pass


def setUpModule():
    if not getattr(OnEtcd, "__unittest_skip__", False):
        shared.start()


def tearDownModule():
    shared.stop()


if __name__ == "__main__":
    tap.main()
