"""The parts of the abuse suite: its checks can fail, its gauges see what there is, its clients do what they say."""

import dataclasses
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import attacks
import gauges
import openssl
import suites
from attacks import Attack, Clients

GOOD = suites.Seen(slowdown=1, served=1, probe=0.1, rss=1, kernel=1, attack={"open": 3, "ended": 5, "connected": 5}, notes=20,
                   waiting=7)


class Checks(unittest.TestCase):
    suite = suites.Suite("planted", {}, ends=True, open_max=3, notes=True, cpu_max=5, waiting_min=7)

    def test_nothing_is_wrong_within_the_bounds(self):
        self.assertEqual(suites.faults(self.suite, GOOD), {})

    def test_each_bound_is_noticed_alone(self):
        attack = GOOD.attack
        self.assertEqual(list(suites.faults(self.suite, dataclasses.replace(GOOD, lines=11))), ["log"])
        for name, beyond in {
                "p99": {"slowdown": 3.01}, "served": {"served": 0.98}, "/readyz": {"probe": 1.1},
                "memory": {"rss": suites.SLACK + 1}, "kernel": {"kernel": suites.KERNEL_SLACK + 1}, "log": {"notes": 19},
                "cpu": {"cpu": 5.1}, "burst": {"waiting": 6}, "ended": {"attack": attack | {"ended": 4}}, "let in": {"attack": attack | {"open": 4}},
        }.items():
            self.assertEqual(list(suites.faults(self.suite, dataclasses.replace(GOOD, **beyond))), [name])

    def test_a_p99_may_be_bounded_in_seconds_instead(self):
        suite = dataclasses.replace(self.suite, p99_max=2)
        self.assertEqual(suites.faults(suite, dataclasses.replace(GOOD, slowdown=900, good=1.9)), {})
        self.assertEqual(list(suites.faults(suite, dataclasses.replace(GOOD, good=2.1))), ["p99"])
        worst = suites.worst([dataclasses.replace(GOOD, alone=0.01, good=good, waiting=waiting)
                              for good, waiting in ((2.1, 7), (0.1, 9))])
        self.assertEqual((worst.good, worst.waiting), (2.1, 7))

    def test_clients_that_never_came_are_not_ended(self):
        seen = dataclasses.replace(GOOD, attack={"open": 0, "ended": 0, "connected": 0})
        self.assertIn("ended", suites.faults(self.suite, seen))

    def test_a_slowdown_is_of_the_windows_that_nothing_else_disturbed_and_a_bound_of_the_worst(self):
        rounds = [dataclasses.replace(GOOD, alone=alone, good=good, rss=rss, probe=probe)
                  for alone, good, rss, probe in ((0.003, 0.009, 1, 0.1), (0.001, 0.004, 7, 0.1), (0.002, 0.002, 1, 0.9))]
        seen = suites.worst(rounds)
        self.assertEqual((seen.slowdown, seen.typical, seen.rss, seen.probe), (2, 2, 7, 0.9))

    def test_a_slowdown_in_each_window_is_noticed_whatever_disturbs_those_alone(self):
        rounds = [dataclasses.replace(GOOD, alone=alone, good=0.004) for alone in (0.001, 0.05, 0.02)]
        self.assertEqual(list(suites.faults(self.suite, suites.worst(rounds))), ["p99"])

    def test_each_suite_has_a_control_that_changes_something_and_a_check_that_exists(self):
        checks = {"burst", "cpu", "p99", "served", "/readyz", "memory", "kernel", "ended", "let in", "log"}
        self.assertEqual(len({suite.name for suite in suites.SUITES}), len(suites.SUITES))
        for suite in suites.SUITES:
            self.assertIn(suite.control_fails, checks, suite.name)
            changed = suite.control.items() - suite.settings.items()
            self.assertTrue(changed or suite.expensive_key or (suite.https and suite.control_attack), suite.name)
            Attack(port=1, **suite.attack | suite.control_attack)

    def test_keys_are_different_and_as_many_as_fit(self):
        made = suites.keys("k{:x}=v", "&", 1000)
        self.assertLessEqual(len(made), 1000)
        self.assertGreater(len(made), 980)
        self.assertEqual(len(set(made.split("&"))), len(made.split("&")))

    def test_the_formula_is_that_of_the_documentation(self):
        page = " ".join((suites.ROOT / "docs/memory.md").read_text().split())
        kib = suites.KIB
        for words in (f"max_connections × {suites.CONNECTION // kib} KiB",
                      f"max_connections × ({suites.SECURED // kib} KiB + {suites.SHAKING // kib} KiB during its handshake + "
                      f"{suites.UNFINISHED // kib} KiB of an unfinished record, while one arrives + {suites.SEALED // kib} KiB of encrypted bytes, while the client does not read) "
                      f"+ workers × {suites.FREE_BLOCKS // suites.MIB} MiB"):
            self.assertIn(words, page)
        each = 16 + 24 + 40 + 16 + 80
        self.assertEqual(suites.formula(100 - suites.GOOD_CONNECTIONS, 7, unread=True, unfinished=True, shaking=True),
                         100 * each * kib + 7 + 8 * suites.MIB)

    def test_every_suite_is_listed_by_the_command(self):
        done = subprocess.run([sys.executable, "-B", suites.__file__, "--list"], capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines(), [suite.name for suite in suites.SUITES])


