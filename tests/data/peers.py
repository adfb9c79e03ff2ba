"""What stands between the service and its rows: PostgreSQL, pgbouncer, toxiproxy; and the service itself."""

import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / "build/data-tools"
TOXIPROXY = "github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0"  # A Go module; a minute to build, once.


class Failed(Exception):
    """Why a suite has no score."""


def toxiproxy_place():
    return TOOLS / TOXIPROXY.replace("/", "_") / "server"


def has_toxiproxy():
    """Whether it is there, or can be built."""
    return toxiproxy_place().exists() or shutil.which("go") is not None


def toxiproxy():
    """The program, which is built when it is missing or of another version."""
    program = toxiproxy_place()
    folder = program.parent
    if not program.exists():
        if shutil.which("go") is None:
            raise Failed("needs Go, 1.21 or later")
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["go", "install", TOXIPROXY], env={**os.environ, "GOBIN": str(folder)}, text=True,
                              capture_output=True, timeout=1800, check=False)
        if done.returncode != 0:
            raise Failed(f"go install: {done.stderr.strip()[-300:]}")
    return program


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(holds, seconds, what):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.002)


def is_open(port):
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


# Servers that do not run as root.
def as_other(command):
    if os.geteuid() != 0:
        return command
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *command]


class Postgres:
    """Debian's server in a folder of its own, on a Unix socket there and on TCP."""

    def __init__(self, folder):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            raise Failed("PostgreSQL is not installed: scripts/setup data")
        self._programs = found[-1].parent
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        self._process = None
        self._log = (self.folder / "server.log").open("w")
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        done = subprocess.run(as_other([self._programs / "initdb", "-D", self.folder / "data", "-U", "keel", "-E", "UTF8",
                                        "--locale=C", "--no-sync", "--auth=trust"]), cwd=self.folder, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise Failed(f"initdb: {done.stderr[-300:]}")
        with (self.folder / "data/postgresql.conf").open("a") as settings:
            settings.write(f"unix_socket_directories = '{self.folder}'\nfsync = off\nshared_buffers = 16MB\n"
                           f"listen_addresses = '127.0.0.1'\nport = {self.port}\n")
        self.start()

    def start(self):
        """Until it takes connections."""
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            as_other([self._programs / "postgres", "-D", self.folder / "data"]), cwd=self.folder, stdout=self._log,
            stderr=self._log, start_new_session=True)
        until(self._is_ready, 60, "PostgreSQL starts")

    def _is_ready(self):
        if self._process.poll() is not None:
            raise Failed(f"PostgreSQL has ended: {(self.folder / 'server.log').read_text()[-300:]}")
        with contextlib.suppress(FileNotFoundError):
            return "ready" in (self.folder / "data/postmaster.pid").read_text()
        return False

    def end(self, how=signal.SIGQUIT):
        """SIGQUIT: as a crash does. SIGINT: sessions are told. SIGKILL: the first process alone; the others notice."""
        if self._process is None:
            return
        group = os.getpgid(self._process.pid)
        self._process.send_signal(how)
        self._process.wait(timeout=60)
        self._process = None
        if how == signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        time.sleep(0.05)
        (self.folder / "data/postmaster.pid").unlink(missing_ok=True)

    def url(self, port=None):
        """By TCP with a port: its own, or that of what stands before it."""
        if port is None:
            return f"postgres:///postgres?host={self.folder}&port={self.port}&user=keel"
        return f"postgres://keel@127.0.0.1:{port}/postgres?sslmode=disable"

    def query(self, sql):
        """Its lines."""
        done = subprocess.run(["psql", "-h", self.folder, "-p", str(self.port), "-U", "keel", "-d", "postgres", "-Atc", sql],
                              text=True, capture_output=True, timeout=60, check=False)
        if done.returncode != 0:
            raise Failed(f"psql: {done.stderr[-300:]}")
        return done.stdout.splitlines()

    def rows(self):
        return [int(line) for line in self.query("select id from rows")]


