#!/usr/bin/env python3
"""Whether Keel and the libraries of others say the same of values in CBOR and MessagePack.

  make format-agreement                            builds what is needed, and runs this
  tests/formats/suites.py [--build build/release] [--values 1000] [--seed 1] [--sample | --table]

Values at random are written by cbor2 and by msgpack, read and written as a Record by Keel, and read again by them: they
are the same, and so are the bytes where both write them in the same order. --sample takes a tenth. Code 1 when
something differs. --table writes a few of them for src/keel/data/record_agreement_test.cc, which needs neither.
"""

import argparse
import datetime
import math
import pathlib
import random
import struct
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = ROOT / "build/formats-venv"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
UTC = datetime.timezone.utc


def install():
    """The packages of requirements.txt, in an environment of their own, in which this script continues."""
    if pathlib.Path(sys.prefix).resolve() == VENV.resolve():
        return
    if not (VENV / "bin/pip").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    subprocess.run([VENV / "bin/pip", "install", "--quiet", "--require-hashes", "-r", REQUIREMENTS], check=True)
    sys.exit(subprocess.run([VENV / "bin/python", "-B", __file__, *sys.argv[1:]], check=False).returncode)


def number(dice):
    """A number near where its form changes, or any."""
    kind = dice.randrange(6)
    if kind == 0:
        return dice.randrange(-40, 300)
    if kind == 1:
        near = dice.choice([1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 62, 1 << 63])
        return min(max(dice.choice([1, -1]) * near + dice.randrange(-2, 3), -(1 << 63)), (1 << 64) - 1)
    if kind == 2:
        return dice.choice([0.0, -0.0, 1.5, -2.25, 65504.0, 65505.0, 5.960464477539063e-08, 1e-300, 1.7976931348623157e308,
                            3.4028234663852886e38, math.inf, -math.inf, 0.1])
    if kind == 3:
        while True:
            value = struct.unpack(">d", dice.randbytes(8))[0]
            if not math.isnan(value):
                return value
    if kind == 4:
        return struct.unpack(">f", struct.pack(">f", dice.uniform(-1e6, 1e6)))[0]
    return dice.randrange(-(1 << 63), 1 << 64)


def text(dice):
    """Of some characters of one to four bytes; the lengths at which a head grows are among them."""
    size = dice.choice([0, 1, 5, 22, 23, 24, 31, 32, 255, 256, dice.randrange(60)])
    return "".join(dice.choice("abcXYZ 019\"\\/\n\0é€😀") for _ in range(size))


def value(dice, depth, has_times):
    """A value of any type that both have."""
    kind = dice.randrange(10 if depth > 0 else 8)
    if kind < 3:
        return number(dice)
    if kind < 5:
        return text(dice)
    if kind == 5:
        return dice.randbytes(dice.choice([0, 1, 16, 23, 24, 255, 256]))
    if kind == 6:
        return dice.choice([None, True, False])
    if kind == 7:
        if not has_times:
            return text(dice)
        if dice.random() < 0.5:
            return uuid.UUID(bytes=dice.randbytes(16))
        seconds = dice.randrange(0, 1 << 33)
        return datetime.datetime.fromtimestamp(seconds, UTC).replace(microsecond=dice.choice([0, dice.randrange(1000000)]))
    if kind == 8:
        return [value(dice, depth - 1, has_times) for _ in range(dice.choice([0, 1, 3, 15, 16, 24]))]
    return record(dice, depth - 1, has_times)


def record(dice, depth, has_times):
    """An object, some of them larger than what is looked through one by one."""
    return {text(dice)[:40]: value(dice, depth, has_times) for _ in range(dice.choice([0, 1, 3, 10, 16, 17, 24, 40]))}


def in_order(one):
    """The same with its keys as deterministic CBOR has them."""
    if isinstance(one, dict):
        keys = sorted(one, key=lambda key: (len(key.encode()), key.encode()))
        return {key: in_order(one[key]) for key in keys}
    return [in_order(element) for element in one] if isinstance(one, list) else one


def same(ours, theirs):
    """Whether both are equal: numbers by what they are, and the sign of zero too."""
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, uuid.UUID) and isinstance(ours, bytes):
        return ours == theirs.bytes  # MessagePack has no other form of it.
    if isinstance(theirs, float) and theirs == 0:
        return isinstance(ours, float) and math.copysign(1, ours) == math.copysign(1, theirs)
    return type(ours) is type(theirs) and ours == theirs


