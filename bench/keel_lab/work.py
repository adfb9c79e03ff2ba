"""What a client does: the `work` of an experiment."""

import dataclasses
import json

_HTTP = {
    "method": str, "path": str, "body": str, "connections": int, "range": int, "expect": dict, "prepare": dict,
    "waits_for": str, "log_lines": bool, "rows": str
}
WORK_KEYS = {
    "lockstep": _HTTP | {"depth": int, "idle": int}, "load": _HTTP | {
        "mix": list, "rate": int, "churn": int, "refusal": int, "capacity_connections": int,
        "listener": {"service", "admin"}, "https": bool, "idle": int, "beside": dict, "slow_clients": int
    }, "bytes": {"payload": int, "connections": int, "churn": bool}, "itself": {"arguments": list},
}
REQUIRED = {"lockstep": ("path",), "bytes": ("payload",)}
EXPECT_KEYS = {"status": int, "type": str, "body": str}
MIX_KEYS = {"request": str, "headers": dict, "body": str, "weight": int, "expect": dict}
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
    slow_clients: int = 0  # So many that send a byte of a request a second meanwhile: slow_clients.py.
    payload: int = 0
    churn: int = 0  # A new connection after so many requests; of client bytes 0 or 1. 0: one for all.
    refusal: int = 0  # A status that is no mistake: kinds open-loop and capacity count what was refused.
    capacity_connections: int = 0  # Of kind capacity: over how many it is found: too few to wait long; 0: all.
    arguments: tuple = ()


def _work_name(spec, client):
    if "name" in spec:
        return spec["name"]
    if client == "bytes":
        connections = spec.get("connections", 64)
        return f"churn {connections}" if spec.get("churn") else f"{spec.get('payload')} B x {connections}"
    if client == "itself":
        return " ".join(str(argument) for argument in spec.get("arguments", []))
    if spec.get("mix"):
        return "mix"
    depth = spec.get("depth", 1)
    method = spec.get("method", "POST" if spec.get("body") else "GET")
    verb = f"{method} " if method != "GET" else ""
    return verb + spec.get("path", "/") + (f", {depth} at once" if depth != 1 else "")


def parse_work(file, spec, where, partial=False):
    """The Work of `spec`; a `partial` one is completed by each comparison."""
    client = spec.get("client", "lockstep")
    if client not in WORK_KEYS:
        file.wrong((*where, "client"), f"{client!r} is none of: {', '.join(WORK_KEYS)}")
        return None
    required = () if partial else REQUIRED.get(client, ())
    if not file.mapping(spec, where, {"client": str, "name": str, **WORK_KEYS[client]}, required):
        return None
    expect, prepare = spec.get("expect", {}), spec.get("prepare")
    right = True
    if client == "load" and not partial and ("mix" in spec) == ("path" in spec):
        right = file.wrong(where, "either a path or a mix is needed")
    if not spec.get("rows", "x").isidentifier():
        right = file.wrong((*where, "rows"), f"{spec['rows']!r} is no table")
    for number, one in enumerate(spec.get("mix", [])):
        right = file.mapping(one, (*where, "mix", number), MIX_KEYS, ("request",)) and right
    beside = spec.get("beside")
    if beside is not None:
        shared = {"connections": spec.get("connections", 64), "https": spec.get("https", False)}
        beside = parse_work(file, {"client": "load"} | shared | beside, (*where, "beside"))
        right = right if beside else None
    for key in ("connections", "depth", "idle", "capacity_connections"):
        if spec.get(key, 1) < 1:
            right = file.wrong((*where, key), "at least 1 is needed")
    for key in ("churn", "slow_clients"):
        if spec.get(key, 0) < 0:
            right = file.wrong((*where, key), "at least 0 is needed")
    right = right is True and file.mapping(expect, (*where, "expect"), EXPECT_KEYS)
    if prepare is not None:
        right = file.mapping(prepare, (*where, "prepare"), PREPARE_KEYS, ("path",)) and right
    if not right:
        return None
    made = {
        "method": "POST" if spec.get("body") else "GET", "status": expect.get("status", 200),
        "type": expect.get("type", ""), "answer": expect.get("body"),
        **{key: value for key, value in spec.items() if key not in ("expect", "client", "name")}, "prepare": tuple(
            sorted((prepare or {}).items())), "mix": json.dumps(spec["mix"], indent=1) if "mix" in spec else "",
        "beside": beside, "churn": int(spec.get("churn",
                                                0)), "arguments": tuple(str(one) for one in spec.get("arguments", [])),
    }
    return Work(client, _work_name(spec, client), **made)
