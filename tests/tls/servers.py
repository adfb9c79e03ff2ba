"""http::Client asks servers of others over TLS; and believes none whose certificate is wrong."""

import contextlib
import http.server
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from service import Authority, Failed, run

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {pair}; ssl_certificate_key {pair};
    location / {{ return 200 "hello\\n"; }}
  }}
}}
"""
HAPROXY = """
defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend test
  bind 127.0.0.1:{port} ssl crt {pair}
  http-request return status 200 content-type text/plain string "hello"
"""
GO = """
package main
import ("fmt"; "net/http")
func main() {{
  handler := func(w http.ResponseWriter, r *http.Request) {{ fmt.Fprintln(w, "hello") }}
  panic(http.ListenAndServeTLS("127.0.0.1:{port}", "{pair}", "{pair}", http.HandlerFunc(handler)))
}}
"""
NODE = """
const pair = require('fs').readFileSync('{pair}');
require('https').createServer({{cert: pair, key: pair}}, (_, response) => response.end('hello\\n')).listen({port}, '127.0.0.1');
"""
# What runs, and the file that it reads.
SERVERS = {
    "nginx": (["nginx", "-c", "{file}", "-e", "{folder}/error.log"], NGINX),
    "haproxy": (["haproxy", "-f", "{file}"], HAPROXY),
    "go": (["go", "run", "{file}.go"], GO),
    "node": (["node", "{file}"], NODE),
    "openssl": (["openssl", "s_server", "-accept", "127.0.0.1:{port}", "-cert", "{pair}", "-key", "{pair}", "-www"], ""),
    "gnutls": (["gnutls-serv", "--http", "--x509certfile", "{pair}", "--x509keyfile", "{pair}", "-p", "{port}"], ""),
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


@contextlib.contextmanager
def started(name, folder, pair):
    """The port of a server that listens."""
    command, content = SERVERS[name]
    port, file = free_port(), folder / name
    places = {"port": port, "pair": pair, "folder": folder, "file": file}
    for path in (file, folder / f"{name}.go"):
        path.write_text(content.format(**places))
    first, *rest = (part.format(**places) for part in command)
    # Not /dev/null: s_server ends with its input.
    process = subprocess.Popen([program(first), *rest], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None:
                raise Failed(f"{name} ended with {process.returncode}")
            time.sleep(0.1)
        yield port
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def presenting(pair):
    """The port of a server that presents `pair`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)

    class Server(http.server.ThreadingHTTPServer):
        def get_request(self):
            peer, address = self.socket.accept()
            return context.wrap_socket(peer, server_side=True), address

        def handle_error(self, *_):
            pass

    server = Server(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(build, arguments):
    """A line for each URL: the status and the size of its body, or why there is none."""
    return run([build / "tests/tls/tls_client", *map(str, arguments)], 60).stdout.splitlines()


def wrong_ones(build, folder, authority):
    """What was said of each certificate that is wrong, and what it must say."""
    root = ["--roots", authority.root]
    revoked = authority.issue()
    (folder / "revoked.pem").write_bytes(authority.revoke(revoked[0]))
    (folder / "other").mkdir()
    other = Authority(folder / "other", "Another Root")
    cases = {
        "another host": (authority.issue(name="other.test"), root, "for another host"),
        "expired": (authority.issue(days=-1), root, "expired"),
        "of tomorrow": (authority.issue(days=90, first_day=1), root, "not valid before"),
        "self-signed": (authority.issue(is_self_signed=True), root, "self-signed"),
        "of an unknown issuer": (other.issue(), root, "unknown issuer"),
        "revoked": (revoked, [*root, "--revoked", folder / "revoked.pem"], "revoked"),
    }
    bad = []
    for name, ((certificate, key), arguments, words) in cases.items():
        (folder / "wrong.pem").write_bytes(certificate + key)
        with presenting(folder / "wrong.pem") as port:
            said = ask(build, [*arguments, f"https://localhost:{port}/"])
        if len(said) != 1 or words not in said[0]:
            bad.append(f"{name}: {said}")
    return len(cases), bad


def score(build, _service):
    """(score, whether it is enough, what is demanded)"""
    good, bad, missing = [], [], []
    with tempfile.TemporaryDirectory(prefix="keel-tls-") as name:
        folder = pathlib.Path(name)
        authority = Authority(folder)
        pair = folder / "service.pem"
        pair.write_bytes(b"".join(authority.issue()))
        for server, (command, _) in SERVERS.items():
            if program(command[0]) is None:
                missing.append(server)
                continue
            with started(server, folder, pair) as port:
                said = ask(build, ["--roots", authority.root, *[f"https://localhost:{port}/"] * 3])
            is_good = len(said) == 3 and all(line.startswith("200 ") for line in said)
            (good if is_good else bad).append(server if is_good else f"{server}: {said}")
        count, wrong = wrong_ones(build, folder, authority)
    result = f"{len(good)} of {len(SERVERS) - len(missing)}, wrong certificates {count - len(wrong)} of {count}"
    if missing:
        result += f", not here: {', '.join(missing)}"
    bad += wrong
    return result + (f", failed: {'; '.join(bad)}" if bad else ""), not bad and len(good) >= 2, "all that are here"
