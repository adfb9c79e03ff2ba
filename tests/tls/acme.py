"""An ACME client beside a service, as docs/tls.md has it: certbot, an authority of its own (pebble), and tls_acme.

The first certificate is issued before the service starts, then it is renewed under load by what the service itself
answers. Each new certificate has to be in use soon after, without a restart and without a request that fails.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request

from servers import free_port
from service import ROOT, Authority, Failed

PEBBLE = "github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.3"  # A Go module; a minute to build, once.
RENEWALS = 3
SECONDS_UNTIL_LOADED = 20  # Files are looked at every 5 s, and loaded when they have stayed the same for 5 s.


def pebble():
    """The program, which is built when it is missing or of another version."""
    folder = ROOT / "build/tls-tools" / PEBBLE.replace("/", "_")
    program = folder / "pebble"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["go", "install", PEBBLE], env={**os.environ, "GOBIN": str(folder)}, text=True,
                              capture_output=True, timeout=600, check=False)
        if done.returncode != 0:
            raise Failed(f"go install: {done.stderr.strip()[-300:]}")
    return program


@contextlib.contextmanager
def authority(folder):
    """(the address of its directory, the port on which it looks for the answers to its challenges, a file of its root)"""
    own = Authority(folder)
    (folder / "pebble.pem").write_bytes(b"".join(own.issue()))
    api, management, challenges = free_port(), free_port(), free_port()
    (folder / "pebble.json").write_text(json.dumps({"pebble": {
        "listenAddress": f"127.0.0.1:{api}", "managementListenAddress": f"127.0.0.1:{management}",
        "certificate": str(folder / "pebble.pem"), "privateKey": str(folder / "pebble.pem"),
        "httpPort": challenges, "tlsPort": free_port(),
    }}))
    # Nothing here is about its patience and its whims: certbot of Debian 12 gives up after the second bad nonce.
    environment = {**os.environ, "PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"}
    with open(folder / "pebble.log", "w") as log:
        process = subprocess.Popen([pebble(), "-config", folder / "pebble.json"], env=environment, stdout=log, stderr=log)
    try:
        trust = ssl.create_default_context(cafile=own.root)
        for _ in range(100):
            with contextlib.suppress(OSError):
                root = urllib.request.urlopen(f"https://localhost:{management}/roots/0", context=trust).read()
                break
            time.sleep(0.1)
        else:
            raise Failed(f"pebble: {(folder / 'pebble.log').read_text()[-300:]}")
        (folder / "issued.pem").write_bytes(root)
        yield f"https://localhost:{api}/dir", challenges, folder / "issued.pem"
    finally:
        process.kill()
        process.wait()


def certbot(folder, arguments):
    places = [f"--{place}-dir={folder}/certbot-{place}" for place in ("config", "work", "logs")]
    done = subprocess.run(["certbot", *arguments, *places, "--non-interactive"], text=True, capture_output=True, timeout=120,
                          env={**os.environ, "REQUESTS_CA_BUNDLE": str(folder / "root.pem")}, check=False)
    if done.returncode != 0:
        raise Failed(f"certbot: {(done.stdout + done.stderr)[-300:]}")


def shown(port, root):
    """The certificate that the service shows to a client that believes `root`."""
    import socket
    context = ssl.create_default_context(cafile=root)
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=5), server_hostname="localhost") as peer:
        return ssl.DER_cert_to_PEM_cert(peer.getpeercert(True))


def await_shown(port, root, file, seconds):
    """How long it takes until the service shows the first certificate of `file`."""
    began = time.monotonic()
    wanted = ssl.PEM_cert_to_DER_cert(file.read_text().split("-----END", 1)[0] + "-----END CERTIFICATE-----\n")
    while time.monotonic() - began < seconds:
        with contextlib.suppress(ConnectionRefusedError):
            if ssl.PEM_cert_to_DER_cert(shown(port, root)) == wanted:
                return time.monotonic() - began
        time.sleep(0.2)
    raise Failed(f"the service does not show the new certificate within {seconds} s")


def renewed_under_load(build, folder, directory, challenges, root):
    live = folder / "certbot-config/live/localhost"
    https = free_port()
    with open(folder / "service.log", "w") as log:
        service = subprocess.Popen([
            build / "tests/tls/tls_acme", folder / "webroot", f"--network.http.port={challenges}",
            f"--network.https.port={https}", f"--network.https.certificate={live}/fullchain.pem",
            f"--network.https.key={live}/privkey.pem", "--network.https.plain_http=redirect",
            "--monitoring.metrics.export_port=0"
        ], stdout=log, stderr=log)
    load, slowest = None, 0.0
    try:
        await_shown(https, root, live / "fullchain.pem", 10)
        load = subprocess.Popen([
            build / "tools/keel/keel", "load", f"https://localhost:{https}/health", "--roots", root, "--connections", "8",
            "--churn", "50", "--duration", "300s", "--warmup", "0s", "--expect-status", "200", "--json", "-"
        ], stdout=subprocess.PIPE, text=True)
        for i in range(RENEWALS):
            # The first names the folder, which certbot then remembers: the rest is what its timer does.
            if i == 0:
                certbot(folder, ["certonly", "--webroot", "-w", folder / "webroot", "-d", "localhost", "--force-renewal",
                                 "--server", directory])
            else:
                certbot(folder, ["renew", "--force-renewal", "--no-random-sleep-on-renew"])
            slowest = max(slowest, await_shown(https, root, live / "fullchain.pem", SECONDS_UNTIL_LOADED))
        load.send_signal(signal.SIGINT)
        report = json.loads(load.communicate(timeout=60)[0])
        service.send_signal(signal.SIGTERM)
        if service.wait(timeout=30) != 0:
            raise Failed(f"the service ended with {service.returncode}")
    except Failed as failure:
        raise Failed(f"{failure} {(folder / 'service.log').read_text()[-300:]}") from None
    finally:
        for process in filter(None, (load, service)):
            process.kill()
            process.wait()
    # The interrupt leaves some unanswered.
    errors = {name: count for name, count in report["errors"].items() if count and name != "unanswered"}
    return report["requests"], errors, slowest


def score(build, _service):
    """(score, whether it is enough, what is demanded)"""
    missing = [program for program in ("certbot", "go") if shutil.which(program) is None]
    if missing:
        return f"not here: {', '.join(missing)}", True, ""
    with tempfile.TemporaryDirectory(prefix="keel-tls-") as name:
        folder = pathlib.Path(name)
        (folder / "webroot/.well-known/acme-challenge").mkdir(parents=True)
        with authority(folder) as (directory, challenges, root):
            certbot(folder, ["certonly", "--standalone", "--http-01-port", str(challenges), "-d", "localhost", "--server",
                             directory, "--agree-tos", "--register-unsafely-without-email"])
            requests, errors, slowest = renewed_under_load(build, folder, directory, challenges, root)
    score_text = f"{RENEWALS} renewals, in use after at most {slowest:.1f} s, {sum(errors.values())} failed of {requests} {errors or ''}"
    return score_text, not errors and requests > 1000, "0 failed"