@contextlib.contextmanager
def postgres():
    with tempfile.TemporaryDirectory(prefix="keel-data-") as folder:
        server = Postgres(folder)
        try:
            yield server
        finally:
            server.end()


class Pooler:
    """pgbouncer in transaction mode before a server."""

    def __init__(self, server):
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        if not pathlib.Path(program).exists():
            raise Failed("pgbouncer is not installed: scripts/setup data")
        self.port = free_port()
        self._command = as_other([program, server.folder / "pgbouncer.ini"])
        (server.folder / "users.txt").write_text('"keel" ""\n')
        (server.folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={server.folder} port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {server.folder}/users.txt\n"
            "pool_mode = transaction\ndefault_pool_size = 4\nserver_login_retry = 0.1\n")
        self._log = (server.folder / "pgbouncer.log").open("w")
        self._process = None
        self.start()

    def start(self):
        self._process = subprocess.Popen(self._command, stdout=self._log,  # pylint: disable=consider-using-with
                                         stderr=self._log)
        until(lambda: is_open(self.port), 20, "pgbouncer starts")

    def end(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Proxy:
    """toxiproxy before a port."""

    def __init__(self, port):
        self.port, self._control = free_port(), free_port()
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            [toxiproxy(), "-port", str(self._control)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: is_open(self._control), 20, "toxiproxy starts")
        self._ask("POST", "/proxies", {"name": "pg", "listen": f"127.0.0.1:{self.port}", "upstream": f"127.0.0.1:{port}"})

    def _ask(self, method, path, content=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self._control}{path}", method=method,
                                         data=None if content is None else json.dumps(content).encode())
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                response.read()
        except urllib.error.HTTPError as error:
            raise Failed(f"toxiproxy: {method} {path}: {error.read().decode()[:200]}") from None

    def add(self, kind, stream="downstream", toxicity=1.0, **attributes):
        self._ask("POST", "/proxies/pg/toxics", {"name": f"{kind}-{stream}", "type": kind, "stream": stream,
                                                 "toxicity": toxicity, "attributes": attributes})

    def remove(self, kind, stream="downstream"):
        self._ask("DELETE", f"/proxies/pg/toxics/{kind}-{stream}")

    def enable(self, enabled):
        self._ask("POST", "/proxies/pg", {"enabled": enabled})

    def end(self):
        self._process.kill()
        self._process.wait()


class Service:
    """service.cc with these settings."""

    def __init__(self, build, folder, *settings):
        self._log = pathlib.Path(folder) / "service.log"
        # Its log has what its database does; what it prints has the ports.
        self._command = [build / "tests/data/data_service", "--network.http.port=0",
                         "--monitoring.metrics.export_port=0", "--network.workers=2",
                         f"--logging.sinks=[{{type: file, path: '{folder}/service-log.json'}}]", *settings]
        self._process = None
        self.address = None
        self.start()

    def start(self):
        with self._log.open("w") as out:
            self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=out,  # pylint: disable=consider-using-with
                                             stderr=subprocess.STDOUT)
        self.address = None
        until(self._has_address, 30, "the service starts")

    def _has_address(self):
        found = re.search(r"service +http://([^:]+):(\d+)", self._log.read_text())
        if found:
            self.address = (found[1], int(found[2]))
            return True
        if self._process.poll() is not None:
            raise Failed(f"the service has ended: {self._log.read_text()[-500:]}")
        return False

    def memory_kib(self):
        status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def kill(self):
        self._process.kill()
        self._process.wait()

    def end(self):
        """Whether it ended by itself, as it was told, with code 0."""
        self._process.terminate()
        try:
            return self._process.wait(timeout=20) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            return False


@contextlib.contextmanager
def served(build, *settings):
    with tempfile.TemporaryDirectory(prefix="keel-data-") as folder:
        service = Service(build, folder, *settings)
        try:
            yield service
        finally:
            is_good = service.end()
        if not is_good:
            raise Failed("the service did not end within 20 s, or with another code than 0")


@contextlib.contextmanager
def ending(one):
    try:
        yield one
    finally:
        one.end()
