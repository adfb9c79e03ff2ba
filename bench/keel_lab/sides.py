"""How one process of a side is started, asked and ended.

A server is started fresh for every run, pinned to its core, on a free port, in a folder of its own, and is ready when
the port answers. Whatever goes wrong with it is an Invalid run with the last that it said; nothing waits for ever.
"""

import contextlib
import dataclasses
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

from keel_lab.side_file import ROOT

# Under callgrind a service is late with every request, and would refuse them: it must not.
SLOWED = {"KEEL_NETWORK__HTTP__QUEUE_DELAY_MAX_SEC": "3600"}
START_SECONDS_MAX = 10
STOP_SECONDS_MAX = 5
CERTIFICATES = "certificates"  # In a side's folder: service.pem and root.pem.
KEEL = "tools/keel/keel"
WITH_POSTGRES = "bench_with_postgres"  # Becomes the program that its arguments name, beside a database of its own.
LATE_TRIES = 5
CORES = sorted(os.sched_getaffinity(0))
CLIENT_CORE = CORES[0]
SERVER_CORE = CORES[1 % len(CORES)]


class Invalid(Exception):
    """What was asked for cannot be measured, or does not count: something is not there, a side did not start or ended,
    an answer was wrong or missing. The text says why."""


def filled(text, places):
    for name, value in places.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def program(text, build):
    """The path of a program that is called by a path, or is on PATH; None when it is not there."""
    text = filled(text, {"build": build, "root": ROOT})
    if "/" in text:
        path = pathlib.Path(build, text).absolute()  # An absolute one stays itself.
        return str(path) if os.access(path, os.R_OK if ".so" in path.name else os.X_OK) else None
    return shutil.which(text) or shutil.which(text, path="/usr/sbin:/usr/local/sbin:/sbin")


def served_at(side):
    """Where in the side's command its own program is: behind the one that starts its database."""
    return 1 if pathlib.Path(side.serve[0]).name == WITH_POSTGRES else 0


def served(side):
    """The side's own program, as its command says it."""
    return side.serve[served_at(side)]


def built(side):
    """The names of the build's programs in the side's command."""
    programs = (text.removeprefix("{build}/") for text in side.serve[:served_at(side) + 1])
    return [pathlib.Path(text).name for text in programs if text.startswith("bench/")]


def missing(side, build):
    """What the side lacks to be run, as a text; empty when nothing."""
    wanted = dict.fromkeys((*side.needs, side.serve[0]))
    places = {"root": ROOT, "build": build}
    return ", ".join(filled(one, places) for one in wanted if program(one, build) is None)


def command(side, build, places):
    first, *rest = side.serve
    return [program(first, build) or filled(first, places), *(filled(text, places) for text in rest)]


def prefixed(side, build, places, prefix):
    """The command whose own program `prefix` runs."""
    words, at = command(side, build, places), served_at(side)
    return [*words[:at], *prefix, *words[at:]]


def free_ports(count):
    """Different ones below those that the kernel hands out: nobody else is given one before the server binds it."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found = []
    with contextlib.ExitStack() as held:
        for port in random.SystemRandom().sample(range(first // 2, first), 100):
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                found.append(port)
            if len(found) == count:
                return found
    raise Invalid(f"no {count} free ports from {first // 2} to {first}")


def fetch(port, path, method="GET", body=None):
    """(status, content type, body) of one request on its own connection."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.headers.get_content_type(), answer.read()


def fetch_raw(port, path):
    """The bytes of an answer as they came, for the raw servers to repeat."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection, connection.makefile("rb") as answer:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n") and (line := answer.readline()):
            head += line
        length = int((re.search(rb"(?i)\ncontent-length: *(\d+)", head) or (0, 0))[1])
        body = answer.read(length)
    if not head.endswith(b"\r\n\r\n") or len(body) < length:
        raise Invalid(f"{path}: the connection ended within the answer")
    return head + body


def check(port, work):
    """That `work`'s path is answered as the experiment says; only what can be asked for twice."""
    if work.answer is None or work.method != "GET":
        return
    path = work.path.replace("{n}", "1")
    for again in range(LATE_TRIES):
        try:
            status, kind, body = fetch(port, path)
        except (OSError, http.client.HTTPException) as problem:
            raise Invalid(f"{path}: {problem or type(problem).__name__}") from None
        if status != 503 or status == work.status:
            break
        # One that refuses while it is late may have been held up by this machine.
        time.sleep(0.05 * (again + 1))
    if (status, body) != (work.status, work.answer.encode()) or work.type not in ("", kind):
        raise Invalid(f"{path}: a wrong answer: {status} {kind} {body[:200]!r}, "
                      f"not {work.status} {work.type} {work.answer[:200]!r}")


def prepare(port, work):
    """Asks for what the work says must have been asked before, for example to insert rows."""
    spec = dict(work.prepare)
    for number in range(1, spec.get("times", 1) + 1) if spec else ():
        body = spec.get("body", "").replace("{n}", str(number))
        wanted = spec.get("status", 200)
        status, _, _ = fetch(port, spec["path"].replace("{n}", str(number)),
                             spec.get("method", "POST" if body else "GET"), body or None)
        if status != wanted:
            raise Invalid(f"preparing: {spec['path']}: status {status}, not {wanted}")


