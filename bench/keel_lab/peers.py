"""bench/lab peers: the servers in other languages, which only the full profile builds; bench/peers/README.md.

  bench/lab peers build [NAME...]   builds them below build/lab/peers, each proven to answer rightly; a peer whose
                                    toolchain is absent, or that does not build, is skipped with a line
  bench/lab peers list              each of them: of what version it is, or why it is not there

What other peers are there `bench/lab list --sides` says.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import time

from keel_lab import proof, side_file, sides
from keel_lab.machine import output
from keel_lab.preset import step
from keel_lab.sides import ROOT, Invalid
from keel_lab.work import Work

SUMMARY = "builds the servers in Go, Rust, Python and JavaScript to compare with, and lists them"
SOURCES = ROOT / "bench/peers"
FOLDER = ROOT / "build/lab/peers"
# Those that nobody connects to, and what each can do.
MEASURED_BY_THEMSELVES = {
    "json_text": [[f"--library={library}", f"--what={what}"] for library in ("sonic-rs", "serde-json")
                  for what in ("write", "read", "read-shuffled")],
}
TOOLCHAINS = {
    "go": ("go", "version"), "rust": ("cargo", "--version"), "python": ("python3", "--version"),
    "bun": ("npm", "--version")
}
# What the client bytes speaks to those that answer no HTTP.
FRAMED = {"websocket": "websocket"}
CLIENT = ROOT / "build/release/bench/bench_bytes"
# Gives a peer with rows of PostgreSQL a server of its own.
WITH_POSTGRES = ROOT / "build/release/bench/postgres" / sides.WITH_POSTGRES


def known_peers():
    """{name: toolchain} of the sources that there are."""
    return {folder.name: kind for kind in TOOLCHAINS for folder in sorted((SOURCES / kind).glob("*"))
            if folder.is_dir() and not folder.name.startswith(".")}


def program(name):
    return FOLDER / f"bin/peer_{name}"


def toolchain(kind):
    """What the toolchain calls itself; Invalid when there is none."""
    program, question = TOOLCHAINS[kind]
    if shutil.which(program) is None:
        raise Invalid(f"no toolchain: the program {program} is not installed")
    found = re.search(r"\d+\.\d+\S*", output(program, question))
    if found is None:
        raise Invalid(f"no toolchain: {program} {question} does not say its version")
    return found.group()


def build_go(name, folder, log):
    """The versions of everything that is in the program."""
    # The release build's baseline and the system's SQLite; no other toolchain is downloaded, and nothing that is not in
    # go.sum.
    step(["go", "build", "-mod=readonly", "-buildvcs=false", "-tags=libsqlite3", "-o", str(program(name)), "."],
         folder, log, GOTOOLCHAIN="local", GOAMD64="v1", GOWORK="off")
    listed = [line.split() for line in output("go", "version", "-m", str(program(name))).splitlines()]
    return {line[1]: line[2] for line in listed if line[:1] == ["dep"]}


def build_rust(name, folder, log):
    lock = folder / "Cargo.lock"
    told = step(["cargo", "metadata", "--no-deps", "--format-version=1"], folder, log)
    lock.write_text(with_registry(lock.read_text(), json.loads(told[told.index("{"):])))
    step(["cargo", "build", "--locked", "--release", "--jobs=1", f"--target-dir={FOLDER / 'target'}"], folder, log,
         RUSTFLAGS="")
    shutil.copy2(FOLDER / "target/release" / program(name).name, program(name))
    listed = step(["cargo", "tree", "--locked", "--edges=normal", "--prefix=none"], folder, log, RUSTFLAGS="")
    return crates(listed, program(name).name)


def build_python(name, folder, log):
    """Runs main.py with just the packages of requirements.txt, which has the checksums of their files."""
    home = FOLDER / "venv" / name
    step(["python3", "-m", "venv", "--clear", str(home)], folder, log)
    pip = [str(home / "bin/python"), "-m", "pip", "--disable-pip-version-check"]
    step([*pip, "install", "--require-hashes", "--only-binary=:all:", "--requirement=requirements.txt"], folder, log)
    program(name).write_text(f'#!/bin/sh\nexec {home}/bin/python {folder}/main.py "$@"\n')
    program(name).chmod(0o755)
    listed = json.loads(output(*pip, "list", "--format=json") or "[]")
    return {one["name"]: one["version"] for one in listed if one["name"] not in ("pip", "setuptools")}


def build_bun(name, folder, log):
    """Runs main.js with the program that package-lock.json has the checksum of."""
    # Not one script of a package runs: the program is in the package of this kind of processor.
    step(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder, log)
    bun = next(iter(folder.glob("node_modules/@oven/*/bin/bun")), None)
    if bun is None:
        raise Invalid("does not build: no package of Bun is for this processor")
    program(name).write_text(f'#!/bin/sh\nexec {bun} {folder}/main.js "$@"\n')
    program(name).chmod(0o755)
    return {"Bun": output(str(bun), "--version")}


def with_registry(lock, metadata):
    """The text of a Cargo.lock that is kept without the registry, with the one that cargo takes the package's direct
    dependencies from. What has a checksum is from there."""
    sources = {one["source"] for one in metadata["packages"][0]["dependencies"]}
    if len(sources) != 1:
        raise Invalid(f"does not build: its dependencies are from {len(sources)} registries")
    return re.sub(r"^checksum = ", f'source = "{sources.pop()}"\nchecksum = ', lock, flags=re.MULTILINE)


def crates(tree, package):
    """{name: version} of what cargo tree lists besides the package; several versions of one crate are joined."""
    found = {}
    for name, version in sorted(set(re.findall(r"^(\S+) v([0-9][^ \n]*)", tree, re.MULTILINE))):
        if name != package:
            found[name] = f"{found[name]}, {version}" if name in found else version
    return found


def build(name, kind):
    """Builds and proves one peer: the versions of what it is made of, by name."""
    versions = {TOOLCHAINS[kind][0]: toolchain(kind)}
    target = FOLDER / kind
    # A copy, so that what the toolchains write (Cargo.lock with the registry, targets) is never among the sources.
    for old in (*target.rglob("*.go"), *target.rglob("*.rs"), *target.rglob("*.py"), *target.glob("*/*.js")):
        old.unlink()
    shutil.copytree(SOURCES / kind, target, dirs_exist_ok=True)
    (FOLDER / "bin").mkdir(exist_ok=True)
    maker = {"go": build_go, "rust": build_rust, "python": build_python, "bun": build_bun}[kind]
    versions |= maker(name, target / name, FOLDER / f"peer_{name}.log")
    if name.endswith("_postgres") and not WITH_POSTGRES.exists():
        raise Invalid(f"built, and not proven: {WITH_POSTGRES.relative_to(ROOT)} is not")
    try:
        if name in MEASURED_BY_THEMSELVES:
            for arguments in MEASURED_BY_THEMSELVES[name]:
                prove_measure(str(program(name)), arguments)
        elif name in FRAMED:
            prove_framed(str(program(name)), FRAMED[name])
        elif name.endswith("_postgres"):
            prove_postgres(str(program(name)))
        else:
            prove(str(program(name)), name.endswith("_users"))
    except (Invalid, OSError) as problem:
        program(name).unlink(missing_ok=True)
        raise Invalid(f"built, but answers wrongly: {problem}") from None
    return versions


def prove(path, users=False):
    """Invalid unless the server answers as every peer has to; one with `users` has rows in a database."""
    database = ("--database={folder}/users.db",) if users else ()
    side = side_file.Side("peer", "peer", (path, "--port={port}", *database))
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sides.running(side, Work("bytes", "proof"), FOLDER) as server:
        (proof.prove_users if users else proof.prove)(server.port)


def prove_postgres(path):
    """The same of one with rows of PostgreSQL."""
    side = side_file.Side("peer", "peer", (str(WITH_POSTGRES), path, "--port={port}", "--connections=2"),
                          ready="/users/1")
    with sides.running(side, Work("bytes", "proof"), FOLDER) as server:
        proof.prove_postgres(server.port)


def prove_framed(path, framing, arguments=(), client=CLIENT):
    """Invalid unless it sends back every message: alone, several together, short and long."""
    if not client.exists():
        raise Invalid(f"built, and not proven: {client} is not")
    FOLDER.mkdir(parents=True, exist_ok=True)
    side = side_file.Side("peer", "peer", (path, *arguments, "--port={port}"))
    with sides.running(side, Work("bytes", "proof"), FOLDER) as server:
        for depth, payload in ((1, 1), (1, 125), (16, 64), (16, 126), (2, 65536)):
            done = subprocess.run([str(client), f"--port={server.port}", f"--framing={framing}", f"--depth={depth}",
                                   f"--payload={payload}", "--connections=2", "--count=64", "--warmup=0"],
                                  capture_output=True, text=True, timeout=60)
            if done.returncode != 0:
                raise Invalid(f"{depth} messages of {payload} B: {(done.stdout + done.stderr).strip()[-200:]}")


def prove_measure(path, arguments):
    """Invalid unless the program, which checks its own work first, measures it."""
    if '"ns"' not in (said := sides.output([path, *arguments], 60)):
        raise Invalid(f"{' '.join(arguments)}: {said.strip()[-200:]}")


def read_notes():
    """{peer: {"versions": {...}} or {"skipped": why}} of the last build."""
    try:
        return json.loads((FOLDER / "peers.json").read_text())
    except (OSError, json.JSONDecodeError):
        return {}


def configured(name):
    return output("pkg-config", "--modversion", name)


def packaged(path):
    """Debian's version of the package that `path` belongs to; empty elsewhere, and of what is in none."""
    name = output("dpkg-query", "--search", os.path.realpath(path)).partition(":")[0]
    return output("dpkg-query", "--showformat=${Version}", "--show", name) if name else ""


