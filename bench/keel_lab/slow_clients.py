"""Clients that send a byte of a request a second and never end it: python3 slow_clients.py PORT COUNT.

One that the server turns away connects again. The program says "ready" when all are connected, and at the end of its
standard input what they have done, as JSON. `beside` is what the lab uses: it also proves that they were there. As a
program it knows nothing of the lab, whose modules are therefore imported where they are used.
"""

import contextlib
import json
import os
import resource
import select
import socket
import subprocess
import sys
import time

HEAD = b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\nX-Slow: "  # Then one letter after the other.
# In a second: each sends a byte of one group of clients. A hundred clients in one tick would be a load of their own.
TICKS = 1000
READY_SECONDS = 30
THERE = 0.8  # Of the bytes that all of them would have sent.


def connected(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setblocking(False)
    return client


class Clients:
    """`count` of them, connected; `sent` and `reconnected` count over all."""
    def __init__(self, port, count):
        self.port, self.sent, self.reconnected = port, 0, 0
        self.answers = select.epoll()
        self.clients = [[None, 0] for _ in range(count)]
        self.by_descriptor = {}
        for one in self.clients:
            self.connect(one)

    def connect(self, one):
        one[:] = [connected(self.port), 0]
        self.by_descriptor[one[0].fileno()] = one
        self.answers.register(one[0], select.EPOLLIN)

    def begin_again(self, one):
        del self.by_descriptor[one[0].fileno()]
        one[0].close()
        self.connect(one)
        self.reconnected += 1

    def send(self, one):
        """One more byte; a client that was rejected begins again."""
        client, at = one
        try:
            client.send(HEAD[at:at + 1] or b"x")
        except OSError:  # Closed by the server, or its window is full: nobody reads.
            return self.begin_again(one)
        one[1] += 1
        self.sent += 1

    def read(self):
        """What the server said. One whose stream has ended begins again: the server may linger, and take more bytes."""
        for descriptor, _ in self.answers.poll(0):
            one = self.by_descriptor[descriptor]
            try:
                over = not one[0].recv(4096)
            except OSError:
                over = True
            if over:
                self.begin_again(one)

    def tick(self, number):
        self.read()
        for one in self.clients[number % TICKS::TICKS]:
            self.send(one)


def main(port, count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 100)), hard))
    clients = Clients(port, count)
    # They share a core with the client that is measured, and never keep it waiting: its wait would be in its latencies.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    began = time.monotonic()
    print("ready", flush=True)
    number = 0
    while True:
        wait = began + number / TICKS - time.monotonic()
        if select.select([sys.stdin], [], [], max(wait, 0))[0]:
            break
        clients.tick(number)
        number += 1
    print(json.dumps({"seconds": time.monotonic() - began, "sent": clients.sent, "reconnected": clients.reconnected}),
          flush=True)


@contextlib.contextmanager
def beside(port, count, core):
    """`count` slow clients, a process, while the block runs. Invalid unless they came and sent what is due."""
    from keel_lab.sides import Invalid
    if count == 0:
        yield
        return
    process = subprocess.Popen([sys.executable, __file__, str(port), str(count)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    try:
        if not select.select([process.stdout], [], [], READY_SECONDS)[0] or process.stdout.readline() != "ready\n":
            process.kill()
            raise Invalid(f"{count} slow clients did not connect: {process.stderr.read().strip()[-300:]}")
        yield process
        told, said = process.communicate("", timeout=READY_SECONDS)
        if process.returncode != 0:
            raise Invalid(f"the slow clients failed: {said.strip()[-300:]}")
        check(json.loads(told), count)
    finally:
        process.kill()
        process.communicate()


def check(done, count):
    """Invalid when fewer bytes came from them than were due."""
    from keel_lab.sides import Invalid
    due = count * done["seconds"]
    if done["sent"] + done["reconnected"] < THERE * due:
        raise Invalid(f"{count} slow clients sent {done['sent']} bytes in {done['seconds']:.1f} s, {due:.0f} were due")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
