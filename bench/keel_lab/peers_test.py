"""Peers are proven before they count, and a peer that is not to be had is a line and not a failure."""

import contextlib
import io
import json
import os
import pathlib
import re
import socket
import tempfile
import threading
import tomllib
import unittest
from unittest import mock

from keel_lab import experiment, peers, proof, self_test, sides
from keel_lab.kinds import KINDS
from keel_lab.sides import Invalid

GOOD = {path: (200, content_type, body) for path, content_type, body in proof.ROUTES}

PROGRAM = """#!{python}
import http.server, sys
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def do_GET(self):
        kind, body = {answers}[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1].split("=")[1])), Answers).serve_forever()
"""


def head(status, content_type, body, more=""):
    return (f"HTTP/1.1 {status} Any\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
            ).encode() + body


class Server:
    """Answers on one connection with what `change(number, path[, body])` returns: bytes, or None to close."""

    def __init__(self, change):
        self.change = change

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self.listener.getsockname()[1]

    def __exit__(self, *_):
        self.thread.join()
        self.listener.close()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection, contextlib.suppress(OSError):
            text, number = b"", 0
            while True:
                while b"\r\n\r\n" not in text:
                    more = connection.recv(65536)
                    if not more:
                        return
                    text += more
                request, _, text = text.partition(b"\r\n\r\n")
                length = int((re.search(rb"Content-Length: (\d+)", request) or [0, 0])[1])
                while len(text) < length:
                    text += connection.recv(65536)
                body, text = text[:length], text[length:]
                answer = self.change(number, request.split()[1].decode(), *([body] if body else []))
                if answer is None:
                    return
                connection.sendall(answer)
                number += 1


def good(number, path):
    return head(*GOOD[path])


class Proof(unittest.TestCase):
    def fault(self, change, seconds=5):
        with Server(change) as port:
            try:
                proof.prove(port, seconds)
            except proof.Invalid as problem:
                return str(problem)
        return ""

    def test_a_server_that_answers_rightly_is_proven(self):
        self.assertEqual(self.fault(good), "")

    def test_parameters_of_the_content_type_are_no_fault(self):
        self.assertEqual(self.fault(lambda n, path: good(n, path).replace(b"plain", b"plain; charset=utf-8")), "")

    def test_a_wrong_status_is_a_fault(self):
        self.assertIn("status 404", self.fault(lambda n, path: head(404, *GOOD[path][1:])))

    def test_a_wrong_content_type_is_a_fault(self):
        self.assertIn("content type 'text/html'", self.fault(lambda n, path: head(200, "text/html", GOOD[path][2])))

    def test_a_wrong_body_of_the_right_length_is_a_fault(self):
        self.assertIn("/json: body", self.fault(lambda n, path: good(n, path).replace(b"message", b"massage")))

    def test_a_connection_that_closes_after_an_answer_is_a_fault(self):
        self.assertIn("closed", self.fault(lambda n, path: good(n, path) if n == 0 else None))

    def test_an_answer_that_announces_the_close_is_a_fault(self):
        self.assertIn("to be closed", self.fault(lambda n, path: head(*GOOD[path], "Connection: close\r\n")))

    def test_a_pipelined_request_without_an_answer_is_a_fault(self):
        silent = self.fault(lambda n, path: b"" if n == 4 + 15 else good(n, path), 0.3)
        self.assertEqual(silent, "pipelined, answer 16 of 16: no answer in time")

    def test_pipelined_answers_in_another_order_are_a_fault(self):
        swapped = {4: "/json", 5: "/plaintext"}
        self.assertIn("pipelined, answer 1", self.fault(lambda n, path: good(n, swapped.get(n, path))))

    def test_an_answer_too_many_is_a_fault(self):
        self.assertIn("nobody asked for", self.fault(lambda n, path: good(n, path) * (2 if n == 19 else 1)))


