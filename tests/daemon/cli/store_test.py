"""db check, db stats, db backup and db restore."""

import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import threading
import unittest

import tap
from harness import PROGRAM, Sandbox, wait_until


class Stores(Sandbox):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        self.backup = self.folder / "backup"

    def db(self, verb, *words, status=0):
        done = self.rocklock("db", verb, *words)
        self.assertEqual(done.returncode, status, (verb, done.stdout, done.stderr))
        return done

    def json(self, verb, *words, status=0):
        return json.loads(self.db(verb, "--json", *words, status=status).stdout)

    def locks(self, store, *resources):
        """Acquires locks in a store without a daemon. Returns the tokens."""
        return [self.acquire(resource, "--db", store)[0]["Token"] for resource in resources]


class Backup(Stores):
    def test_it_is_taken_while_the_daemon_serves(self):
        grant, _ = self.acquire("a", "--principal", "ann")
        done = self.db("backup", self.backup)
        self.assertRegex(done.stdout, r"^backed up to .*/backup: \d+ files, ")
        self.assertEqual(done.stderr, "")
        stats = self.json("stats", "--db", self.backup)
        self.assertEqual((stats["Grants"], stats["LastToken"], stats["Copy"]), (1, grant["Token"], True))
        self.assertEqual(self.list()[0]["Grant"], grant["Grant"])
        self.db("check", "--db", self.backup)
        self.assertIn(f"the store was backed up directory={self.backup}", self.log())

    def test_a_backup_has_all_earlier_grants_and_only_complete_concurrent_ones(self):
        self.acquire("first")
        stop = threading.Event()
        failed = []

        def load(number):
            count = 0
            api = self.connect()
            while not stop.is_set():
                answer = api.call("Acquire", Principal=f"p{number}", LeaseMs=60_000,
                                  Locks=[{"Resource": f"{number}/{count}"}, {"Resource": f"{number}/{count}/more"}])
                if answer.status != 200:
                    failed.append(answer.json)
                count += 1

        threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            for number in range(3):
                before, _ = self.acquire(f"before/{number}")
                backup = self.folder / f"backup-{number}"
                self.db("backup", backup)
                after, _ = self.acquire(f"after/{number}")
                report = self.json("check", "--db", backup)
                self.assertTrue(report["Sound"])
                self.assertLessEqual(before["Token"], report["LastToken"])
                self.assertLess(report["LastToken"], after["Token"])
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failed, [])

    def test_without_a_daemon(self):
        token, = self.locks(self.store, "a")
        self.assertEqual(self.json("backup", "--db", self.store, self.backup)["Directory"], str(self.backup))
        self.assertEqual(self.json("stats", "--db", self.backup)["LastToken"], token)
        self.assertIsNone(self.daemon_pid())

    def test_a_fresh_one_is_not_suspect(self):
        self.acquire("a")
        self.db("backup", self.backup)
        stats = self.json("stats", "--db", self.backup)
        self.assertEqual((stats["Suspect"], stats["Copy"]), (False, True))

    def test_unrelated_files_are_ignored(self):
        self.acquire("a")
        self.db("backup", self.backup)
        (self.backup / "README").write_text("of last night")
        (self.backup / "lost+found").mkdir()
        self.db("stats", "--db", self.backup)
        self.db("check", "--db", self.backup)
        self.db("restore", self.backup, "--db", self.folder / "restored")
        self.assertEqual(os.listdir(self.folder / "restored"), ["db"])

    @unittest.skipUnless(os.geteuid() == 0, "only root may become somebody else")
    def test_a_read_only_backup_can_be_checked_and_restored(self):
        self.acquire("a")
        self.db("backup", self.backup)
        self.folder.chmod(0o777)
        self.backup.chmod(0o555)
        (self.backup / "db").chmod(0o555)
        # The daemon creates the files for its own user only; the test makes them readable for all.
        for file in (self.backup / "db").iterdir():
            file.chmod(0o444)
        for words in (("stats", "--db", self.backup), ("check", "--db", self.backup),
                      ("restore", self.backup, "--db", self.folder / "restored")):
            done = self.rocklock("db", *words, user=65534, extra_groups=[])
            self.assertEqual(done.returncode, 0, (words, done.stderr))
        self.assertEqual(os.listdir(self.backup), ["db"])

    def test_it_does_not_overwrite_files(self):
        self.acquire("a")
        self.db("backup", "backup")
        self.assertIn("not empty", self.db("backup", "backup", status=64).stderr)
        self.backup.joinpath("db/CURRENT").unlink()
        self.db("backup", "backup", status=64)

    def test_a_backup_inside_of_a_store_is_refused(self):
        self.locks(self.store, "a")
        for directory in (self.store / "backup", self.store / "db" / "backup"):
            self.assertIn("is inside the store", self.db("backup", directory, "--db", self.store, status=64).stderr)
            self.assertFalse(directory.exists())
        self.db("backup", self.backup, "--db", self.store)
        inside = self.backup / "store"
        self.assertIn("is inside the store", self.db("restore", self.backup, "--db", inside, status=64).stderr)
        self.assertFalse(inside.exists())

    def test_the_rest_of_an_interrupted_backup_is_not_a_backup_and_blocks_none(self):
        self.acquire("a")
        self.db("backup", self.backup)
        for rest in ("db.partial", "db.partial.tmp"):
            with self.subTest(rest):
                half = self.folder / f"half-{rest}"
                half.mkdir()
                shutil.copytree(self.backup / "db", half / rest)
                self.db("restore", half, "--db", self.folder / f"from-{rest}", status=64)
                self.assertFalse((self.folder / f"from-{rest}" / "db").exists())
                self.db("backup", half)
                self.assertEqual(os.listdir(half), ["db"])
                self.db("check", "--db", half)

    def test_a_failed_backup_leaves_no_files(self):
        self.acquire("a")
        pid = self.daemon_pid()
        done = self.db("backup", self.folder / "no" / "such" / "folder", status=64)
        self.assertIn("No such file", done.stderr)
        self.assertIn("whose parent directory exists", done.stderr)
        self.assertFalse((self.folder / "no").exists())
        # The backup failed, but the store did not.
        self.acquire("b")
        self.assertEqual(self.daemon_pid(), pid)

    def test_a_store_in_memory_cannot_be_backed_up(self):
        api = self.api()
        self.assertEqual(api.call("Backup", Directory=str(self.backup)).error, "ValidationException")
        self.assertEqual(api.call("Ping").status, 200)

    def test_its_directory_is_absolute_for_a_daemon(self):
        self.acquire("a")
        answer = self.connect().call("Backup", Directory="backup")
        self.assertEqual(answer.error, "ValidationException")
        self.assertIn("begin with /", answer.json["message"])

    @unittest.skipUnless(os.geteuid() == 0, "only root may become somebody else")
    def test_it_is_for_administrators(self):
        self.acquire("a")
        self.folder.chmod(0o777)
        self.state.chmod(0o777)
        self.socket.chmod(0o777)
        done = self.rocklock("db", "backup", "--socket", self.socket, self.backup, user=65534, extra_groups=[])
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertFalse(self.backup.exists())

    def test_progress_is_shown_only_on_a_terminal(self):
        self.acquire("a")
        terminal, other = pty.openpty()
        done = subprocess.run([PROGRAM, "db", "backup", self.backup], env=self.environment, stderr=other,
                              stdout=subprocess.PIPE, timeout=60, check=False)
        os.close(other)
        self.assertEqual(done.returncode, 0)
        shown = b""
        try:
            while part := os.read(terminal, 4096):
                shown += part
        except OSError:
            pass
        os.close(terminal)
        # The progress text is removed from the line, however short the backup was.
        if shown:
            self.assertIn(b"backing up [", shown)
            self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)
        restored = self.folder / "restored"
        terminal, other = pty.openpty()
        subprocess.run([PROGRAM, "db", "restore", self.backup, "--db", restored], env=self.environment,
                       stderr=other, stdout=subprocess.DEVNULL, timeout=60, check=True)
        os.close(other)
        shown = os.read(terminal, 65536)
        os.close(terminal)
        self.assertIn(b"restoring [########################################] 100%", shown)