# What a benchmark `needs`: the library, and its name for pkg-config or a file of its package, which tells the version.
LIBRARIES = {
    "libboost-dev": ("Boost", "/usr/include/boost/version.hpp"),
    "libtbb-dev": ("oneTBB", "tbb"),
    "libuv1-dev": ("libuv", "libuv"),
    "libpq-dev": ("libpq", "libpq"),
    "libhttp-parser-dev": ("http_parser", "/usr/include/http_parser.h"),
    "libsimdjson-dev": ("simdjson", "/usr/include/simdjson.h"),
    "libconcurrentqueue-dev": ("ConcurrentQueue", "/usr/include/concurrentqueue/concurrentqueue.h"),
    "libreaderwriterqueue-dev": ("ReaderWriterQueue", "/usr/include/readerwriterqueue/readerwriterqueue.h"),
}
CLIENTS = ("wrk", "h2load")
# Of the release build: what they are made of.
MADE_OF = {
    "bench_beast": "libboost-dev",
    "bench_asio_echo": "libboost-dev",
    "bench_asio_frames": "libboost-dev",
    "bench_asio_blocking_echo": "libboost-dev",
    "bench_turns_asio": "libboost-dev",
    "bench_uv_echo": "libuv1-dev",
    "bench_turns_uv": "libuv1-dev",
}


