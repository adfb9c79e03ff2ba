"""Clients that mean no good, of one kind, as a program: python3 attacks.py, with an Attack as JSON in the first line of its
standard input. It says "ready" when all have connected or were rejected, and at the end of its input, as JSON, what they
have done."""

import dataclasses
import json
import os
import pathlib
import resource
import select
import socket
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tls"))
import openssl

IPV6_FREEBIND = 78
TICKS = 100  # A second has.
SETTLE_SECONDS = 0.3


@dataclasses.dataclass
class Attack:
    port: int
    count: int
    host: str = "127.0.0.1"
    sources: str = ""         # IPv6 addresses that client i connects from: `{:x}` is replaced by i + 1.
    first: str = ""           # Sent immediately.
    drip: str = ""            # And then a byte of this each second, from its beginning again after its end.
    repeat: str = ""          # Or this, as often as the socket takes it: for each read when `waits`.
    waits: bool = False
    rate: float = 0           # `repeat` of all clients together, in a second; 0: as often as it goes.
    reads: int = 0            # Bytes a second; -1: everything.
    receive_buffer: int = 0   # Of the kernel; 0: as the system has it.
    again: bool = False       # One whose connection has ended begins again.
    ramp: float = 0           # Seconds over which they begin.
    tls: str = ""             # "1.2", "1.3": all of it is encrypted. "hello": a client's hello comes first, and no handshake.
    messages: int = 0         # In each turn so many updates of keys (1.3) or requests to renegotiate (1.2), before `repeat`.
    leaves: bool = False      # Its connection ends when anything has come.
    every: float = 0          # Seconds after which all end, connect anew and then send `first`, as if they were one.


VERSIONS = {"1.2": openssl.TLS1_2, "1.3": openssl.TLS1_3}


def hello():
    """A client's first flight. A server cannot know that it has seen it before."""
    end = openssl.End()
    end.shake()
    return end.taken()


class Client:
    def __init__(self, attack, number):
        self.socket = None
        self.end = None  # Of TLS.
        self.number = number
        self.at = 0
        self.unsent = b""
        self.owed = True  # It may send `repeat` once more.