class Restore(Stores):
    def test_it_ends_sessions_and_grants_and_new_tokens_are_greater(self):
        grant, proof = self.acquire("a", "--principal", "ann", "--lease", "10m")
        self.db("backup", self.backup)
        later = self.acquire("b")[0]["Token"]
        self.stop_daemon()
        shutil.move(self.state / "db", self.folder / "lost")
        done = self.db("restore", self.backup)
        self.assertIn(f"restored to {self.state / 'db'}", done.stdout)
        # The first program that opens the restored store ends the old locks, whichever program it
        # is.
        self.assertEqual(self.list(), [])
        past = self.show("a")["LastHolder"]
        self.assertEqual((past["Outcome"], past["Reason"]), ("broken", "restored"))
        fresh, fresh_proof = self.acquire("a", "--lease", "10m")
        self.assertGreater(fresh["Token"], later)
        self.assertEqual(self.rocklock("renew", grant["Grant"], environment=proof).returncode, 76)
        # This happens once: later locks survive a restart.
        self.stop_daemon()
        self.assertEqual(self.rocklock("renew", fresh["Grant"], environment=fresh_proof).returncode, 0)
        self.assertFalse(self.json("stats")["Copy"])

    def test_the_mark_remains_if_the_process_dies_before_it_is_handled(self):
        self.locks(self.store, "a")
        self.db("backup", "--db", self.store, self.backup)
        restored = self.folder / "restored"
        self.db("restore", self.backup, "--db", restored)
        # These verbs do not count as opening the store.
        for verb in ("stats", "check"):
            self.assertTrue(self.json(verb, "--db", restored)["Copy"])
        self.assertEqual(self.list("--db", restored), [])
        self.assertFalse(self.json("stats", "--db", restored)["Copy"])

    def test_a_copy_made_by_hand_is_marked_too(self):
        token, = self.locks(self.store, "a")
        restored = self.folder / "restored"
        self.db("restore", self.store, "--db", restored)
        self.assertEqual(self.list("--db", restored), [])
        self.assertGreater(self.locks(restored, "a")[0], token)
        # The original store is unchanged.
        self.assertEqual(len(self.list("--db", self.store)), 1)

    def test_a_backup_can_be_restored_again_and_again(self):
        self.locks(self.store, "a")
        self.db("backup", "--db", self.store, self.backup)
        for number in range(2):
            restored = self.folder / f"restored-{number}"
            self.db("restore", self.backup, "--db", restored)
            self.locks(restored, "a")

    def test_it_does_not_overwrite_files(self):
        self.locks(self.store, "a")
        self.db("backup", "--db", self.store, self.backup)
        before = self.json("stats", "--db", self.store)
        self.assertIn("not empty", self.db("restore", self.backup, "--db", self.store, status=64).stderr)
        self.assertEqual(self.json("stats", "--db", self.store), before)
        other = self.folder / "other"
        other.mkdir()
        (other / "mine").touch()
        self.db("restore", self.backup, "--db", other, status=64)
        self.assertEqual(os.listdir(other), ["mine"])

    def test_an_empty_directory_or_the_rest_of_a_failed_restore_is_accepted(self):
        self.locks(self.store, "a")
        self.db("backup", "--db", self.store, self.backup)
        restored = self.folder / "restored"
        (restored / "db.partial").mkdir(parents=True)
        (restored / "db.partial" / "000001.sst").write_text("half")
        # An incomplete restore is not accepted as a store.
        self.assertEqual(self.rocklock("acquire", "--db", restored, "a").returncode, 64)
        self.db("restore", self.backup, "--db", restored)
        self.db("check", "--db", restored)

    def test_an_empty_name_for_a_backup_is_64(self):
        self.rocklock("acquire", "a")
        done = self.rocklock("db", "backup", "")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("rocklock db backup DIR", done.stderr)

    def test_a_directory_that_is_not_a_backup_is_64(self):
        (self.folder / "empty").mkdir()
        self.db("restore", self.folder / "empty", "--db", self.store, status=64)
        self.db("restore", self.folder / "nothing", "--db", self.store, status=64)
        self.assertFalse((self.store / "db").exists())

    def test_a_damaged_backup_is_not_restored(self):
        self.locks(self.store, *(f"r/{number}" for number in range(20)))
        self.db("backup", "--db", self.store, self.backup)
        flip(largest(self.backup, "*.sst"))
        done = self.db("restore", self.backup, "--db", self.folder / "restored", status=70)
        self.assertIn("damaged", done.stderr)
        self.assertFalse((self.folder / "restored" / "db").exists())