class Echo:
    """The program of Keel."""

    def __init__(self, program):
        self.program = program

    def __call__(self, lines):
        done = subprocess.run([self.program], input="".join(f"{a} {b} {c.hex()}\n" for a, b, c in lines), text=True,
                              capture_output=True, timeout=600, check=True)
        answers = done.stdout.splitlines()
        if len(answers) != len(lines):
            raise RuntimeError(f"{len(answers)} answers to {len(lines)} lines")
        return [one if one.startswith("error") else bytes.fromhex(one) for one in answers]


def agreement(echo, values, has_times, read, write, name):
    """How many of the values are the same in one format, and what is wrong."""
    lines = [(name, name, write(one)) for one in values]
    wrong = []
    for i, (one, answer) in enumerate(zip(values, echo(lines))):
        if isinstance(answer, str):
            wrong.append(f"{i}: {answer}: {lines[i][2].hex()[:80]}")
        elif not same(read(answer), one):
            wrong.append(f"{i}: another value: {lines[i][2].hex()[:80]}")
        elif not has_times and answer != write(in_order(one)):
            wrong.append(f"{i}: other bytes: {answer.hex()[:80]}")
    return wrong


def crossing(echo, values, write, read, names):
    """The same by way of the other format."""
    answers = echo([(names[0], names[1], write(one)) for one in values])
    return [f"{i}: {answer if isinstance(answer, str) else 'another value'}"
            for i, (one, answer) in enumerate(zip(values, answers))
            if isinstance(answer, str) or not same(read(answer), one)]


def table(dice, cbor2, msgpack):
    """Prints the bytes of small values in both formats, in one order of keys."""
    found = 0
    while found < 24:
        one = in_order(record(dice, 2, False))
        cbor, packed = cbor2.dumps(one, canonical=True), msgpack.packb(one)
        if not 12 <= min(len(cbor), len(packed)) or max(len(cbor), len(packed)) > 54:
            continue
        found += 1
        print(f'    {{"{cbor.hex()}",\n     "{packed.hex()}"}},')
    return 0


def main():
    """Runs the suites, and prints their table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--values", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", action="store_true", help="a tenth of them")
    parser.add_argument("--table", action="store_true", help="print values for the test that is compiled")
    options = parser.parse_args()
    install()
    import cbor2  # pylint: disable=import-outside-toplevel
    import msgpack  # pylint: disable=import-outside-toplevel

    if options.table:
        return table(random.Random(options.seed), cbor2, msgpack)
    count = options.values // 10 if options.sample else options.values
    dice = random.Random(options.seed)
    plain = [record(dice, 3, False) for _ in range(count)]
    timed = [record(dice, 3, True) for _ in range(count)]
    echo = Echo(options.build.resolve() / "tests/formats/formats_echo")

    def write_cbor(one):
        return cbor2.dumps(one, canonical=True)

    def write_packed(one):
        return msgpack.packb(one, datetime=True, default=lambda other: other.bytes)

    def read_packed(data):
        return msgpack.unpackb(data, timestamp=3)

    suites = [
        ("cbor2: values, and bytes", agreement(echo, plain, False, cbor2.loads, write_cbor, "cbor")),
        ("cbor2: values with times and UUIDs", agreement(echo, timed, True, cbor2.loads, write_cbor, "cbor")),
        ("cbor2: not canonical", agreement(echo, timed, True, cbor2.loads, cbor2.dumps, "cbor")),
        ("msgpack: values, and bytes", agreement(echo, plain, False, read_packed, write_packed, "message_pack")),
        ("msgpack: values with times and UUIDs", agreement(echo, timed, True, read_packed, write_packed, "message_pack")),
        ("cbor2 to msgpack", crossing(echo, timed, write_cbor, read_packed, ("cbor", "message_pack"))),
        ("msgpack to cbor2", crossing(echo, plain, write_packed, cbor2.loads, ("message_pack", "cbor"))),
    ]
    for name, wrong in suites:
        print(f"{'FAIL' if wrong else 'ok  '}  {name}: {count - len(wrong)} of {count} agree", flush=True)
        for one in wrong[:5]:
            print(f"      {one}")
    return 1 if any(wrong for _, wrong in suites) else 0


if __name__ == "__main__":
    sys.exit(main())