class Users:
    """A server with rows; `fault(number, status, value)` may return another answer than the right one."""

    def __init__(self, fault=lambda number, status, value: (status, value)):
        self.fault = fault
        self.rows = {}

    def __call__(self, number, path, body=None):
        status, value = self.made(json.loads(body)) if body else self.read(int(path.rpartition("/")[2]))
        status, value = self.fault(number, status, value)
        return head(status, "application/json", json.dumps(value).encode())

    def made(self, given):
        if any(row["email"] == given["email"] for row in self.rows.values()):
            return 409, {}
        row = {"id": len(self.rows) + 1, "age": None, "created_at": "2026-01-01T00:00:00Z"} | given
        self.rows[row["id"]] = row
        return 201, row

    def read(self, number):
        return (200, self.rows[number]) if number in self.rows else (404, {})


class ProofOfUsers(unittest.TestCase):
    """Answers 0 to 3 are those to the first user's post and get, the post again, and the get of nobody."""

    def fault(self, *change):
        with Server(Users(*change)) as port:
            try:
                proof.prove_users(port)
            except proof.Invalid as problem:
                return str(problem)
        return ""

    def planted(self, at, status=None, value=None):
        return self.fault(lambda number, right, row:
                          (status or right, row if value is None else value(row)) if number == at else (right, row))

    def test_a_server_that_keeps_its_rows_is_proven(self):
        self.assertEqual(self.fault(), "")

    def test_a_wrong_status_is_a_fault(self):
        self.assertEqual(self.planted(0, 200), "the post of user 1: status 200, not 201")
        self.assertEqual(self.planted(1, 404), "the get of user 1: status 404, not 200")
        self.assertEqual(self.planted(2, 201), "the second post of user 1: status 201, not 409")
        self.assertEqual(self.planted(3, 200), "the get of a user who does not exist: status 200, not 404")

    def test_another_row_is_a_fault(self):
        self.assertIn("another user", self.planted(1, value=lambda row: row | {"email": "bench3@example.com"}))
        self.assertIn("another user", self.planted(0, value=lambda row: row | {"age": 3}))
        self.assertIn("is read as", self.planted(1, value=lambda row: row | {"created_at": "2026-01-02T00:00:00Z"}))
        self.assertIn("is read as", self.planted(1, value=lambda row: row | {"id": 7}))

    def test_a_member_less_and_no_object_are_faults(self):
        self.assertIn("not the members", self.planted(0, value=lambda row: {"id": row["id"]}))
        self.assertIn("not the members", self.planted(0, value=lambda row: [row]))

    def test_what_is_not_json_is_a_fault(self):
        with Server(lambda *_: head(201, "application/json", b"{id: 1}")) as port:
            with self.assertRaisesRegex(proof.Invalid, "not JSON"):
                proof.prove_users(port)


def answer_rows(number, path, _=b""):
    """As a peer with rows of PostgreSQL does."""
    if path == "/plaintext":
        return head(200, "text/plain", b"Hello, World!")
    if path == "/visits":
        return head(201, "text/plain", b"")
    row = int(path.rpartition("/")[2])
    if row > 10_000:
        return head(404, "text/plain", b"")
    return head(200, "application/json", json.dumps({"id": row, "name": f"user{row:012}",
                                                     "email": f"user{row}@example.com"}).encode())


class RowsOfPostgres(unittest.TestCase):
    """What a server with the tables of bench/postgres answers."""

    def test_are_proven(self):
        with Server(answer_rows) as port:
            proof.prove_postgres(port)

    def test_of_another_user_are_a_fault(self):
        with Server(lambda number, path, *body: answer_rows(number, path.replace("10000", "9999"), *body)) as port:
            with self.assertRaisesRegex(proof.Invalid, "user 10000: another user"):
                proof.prove_postgres(port)

    def test_that_are_not_there_are_404(self):
        with Server(lambda number, path, *body: answer_rows(number, path.replace("999999", "7"), *body)) as port:
            with self.assertRaisesRegex(proof.Invalid, "does not exist"):
                proof.prove_postgres(port)