def of_library(package):
    """{name: version} of a key of LIBRARIES."""
    name, where = LIBRARIES[package]
    return known({name: packaged(where) if "/" in where else configured(where)})


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
    program = sides.program(sides.served(side), build)
    found = versions(program) if program else {}
    if sides.served_at(side) != 0:
        found = found | known({"PostgreSQL": output("psql", "--version").rpartition(" (")[0].rpartition(" ")[2]})
    path = sides.filled(dict(side.environment).get("LD_PRELOAD", ""), {"build": build})
    if path:
        found = found | known({pathlib.Path(path).name.partition(".")[0]: packaged(path)})
    return found


def state(name, kind, notes):
    """One line: the versions, or why it is not there."""
    if program(name).exists():
        library = name.removesuffix("_users").removesuffix("_postgres")
        main = {library, library.replace("_", "-"), TOOLCHAINS[kind][0], "SQLite", "Bun"}
        found = [f"{part} {version}" for part, version in versions(program(name)).items()
                 if part.rpartition("/")[2] in main]
        return "; ".join(["there", *found])
    try:
        toolchain(kind)
    except Invalid as why:
        return f"not there: {why}"
    return f"not there: {notes.get(f'peer_{name}', {}).get('skipped', 'not built (bench/lab peers build)')}"


def build_all(chosen=None):
    FOLDER.mkdir(parents=True, exist_ok=True)
    notes = read_notes()
    for name, kind in (chosen or known_peers()).items():
        began = time.monotonic()
        try:
            notes[f"peer_{name}"] = {"versions": build(name, kind)}
            print(f"peer_{name:18}  built and proven in {time.monotonic() - began:.0f} s", flush=True)
        except Invalid as why:
            notes[f"peer_{name}"] = {"skipped": str(why)}
            print(f"peer_{name:18}  skipped: {why}", flush=True)
        (FOLDER / "peers.json").write_text(json.dumps(notes, indent=1) + "\n")


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "list"])
    parser.add_argument("name", nargs="*", help="only these, for example fasthttp")
    options = parser.parse_args(arguments)
    every = known_peers()
    unknown = [name for name in options.name if name not in every]
    if unknown:
        parser.error(f"no peer {', '.join(unknown)}; there are {', '.join(every)}")
    chosen = {name: every[name] for name in options.name} or every
    if options.what == "build":
        build_all(chosen)
    else:
        notes = read_notes()
        for name, kind in chosen.items():
            print(f"{name:18}{kind:6}{state(name, kind, notes)}")
    return 0
