"""The same requests to our server and to others: what most of them refuse, ours does not accept.

A request counts as refused when its first answer is one of REFUSALS, or when the connection ends without any.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

# Of framing and syntax; what a handler says of a request that was understood (404, 405, 412 …) is none.
REFUSALS = {400, 408, 411, 413, 414, 417, 431, 501, 505}
ANSWER_SECONDS = 2
START_SECONDS = 10

# What ours accepts and most others refuse, and why that is right.
ACCEPTED_ALONE = {}

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_max_body_size 2m; large_client_header_buffers 4 64k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 "ok"; }} }}
}}
"""
HAPROXY = """
global
  maxconn 256
  tune.bufsize 262144
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend all
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain string ok
"""
LIGHTTPD = """
server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{folder}"
server.max-request-field-size = 65535
server.errorlog = "{folder}/error.log"
"""
APACHE = """
ServerRoot {folder}
ServerName a
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/error.log
User www-data
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
LimitRequestFields 128
LimitRequestFieldSize 65536
LimitRequestLine 65536
RewriteEngine On
RewriteRule ^ - [R=204,L]
"""
# Name, configuration, command.
OTHERS = [
    ("nginx", NGINX, ["nginx", "-c", "{config}"]),
    ("HAProxy", HAPROXY, ["haproxy", "-db", "-q", "-f", "{config}"]),
    ("lighttpd", LIGHTTPD, ["lighttpd", "-D", "-f", "{config}"]),
    ("Apache", APACHE, ["apache2", "-X", "-f", "{config}"]),
]


class NotThere(Exception):
    """A server that is not installed, or does not start."""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def other(name, config, command):
    """One of OTHERS on a port of its own, which it gives."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    program = shutil.which(command[0], path=path)
    if program is None:
        raise NotThere(f"{command[0]} is not installed: make conformance installs it")
    with tempfile.TemporaryDirectory(prefix="keel-differential-") as folder:
        os.chmod(folder, 0o755)
        port = free_port()
        file = pathlib.Path(folder, "config.yaml")  # Envoy reads YAML only from a file of this name.
        file.write_text(config.format(folder=folder, port=port))
        log = pathlib.Path(folder, "log")
        with open(log, "w") as into:
            server = subprocess.Popen([program, *(part.format(config=file) for part in command[1:])], stdout=into,
                                      stderr=into)
        try:
            until = time.monotonic() + START_SECONDS
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                if server.poll() is not None or time.monotonic() > until:
                    raise NotThere(f"{name} does not start: {log.read_text()[-300:]}")
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def accepts(port, wire):
    """Whether the first request of `wire` is."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as one:
        received = b""
        with contextlib.suppress(OSError):  # It may end while we write, or say nothing for too long.
            one.sendall(wire)
        with contextlib.suppress(OSError):
            while not re.search(rb"HTTP/1\.[01] [2-5]\d\d", received) and (some := one.recv(65536)):
                received += some
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d\d\d)", received)]
    final = [status for status in statuses if status >= 200]
    return bool(final) and final[0] not in REFUSALS


def judge(verdicts):
    """Of {name: (ours accepts, [another accepts, ...])}: what ours accepts alone, without a reason or with one too many,
    and what it refuses alone."""
    bold = {name for name, (ours, others) in verdicts.items() if ours and 2 * others.count(False) > len(others)}
    strict = {name for name, (ours, others) in verdicts.items() if not ours and 2 * others.count(True) > len(others)}
    return sorted(bold - ACCEPTED_ALONE.keys()), sorted(ACCEPTED_ALONE.keys() - bold), sorted(strict)


def compare(port, vectors):
    """(bold, needless, strict, names of the others) of our server on `port`, by `vectors`: lines of print_vectors."""
    requests = [json.loads(line) for line in vectors.splitlines()]
    last = next(bytes.fromhex(one["wire"]) for one in requests if one["kind"] == "last")
    requests = {f'{one["name"]} ({one["kind"]})': bytes.fromhex(one["wire"]) + last
                for one in requests if one["kind"] != "last"}
    verdicts = {name: (accepts(port, wire), []) for name, wire in requests.items()}
    for name, config, command in OTHERS:
        with other(name, config, command) as its_port:
            for request, wire in requests.items():
                verdicts[request][1].append(accepts(its_port, wire))
    return *judge(verdicts), [name for name, _, _ in OTHERS]
