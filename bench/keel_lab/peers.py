"""bench/lab peers: the servers in other languages, which only the full profile builds; bench/peers/README.md.

  bench/lab peers build [NAME...]   builds them below build/lab/peers, each proven to answer rightly; a peer whose
                                    toolchain is absent, or that does not build, is skipped with a line
  bench/lab peers list              every peer, where it is, of what version, and why it is not there
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import tempfile
import time

from keel_lab import proof, sides

SUMMARY = "builds the Go and Rust servers to compare with, and lists all peers"
ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "bench/peers"
RELEASE = ROOT / "build/release"
FOLDER = ROOT / "build/lab/peers"
BUILD_SECONDS = 1800
START_SECONDS = 10


class Skipped(Exception):
    """The peer is not to be had here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    # go, rust: built here; c: of the release build; loop: so too, a loop that nobody connects to; system: a program of
    # the machine
    kind: str
    what: str
    arguments: tuple = ()
    # Has no routes of fixed answers, but users in the database that is given to it.
    users: bool = False

    @property
    def prove(self):
        return proof.prove_users if self.users else proof.prove

    @property
    def short(self):
        return self.name.removeprefix("peer_").removeprefix("bench_")

    @property
    def program(self):
        if self.kind == "system":
            return pathlib.Path(shutil.which(self.name) or f"/usr/sbin/{self.name}")
        folders = {"c": RELEASE / "bench", "loop": RELEASE / "bench/turns"}
        return folders.get(self.kind, FOLDER / "bin") / self.name


PEERS = (
    Peer("bench_raw_uring", "c", "raw loop on io_uring: the bound"),
    Peer("bench_raw_epoll", "c", "raw loop on epoll: the bound"),
    Peer("bench_raw_users", "c", "raw loop, rows of SQLite: the bound", users=True),
    Peer("bench_raw_echo_uring", "c", "raw echo on io_uring: the bound"),
    Peer("bench_raw_echo_epoll", "c", "raw echo on epoll: the bound"),
    Peer("bench_raw_echo_blocking", "c", "plain recv and send, blocking: the bound"),
    Peer("bench_beast", "c", "Boost.Beast, callbacks"),
    Peer("bench_asio_echo", "c", "Boost.Asio echo, callbacks or coroutines", ("--style=callbacks",)),
    Peer("bench_asio_blocking_echo", "c", "Boost.Asio echo, blocking calls"),
    Peer("bench_uv_echo", "c", "libuv echo"),
    Peer("bench_turns_asio", "loop", "Boost.Asio's loop: turns, jobs and timers"),
    Peer("bench_turns_uv", "loop", "libuv's loop: turns, jobs and timers"),
    Peer("nginx", "system", "nginx, answers from its configuration"),
    Peer("peer_net_http", "go", "Go net/http"),
    Peer("peer_fasthttp", "go", "Go fasthttp"),
    Peer("peer_net_http_users", "go", "Go net/http, rows of SQLite", users=True),
    Peer("peer_hyper", "rust", "Rust hyper on tokio"),
    Peer("peer_axum", "rust", "Rust axum on hyper"),
    Peer("peer_axum_users", "rust", "Rust axum, rows of SQLite", users=True),
    Peer("peer_actix_web", "rust", "Rust actix-web"),
    Peer("peer_may_minihttp", "rust", "Rust may_minihttp, stackful coroutines"),
)
BUILT = tuple(peer for peer in PEERS if peer.kind in ("go", "rust"))
TOOLCHAINS = {"go": ("go", "version"), "rust": ("cargo", "--version")}


def output(*command):
    """What a program says, on either stream; empty where it is not to be had, or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else ""


def toolchain(kind):
    """What the toolchain calls itself; Skipped when there is none."""
    program, question = TOOLCHAINS[kind]
    if shutil.which(program) is None:
        raise Skipped(f"no toolchain: the program {program} is not installed")
    found = re.search(r"\d+\.\d+\S*", output(program, question))
    if found is None:
        raise Skipped(f"no toolchain: {program} {question} does not say its version")
    return found.group()


def reason(log):
    """The line of a failed build that says most."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error|go: .*:|requires", line)]
    return (errors or lines or ["it said nothing"])[0][:200]


