"""What is looked at while a service is attacked: its memory, the kernel's memory for its sockets, and its probe."""

import ctypes
import http.client
import os
import re
import socket
import struct
import threading
import time

PAGE = 4096
SAMPLE_SECONDS = 0.1
PROBE_TIMEOUT = 15


def rss(pid):
    """Bytes of memory that the process has."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * PAGE


def cpu(pid):
    """Seconds that the process has computed, with those of the kernel for it: by clock_getcpuclockid(3), for /proc counts in
    hundredths of a second, and what is measured takes two or three of them."""
    clock = ctypes.c_int()
    code = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    if code != 0:
        raise OSError(code, os.strerror(code))
    return time.clock_gettime(clock.value)


def kernel_memory(port):
    """Bytes that the kernel holds for the TCP sockets of a local port, those included that no process has any more: what
    came and was not read, and what was sent and not acknowledged. By sock_diag(7)."""
    total = 0
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as link:  # NETLINK_SOCK_DIAG
        for family in (socket.AF_INET, socket.AF_INET6):
            # inet_diag_req_v2: TCP with INET_DIAG_SKMEMINFO, in all states but TCP_TIME_WAIT. Those hold nothing, and looking
            # at the ten thousand of a flood takes the processor from who is measured.
            body = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 1 << 6, 0, 0xFFFFFFFF & ~(1 << 6))
            body += struct.pack("!HH", port, 0) + bytes(44)
            link.send(struct.pack("=IHHII", 16 + len(body), 20, 0x301, 1, 0) + body)
            done = False
            while not done:
                data = link.recv(1 << 20)
                while data:
                    length, kind = struct.unpack_from("=IH", data)
                    if kind in (2, 3):  # An error, or the end of the list.
                        done = True
                        break
                    total += of_socket(data[16:length], port)
                    data = data[(length + 3) & ~3:]
    return total


def of_socket(message, port):
    """What one inet_diag_msg says of a socket of the port; of all others 0."""
    if struct.unpack_from("!H", message, 4)[0] != port:
        return 0
    at = 72
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == 7:  # INET_DIAG_SKMEMINFO: received, limit, in the device, limit, forward, queued.
            received, _, _, _, _, queued = struct.unpack_from("=6I", message, at + 4)
            return received + queued
        at += (length + 3) & ~3
    return 0


def probe(port, path="/readyz", host="127.0.0.1"):
    """Seconds until the path says 200 on a connection of its own; PROBE_TIMEOUT when it does not."""
    began = time.monotonic()
    try:
        connection = http.client.HTTPConnection(host, port, timeout=PROBE_TIMEOUT)
        connection.request("GET", path)
        good = connection.getresponse().status == 200
        connection.close()
    except (OSError, http.client.HTTPException):
        good = False
    return time.monotonic() - began if good else float(PROBE_TIMEOUT)


def metric(port, name, host="127.0.0.1"):
    """The sum of the metric's series on the admin listener; 0 when it does not answer."""
    try:
        connection = http.client.HTTPConnection(host, port, timeout=PROBE_TIMEOUT)
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode(errors="replace")
        connection.close()
    except (OSError, http.client.HTTPException):
        return 0.0
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if re.match(re.escape(name) + r"[ {]", line))


class Watch:
    """Samples all of them on threads of its own while the block runs; has the greatest of each after it. The threads run on
    these cores, and only when nothing else does there: a good client that waited for them would be slow for their sake."""

    def __init__(self, pid, port, probed, path="/readyz", cores=None):
        self.pid, self.port, self.probed, self.path = pid, port, probed, path
        self.cores = cores or os.sched_getaffinity(0)
        self.rss = self.kernel = self.samples = 0
        self.probe = 0.0
        self.over = threading.Event()

    def give_way(self):
        os.sched_setaffinity(0, self.cores)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    def sample(self):
        self.give_way()
        while not self.over.wait(SAMPLE_SECONDS):
            self.rss = max(self.rss, rss(self.pid))
            self.kernel = max(self.kernel, kernel_memory(self.port))
            self.samples += 1

    def ask(self):
        self.give_way()
        while True:
            self.probe = max(self.probe, probe(self.probed, self.path))
            if self.over.wait(SAMPLE_SECONDS):
                return

    def __enter__(self):
        self.threads = [threading.Thread(target=run) for run in (self.sample, self.ask)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
