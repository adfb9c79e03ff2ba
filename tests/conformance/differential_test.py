#!/usr/bin/env python3
"""The judge of differential.py, by a server that says what it is told to."""

import contextlib
import socket
import sys
import threading
import unittest
from unittest import mock

import differential


@contextlib.contextmanager
def saying(answer):
    """A port where one connection gets `answer`, and its end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


class DifferentialTest(unittest.TestCase):

    def test_the_first_final_answer_decides(self):
        for answer, accepted in [
            (b"HTTP/1.1 200 OK\r\n\r\n", True),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", True),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", True),
            (b"HTTP/1.0 400 Bad Request\r\n\r\n", False),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 Too Large\r\n\r\n", False),
            (b"HTTP/1.1 501 Not Implemented\r\n\r\n", False),
            (b"", False),
        ]:
            with self.subTest(answer), saying(answer) as port:
                self.assertEqual(differential.accepts(port, b"GET / HTTP/1.1\r\n\r\n"), accepted)

    def test_who_stands_alone_is_named(self):
        verdicts = {
            "both": (True, [True, True, True, True]),
            "bold": (True, [False, False, False, True]),
            "half": (True, [False, False, True, True]),
            "excused": (True, [False, False, False, False]),
            "strict": (False, [True, True, True, False]),
        }
        with mock.patch.object(differential, "ACCEPTED_ALONE", {"excused": "why", "both": "no more"}):
            self.assertEqual(differential.judge(verdicts), (["bold"], ["both"], ["strict"]))

    def test_a_server_that_is_not_there_is_said(self):
        with self.assertRaisesRegex(differential.NotThere, "make conformance installs it"):
            with differential.other("none", "", ["keel-no-such-server"]):
                pass
        with self.assertRaisesRegex(differential.NotThere, "does not start"):
            with differential.other("false", "", ["false"]):
                pass


if __name__ == "__main__":
    sys.exit(unittest.main())
