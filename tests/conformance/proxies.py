"""The proxies of docs/proxies.md in front of our server: what a client makes up does not pass them; an upgrade does,
and so does a body that waits for 100 (Continue), also to a handler that streams its response while it reads. A proxy of
bytes names the client by the PROXY protocol.

The client is 127.0.0.2, the proxies are 127.0.0.1, which the server trusts.
"""

import contextlib
import pathlib
import re
import socket
import textwrap
import threading

import differential

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = ROOT / "build/conformance-venv"  # suites.py installs the packages of requirements.txt there; one of them is Envoy.
PAGE = ROOT / "docs/proxies.md"
# The language in which the page prints the configuration of each.
LANGUAGES = {"nginx": "nginx", "HAProxy": "haproxy", "Envoy": "yml"}
CLIENT = "127.0.0.2"
HOST = "shop.example:8443"
ANSWER_SECONDS = 5
# What a client can send for others to believe; each value has FORGED in it, or is an address that nobody has here.
FORGED = "forged"
FORGED_ADDRESS = "203.0.113.66"
FIELDS = {
    "X-Forwarded-For": FORGED_ADDRESS,
    "X-Real-IP": FORGED_ADDRESS,
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": f"{FORGED}.example",
    "Forwarded": f'for={FORGED_ADDRESS};proto=https;host="{FORGED}.example"',
    "X-Request-Id": f"{FORGED}-id",
    "traceparent": "00-f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0-f0f0f0f0f0f0f0f0-01",
    "X-Request-Deadline-Ms": "60066",
}
# RFC 6455 §1.3: the key and the accepted key of its example.
UPGRADE = {"Host": HOST, "Origin": f"https://{HOST}", "Connection": "Upgrade", "Upgrade": "websocket",
           "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
UPGRADED = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
# Envoy tells the service the time limit of a route in this field, when the route has one.
ENVOY_LIMIT = "x-envoy-expected-rq-timeout-ms"
BODY = b"".join(b"%07d\n" % line for line in range(4000))
CONTINUED_TIMES = 20
NGINX_WITHOUT_FIELDS = """
upstream service { server 127.0.0.1:8080; }
server { listen 80; location / { proxy_pass http://service; } }
"""
# The rest of Envoy's configuration. The page's fields of the HTTP connection manager take the place of FIELDS.
ENVOY = """
static_resources:
  clusters:
    - name: service
      connect_timeout: 5s
      load_assignment:
        cluster_name: service
        endpoints:
          - lb_endpoints:
              - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: SERVICE}}}}}}
  listeners:
    - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: web
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
FIELDS
"""
ENVOY_COMMAND = [str(VENV / "bin/envoy"), "--concurrency", "1", "--disable-hot-restart", "--log-level", "error",
                 "-c", "{config}"]


def blocks(language, page=None):
    """The blocks of code that the page prints in this language."""
    text = PAGE.read_text() if page is None else page
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def in_its_place(name, block, port):
    """A whole configuration with `block` of the page in it, for differential.other(), and its command."""
    block = re.sub(r"127\.0\.0\.1:8\d+", f"127.0.0.1:{port}", block).replace("{", "{{").replace("}", "}}")
    if name == "Envoy":
        return ENVOY.replace("SERVICE", str(port)).replace("FIELDS", textwrap.indent(block, 16 * " ")), ENVOY_COMMAND
    whole, command = {one: (config, command) for one, config, command in differential.OTHERS}[name]
    if name == "nginx":
        return whole.partition("  server {{")[0] + block.replace("listen 80;", "listen 127.0.0.1:{port};") + "}}\n", command
    return whole.partition("frontend ")[0] + re.sub(r"bind :\d+", "bind 127.0.0.1:{port}", block), command


def ask(port, path):
    """The body of the response to a request with all of FIELDS."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in FIELDS.items())
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS, source_address=(CLIENT, 0)) as one:
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n{fields}\r\n".encode())
        received = b""
        while some := one.recv(65536):
            received += some
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise ConnectionError(head.decode(errors="replace")[:200])
    return body.decode()


def pairs(text):
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in text.splitlines()) if name}


def complaints(origin, fields):
    """What is wrong with what the server understood (`origin`), and with the request's fields as it got them."""
    wanted = {"client": CLIENT, "scheme": "http", "authority": HOST}
    wrong = [f"{name} is {origin.get(name)}" for name, value in wanted.items() if origin.get(name) != value]
    if not re.fullmatch(r"[0-9a-f-]{32,36}", origin.get("id", "")):
        wrong.append(f"id is {origin.get('id')}")
    if ENVOY_LIMIT in fields:
        wrong.append(f"a response is ended after {fields[ENVOY_LIMIT]} ms")
    passed = [name for name, value in FIELDS.items() if value in fields.get(name.lower(), "")]
    return wrong + [f"{name} passes" for name in passed]


def complaints_about(name, block, port):
    """The same of a proxy with this part of its configuration, in front of the server on `port`."""
    config, command = in_its_place(name, block, port)
    with differential.other(name, config, command) as proxy:
        return complaints(pairs(ask(proxy, "/origin")), pairs(ask(proxy, "/echo")))


def complaints_about_header(version, port):
    """What is wrong with the origin of a request that HAProxy forwards as bytes behind a header of this version
    (send-proxy, send-proxy-v2). What the client made up is in it."""
    block = blocks("haproxy")[1].replace(" send-proxy-v2", f" {version}")
    config, command = in_its_place("HAProxy", block, port)
    with differential.other("HAProxy", config, command) as proxy:
        return complaints(pairs(ask(proxy, "/origin")), {})


def is_closed_without_header(port):
    """Whether a request of the proxies' own address that has no header gets nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as one:
        one.sendall(f"GET /origin HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        try:
            return one.recv(1) == b""
        except ConnectionResetError:
            return True


def read_until(one, received, end):
    while end not in received:
        some = one.recv(65536)
        if not some:
            raise ConnectionError(f"the connection ended behind {received[-100:]!r}")
        received += some
    return received


def send_when_told(port):
    """What is wrong with the response to a PUT whose body is sent behind 100 (Continue); None when it is BODY."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as one:
        one.sendall(f"PUT /stream HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\nExpect: 100-continue\r\n"
                    f"Content-Length: {len(BODY)}\r\n\r\n".encode())
        try:
            received = read_until(one, b"", b"\r\n\r\n")
            if received.startswith(b"HTTP/1.1 100 "):
                received = received.partition(b"\r\n\r\n")[2]
            one.sendall(BODY)
            received = read_until(one, received, b"\r\n\r\n")
            while some := one.recv(65536):
                received += some
        except (OSError, ConnectionError) as error:
            return str(error) or type(error).__name__
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        return head.decode(errors="replace")[:200]
    if b"transfer-encoding: chunked" in head.lower():
        body = dechunked(body)
    return None if body == BODY else f"{len(body)} of {len(BODY)} bytes"


def accept_upgrade(listener, heads):
    """Accepts the upgrade of one connection, keeps its request in `heads`, and returns what follows in upper case."""
    with contextlib.suppress(OSError), listener.accept()[0] as one:
        one.settimeout(ANSWER_SECONDS)
        heads.append(read_until(one, b"", b"\r\n\r\n").decode())
        one.sendall(UPGRADED)
        while some := one.recv(65536):
            one.sendall(some.upper())


def complaints_about_upgrade(name, block):
    """What is wrong with an upgrade through a proxy with this part of its configuration. accept_upgrade() takes the place
    of the service, because the conformance server accepts no upgrade."""
    heads = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(ANSWER_SECONDS)
        config, command = in_its_place(name, block, listener.getsockname()[1])
        with differential.other(name, config, command) as proxy:
            service = threading.Thread(target=accept_upgrade, args=(listener, heads))
            service.start()
            try:
                told = upgrade(proxy)
            finally:
                service.join()
    return [told] if told else upgrade_complaints(pairs(heads[0]))


def upgrade(port):
    """Why bytes do not pass in both directions after an upgrade; None when they do."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in UPGRADE.items())
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS, source_address=(CLIENT, 0)) as one:
            one.sendall(f"GET /ws HTTP/1.1\r\n{fields}\r\n".encode())
            received = read_until(one, b"", b"\r\n\r\n")
            if not received.startswith(b"HTTP/1.1 101 "):
                return f"upgrade: {received[:30].decode(errors='replace').splitlines()[0]}"
            one.sendall(b"after it")
            read_until(one, received, b"AFTER IT")
    except OSError as error:
        return f"upgrade: {error or type(error).__name__}"
    return None


def upgrade_complaints(fields):
    """What is wrong with the fields of a request for an upgrade as the service got them."""
    got = {name: fields.get(name.lower(), "missing") for name in UPGRADE}
    return [f"{name} of the upgrade is {got[name]}" for name, value in UPGRADE.items() if got[name].lower() != value.lower()]


def dechunked(bytes_):
    whole = b""
    while True:
        size, _, bytes_ = bytes_.partition(b"\r\n")
        if not size or int(size, 16) == 0:
            return whole
        whole += bytes_[:int(size, 16)]
        bytes_ = bytes_[int(size, 16) + 2:]


def continued(name, block, port):
    """Of CONTINUED_TIMES requests through this proxy: what went wrong with each that did."""
    config, command = in_its_place(name, block, port)
    with differential.other(name, config, command) as proxy:
        return [wrong for _ in range(CONTINUED_TIMES) if (wrong := send_when_told(proxy)) is not None]