class Programs(unittest.TestCase):
    """Each peer that is built here answers as it has to."""

    FRAMED = {"asio-frames-callbacks": "frames", "asio-frames-coroutines": "frames", "bun-websocket": "websocket"}

    def built(self, of_echo):
        """Those of others that nothing has to be configured for, {name: side}."""
        for name, side in experiment.read_sides().items():
            plain = not (side.under_test or side.environment or side.files or sides.missing(side, self_test.BUILD))
            itself = pathlib.Path(side.serve[0]).name.removeprefix("peer_") in peers.MEASURED_BY_THEMSELVES
            is_chosen = ("echo" in name + side.serve[0]) == of_echo and "loop" not in name
            if plain and is_chosen and not itself and name not in self.FRAMED:
                yield name, side

    def test_every_peer_that_is_built_answers_its_routes(self):
        proven = []
        for name, side in self.built(of_echo=False):
            payloads = [text.removesuffix("={payload}") for text in side.serve if text.endswith("={payload}")]
            if payloads or "stall" in name:  # It repeats another's answer.
                continue
            with self.subTest(name), sides.running(side, experiment.Work("bytes", "x"), self_test.BUILD) as server:
                has_postgres = sides.served_at(side) != 0
                proves = proof.prove_users if side.database else proof.prove_postgres if has_postgres else proof.prove
                proves(server.port)
                proven.append(name)
        self.assertTrue(proven, "not one peer is built: make bench")

    def test_nginx_answers_both_routes_and_pipelined(self):
        nginx = experiment.read_sides()["nginx"]
        if sides.missing(nginx, self_test.BUILD):
            self.skipTest("nginx is not installed")
        with sides.running(nginx, experiment.Work("lockstep", "/plaintext", path="/plaintext"),
                           self_test.BUILD) as server:
            proof.prove(server.port)

    def test_every_echo_that_is_built_sends_back_what_comes(self):
        for name, side in self.built(of_echo=True):
            with self.subTest(name), sides.running(side, experiment.Work("bytes", "x"), self_test.BUILD) as server:
                with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
                    connection.sendall(b"abc")
                    text = b""
                    while len(text) < 3:
                        text += connection.recv(16) or self.fail("the connection was closed")
                    self.assertEqual(text, b"abc")


    def test_every_framed_echo_that_is_built_sends_back_every_message(self):
        for name, framing in self.FRAMED.items():
            side = experiment.read_sides()[name]
            if not sides.missing(side, self_test.BUILD):
                with self.subTest(name):
                    path, *arguments = sides.command(side, self_test.BUILD, {"port": "{port}", "build": self_test.BUILD,
                                                                             "root": peers.ROOT})
                    more = [one for one in arguments if not one.startswith("--port")]
                    peers.prove_framed(path, framing, more, self_test.BUILD / "bench/bench_bytes")

    def test_a_framed_echo_that_speaks_something_else_is_not_proven(self):
        side = experiment.read_sides()["asio-callbacks"]  # What it is sent comes back: a request, and no response.
        if sides.missing(side, self_test.BUILD):
            self.skipTest("libboost-dev is not installed")
        with self.assertRaisesRegex(Invalid, "1 messages of 1 B"):
            peers.prove_framed(sides.program("bench/bench_asio_echo", self_test.BUILD), "frames", ["--style=callbacks"],
                               self_test.BUILD / "bench/bench_bytes")