def quietly(command, folder, log, **environment):
    """What a step of a build says, run at low priority; Skipped, with the line that says most, when it fails."""
    try:
        done = subprocess.run(["nice", *command], cwd=folder, env=os.environ | environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise Skipped(f"does not build: {command[0]} took longer than {BUILD_SECONDS} s") from None
    log.write_text(done.stdout)
    if done.returncode != 0:
        raise Skipped(f"does not build: {reason(done.stdout)} (all of it in {log})")
    return done.stdout


def build_go(peer, folder, log):
    """The versions of everything that is in the program."""
    # The release build's baseline and the system's SQLite; no other toolchain is downloaded, and go.sum is made here.
    quietly(["go", "build", "-mod=mod", "-buildvcs=false", "-tags=libsqlite3", "-o", str(peer.program), "."], folder,
            log, GOTOOLCHAIN="local", GOAMD64="v1", GOWORK="off")
    listed = [line.split() for line in output("go", "version", "-m", str(peer.program)).splitlines()]
    return {line[1]: line[2] for line in listed if line[:1] == ["dep"]}


def build_rust(peer, folder, log):
    quietly(["cargo", "build", "--release", "--jobs=1", f"--target-dir={FOLDER / 'target'}"], folder, log, RUSTFLAGS="")
    shutil.copy2(FOLDER / "target/release" / peer.name, peer.program)
    listed = quietly(["cargo", "tree", "--edges=normal", "--prefix=none"], folder, log, RUSTFLAGS="")
    return crates(listed, peer.name)


def crates(tree, package):
    """{name: version} of what cargo tree lists besides the package; several versions of one crate are joined."""
    found = {}
    for name, version in sorted(set(re.findall(r"^(\S+) v([0-9][^ \n]*)", tree, re.MULTILINE))):
        if name != package:
            found[name] = f"{found[name]}, {version}" if name in found else version
    return found


def build(peer):
    """Builds and proves one peer: the versions of what it is made of, by name."""
    versions = {TOOLCHAINS[peer.kind][0]: toolchain(peer.kind)}
    source, target = SOURCES / peer.kind, FOLDER / peer.kind
    # A copy, so that what the toolchains write (go.sum, Cargo.lock, targets) is never among the sources.
    for old in (*target.rglob("*.go"), *target.rglob("*.rs")):
        old.unlink()
    shutil.copytree(source, target, dirs_exist_ok=True)
    (FOLDER / "bin").mkdir(exist_ok=True)
    maker = build_go if peer.kind == "go" else build_rust
    versions |= maker(peer, target / peer.short, FOLDER / f"{peer.name}.log")
    try:
        with serving(peer) as port:
            peer.prove(port)
    except (proof.Wrong, OSError) as problem:
        peer.program.unlink(missing_ok=True)
        raise Skipped(f"built, but answers wrongly: {problem}") from None
    return versions


def wait_for_listener(process, port):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise proof.Wrong(f"it ended at start with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.01)
    raise proof.Wrong(f"nobody listens after {START_SECONDS} s")


@contextlib.contextmanager
def serving(peer):
    """The port of a fresh process of `peer`, which ends with the block."""
    [port] = sides.free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        database = [f"--database={folder}/users.db"] if peer.users else []
        process = subprocess.Popen([str(peer.program), *peer.arguments, f"--port={port}", *database],
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            wait_for_listener(process, port)
            yield port
        finally:
            process.kill()
            process.wait()


def read_notes():
    """{peer: {"versions": {...}} or {"skipped": why}} of the last build."""
    try:
        return json.loads((FOLDER / "peers.json").read_text())
    except (OSError, json.JSONDecodeError):
        return {}


def boost_version():
    header = pathlib.Path("/usr/include/boost/version.hpp")
    found = re.search(r'#define BOOST_LIB_VERSION "([0-9_]+)"', header.read_text()) if header.exists() else None
    return found.group(1).replace("_", ".") if found else ""


def configured(name):
    return output("pkg-config", "--modversion", name)


def packaged(path):
    """Debian's version of the package that `path` belongs to; empty elsewhere, and of what is in none."""
    name = output("dpkg-query", "--search", os.path.realpath(path)).partition(":")[0]
    return output("dpkg-query", "--showformat=${Version}", "--show", name) if name else ""


# What a benchmark `needs` (bench/experiments): the library, and how its version is known.
LIBRARIES = {
    "libboost-dev": ("Boost", boost_version),
    "libtbb-dev": ("oneTBB", lambda: configured("tbb")),
    "libuv1-dev": ("libuv", lambda: configured("libuv")),
    "libhttp-parser-dev": ("http_parser", lambda: packaged("/usr/include/http_parser.h")),
    "libconcurrentqueue-dev": ("ConcurrentQueue", lambda: packaged("/usr/include/concurrentqueue/concurrentqueue.h")),
    "libreaderwriterqueue-dev":
    ("ReaderWriterQueue", lambda: packaged("/usr/include/readerwriterqueue/readerwriterqueue.h")),
}
CLIENTS = ("wrk", "h2load")
# Of the release build: what they are made of.
MADE_OF = {
    "bench_beast": "libboost-dev",
    "bench_asio_echo": "libboost-dev",
    "bench_asio_blocking_echo": "libboost-dev",
    "bench_turns_asio": "libboost-dev",
    "bench_uv_echo": "libuv1-dev",
    "bench_turns_uv": "libuv1-dev",
}


def of_library(package):
    """{name: version} of a key of LIBRARIES."""
    name, version = LIBRARIES[package]
    return known({name: version()})


def known(found):
    return {name: version for name, version in found.items() if version}


def versions(program):
    """{name: version} of what the peer `program` is made of, as far as it is not the project's own."""
    name = pathlib.Path(program).name
    if name in MADE_OF:
        return of_library(MADE_OF[name])
    if name == "nginx":
        return known({"nginx": output(str(program), "-v").rpartition("/")[2]})
    if name in CLIENTS:
        return known({name: packaged(program)})
    if name == "bench_raw_users":
        return known({"SQLite": configured("sqlite3")})
    if name.startswith("bench_raw_") and name.endswith("_uring"):
        return known({"liburing": configured("liburing")})
    if name.startswith("bench_raw_") or name == "bench_allocate":
        return known(dict([platform.libc_ver()]))
    if name.startswith("peer_"):
        users = {"SQLite": configured("sqlite3")} if name.endswith("_users") else {}
        return read_notes().get(name, {}).get("versions", {}) | known(users)
    return {}


def of_side(side, build):
    """What its program is made of, and what it has in the place of the C library's functions."""
    program = sides.program(side.serve[0], build)
    found = versions(program) if program else {}
    path = sides.filled(dict(side.environment).get("LD_PRELOAD", ""), {"build": build})
    if path:
        found = found | known({pathlib.Path(path).name.partition(".")[0]: packaged(path)})
    return found


def state(peer, notes):
    """One line: the versions, or why it is not there."""
    if peer.program.exists():
        library = peer.short.removesuffix("_users")
        main = {library, library.replace("_", "-"), TOOLCHAINS.get(peer.kind, ("",))[0], "SQLite"}
        found = [f"{name} {version}" for name, version in versions(peer.program).items()
                 if peer.kind not in TOOLCHAINS or name.rpartition("/")[2] in main]
        return "; ".join(["there", *found])
    if peer.kind == "system":
        return f"not there: {peer.name} is not installed (scripts/setup bench)"
    if peer.kind in ("c", "loop"):
        return "not there: not built (make bench), or its library is not installed (scripts/setup bench)"
    if "skipped" in notes.get(peer.name, {}):
        return "not there: " + notes[peer.name]["skipped"]
    try:
        toolchain(peer.kind)
    except Skipped as why:
        return f"not there: {why}"
    return "not there: not built (bench/lab peers build)"


def build_all(chosen):
    FOLDER.mkdir(parents=True, exist_ok=True)
    notes = read_notes()
    for peer in chosen:
        began = time.monotonic()
        try:
            notes[peer.name] = {"versions": build(peer)}
            print(f"{peer.name:18}  built and proven in {time.monotonic() - began:.0f} s", flush=True)
        except Skipped as why:
            notes[peer.name] = {"skipped": str(why)}
            print(f"{peer.name:18}  skipped: {why}", flush=True)
        (FOLDER / "peers.json").write_text(json.dumps(notes, indent=1) + "\n")


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "list"])
    parser.add_argument("name", nargs="*", help="only these, for example fasthttp")
    options = parser.parse_args(arguments)
    of = BUILT if options.what == "build" else PEERS
    by_name = {peer.short: peer for peer in of}
    unknown = [name for name in options.name if name not in by_name]
    if unknown:
        parser.error(f"no peer {', '.join(unknown)}; there are {', '.join(by_name)}")
    chosen = [by_name[name] for name in options.name] or list(of)
    if options.what == "build":
        build_all(chosen)
    else:
        notes = read_notes()
        for peer in chosen:
            print(f"{peer.name:26}{peer.what:44}{state(peer, notes)}")
    return 0