class Listening(unittest.TestCase):

    def setUp(self):
        self.listener = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        self.port = self.listener.getsockname()[1]


class Gauges(Listening):

    def test_the_kernel_holds_what_nobody_reads_and_nothing_after_a_reset(self):
        self.assertEqual(gauges.kernel_memory(self.port), 0)
        with socket.create_connection(("127.0.0.1", self.port)):
            server, _ = self.listener.accept()
            server.setblocking(False)
            sent = 0
            with self.assertRaises(BlockingIOError):
                while True:
                    sent += server.send(bytes(65536))
            self.assertGreater(gauges.kernel_memory(self.port), 10_000)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            server.close()
            self.assertEqual(gauges.kernel_memory(self.port), 0)

    def test_what_a_closed_socket_leaves_to_the_kernel_is_seen(self):
        with socket.create_connection(("127.0.0.1", self.port)):
            server, _ = self.listener.accept()
            server.setblocking(False)
            with self.assertRaises(BlockingIOError):
                while True:
                    server.send(bytes(65536))
            server.close()
            self.assertGreater(gauges.kernel_memory(self.port), 10_000)

    def test_a_metric_is_the_sum_of_its_series(self):
        page = b"http_waiting{server=\"http\"} 3\nhttp_waiting{server=\"https\"} 4\nhttp_waiting_more 9\n"

        def answer():
            with self.listener.accept()[0] as peer:
                peer.recv(1000)
                peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))

        thread = threading.Thread(target=answer)
        thread.start()
        self.assertEqual(gauges.metric(self.port, "http_waiting"), 7)
        thread.join()
        self.listener.close()
        self.assertEqual(gauges.metric(self.port, "http_waiting"), 0)

    def test_a_probe_that_is_not_answered_counts_as_the_longest(self):
        self.listener.close()
        self.assertEqual(gauges.probe(self.port), gauges.PROBE_TIMEOUT)

    def test_a_watch_tells_how_often_it_has_looked(self):
        self.listener.close()  # A probe that is rejected ends soon.
        with gauges.Watch(os.getpid(), self.port, (self.port, "/readyz")) as watch:
            until = time.monotonic() + 60
            while watch.samples < suites.SAMPLES_MIN and time.monotonic() < until:
                time.sleep(0.05)
        self.assertGreaterEqual(watch.samples, suites.SAMPLES_MIN)
        self.assertGreater(watch.rss, 0)

    def test_what_a_process_computes_is_seen(self):
        before = gauges.cpu(os.getpid())
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass
        self.assertGreater(gauges.cpu(os.getpid()), before)

    def test_a_process_has_memory(self):
        before = gauges.rss(os.getpid())
        held = bytes(range(256)) * 65536 * 2
        self.assertGreater(gauges.rss(os.getpid()), before + len(held) // 2)


class Attackers(Listening):

    def clients(self, **attack):
        clients = Clients(Attack(port=self.port, count=1, **attack))
        clients.connect(clients.clients[0])
        self.addCleanup(clients.clients[0].socket.close)
        self.addCleanup(clients.events.close)
        server = self.listener.accept()[0]
        self.addCleanup(server.close)
        return clients, server

    def test_a_closed_and_a_reset_connection_have_ended(self):
        for linger in (struct.pack("ii", 0, 0), struct.pack("ii", 1, 0)):
            clients, server = self.clients(first="x")
            self.assertEqual(clients.told_now()["open"], 1)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            server.close()
            clients.notice()
            self.assertEqual((clients.told_now()["open"], clients.told["ended"]), (0, 1))

    def test_one_that_drips_sends_a_byte_in_each_second(self):
        clients, server = self.clients(first="head", drip="ab")
        for number in range(3 * attacks.TICKS):
            clients.tick(number)
        self.assertEqual(server.recv(100), b"headaba")

    def test_one_that_waits_sends_again_when_something_came(self):
        clients, server = self.clients(repeat="ping", waits=True, reads=-1)
        for number in range(5):
            clients.tick(number)
        self.assertEqual(server.recv(100), b"ping")
        server.sendall(b"pong")
        for number in range(5):
            clients.tick(number)
        self.assertEqual(server.recv(100), b"ping")

    def test_one_that_never_waits_fills_the_connection(self):
        clients, _server = self.clients(repeat="x" * 65536)
        for number in range(200):
            clients.tick(number)
        sent = clients.told["sent"]
        clients.tick(200)
        self.assertGreater(sent, 65536)
        self.assertEqual(clients.told["sent"], sent)

    def test_one_that_leaves_comes_again_with_a_hello(self):
        clients = Clients(Attack(port=self.port, count=1, tls="hello", reads=-1, leaves=True, again=True))
        self.addCleanup(clients.events.close)
        clients.connect(clients.clients[0])
        for _ in range(2):
            server = self.listener.accept()[0]
            self.assertEqual(server.recv(3), b"\x16\x03\x01")
            server.sendall(b"x")
            while clients.told_now()["open"]:
                clients.notice()
            server.close()
            clients.tick(1)
        clients.end(clients.clients[0])

    def test_a_burst_speaks_when_all_have_connected_and_comes_again(self):
        clients = Clients(Attack(port=self.port, count=3, first="hello", every=2))
        self.addCleanup(clients.events.close)
        clients.burst()  # As the program does before it says that it is ready.
        for _ in range(2):
            servers = [self.listener.accept()[0] for _ in range(3)]
            self.assertEqual([server.recv(100) for server in servers], [b"hello"] * 3)
            for server in servers:
                server.close()
            for number in range(1, 2 * attacks.TICKS + 1):
                clients.tick(number)
        self.assertEqual(clients.told["connected"], 9)
        for client in clients.clients:
            clients.end(client)

    @unittest.skipUnless(shutil.which("openssl"), "openssl, which makes a certificate, is not installed")
    def test_one_with_tls_encrypts_what_it_sends_and_floods(self):
        with tempfile.TemporaryDirectory() as folder:
            pair = os.path.join(folder, "pair.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-keyout", pair, "-out", pair, "-subj", "/CN=localhost"], check=True, capture_output=True)
            for version in ("1.2", "1.3"):
                with self.subTest(version=version):
                    self.flood_of(version, pair)

    def flood_of(self, version, pair):
        clients = Clients(Attack(port=self.port, count=1, tls=version, first="first ", messages=3, repeat="again ", reads=-1))
        thread = threading.Thread(target=clients.connect, args=(clients.clients[0], ))
        thread.start()
        server, end = self.listener.accept()[0], openssl.End(attacks.VERSIONS[version], pair=pair)
        done = False
        while not done:
            done = end.shake(server.recv(65536))
            server.sendall(end.taken())
        thread.join()
        clients.tick(1)
        clients.tick(2)
        clients.notice()  # The tickets: what is unread at the end would reset the connection.
        clients.end(clients.clients[0])
        clients.events.close()
        text = b""
        while came := server.recv(65536):
            text += end.read(came)
        server.close()
        # OpenSSL's own server lets a client of TLS 1.2 renegotiate: the first hello begins a handshake.
        self.assertEqual(text, b"first " if version == "1.2" else b"first again again ")

    def test_the_program_says_when_it_is_ready_and_what_it_has_done(self):
        process = subprocess.Popen([sys.executable, "-B", attacks.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        process.stdin.write(json.dumps(dataclasses.asdict(Attack(port=self.port, count=3, first="x"))) + "\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "ready\n")
        told = json.loads(process.communicate("", timeout=10)[0])
        self.assertEqual((told["connected"], told["open"], told["sent"]), (3, 3, 3))


class Log(unittest.TestCase):

    def test_the_warnings_of_a_log_are_counted_until_it_is_quiet(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)

        def fill():
            for _ in range(3):
                os.write(write, b'{"message":"noted"}\n{"message":"request"}\n')
                time.sleep(0.2)

        writer = threading.Thread(target=fill)
        writer.start()
        self.assertEqual(suites.noted(read), (3, 3))
        writer.join()
        os.close(write)


if __name__ == "__main__":
    unittest.main()