@dataclasses.dataclass
class Server:
    process: subprocess.Popen
    port: int
    folder: str
    start_ms: float  # From fork to the first answer to an HTTP request.
    allocations: str  # File with the counts of heap allocations, when they are counted.
    admin_port: int = 0
    https_port: int = 0
    database: str = ""
    log: str = ""
    logged: int | None = None  # After the end: lines of its log that name the path.
    rows: int | None = None  # After the end: of the work's table.

    @property
    def pid(self):
        return self.process.pid

    @property
    def roots(self):
        """The file of the roots by which clients verify the side, where the work is over TLS."""
        return f"{self.folder}/{CERTIFICATES}/root.pem"

    def lines_of(self, work):
        """Of its log so far, those that name the work's path."""
        return lines_with(self.log, work.path.partition("{n}")[0])

    def resident_bytes(self):
        """Exact, unlike VmRSS, which may lag behind by some pages for each core."""
        for line in pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
        raise Invalid("no Rss in smaps_rollup")


def keel(build):
    """The path of keel. Invalid when it is not built."""
    found = program(KEEL, build)
    if found is None:
        raise Invalid(f"{build / KEEL} is not built: cmake --build ... --target keel")
    return found


def make_certificate(build, folder):
    """service.pem and root.pem, for 127.0.0.1: ECDSA with P-256. Invalid where keel is not built."""
    output([keel(build), "cert", "--dir", folder], START_SECONDS_MAX)


def ending(code):
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"


def output(command, seconds, cores=CORES, **more):
    """What a program prints. Invalid with the last that it said when it fails, or has not ended in time."""
    name = pathlib.Path(command[0]).name
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                              preexec_fn=lambda: os.sched_setaffinity(0, cores), **more)
    except subprocess.TimeoutExpired:
        raise Invalid(f"{name} had not ended after {seconds:g} s") from None
    if done.returncode != 0:
        raise Invalid(f"{name} ended with {ending(done.returncode)}: {(done.stdout + done.stderr).strip()[-500:]}")
    return done.stdout


def wait_for_answer(process, port, path, seconds=START_SECONDS_MAX):
    """Until `path` is answered over HTTP; without one until somebody listens."""
    end = time.monotonic() + seconds
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Invalid(f"ended at its start with {ending(process.returncode)}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                if not path:
                    return
                connection.sendall(request)
                if connection.recv(4096).startswith(b"HTTP/1.1 "):
                    return
        except OSError:
            pass
        time.sleep(0.0005)
    raise Invalid(f"port {port} did not answer within {seconds} s")


def ready_path(side, work):
    if work.client == "bytes":
        return ""
    return side.ready or work.path.replace("{n}", "1")


def end(process, asks=True):
    """Its whole group is gone; `asks` it first, and waits."""
    if asks:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS_MAX)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def said(folder):
    text = pathlib.Path(folder, "output").read_text(errors="replace").strip()[-500:]
    return f"; it said: {text}" if text else ""


def count_rows(database, table):
    """None when it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute(f"select count(*) from {table}").fetchone()[0]
    except sqlite3.Error:
        return None


def lines_with(path, text):
    try:
        with open(path, errors="replace") as lines:
            return sum(text in line for line in lines)
    except OSError:
        return 0


@contextlib.contextmanager
def running(side, work, build, payload=b"", count_allocations=False, prefix=(), start_seconds=START_SECONDS_MAX):
    """A fresh process of `side`, run by `prefix` if any; `payload` is the answer that a raw server repeats."""
    port, admin_port, https_port = free_ports(3)
    # Beside the build, not in /tmp: a database there could lie in memory, and an fsync would cost nothing.
    folder = tempfile.mkdtemp(prefix="lab-", dir=build)
    places = {
        "port": port, "admin_port": admin_port, "https_port": https_port, "folder": folder, "build": build,
        "root": ROOT, "engine": side.engine, "payload": f"{folder}/payload"
    }
    environment = os.environ | {name: filled(value, places) for name, value in side.environment}
    pathlib.Path(folder, "payload").write_bytes(payload)
    for name, text in side.files:
        pathlib.Path(folder, name).write_text(filled(text, places))
    allocations = ""
    if prefix:
        environment |= SLOWED
    if count_allocations:
        allocations = f"{folder}/allocations"
        environment |= {"LD_PRELOAD": str(build / "bench/libbench_alloc_count.so"), "ALLOC_COUNT_FILE": allocations}
    try:
        if work.https:
            make_certificate(build, f"{folder}/{CERTIFICATES}")
        with open(f"{folder}/output", "wb") as output:
            begin = time.monotonic()
            try:
                process = subprocess.Popen(prefixed(side, build, places, prefix), cwd=folder, env=environment,
                                           stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                           start_new_session=True,
                                           preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CORE}))
            except OSError as problem:
                raise Invalid(f"{side.name}: {problem.filename}: {problem.strerror}") from None
        server = None
        try:
            wait_for_answer(process, port, ready_path(side, work), start_seconds)
            server = Server(process, port, folder, (time.monotonic() - begin) * 1000, allocations, admin_port,
                            https_port, filled(side.database, places), filled(side.log, places))
            yield server
        except (Invalid, OSError, http.client.HTTPException) as problem:
            time.sleep(0.05)  # One that crashed may still be ending.
            crashed = server and process.poll() is not None
            why = f"ended during the run with {ending(process.returncode)}" if crashed else str(problem) or type(
                problem).__name__
            raise Invalid(f"{side.name}: {why}{said(folder)}") from None
        finally:
            # A server that drains takes its time, which is of use only where it has something left to write.
            end(process, asks=bool(prefix or side.log or work.rows or count_allocations))
            if server and side.log:
                server.logged = server.lines_of(work)
            if server and work.rows:
                server.rows = count_rows(server.database, work.rows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
