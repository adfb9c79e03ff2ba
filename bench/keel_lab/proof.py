"""What a server has to answer before it is compared: both routes, on a connection that stays, and pipelined; with a
database, the row that was just made, too."""

import http.client
import json
import socket

from keel_lab.sides import Invalid

PIPELINED = 16
ROUTES = (("/plaintext", "text/plain", b"Hello, World!"), ("/json", "application/json", b'{"message":"Hello, World!"}'))
SECONDS = 5
MEMBERS = {"id", "name", "email", "age", "created_at"}  # Of a user, by the service's contract.


class Connection:
    """Sends requests and reads answers one after the other, as they come on one connection."""
    def __init__(self, port, seconds=SECONDS, context=None):
        """Over TLS where there is an ssl.SSLContext."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self._file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self.socket.close()

    def send(self, *paths):
        self.socket.sendall(b"".join(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() for path in paths))

    def post(self, path, value):
        body = json.dumps(value)
        self.socket.sendall((f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n{body}").encode())

    def answer(self):
        """(status, content type without its parameters, body)"""
        try:
            line = self._file.readline()
            if not line:
                raise Invalid("the connection was closed")
            version, _, rest = line.decode("latin-1").partition(" ")
            if version != "HTTP/1.1" or not rest[:3].isdigit():
                raise Invalid(f"not a status line of HTTP/1.1: {line!r}")
            fields = http.client.parse_headers(self._file)
            if not fields.get("content-length", "").isdigit():
                raise Invalid("no Content-Length")
            length = int(fields["content-length"])
            body = self._file.read(length)
        except TimeoutError:
            raise Invalid("no answer in time") from None
        except OSError as problem:
            raise Invalid(f"the connection broke: {problem.strerror}") from None
        if len(body) < length:
            raise Invalid("the connection was closed")
        if fields.get("connection", "keep-alive").lower() != "keep-alive":
            raise Invalid("the connection is to be closed")
        return int(rest[:3]), fields.get_content_type(), body

    def expect(self, what, *wanted):
        """The body of the next answer, whose status and further parts must be those that are wanted."""
        try:
            answer = self.answer()
        except Invalid as problem:
            raise Invalid(f"{what}: {problem}") from None
        for name, right, got in zip(("status", "content type", "body"), wanted, answer):
            if right != got:
                raise Invalid(f"{what}: {name} {got!r}, not {right!r}")
        return answer[2]

    def expect_json(self, what, status):
        """What the next answer has in its body."""
        body = self.expect(what, status, "application/json")
        try:
            return json.loads(body)
        except ValueError:
            raise Invalid(f"{what}: not JSON: {body!r}") from None

    def is_silent(self):
        """Whether nothing more comes within a moment."""
        self.socket.settimeout(0.05)
        try:
            return not self._file.read(1)
        except TimeoutError:
            return True


def prove(port, seconds=SECONDS):
    """Raises Invalid with a sentence unless the server on `port` answers as every peer has to."""
    with Connection(port, seconds) as connection:
        for path, kind, body in ROUTES * 2:
            connection.send(path)
            connection.expect(path, 200, kind, body)
        wanted = [ROUTES[number % 2] for number in range(PIPELINED)]
        connection.send(*(path for path, _, _ in wanted))
        for number, (_, kind, body) in enumerate(wanted, 1):
            connection.expect(f"pipelined, answer {number} of {PIPELINED}", 200, kind, body)
        if not connection.is_silent():
            raise Invalid("bytes that nobody asked for")


def prove_users(port):
    """The same for a server with rows: users are made, read, not there, and not made twice."""
    with Connection(port) as connection:
        for number in (1, 2):
            given = {"name": f"Bench {number}", "email": f"bench{number}@example.com"}
            connection.post("/api/users", given)
            made = user(connection, f"the post of user {number}", 201, given)
            connection.send(f"/api/users/{made['id']}")
            read = user(connection, f"the get of user {number}", 200, given)
            if read != made:
                raise Invalid(f"user {number} is read as {read}, and was made as {made}")
            connection.post("/api/users", given)
            connection.expect(f"the second post of user {number}", 409)
            connection.send(f"/api/users/{made['id'] + 1000}")
            connection.expect("the get of a user who does not exist", 404)


def prove_postgres(port):
    """The same for a server with the tables of bench/postgres."""
    with Connection(port) as connection:
        connection.send("/plaintext")
        connection.expect("/plaintext", 200, "text/plain", b"Hello, World!")
        for number in (1, 10_000, 1):
            connection.send(f"/users/{number}")
            found = connection.expect_json(f"user {number}", 200)
            if found != {"id": number, "name": f"user{number:012}", "email": f"user{number}@example.com"}:
                raise Invalid(f"user {number}: another user: {found}")
        connection.send("/users/999999")  # Between the rows that there are and the number of the first new one.
        connection.expect("a user who does not exist", 404)
        connection.post("/visits", {"page": "/welcome", "at": 1})
        connection.expect("a visit", 201)


def user(connection, what, status, given):
    """The members of the answer."""
    found = connection.expect_json(what, status)
    if not isinstance(found, dict) or set(found) != MEMBERS:
        raise Invalid(f"{what}: not the members of a user: {found}")
    if not isinstance(found["id"], int) or found != found | given | {"age": None}:
        raise Invalid(f"{what}: another user: {found}")
    return found
