"""The slow clients are there, and a run without them is none."""

import contextlib
import os
import socket
import threading
import time
import unittest
import unittest.mock

from keel_lab import slow_clients
from keel_lab.sides import Invalid


class Listener:
    """Keeps what it receives; `turns_away` closes connections immediately, `lingers` says so and continues to read."""
    def __init__(self, turns_away=False, lingers=False):
        self.got, self.accepted, self._turns_away, self._open = 0, 0, turns_away, []
        self._lingers = lingers
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.accepted += 1
            if self._turns_away:
                connection.close()
            else:
                self._open.append(connection)
                if self._lingers:
                    with contextlib.suppress(OSError):  # The client has gone already.
                        connection.send(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
                        connection.shutdown(socket.SHUT_WR)
                threading.Thread(target=self._read, args=(connection, ), daemon=True).start()

    def _read(self, connection):
        with contextlib.suppress(OSError):  # close() ends it.
            while (more := connection.recv(4096)):
                self.got += len(more)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for connection in self._open:
            connection.close()


def until(holds):
    for _ in range(60000):
        if holds():
            return
        time.sleep(0.001)
    raise AssertionError("it did not come about in a minute")


class SlowClients(unittest.TestCase):
    def listener(self, **options):
        made = Listener(**options)
        self.addCleanup(made.close)
        return made

    def test_are_connected_and_send_byte_by_byte_while_the_block_runs(self):
        listener = self.listener()
        # What it says is compared with what came. Whether that was enough is not: on a busy machine it is not, rightly.
        with unittest.mock.patch.object(slow_clients, "check") as check:
            with slow_clients.beside(listener.port, 20, 0) as process:
                until(lambda: listener.accepted == 20 and listener.got > 0)
                self.assertEqual(os.sched_getscheduler(process.pid), os.SCHED_IDLE)
        done, count = check.call_args.args
        until(lambda: listener.got == done["sent"])
        self.assertEqual((count, done["reconnected"]), (20, 0))
        # Of each its first bytes, one a second.
        self.assertLess(done["sent"], 20 * (1 + done["seconds"]))

    def test_begin_again_when_they_are_turned_away(self):
        clients = slow_clients.Clients(self.listener(turns_away=True).port, 1)
        self.addCleanup(lambda: clients.clients[0][0].close())

        def is_begun_again():
            clients.send(clients.clients[0])
            return clients.reconnected == 2

        until(is_begun_again)

    def test_begin_again_when_the_server_lingers(self):
        clients = slow_clients.Clients(self.listener(lingers=True).port, 1)
        self.addCleanup(lambda: clients.clients[0][0].close())

        def is_begun_again():
            clients.tick(0)
            return clients.reconnected == 2

        until(is_begun_again)

    def test_none_are_no_process(self):
        with slow_clients.beside(1, 0, 0):
            pass

    def test_that_cannot_connect_make_the_run_invalid(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with self.assertRaisesRegex(Invalid, "did not connect"):
            with slow_clients.beside(port, 2, 0):
                pass

    def test_that_sent_too_little_make_the_run_invalid(self):
        slow_clients.check({"seconds": 2.0, "sent": 80, "reconnected": 80}, 100)
        with self.assertRaisesRegex(Invalid, "159 bytes in 2.0 s, 200 were due"):
            slow_clients.check({"seconds": 2.0, "sent": 159, "reconnected": 0}, 100)