class Versions(unittest.TestCase):
    """Every side, case and client of others says what it is made of."""

    # Of a benchmark that measures a library of others.
    OTHERS = re.compile(r"simdjson|asio|beast|boost|http_parser|libpq|moodycamel|outcome|signals2|tbb|\buv\b")
    PROCESSORS = ("AVX-512",)

    def with_everything_installed(self):
        self.enterContext(mock.patch.object(peers, "output", lambda *command: "x: 1.2"))
        notes = {f"peer_{name}": {"versions": {name: "1.2"}} for name in peers.known_peers()}
        self.enterContext(mock.patch.object(peers, "read_notes", lambda: notes))
        self.enterContext(mock.patch.object(sides, "program", lambda text, build: text))
        self.enterContext(mock.patch.object(peers.shutil, "which", lambda name: name))

    def sides_of_others(self):
        """Those that run none of the programs that are under test."""
        every = {name: side for one in experiment.read_all().values() for name, side in one.sides.items()}
        ours = {pathlib.Path(side.serve[0]).name for side in every.values() if side.under_test}
        return {name: side for name, side in every.items()
                if not ours & {pathlib.Path(text).name for text in side.serve}}

    def test_of_every_side_of_others(self):
        self.with_everything_installed()
        others = self.sides_of_others()
        for name in ("nginx", "raw-epoll", "asio-blocking-echo", "raw-echo-blocking", "asio-loop", "libuv-loop"):
            self.assertIn(name, others)
        for name, side in others.items():
            self.assertTrue(peers.of_side(side, self_test.BUILD), f"{name}: {side.serve[0]}")
        self.assertEqual(peers.of_side(experiment.read_sides()["keel-uring"], self_test.BUILD), {})

    def test_and_the_document_of_the_peers_names_them_all(self):
        document = (peers.SOURCES / "README.md").read_text()
        for side in self.sides_of_others().values():
            name = pathlib.Path(side.serve[0]).name.removeprefix("peer_").removeprefix("bench_")
            forms = [f"{name}.c`", f"{name}.cc`", f"{name.replace('turns_', 'turns/')}.c", f"go/{name}`",
                     f"rust/{name}`", f"bun/{name}`", f"| {name} |"]
            self.assertTrue(any(form in document for form in forms), name)

    def test_of_every_library_that_is_preloaded(self):
        self.with_everything_installed()
        one = experiment.choose(["allocators"])[0]
        found = peers.known(KINDS[one.kind].made_of(one, self_test.BUILD))
        for name in ("jemalloc", "tcmalloc", "mimalloc"):
            self.assertTrue(any(name in library for library in found[f"allocate-{name}"]), found)

    def test_of_every_case_of_others(self):
        self.with_everything_installed()
        seen = set()
        for one in experiment.read_all().values():
            found = peers.known(KINDS[one.kind].made_of(one, self_test.BUILD)) if one.kind == "micro" else {}
            for name, case in one.cases.items() if one.kind == "micro" else ():
                self.assertTrue(case.needs in ("", *peers.LIBRARIES, *self.PROCESSORS), f"{one.id}: {name}")
                self.assertEqual(bool(self.OTHERS.search(case.benchmark)), name in found, f"{one.id}: {name}")
                seen |= set(found.get(name, {}))
        self.assertEqual(seen, {library for library, _ in peers.LIBRARIES.values()})

    def test_of_every_client_of_others(self):
        self.with_everything_installed()
        for one in experiment.read_all().values():
            if one.kind == "clients":
                found = peers.known(KINDS[one.kind].made_of(one, self_test.BUILD))
                for name in ("wrk", "h2load"):
                    self.assertEqual(found[name], {name: "x: 1.2"})
                self.assertNotIn("keel-uring", {*found} - {*one.sides})

    def test_are_numbers_of_what_is_here(self):
        names = ("plaintext", "blocking-echo", "idle-turn", "allocators", "pool-peers", "queues", "wheel", "load-cost")
        for name, one in zip(names, experiment.choose(names)):
            for side, what in peers.known(KINDS[one.kind].made_of(one, self_test.BUILD)).items():
                for library, version in what.items():
                    self.assertRegex(version, r"^\d+\.\d+", f"{name}, {side}: {library}")

    def test_of_what_is_not_here_are_none(self):
        self.enterContext(mock.patch.object(peers, "output", lambda *command: ""))
        self.assertEqual(peers.packaged("/nowhere"), "")
        self.assertEqual(peers.versions("bench_uv_echo"), {})
        self.assertEqual(peers.versions("wrk"), {})

    def test_of_a_program_that_fails_are_not_what_it_complains(self):
        self.assertEqual(peers.output("sh", "-c", "echo no such package; exit 1"), "")
        self.assertEqual(peers.output("sh", "-c", "echo 1.2 >&2"), "1.2")
        self.assertEqual(peers.output("no-such-program-at-all"), "")


