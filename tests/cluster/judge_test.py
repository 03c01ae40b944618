"""Each check of the verdict finds the contradiction for which it was written."""

import unittest

import judge
import tap
from judge import Chain, Grant, GuardedWrite

LEAD = b"/s/lead"
COMMIT = b"/s/commit"
DATA = b"/s/d/l1"


def grant(number, sent, received, deadline, **more):
    return Grant("ann", "r", number, more.pop("token", number), sent, received, deadline, **more)


def commit(number, epoch):
    return COMMIT, 5, judge.COMMIT.pack(number, epoch, judge.PLAIN, 0, 0, 0)


class Grants(unittest.TestCase):
    def check(self, find, good, *bad):
        self.assertEqual(find(*good), [])
        for each in bad:
            self.assertEqual(len(find(*each)), 1, each)

    def test_two_holders(self):
        first = grant(1, 0, 1, 10)
        released = grant(1, 0, 1, 10, given_up=4)
        broken = grant(1, 0, 1, 10, break_sent=4)
        self.check(judge.find_two_holders, ([first, grant(2, 5, 10, 20)],), ([first, grant(2, 5, 9.9, 20)],),
                   ([released, grant(2, 2, 3.9, 20)],), ([broken, grant(2, 2, 3.9, 20)],))
        self.check(judge.find_two_holders, ([released, grant(2, 2, 4, 20)],))
        self.check(judge.find_two_holders, ([broken, grant(2, 2, 4, 20)],))
        # The response to the first request has arrived after the end of its grant.
        self.check(judge.find_two_holders, ([grant(1, 0, 12, 10), grant(2, 5, 11, 20)],))
        # The second holder has ended before the third one begins, but the first one has not.
        self.check(judge.find_two_holders, ([],), ([first, grant(2, 5, 11, 12), grant(3, 11, 11.5, 14)],))
        other = grant(2, 2, 3, 20)
        other.resource = "other"
        self.check(judge.find_two_holders, ([first, other],))

    def test_tokens(self):
        self.check(judge.find_token_disorder, ([grant(1, 0, 1, 10), grant(2, 5, 10, 20)],),
                   ([grant(2, 0, 1, 10), grant(1, 5, 10, 20)],), ([grant(2, 0, 1, 10), grant(3, 5, 10, 20, token=2)],))
        # Requests at the same time can have any order.
        self.check(judge.find_token_disorder, ([grant(2, 0, 1, 10), grant(1, 0.5, 10, 20)],))

    def test_repeated_grants(self):
        self.check(judge.find_repeated_grants, ([grant(1, 0, 1, 10), grant(2, 5, 10, 20)],),
                   ([grant(1, 0, 1, 10), grant(1, 5, 10, 20, token=3)],),
                   ([grant(1, 0, 1, 10), grant(2, 5, 10, 20, token=1)],))

    def test_stale_writes(self):
        grants = [grant(1, 0, 1, 10, given_up=4), grant(2, 2, 5, 20)]
        self.check(judge.find_stale_writes, (grants, [GuardedWrite("ann", "r", 1, 4.9), GuardedWrite("ann", "r", 2, 6)]),
                   (grants, [GuardedWrite("ann", "r", 1, 5.1)]),
                   ([grant(1, 0, 1, 10, break_answered=3)], [GuardedWrite("ann", "r", 1, 3.1)]),
                   ([grant(1, 0, 1, 10, may_last=10)], [GuardedWrite("ann", "r", 1, 10.1)]))

    def test_lost_grants(self):
        good = [grant(1, 0, 1, 10, ends=[(10, "expired")]), grant(2, 0, 1, 10, break_sent=2, ends=[(3, "broken")]),
                grant(3, 0, 1, 10, given_up=2, ends=[(3, "released"), (4, "already_released")])]
        self.check(judge.find_lost_grants, (good,), ([grant(1, 0, 1, 10, ends=[(9, "expired")])],),
                   ([grant(1, 0, 1, 10, ends=[(3, "broken")])],), ([grant(1, 0, 1, 10, ends=[(3, "released")])],),
                   ([grant(1, 0, 1, 10, given_up=4, ends=[(5, "expired")])],))


class Commits(unittest.TestCase):
    def problems(self, *revisions):
        chain = Chain(b"/s/")
        for revision, *changes in revisions:
            chain.add(revision, changes)
        return chain.problems

    def test_a_chain(self):
        begin = ((5, (LEAD, 5, b"")), (6, (LEAD, 5, b"ready")), (7, (DATA, 7, b""), commit(1, 5)))
        takeover = ((9, (LEAD, None, b"")), (10, (LEAD, 10, b"")))
        self.assertEqual(self.problems((4, (b"/s/node/a", 4, b"")), *begin, (8, commit(2, 5)), *takeover,
                                       (11, commit(3, 10))), [])
        for revisions, said in (
                (((8, commit(3, 5)),), "commit 3 follows 1"),
                (((8, commit(1, 5)),), "commit 1 follows 1"),
                ((*takeover, (11, commit(2, 5))), "of epoch 5"),
                (((9, (LEAD, None, b"")), (10, commit(2, 5))), "of epoch 5"),
                (((8, commit(2, 4)),), "of epoch 4"),
                (((8, (DATA, 8, b"")),), "0 commits"),
                (((8, (DATA, 8, b""), (COMMIT, None, b"")),), "no commit record"),
                (((8, (LEAD, 8, b"")),), "beside that of 5")):
            problems = self.problems(*begin, *revisions)
            self.assertEqual(len(problems), 1, problems)
            self.assertIn(said, problems[0])


if __name__ == "__main__":
    tap.main()
