"""The servers that are compared, and how one process of them is started and ended.

A server is started fresh for every run, pinned to its core, on a free port, and is ready when the port answers.
The one under test gets its settings through the environment (KEEL_...), so any binary that is a Keel service fits.
"""

import contextlib
import dataclasses
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PLAINTEXT = ("/plaintext", "text/plain", b"Hello, World!")
JSON = ("/json", "application/json", b'{"message":"Hello, World!"}')

NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; lingering_close off; client_header_buffer_size 8k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location = /plaintext {{ default_type text/plain; return 200 "Hello, World!"; }}
    location = /json {{ default_type application/json; return 200 '{{"message":"Hello, World!"}}'; }}
  }}
}}
"""


class NotReady(Exception):
    """The server did not start or does not answer as it should."""


@dataclasses.dataclass(frozen=True)
class Side:
    name: str
    kind: str               # keel, raw, nginx, plain: started with a port, or turns: measures itself
    program: str
    settings: tuple = ()    # of a Keel service: (environment variable, value)
    arguments: tuple = ()

    @property
    def available(self):
        return bool(self.program) and shutil.which(self.program) is not None


def raw(build, engine):
    return Side(f"raw {engine}", "raw", str(build / f"bench_raw_{engine}"))


def beast(build):
    return Side("Beast", "plain", str(build / "bench_beast"))


def keel_echo(build, engine):
    program = next((path for path in (build / "echo/bench_echo", build / "bench_echo") if path.exists()), "")
    return Side(f"Keel {engine}", "plain", str(program), arguments=(f"--engine={engine}",))


def raw_echo(build, engine):
    return Side(f"raw {engine}", "plain", str(build / f"bench_raw_echo_{engine}"))


def asio_echo(build, style):
    return Side(f"Asio {style}", "plain", str(build / "bench_asio_echo"), arguments=(f"--style={style}",))


def uv_echo(build):
    return Side("libuv", "plain", str(build / "bench_uv_echo"))


def turns(build, name, library, engine=""):
    return Side(name, "turns", str(build / f"turns/bench_turns_{library}"), arguments=(f"--engine={engine}",) if engine else ())


def nginx():
    return Side("nginx", "nginx", shutil.which("nginx") or "/usr/sbin/nginx")


def keel(server, engine, **settings):
    pairs = {"KEEL_NETWORK__ENGINE": engine, "KEEL_NETWORK__WORKERS": "1",
             "KEEL_NETWORK__HTTP__ACCESS_LOG": "false", **settings}
    extra = "".join(f" {name.removeprefix('KEEL_').lower().replace('__', '.')}={value}" for name, value in settings.items())
    return Side(f"Keel {engine}{extra}", "keel", server or "", tuple(pairs.items()))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(port, path, method="GET", body=None):
    """(status, content type, body) of one request on its own connection."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.headers.get_content_type(), answer.read()


def fetch_raw(port, path):
    """The bytes of an answer as they came, for the raw servers to repeat."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        text = b""
        while b"\r\n\r\n" not in text:
            text += connection.recv(65536) or _ended(path)
        head, _, body = text.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields.get(b"content-length", b"0"))
        while len(body) < length:
            body += connection.recv(65536) or _ended(path)
        return head + b"\r\n\r\n" + body


def _ended(path):
    raise NotReady(f"{path}: the connection ended within the answer")


def check(port, expected):
    path, content_type, body = expected
    got = fetch(port, path)
    if got != (200, content_type, body):
        raise NotReady(f"{path}: expected {(200, content_type, body)}, got {got}")


@dataclasses.dataclass
class Server:
    pid: int
    port: int
    start_ms: float     # From fork to the first answer to an HTTP request.
    allocations: str    # File with the counts of heap allocations, when they are counted.

    def rss_kb(self):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def resident_bytes(self):
        """Exact, unlike VmRSS, which may lag behind by some pages for each core."""
        for line in pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
        raise NotReady("no Rss in smaps_rollup")


def wait_for_answer(process, port, path, seconds=10):
    """Until `path` is answered over HTTP; without one until somebody listens."""
    end = time.monotonic() + seconds
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    while time.monotonic() < end:
        if process.poll() is not None:
            raise NotReady(f"ended at start with code {process.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                if path is None:
                    return
                connection.sendall(request)
                if connection.recv(4096).startswith(b"HTTP/1.1 "):
                    return
        except OSError:
            pass
        time.sleep(0.0005)
    raise NotReady(f"port {port} did not answer within {seconds} s")


@contextlib.contextmanager
def running(side, build, core, answers=None, count_allocations=False, ready_path="/plaintext"):
    """A fresh process of `side` on `core`; `answers` are the (plaintext, JSON) bytes that a raw server repeats."""
    port = free_port()
    # Beside the build, not in /tmp: a database there could lie in memory, and an fsync would cost nothing.
    folder = tempfile.mkdtemp(prefix="bench-", dir=build)
    environment = dict(os.environ)
    command = [side.program, *side.arguments]
    if side.kind == "nginx":
        pathlib.Path(folder, "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        command += ["-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log"]
    else:
        command += [f"--port={port}"] if side.kind != "keel" else []
    if side.kind == "raw" and answers:
        for name, text in zip(("plaintext", "json"), answers):
            pathlib.Path(folder, name).write_bytes(text)
            command.append(f"--{name}={folder}/{name}")
    if side.kind == "keel":
        environment |= {"KEEL_NETWORK__HTTP__PORT": str(port), "KEEL_DATABASE__PATH": f"{folder}/bench.db",
                        "KEEL_MONITORING__METRICS__EXPORT_PORT": str(free_port()), **dict(side.settings)}
    allocations = ""
    if count_allocations:
        allocations = f"{folder}/allocations"
        environment |= {"LD_PRELOAD": str(build / "libbench_alloc_count.so"), "ALLOC_COUNT_FILE": allocations}

    with open(f"{folder}/output", "wb") as output:
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=output, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        try:
            wait_for_answer(process, port, ready_path)
            yield Server(process.pid, port, (time.monotonic() - begin) * 1000, allocations)
        except NotReady as problem:
            said = pathlib.Path(folder, "output").read_text(errors="replace").strip()[-500:]
            raise NotReady(f"{side.name}: {problem}" + (f"; it said: {said}" if said else "")) from None
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            shutil.rmtree(folder, ignore_errors=True)