def largest(store, pattern):
    return max(pathlib.Path(store, "db").glob(pattern), key=lambda path: path.stat().st_size)


def flip(path, where=0.3):
    data = bytearray(path.read_bytes())
    data[int(len(data) * where)] ^= 0x10
    path.write_bytes(data)


class Check(Stores):
    def test_an_undamaged_store_is_reported_as_sound(self):
        self.locks(self.store, "a", "b")
        done = self.db("check", "--db", self.store)
        self.assertRegex(done.stdout, r"^sound: \d+ files, .*; 2 sessions, 2 grants")
        report = self.json("check", "--db", self.store)
        self.assertEqual((report["Sound"], report["Problems"]), (True, []))

    def test_it_does_not_change_the_store(self):
        self.locks(self.store, "a")

        def contents():
            return {path: path.read_bytes() for path in self.store.rglob("*")
                    if path.is_file() and path.name != "rocklock.pid"}

        before = contents()
        self.db("check", "--db", self.store)
        self.db("stats", "--db", self.store)
        self.assertEqual(contents(), before)

    def test_a_flipped_byte_in_a_table_is_found(self):
        self.locks(self.store, *(f"r/{number}" for number in range(20)))
        flip(largest(self.store, "*.sst"))
        done = self.db("check", "--db", self.store, status=70)
        self.assertIn("checksum", done.stderr)
        self.assertIn("restore a backup", done.stderr)
        report = self.json("check", "--db", self.store, status=70)
        self.assertFalse(report["Sound"])
        # Each problem is reported once, although both the check of files and the check of records
        # find it.
        self.assertTrue(report["Problems"])
        self.assertEqual(len(report["Problems"]), len(set(report["Problems"])))

    def test_damage_is_reported_with_advice(self):
        self.locks(self.store, "a")
        (self.store / "db" / "CURRENT").write_text("MANIFEST-999999\n")
        for words in (("serve", "--socket", self.folder / "s"), ("db", "stats"), ("ls",), ("db", "backup", self.backup)):
            done = self.rocklock(*words, "--db", self.store)
            self.assertEqual(done.returncode, 70, (words, done.stderr))
            self.assertIn(f"the store in {self.store}", done.stderr)
            self.assertIn("is damaged", done.stderr)
            self.assertIn("rocklock db check", done.stderr)
            self.assertIn("rocklock db restore BACKUP", done.stderr)

    def test_unknown_facts_of_a_damaged_store_are_omitted(self):
        self.locks(self.store, "a")
        current = self.store / "db" / "CURRENT"
        current.write_text("MANIFEST-999999\n")
        report = self.json("check", "--db", self.store, status=70)
        self.assertEqual(set(report), {"Store", "Sound", "Problems"})
        self.assertFalse(report["Sound"])

    def killed_store(self):
        """A store whose log has not been written to table files."""
        self.state.mkdir()
        self.serve()
        for number in range(20):
            self.acquire(f"r/{number}")
        self.kill_daemon()
        return self.state / "db"

    def test_a_store_of_a_daemon_that_was_killed_is_sound(self):
        self.db("check", "--db", self.killed_store())

    def test_a_flipped_byte_anywhere_in_the_log_is_found(self):
        store = self.killed_store()
        log = largest(store, "*.commits")
        sound = log.read_bytes()
        for where in (0.2, 0.5, 0.99):
            with self.subTest(where):
                log.write_bytes(sound)
                flip(log, where)
                self.assertIn("damage", self.db("check", "--db", store, status=70).stderr)

    def test_a_log_that_is_shorter_than_what_was_synced_is_refused(self):
        store = self.killed_store()
        log = largest(store, "*.commits")
        data = log.read_bytes()
        written = len(data.rstrip(b"\0"))
        for length in (0, written // 2, written - 10):
            with self.subTest(length):
                log.write_bytes(data[:length])
                for words in (("serve", "--socket", self.folder / "s"), ("db", "stats"), ("db", "check")):
                    done = self.rocklock(*words, "--db", store)
                    self.assertEqual(done.returncode, 70, (words, done.stderr))
                    self.assertIn(f"the store in {store}", done.stderr)
                    self.assertIn("rocklock db restore BACKUP", done.stderr)
        log.unlink()
        done = self.rocklock("serve", "--socket", self.folder / "s", "--db", store)
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("is missing", done.stderr)
        # The last record can end with zeros of its own.
        log.write_bytes(data[:written + 16])
        self.db("check", "--db", store)

    def test_the_bytes_that_a_torn_write_leaves_are_counted(self):
        store = self.killed_store()
        log = largest(store, "*.commits")
        data = log.read_bytes()
        written = len(data.rstrip(b"\0"))
        log.write_bytes(data[:written - 10])
        # After a power cut, it may state less than was synced.
        (store / "db" / "SYNCED_COMMITS").unlink()
        done = self.db("check", "--db", store, status=70)
        discarded = int(re.search(r"the next open discards (\d+) bytes at its end", done.stderr).group(1))
        self.assertGreater(discarded, 20)
        daemon = self.serve()
        self.assertIn("the store is open", daemon.stderr.readline())
        self.assertIn(f"was discarded bytes={discarded}\n", daemon.stderr.readline())
        self.stop_daemon()
        self.db("check", "--db", store)

    def test_a_lost_file_is_found(self):
        self.locks(self.store, "a")
        largest(self.store, "*.sst").unlink()
        self.db("check", "--db", self.store, status=70)

    def test_a_store_that_is_open_is_75_with_the_pid(self):
        self.acquire("a")
        done = self.db("check", status=75)
        self.assertIn(str(self.daemon_pid()), done.stderr)
        self.assertIn("db backup", done.stderr)

    def test_a_missing_store_is_64_and_is_not_created(self):
        for verb in ("check", "stats"):
            self.db(verb, "--db", self.store, status=64)
            self.assertFalse(self.store.exists())


class Stats(Stores):
    def test_stats_count_the_contents(self):
        tokens = self.locks(self.store, "a", "b")
        grant, proof = self.acquire("c", "--db", self.store)
        self.rocklock("release", "--db", self.store, grant["Grant"], environment=proof)
        self.rocklock("class", "put", "--db", self.store, "x/*")
        stats = self.json("stats", "--db", self.store)
        self.assertEqual((stats["Sessions"], stats["Grants"], stats["EndedGrants"], stats["Classes"]), (2, 2, 1, 1))
        self.assertGreater(stats["LastToken"], tokens[-1])
        self.assertGreater(stats["TokenMark"], stats["LastToken"])
        self.assertGreater(stats["VersionMark"], stats["LastVersion"])
        self.assertGreater(stats["Bytes"], 0)
        self.assertFalse(stats["Suspect"])
        text = self.db("stats", "--db", self.store).stdout
        self.assertRegex(text, r"(?m)^ended grants +1$")

    def test_also_while_a_daemon_uses_the_store(self):
        self.acquire("a")
        wait_until(lambda: self.json("stats")["Grants"] == 1, "the grant is counted")


class Looking(Stores):
    def test_it_never_makes_a_store(self):
        for words in (("ls",), ("show", "a"), ("sessions",), ("top",), ("class", "ls"), ("db", "backup", "b")):
            done = self.rocklock(*words, "--db", self.store)
            self.assertEqual(done.returncode, 64, (words, done.stderr))
            self.assertFalse(self.store.exists(), words)

    def test_a_missing_store_is_64_and_a_read_only_store_is_77(self):
        (self.folder / "file").touch()
        self.assertEqual(self.rocklock("acquire", "--db", "file", "a").returncode, 64)
        if os.geteuid() != 0:
            self.skipTest("only root may become somebody else")
        self.locks(self.store, "a")
        self.folder.chmod(0o755)
        self.store.chmod(0o755)
        done = self.rocklock("ls", "--db", self.store, user=65534, extra_groups=[])
        self.assertEqual(done.returncode, 77, done.stderr)

    def test_damage_is_70(self):
        self.locks(self.store, "a")
        (self.store / "db" / "CURRENT").write_text("nonsense\n")
        self.assertEqual(self.rocklock("ls", "--db", self.store).returncode, 70)


if __name__ == "__main__":
    tap.main()
