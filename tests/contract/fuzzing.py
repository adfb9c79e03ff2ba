"""schemathesis against services that are made from a contract: all checks, all phases."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = ROOT / "build/contract-venv"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


class Failed(Exception):
    """Why a suite has no score."""


def install():
    """The packages of requirements.txt."""
    for command in ([sys.executable, "-m", "venv", VENV],
                    [VENV / "bin/pip", "install", "--quiet", "--require-hashes", "-r", REQUIREMENTS]):
        if command[0] == sys.executable and (VENV / "bin/pip").exists():
            continue
        done = subprocess.run(command, text=True, capture_output=True, timeout=600, check=False)
        if done.returncode != 0:
            raise Failed(f"Python's packages: {(done.stderr or done.stdout).strip()[-300:]}")


@contextlib.contextmanager
def served(build, example, flags=(), program=None, **environment):
    """The URL of an example with a database of its own, on a free port. `program` is another one with its settings."""
    program = build / (program or f"examples/{example}/{example}")
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        command = [program, "--config", f"examples/{example}/service.yaml", "--network.http.port=0",
                   "--monitoring.metrics.export_port=0", f"--database.path={folder}/test.db",
                   f"--logging.sinks=[{{type: file, path: '{folder}/service.log'}}]", *flags]
        with log.open("w") as out, subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=out,
                                                    stderr=subprocess.STDOUT) as service:
            try:
                yield address(service, log)
                if service.poll() is not None:
                    raise Failed(f"the service has ended: {log.read_text()[-300:]}")
            finally:
                service.send_signal(signal.SIGTERM)
                service.wait(timeout=20)


ADMIN_TOKEN = "secret"


class Payments(http.server.BaseHTTPRequestHandler):
    """The server that examples/orders asks for payments: it declines every third order, always the same ones."""

    def do_POST(self):  # pylint: disable=invalid-name
        """POST /charges."""
        charge = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"paid": charge["order_id"] % 3 != 0}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        """Nothing."""


@contextlib.contextmanager
def shop(build):
    """examples/orders with its payments server, and something to sell."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Payments) as payments, \
            tempfile.TemporaryDirectory() as pictures:
        threading.Thread(target=payments.serve_forever, daemon=True).start()
        try:
            with served(build, "orders", [f"--shop.pictures={pictures}", "--network.clients.payments.base_url="
                                          f"http://127.0.0.1:{payments.server_port}"],
                        KEEL_SHOP__ADMIN_TOKEN=ADMIN_TOKEN) as url:
                tea = json.dumps({"sku": "tea", "name": "Green tea", "price_cents": 500, "stock": 1_000_000})
                urllib.request.urlopen(urllib.request.Request(  # pylint: disable=consider-using-with
                    f"{url}/admin/products", tea.encode(), method="PUT",
                    headers={"Authorization": f"Bearer {ADMIN_TOKEN}", "Content-Type": "application/json"})).close()
                yield url
        finally:
            payments.shutdown()


def address(service, log):
    """Where it says that it serves."""
    for _ in range(200):
        found = re.search(r"service +(http://\S+)", log.read_text())
        if found:
            return found[1]
        if service.poll() is not None:
            break
        time.sleep(0.05)
    raise Failed(f"the service does not start: {log.read_text()[-300:]}")


def run(url, seed, examples, headers=()):
    """The kinds of the failures that are found, the phases that were run, and how many requests it took."""
    with tempfile.TemporaryDirectory() as folder:  # It writes where it runs.
        done = subprocess.run(
            [VENV / "bin/st", "run", f"{url}/openapi.json", "--checks", "all", "--max-examples", str(examples),
             "--seed", str(seed), "--no-color", "--workers", "1", "--generation-database", "none",
             *(word for header in headers for word in ("-H", header))], cwd=folder, text=True,
            capture_output=True, timeout=3600, check=False)
    requests = re.search(r"(\d+) generated", done.stdout)
    if requests is None or done.returncode not in (0, 1):
        raise Failed((done.stdout + done.stderr)[-500:])
    failures = re.findall(r"^- (?:ST\d+ )?(.+)$", done.stdout, re.MULTILINE)
    if done.returncode == 1 and not failures:
        raise Failed(done.stdout[-500:])
    phases = re.findall(r"^ +✅ +(Examples|Coverage|Fuzzing|Stateful)", done.stdout, re.MULTILINE)
    return failures, set(phases), int(requests[1])
