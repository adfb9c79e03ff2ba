"""wrk as a client that knows latencies: its command, and what it says.

Its loop is closed, and its percentiles are not what it saw: wrk 4 adds to each answer that took longer than the mean
interval of a connection those that it supposes were missed meanwhile. So it tells of a stall as an open loop does.
"""

import math
import re
import shutil

from keel_lab.sides import Invalid

PROGRAM = "wrk"
UNITS = {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
LINE = re.compile(r"^ +(\d+(?:\.\d+)?)% +([\d.]+)(us|ms|s|m|h)$", re.MULTILINE)
LONGEST = re.compile(r"^ +Latency +\S+ +\S+ +([\d.]+)(us|ms|s|m|h) ", re.MULTILINE)
DONE = re.compile(r"(\d+) requests in ")
RATE = re.compile(r"Requests/sec: +([\d.]+)")
WRONG = "wrk met errors, or said something else: "


def missing():
    """What has to be installed, or nothing."""
    return "" if shutil.which(PROGRAM) else f"{PROGRAM} (scripts/setup bench)"


def command(url, connections, seconds):
    """For whole seconds, at least as many: it knows no others."""
    return [PROGRAM, "--latency", "-t1", f"-c{connections}", f"-d{math.ceil(seconds)}s", url]


def counted(said):
    """(requests answered, per second). Invalid when it met errors or says something else."""
    done, rate = DONE.search(said), RATE.search(said)
    if None in (done, rate) or "Non-2xx" in said or "Socket errors" in said:
        raise Invalid(WRONG + said.strip()[-300:])
    return int(done[1]), float(rate[1])


def read(said):
    """{requests, achieved, latency: {unit, count, percentiles, cdf}}. Invalid as above."""
    (requests, rate), longest = counted(said), LONGEST.search(said)
    percentiles = {f"{float(name):g}": us(number, unit) for name, number, unit in LINE.findall(said)}
    if longest is None or not percentiles:
        raise Invalid(WRONG + said.strip()[-300:])
    percentiles["max"] = us(*longest.groups())
    return {
        "requests": requests, "achieved": rate, "latency": {
            "unit": "us", "count": requests, "percentiles": percentiles,
            "cdf": [[value, 1 if name == "max" else float(name) / 100] for name, value in percentiles.items()],
            "from": "sent, corrected by wrk"
        }
    }


def us(number, unit):
    return float(number) * UNITS[unit]
