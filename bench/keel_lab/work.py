"""What a client does: the `work` of an experiment."""

import dataclasses
import json

_HTTP = {"method": str, "path": str, "body": str, "connections": int, "range": int, "idle": int, "expect": dict,
         "prepare": dict, "waits_for": str, "log_lines": bool, "rows": str}
WORK_KEYS = {
    "lockstep": _HTTP | {"depth": int},
    "load": _HTTP | {"mix": list, "rate": int, "churn": int, "refusal": int, "capacity_connections": int,
                     "listener": {"service", "admin"}, "https": bool, "beside": dict, "slow_clients": int},
    "bytes": {
        "payload": int, "connections": int, "depth": int, "framing": {"none", "frames", "websocket"}, "churn": bool
    }, "itself": {"arguments": list},
}
REQUIRED = {"lockstep": ("path",), "bytes": ("payload",)}
EXPECT_KEYS = {"status": int, "type": str, "body": str}
MIX_KEYS = {"request": str, "headers": dict, "body": str, "weight": int, "expect": dict}
LEAST = {"connections": 1, "depth": 1, "idle": 1, "capacity_connections": 1, "churn": 0, "slow_clients": 0}
PREPARE_KEYS = {"method": str, "path": str, "body": str, "times": int, "status": int}


@dataclasses.dataclass(frozen=True)
class Work:
    """What the client does. {n} in path or body stands for a number: client/lockstep.c, docs/load.md."""
    client: str
    name: str
    path: str = "/"
    method: str = ""
    body: str = ""
    status: int = 200
    type: str = ""
    answer: str | None = None  # The body of the answer to `path`, compared before and after each run.
    connections: int = 64
    depth: int = 1
    range: int = 0
    idle: int = 1000  # Over how many idle connections a count of bytes_per_connection is taken.
    prepare: tuple = ()
    waits_for: str = ""
    log_lines: bool = False  # Each request must leave a line in the side's log.
    rows: str = ""  # A table of the side's database: a row more for each 201, a row less for each 204.
    mix: str = ""  # Of client load: requests as docs/load.md has them, JSON; instead of `path`.
    rate: int = 0  # Requests per second, due at times decided beforehand; 0: as fast as they are answered.
    listener: str = "service"
    https: bool = False  # Of client load: over TLS, at the side's {https_port}; each connection shakes hands in full.
    beside: "Work | None" = None  # What another keel load does meanwhile.
    slow_clients: int = 0  # Clients that send a byte of a request each second meanwhile: slow_clients.py.
    payload: int = 0
    framing: str = "none"  # Of the client bytes: client/framing.h.
    churn: int = 0  # A new connection after this many requests; 0 or 1 for the client bytes. 0: one connection for all.
    refusal: int = 0  # A status that is no mistake: kinds open-loop and capacity count what was refused.
    capacity_connections: int = 0  # Of kind capacity: over how many it is found: too few to wait long; 0: all.
    arguments: tuple = ()


def _work_name(spec, client):
    if "name" in spec:
        return spec["name"]
    if client == "bytes":
        connections, depth, framing = spec.get("connections", 64), spec.get("depth", 1), spec.get("framing", "none")
        name = f"churn {connections}" if spec.get("churn") else f"{spec.get('payload')} B x {connections}"
        return (name + (f", {depth} in flight" if depth != 1 else "") + (f", {framing}" if framing != "none" else ""))
    if client == "itself":
        return " ".join(str(argument) for argument in spec.get("arguments", []))
    if spec.get("mix"):
        return "mix"
    depth = spec.get("depth", 1)
    method = spec.get("method", "POST" if spec.get("body") else "GET")
    verb = f"{method} " if method != "GET" else ""
    return verb + spec.get("path", "/") + (f", {depth} pipelined" if depth != 1 else "")


def parse_work(file, spec, where, partial=False):
    """The Work of `spec`; a `partial` one is completed by each comparison."""
    client = spec.get("client", "lockstep")
    if client not in WORK_KEYS:
        file.wrong((*where, "client"), f"{client!r} is none of: {', '.join(WORK_KEYS)}")
        return None
    required = () if partial else REQUIRED.get(client, ())
    if not file.mapping(spec, where, {"client": str, "name": str, **WORK_KEYS[client]}, required):
        return None
    before = len(file.mistakes)
    if client == "load" and not partial and ("mix" in spec) == ("path" in spec):
        file.wrong(where, "either a path or a mix is needed")
    if not spec.get("rows", "x").isidentifier():
        file.wrong((*where, "rows"), f"{spec['rows']!r} is no table")
    for key, least in LEAST.items():
        if spec.get(key, least) < least:
            file.wrong((*where, key), f"at least {least} is needed")
    for number, one in enumerate(spec.get("mix", [])):
        file.mapping(one, (*where, "mix", number), MIX_KEYS, ("request",))
    expect, prepare, beside = spec.get("expect", {}), spec.get("prepare", {}), spec.get("beside")
    file.mapping(expect, (*where, "expect"), EXPECT_KEYS)
    file.mapping(prepare, (*where, "prepare"), PREPARE_KEYS, ("path",) if "prepare" in spec else ())
    if beside is not None:
        shared = {"client": "load", "connections": spec.get("connections", 64), "https": spec.get("https", False)}
        beside = parse_work(file, shared | beside, (*where, "beside"))
    if len(file.mistakes) > before:
        return None
    as_they_are = {key: spec[key] for key in spec if key not in ("expect", "client", "name")}
    return Work(client, _work_name(spec, client), **{
        "method": "POST" if spec.get("body") else "GET", "status": expect.get("status", 200),
        "type": expect.get("type", ""), "answer": expect.get("body"), **as_they_are,
        "prepare": tuple(sorted(prepare.items())), "mix": json.dumps(spec["mix"], indent=1) if "mix" in spec else "",
        "beside": beside, "churn": int(spec.get("churn", 0)), "arguments": tuple(map(str, spec.get("arguments", [])))
    })