class Build(unittest.TestCase):
    """With a toolchain planted on PATH, in folders of the test's own."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "sources/go/fasthttp").mkdir(parents=True)
        (self.folder / "path").mkdir()
        for tool in ("nice", "cp", "chmod", "python3", "env", "sh"):
            (self.folder / "path" / tool).symlink_to(os.path.realpath(f"/usr/bin/{tool}"))
        self.enterContext(mock.patch.object(peers, "SOURCES", self.folder / "sources"))
        self.enterContext(mock.patch.object(peers, "FOLDER", self.folder / "build"))
        self.enterContext(mock.patch.dict(os.environ, PATH=str(self.folder / "path")))

    def plant(self, program, text):
        path = self.folder / program
        path.write_text(text)
        path.chmod(0o755)

    def plant_go(self, build):
        self.plant("path/go", f"""#!/bin/sh
case "$1 $2" in
  "version -m") printf 'path\\tx\\ndep\\tone/fasthttp\\tv1.2.3\\th1:x\\n' ;;
  "version ") echo go version go1.99.0 linux/amd64 ;;
  *) {build} ;;
esac
""")

    def plant_server(self, answers):
        self.plant("server", PROGRAM.format(python=os.path.realpath("/usr/bin/python3"), answers=answers))
        self.plant_go(f'while [ "$1" != -o ]; do shift; done; cp {self.folder}/server "$2"; chmod +x "$2"')

    def build(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(peers.main(["build", "fasthttp"]), 0)
        return said.getvalue()

    def listed(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            peers.main(["list", "fasthttp"])
        return said.getvalue()

    def test_an_absent_toolchain_skips_the_peer_with_a_line(self):
        self.assertRegex(self.build(), r"^peer_fasthttp +skipped: no toolchain: the program go is not installed\n$")
        self.assertIn("not there: no toolchain", self.listed())

    def test_a_build_that_fails_skips_the_peer_and_says_its_reason(self):
        self.plant_go("echo preparing; echo 'go: one/fasthttp: module refused: error 403'; exit 1")
        self.assertIn("skipped: go build -mod=readonly failed: go: one/fasthttp: module refused: error 403",
                      self.build())
        self.assertIn("module refused", self.listed())

    def test_what_builds_and_answers_rightly_is_there_with_its_versions(self):
        self.plant_server({path: (kind, body) for path, kind, body in proof.ROUTES})
        self.assertRegex(self.build(), r"^peer_fasthttp +built and proven in \d+ s\n$")
        self.assertEqual(peers.versions("peer_fasthttp"), {"go": "1.99.0", "one/fasthttp": "v1.2.3"})
        self.assertIn("there; go 1.99.0; one/fasthttp v1.2.3", self.listed())

    def test_what_builds_but_answers_wrongly_is_not_kept(self):
        self.plant_server({path: (kind, body.lower()) for path, kind, body in proof.ROUTES})
        self.assertIn("skipped: built, but answers wrongly: peer: /plaintext: body", self.build())
        self.assertIn("not there: built, but answers wrongly", self.listed())
        self.assertEqual(list((self.folder / "build/bin").iterdir()), [])

    def test_what_builds_and_cannot_be_proven_yet_is_kept_and_says_what_lacks(self):
        (self.folder / "sources/go/one_postgres").mkdir()
        self.plant_server({})
        with mock.patch.object(peers, "WITH_POSTGRES", peers.ROOT / "build/nowhere"), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            peers.main(["build", "one_postgres"])
        self.assertIn("skipped: built, and not proven: build/nowhere is not", said.getvalue())
        self.assertTrue((self.folder / "build/bin/peer_one_postgres").exists())

    def test_a_peer_that_does_not_exist_is_a_mistake(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
            peers.main(["build", "fastttp"])
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("no peer fastttp; there are ", said.getvalue())

    def test_a_lock_file_is_kept_for_each_peer_that_has_dependencies(self):
        for kind, kept, depends in (("go", "go.sum", "require"), ("rust", "Cargo.lock", "[dependencies]")):
            for folder in (peers.ROOT / "bench/peers" / kind).glob("[a-z]*/"):
                manifest = folder / ("go.mod" if kind == "go" else "Cargo.toml")
                self.assertEqual((folder / kept).exists(), depends in manifest.read_text(), folder)

    def test_a_kept_lock_names_no_registry_and_has_a_checksum_of_all_but_the_peer(self):
        for lock in (peers.ROOT / "bench/peers/rust").glob("*/Cargo.lock"):
            crates = tomllib.loads(lock.read_text())["package"]
            self.assertNotIn("source", {key for crate in crates for key in crate}, lock)
            self.assertEqual([crate["name"] for crate in crates if "checksum" not in crate],
                             [f"peer_{lock.parent.name}"])

    def test_a_lock_of_npm_names_no_registry_and_has_a_checksum_of_each_package(self):
        locks = sorted((peers.ROOT / "bench/peers/bun").glob("*/package-lock.json"))
        self.assertTrue(locks)
        for lock in locks:
            packages = json.loads(lock.read_text())["packages"]
            pinned = json.loads((lock.parent / "package.json").read_text())["optionalDependencies"]
            for name, package in packages.items():
                self.assertNotIn("resolved", package, lock)
                if name:
                    self.assertRegex(package["integrity"], "^sha512-", f"{lock}: {name}")
                    self.assertEqual(pinned[name.removeprefix("node_modules/")], package["version"], lock)

    def test_the_registry_of_a_lock_is_the_one_that_cargo_names(self):
        lock = '[[package]]\nname = "a"\nversion = "1.0.0"\nchecksum = "00"\n\n[[package]]\nname = "peer_x"\n'
        metadata = {"packages": [{"dependencies": [{"source": "registry+one"}, {"source": "registry+one"}]}]}
        self.assertEqual(
            peers.with_registry(lock, metadata), '[[package]]\nname = "a"\nversion = "1.0.0"\n'
            'source = "registry+one"\nchecksum = "00"\n\n[[package]]\nname = "peer_x"\n')
        metadata["packages"][0]["dependencies"].append({"source": "registry+another"})
        with self.assertRaisesRegex(peers.Invalid, "from 2 registries"):
            peers.with_registry(lock, metadata)

    def test_several_versions_of_a_crate_are_all_named(self):
        tree = "peer_x v0.1.0 (/x)\nhyper v1.2.0\nbitflags v1.0.0\nbitflags v2.0.0 (*)\n"
        self.assertEqual(peers.crates(tree, "peer_x"), {"bitflags": "1.0.0, 2.0.0", "hyper": "1.2.0"})


class Sources(unittest.TestCase):
    """What the peers are made of is resolved from exact direct dependencies."""
    FOLDER = peers.ROOT / "bench/peers"

    def test_each_crate_is_pinned_to_one_version(self):
        files = sorted(self.FOLDER.glob("rust/*/Cargo.toml"))
        self.assertGreaterEqual(len(files), 4)
        for file in files:
            made_of = tomllib.loads(file.read_text()).get("dependencies", {})
            self.assertTrue(made_of, file)
            for name, spec in made_of.items():
                version = spec if isinstance(spec, str) else spec.get("version", "")
                self.assertRegex(version, r"^=\d+\.\d+\.\d+$", f"{file}: {name}")

    def test_each_module_of_go_is_pinned_to_one_version(self):
        files = sorted(self.FOLDER.glob("go/*/go.mod"))
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            for line in file.read_text().splitlines():
                words = line.split("//")[0].split()
                if words[:1] in ([], ["module"], ["go"], ["toolchain"], [")"]) or words == ["require", "("]:
                    continue
                # A module that has never had a version is named by the time and the hash of one commit.
                self.assertRegex(words[-1], r"^v\d+\.\d+\.\d+(-\d{14}-[0-9a-f]{12})?$", f"{file}: {line}")
                self.assertNotIn("replace", words, file)
