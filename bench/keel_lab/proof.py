"""What a server has to answer before it is compared: both routes, on a connection that stays, and pipelined; with a
database, the row that was just made, too."""

import json
import socket

PIPELINED = 16
ROUTES = (("/plaintext", "text/plain", b"Hello, World!"), ("/json", "application/json", b'{"message":"Hello, World!"}'))
SECONDS = 5


class Wrong(Exception):
    """An answer is not what was asked for, or did not come."""


class Connection:
    """Sends requests and reads answers one after the other, as they come on one connection."""

    def __init__(self, port, seconds):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.unread = b""

    def send(self, *paths):
        self.socket.sendall(b"".join(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() for path in paths))

    def post(self, path, value):
        body = json.dumps(value)
        self.socket.sendall((f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n{body}").encode())

    def more(self):
        try:
            text = self.socket.recv(65536)
        except TimeoutError:
            raise Wrong("no answer in time") from None
        except OSError as problem:
            raise Wrong(f"the connection broke: {problem.strerror}") from None
        if not text:
            raise Wrong("the connection was closed")
        self.unread += text

    def until(self, end):
        while end not in self.unread:
            self.more()
        text, _, self.unread = self.unread.partition(end)
        return text

    def exactly(self, count):
        while len(self.unread) < count:
            self.more()
        text, self.unread = self.unread[:count], self.unread[count:]
        return text

    def answer(self):
        """(status, content type without its parameters, body, whether the connection stays)"""
        line, *fields = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, _, rest = line.partition(" ")
        if version != "HTTP/1.1" or not rest[:3].isdigit():
            raise Wrong(f"not a status line of HTTP/1.1: {line!r}")
        headers = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        if not headers.get("content-length", "").isdigit():
            raise Wrong("no Content-Length")
        body = self.exactly(int(headers["content-length"]))
        stays = headers.get("connection", "keep-alive").lower() == "keep-alive"
        return int(rest[:3]), headers.get("content-type", "").partition(";")[0].strip(), body, stays

    def expect(self, route):
        path, content_type, body = route
        status, got_type, got_body, stays = self.answer()
        if status != 200:
            raise Wrong(f"{path}: status {status}")
        if got_type != content_type:
            raise Wrong(f"{path}: content type {got_type!r}, not {content_type!r}")
        if got_body != body:
            raise Wrong(f"{path}: body {got_body!r}, not {body!r}")
        if not stays:
            raise Wrong(f"{path}: the connection is to be closed")


def prove(port, seconds=SECONDS):
    """Raises Wrong with a sentence unless the server on `port` answers as every peer has to."""
    connection = Connection(port, seconds)
    with connection.socket:
        for _ in range(2):
            for route in ROUTES:
                connection.send(route[0])
                connection.expect(route)
        wanted = [ROUTES[number % 2] for number in range(PIPELINED)]
        connection.send(*(path for path, _, _ in wanted))
        for number, route in enumerate(wanted):
            try:
                connection.expect(route)
            except Wrong as problem:
                raise Wrong(f"pipelined, answer {number + 1} of {PIPELINED}: {problem}") from None
        if connection.unread:
            raise Wrong(f"bytes that nobody asked for: {connection.unread[:80]!r}")


def prove_users(port, seconds=SECONDS):
    """The same for a server with rows: users are made, read, not there, and not made twice."""
    connection = Connection(port, seconds)
    with connection.socket:
        for number in (1, 2):
            given = {"name": f"Bench {number}", "email": f"bench{number}@example.com"}
            connection.post("/api/users", given)
            made = expect_user(connection, f"the post of user {number}", 201, given)
            connection.send(f"/api/users/{made['id']}")
            read = expect_user(connection, f"the get of user {number}", 200, given)
            if read != made:
                raise Wrong(f"user {number} is read as {read}, and was made as {made}")
            connection.post("/api/users", given)
            expect_status(connection, f"the second post of user {number}", 409)
            connection.send(f"/api/users/{made['id'] + 1000}")
            expect_status(connection, "the get of a user who does not exist", 404)


def expect_status(connection, what, wanted):
    status, content_type, body, stays = connection.answer()
    if status != wanted:
        raise Wrong(f"{what}: status {status}, not {wanted}")
    if not stays:
        raise Wrong(f"{what}: the connection is to be closed")
    return content_type, body


def expect_user(connection, what, status, given):
    """The members of the answer, which are those of the service's contract."""
    content_type, body = expect_status(connection, what, status)
    if content_type != "application/json":
        raise Wrong(f"{what}: content type {content_type!r}, not 'application/json'")
    try:
        user = json.loads(body)
    except ValueError:
        raise Wrong(f"{what}: not JSON: {body!r}") from None
    if not isinstance(user, dict) or set(user) != {"id", "name", "email", "age", "created_at"}:
        raise Wrong(f"{what}: not the members of a user: {body!r}")
    if not isinstance(user["id"], int) or user != user | given | {"age": None}:
        raise Wrong(f"{what}: another user: {body!r}")
    return user