class Clients:
    def __init__(self, attack):
        self.attack = attack
        self.clients = [Client(attack, i) for i in range(attack.count)]
        self.by_descriptor = {}
        self.events = select.epoll()
        self.told = {"connected": 0, "ended": 0, "refused": 0, "sent": 0, "received": 0, "open": 0}
        self.first, self.drip, self.repeat = (text.encode("latin-1") for text in (attack.first, attack.drip, attack.repeat))
        self.allowance = 0.0
        if attack.tls == "hello":
            self.first = hello() + self.first

    def connect(self, client):
        attack = self.attack
        one = socket.socket(socket.AF_INET6 if ":" in attack.host else socket.AF_INET)
        try:
            if attack.receive_buffer:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, attack.receive_buffer)
            if attack.sources:
                one.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
                one.bind((attack.sources.format(client.number + 1), 0))
            one.settimeout(2)
            one.connect((attack.host, attack.port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            one.close()
            self.told["refused"] += 1
            return
        try:
            client.end = self.secured(one)
        except (OSError, openssl.Failed):
            one.close()
            self.told["refused"] += 1
            return
        one.setblocking(False)
        client.socket, client.at, client.owed = one, 0, True
        client.unsent = self.sealed(client, self.first)
        self.by_descriptor[one.fileno()] = client
        self.events.register(one, select.EPOLLRDHUP | (select.EPOLLIN if attack.reads < 0 else 0))
        self.told["connected"] += 1
        if not attack.every:
            self.push(client)

    def burst(self):
        """All connect anew, and speak when the last one has."""
        for client in self.clients:
            if client.socket is not None:
                self.end(client)
        for client in self.clients:
            self.connect(client)
        for client in self.clients:
            if client.socket is not None:
                self.push(client)

    def secured(self, one):
        """Its end of TLS after the handshake; None: it speaks none."""
        if self.attack.tls not in VERSIONS:
            return None
        end = openssl.End(VERSIONS[self.attack.tls])
        done = end.shake()
        one.sendall(end.taken())
        while not done:
            if not (came := one.recv(65536)):
                raise openssl.Failed("it has ended")
            done = end.shake(came)
            one.sendall(end.taken())
        return end

    def sealed(self, client, plain):
        return client.end.write(plain) if client.end and plain else plain

    def flood(self, client):
        """The messages of one turn."""
        if self.attack.tls == "1.2":
            return client.end.renegotiations(self.attack.messages)
        return client.end.key_updates(self.attack.messages)

    def end(self, client):
        self.events.unregister(client.socket)
        del self.by_descriptor[client.socket.fileno()]
        client.socket.close()
        if client.end:
            client.end.close()
        client.socket = client.end = None
        self.told["ended"] += 1

    def push(self, client):
        """What is unsent; false when its connection has ended."""
        try:
            while client.unsent:
                sent = client.socket.send(client.unsent)
                self.told["sent"] += sent
                client.unsent = client.unsent[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self.end(client)

    def pull(self, client, most):
        try:
            got = client.socket.recv(most)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        if not got:
            return self.end(client)
        self.told["received"] += len(got)
        client.owed = True
        if self.attack.leaves:
            self.end(client)

    def notice(self):
        for descriptor, events in self.events.poll(0):
            client = self.by_descriptor.get(descriptor)
            if client is None:
                continue
            if events & select.EPOLLIN:
                self.pull(client, 65536)
            elif events & (select.EPOLLERR | select.EPOLLHUP | select.EPOLLRDHUP):
                self.end(client)

    def act(self, client, second):
        """Its turn. Those that drip or read slowly have one each second, those that repeat one in each tick."""
        if client.socket is None:
            if self.attack.again or client.number >= self.told["connected"] + self.told["refused"]:
                self.connect(client)
            return
        if self.drip and second:
            client.unsent += self.sealed(client, self.drip[client.at % len(self.drip):][:1])
            client.at += 1
        if self.attack.messages and not client.unsent:
            client.unsent = self.flood(client) + self.sealed(client, self.repeat)
        elif self.repeat and not client.unsent and (client.owed or not self.attack.waits) and self.allowance > 0:
            client.unsent, client.owed = self.sealed(client, self.repeat), False
            self.allowance -= 1
        self.push(client)
        if client.socket is not None and self.attack.reads > 0 and second:
            self.pull(client, self.attack.reads)

    def tick(self, number):
        self.notice()
        if self.attack.every:
            if number and number % round(self.attack.every * TICKS) == 0:
                self.burst()
            return
        rate = self.attack.rate
        self.allowance = min(self.allowance + rate / TICKS, rate) if rate else float("inf")
        due = number / TICKS / self.attack.ramp * len(self.clients) if self.attack.ramp else len(self.clients)
        for client in self.clients:
            if client.number >= due:
                break
            second = client.number % TICKS == number % TICKS
            is_busy = self.repeat or self.attack.messages or self.attack.leaves
            if second or is_busy or (client.socket is None and client.number >= due - 10):
                self.act(client, second)

    def told_now(self):
        return self.told | {"open": len(self.by_descriptor)}


def main():
    attack = Attack(**json.loads(sys.stdin.readline()))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, attack.count + 100)), hard))
    clients = Clients(attack)
    if attack.every:
        clients.burst()
    # They share a core with the client that is measured, and never keep it waiting: its wait would be in its latencies. Only
    # a burst comes before.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if not attack.ramp and not attack.every:
        for client in clients.clients:
            clients.connect(client)
    print("ready", flush=True)
    began = time.monotonic()
    number = 0
    while not select.select([sys.stdin], [], [], max(began + number / TICKS - time.monotonic(), 0))[0]:
        clients.tick(number)
        number += 1
    time.sleep(SETTLE_SECONDS)  # A client that has just connected may still be rejected.
    clients.notice()
    print(json.dumps(clients.told_now()), flush=True)


if __name__ == "__main__":
    main()
