#!/usr/bin/env python3
"""TLS of a service as others see it, and what becomes of it when they mean no good: a table of scores.

  make tls-conformance                        builds what is needed, and runs this
  tests/tls/suites.py [--build build/release] [--only TEXT] [--sample] [--complete]

Code 1 when a score is below what is demanded. A program that is not installed is said to be so, and its part is left out;
with --complete that is a failure as well. Everything happens on
127.0.0.1, each suite has a time limit, and what was started is ended.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import acme
import clients
import exchange
import openssl
import servers
from ticket_flood import floods_of_servers, is_sanitized
from service import ROOT, VENV, Failed, Service, run, serving

REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")

RENEWALS = 20
RESTARTS = 20
# Findings of testssl.sh that are not about the service's TLS.
TESTSSL_KNOWN = {
    "cipher_order": "Mozilla's intermediate profile leaves the order to the client, which knows whether it has AES in hardware",
    "cert_revocation": "the authority of the test has no responder",
    "DNS_CAArecord": "nor has localhost a DNS",
    "HSTS": "is an option of the service",
    "security_headers": "are the service's own",
}
FLOOD = 20_000
FLOOD_SAMPLE = 1_000
RESIDENT_MIB_MAX = 96  # After what a peer may do; it begins with some 30.


# --- The suites: each gives (score, whether it is enough, what is demanded).


def over_tls(program, seconds, at_least):
    """What a test program says of itself over TLS."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        run([program, "--gtest_brief=1", f"--gtest_output=json:{report}"], seconds,
            env={**os.environ, "KEEL_TESTS_OVER_TLS": "1"}, cwd=folder)
        if not report.exists():
            raise Failed("the tests did not end")
        tests = [test for suite in json.loads(report.read_text())["testsuites"] for test in suite["testsuite"]]
    failed = [test["name"] for test in tests if "failures" in test]
    skipped = sum(test["result"] == "SKIPPED" for test in tests)
    score = f"{len(tests) - len(failed) - skipped} of {len(tests)}, {skipped} skipped"
    return score + (f", failed: {', '.join(failed[:5])}" if failed else ""), len(tests) > at_least and not failed, "0 failed"


def own_suites(build, _service):
    """The suites that ask a whole server on every engine, over TLS."""
    return over_tls(build / "src/keel/http/server/http_server_tests", 1200, at_least=500)


def http_vectors(build, _service):
    """What `make conformance` sends to a server as bytes, each piece in records of its own, on io_uring and epoll."""
    return over_tls(build / "tests/conformance/conformance_test", 1200, at_least=30)


def simulation(build, _service):
    """The full-stack example on a network and a disk that fail, over TLS: each seed twice the same."""
    done = run([build / "tests/sim/fullstack_sim_test", "--gtest_filter=*keeps_what*"], 1200,
               env={**os.environ, "KEEL_TESTS_OVER_TLS": "1"})
    seeds = re.search(r"^(\d+) seeds, ", done.stdout, re.MULTILINE)
    is_enough = done.returncode == 0 and seeds is not None and int(seeds[1]) >= 1000
    return f"{seeds[1]} seeds" if seeds else done.stdout[-200:], is_enough, "1,000 seeds, each twice the same"


def sslyze(_build, service):
    """Mozilla's intermediate configuration, and what is known to be vulnerable."""
    done = run([
        VENV / "bin/sslyze", "--mozilla_config", "intermediate", "--certinfo_ca_file", service.authority.root,
        f"localhost:{service.port}"
    ], 300)
    is_compliant = "OK - Compliant." in done.stdout and done.returncode == 0
    bad = [line.strip() for line in done.stdout.splitlines() if re.search(r"VULNERABLE|FAILED - Not compl|^ +\* ", line)
           and "OK - Not" not in line and not line.endswith(":")]
    return "compliant" if is_compliant else "; ".join(bad)[-200:] or done.stdout[-200:], is_compliant, "compliant"


def testssl(_build, service):
    """testssl.sh: nothing is vulnerable, and nothing else is worse than what belongs to this certificate and these routes."""
    program = next(filter(None, map(shutil.which, ("testssl", "testssl.sh"))), None)
    if program is None:
        return "not here: testssl.sh", True, ""
    report = service.folder / "testssl.json"
    run([program, "--quiet", "--color", "0", "--warnings", "off", "--add-ca", service.authority.root, "--jsonfile", report,
         f"localhost:{service.port}"], 600, cwd=service.folder, stdin=subprocess.DEVNULL)
    if not report.exists():
        raise Failed("testssl.sh gave no report")
    findings = json.loads(report.read_text())
    attacks = [one for one in findings if "cve" in one and not one["id"].endswith("hint")]
    # WARN: it could not find out, for want of a connection. Of an attack it has to.
    fine = ("OK", "INFO", "DEBUG")
    bad = [f"{one['id']}: {one['finding']}" for one in findings if one["id"] not in TESTSSL_KNOWN
           and one["severity"] not in (fine if one in attacks else (*fine, "WARN"))]
    score = f"{len(attacks)} attacks, not vulnerable" if not bad else "; ".join(bad)
    return score, not bad and len(attacks) >= 15, "nothing vulnerable"


def alert_of(bytes_back):
    """The description of the alert that came in clear; None: there was none."""
    return bytes_back[6] if len(bytes_back) >= 7 and bytes_back[0] == 21 else None


def answer_to(service, wire, ends=False):
    """What comes back until the server closes, or 'open' where it does not within its time for a handshake."""
    with service.connect() as peer:
        peer.settimeout(15)
        back = b""
        try:
            peer.sendall(wire)
            if ends:
                peer.shutdown(socket.SHUT_WR)
            while part := peer.recv(65536):
                back += part
        except ConnectionError:
            pass
        except TimeoutError:
            return "open"
        return back


def client_hello():
    """One that OpenSSL makes."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def flood(service, send, count):
    """Sends so many of something once the handshake is over, with tlslite-ng: whether the server ended it in 10 s."""
    from tlslite.api import HandshakeSettings, TLSConnection
    peer = service.connect()
    connection = TLSConnection(peer)
    settings = HandshakeSettings()
    settings.minVersion = settings.maxVersion = (3, 4)
    connection.handshakeClientCert(settings=settings, serverName="localhost")
    try:
        for _ in range(count):
            send(connection)
        connection.closeSocket = True
        return not connection.read(max=1, min=1)  # Nothing: it has ended with close_notify.
    except TimeoutError:  # It neither reads nor ends.
        return False
    except Exception:  # Whatever tlslite makes of an alert or a reset.
        return True
    finally:
        peer.close()


def key_update(connection):
    for _ in connection.send_keyupdate_request(0):
        pass


def empty_record(connection):
    from tlslite.messages import ApplicationData
    for _ in connection._sendMsg(ApplicationData().create(bytearray())):
        pass


def canceled(connection):
    """A warning that promises an end and does not end (RFC 8446 6.1)."""
    from tlslite.constants import AlertDescription, AlertLevel
    from tlslite.messages import Alert
    for _ in connection._sendMsg(Alert().create(AlertDescription.user_canceled, AlertLevel.warning)):
        pass


def unknown_alert(connection):
    """An alert with a description that nobody has defined, as a warning."""
    from tlslite.messages import Alert
    for _ in connection._sendMsg(Alert().create(99, 1)):
        pass


class Holding:
    """A socket that keeps what is sent, while `held` is a list."""

    def __init__(self, peer):
        self.peer = peer
        self.held = None

    def send(self, data):
        if self.held is None:
            return self.peer.send(data)
        self.held.append(bytes(data))
        return len(data)

    def __getattr__(self, name):
        return getattr(self.peer, name)


def alert_to_reordered_records(service):
    """Two records in the wrong order: the description of the server's alert, or what came instead."""
    from tlslite.api import HandshakeSettings, TLSConnection
    from tlslite.errors import TLSRemoteAlert
    peer = Holding(service.connect())
    connection = TLSConnection(peer)
    settings = HandshakeSettings()
    settings.minVersion = settings.maxVersion = (3, 4)
    connection.handshakeClientCert(settings=settings, serverName="localhost")
    try:
        peer.held = []
        connection.write(b"GET /health HTTP/1.1\r\n")
        connection.write(b"Host: localhost\r\n\r\n")
        records, peer.held = peer.held, None
        peer.sendall(b"".join(reversed(records)))
        return bytes(connection.read(max=100, min=1))
    except TLSRemoteAlert as alert:
        return alert.description
    except Exception as error:
        return repr(error)
    finally:
        peer.close()


def renegotiations_end(service, count):
    """Hellos for another handshake on a connection of TLS 1.2: whether the server ended it in 10 s."""
    end = openssl.End(openssl.TLS1_2)
    with service.connect() as peer:
        done = end.shake()
        peer.sendall(end.taken())
        while not done:
            done = end.shake(peer.recv(65536))
            peer.sendall(end.taken())
        try:
            peer.sendall(end.renegotiations(count))
            while peer.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True


def misbehaving(build, service):
    """Peers that break the protocol: the right alert or the end, and the service continues; and servers that flood clients."""
    hello = client_hello()
    handshake = hello[5:]
    cases = {
        "no TLS": (b"\x80\x2e\x01\x00\x02" + bytes(60), {None, 70, 80, 10, 50}),
        "a record of an unknown type": (b"\x2a\x03\x03\x00\x05hello", {10, 70, 80, None}),
        "a record that is too long": (b"\x16\x03\x01\xff\xff" + bytes(0xffff), {22, 10, 50, 70}),
        "a handshake message of 16 MiB": (b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + bytes(0x3ffc), {47, 50, 10}),
        "application data first": (b"\x17\x03\x03\x00\x05hello", {10}),
        "an alert first": (b"\x15\x03\x03\x00\x02\x02\x28", {None, 10}),
        "no version in common": (hello.replace(b"\x03\x03", b"\x03\x00", 1).replace(b"\x03\x04", b"\x03\x01"), {70, 40, 47}),
        "a hello whose length lies": (hello[:8] + bytes([hello[8] ^ 3]) + hello[9:], {50, 47, 10, None}),
        "a hello cut in half": (hello[:len(hello) // 2], {None}),
        "a hello in records of a byte": (b"".join(b"\x16\x03\x01\x00\x01" + handshake[i:i + 1]
                                                  for i in range(len(handshake))) + b"\x15\x03\x03\x00\x02\x02\x28", {None}),
    }
    bad = []
    for name, (wire, allowed) in cases.items():
        back = answer_to(service, wire, ends=name in ("a hello cut in half", "an alert first", "no TLS"))
        alert = "open" if back == "open" else alert_of(back)
        if alert not in allowed and not (alert is None and back[:1] == b"\x16"):
            bad.append(f"{name}: {alert}")
        if not service.is_well():
            bad.append(f"{name}: the service does not respond any more")
    floods = {"key updates": key_update, "empty records": empty_record, "cancelations": canceled, "unknown alerts": unknown_alert}
    for name, send in floods.items():
        if not flood(service, send, FLOOD):
            bad.append(f"{name}: {FLOOD:,} of them without an end")
    if not renegotiations_end(service, FLOOD):
        bad.append(f"renegotiations: {FLOOD:,} of them without an end")
    if (came := alert_to_reordered_records(service)) != 20:  # bad_record_mac
        bad.append(f"reordered records: {came}")
    if not service.is_well():
        bad.append("floods: the service does not answer any more")
    resident = service.resident_mib()
    if resident > RESIDENT_MIB_MAX and not is_sanitized(build):
        bad.append(f"{resident} MiB of memory")
    servers_count, wrong = floods_of_servers(build)
    bad += wrong
    count = len(cases) + len(floods) + 2 + servers_count
    score = f"{count - len(bad)} of {count}, {resident} MiB"
    return score + (f", failed: {'; '.join(bad)}" if bad else ""), not bad, "all, the service continues"


def renewals(build, service):
    """Certificates are renewed under load, two of them wrong: no request fails."""
    seconds = RENEWALS * 0.5
    load = subprocess.Popen([
        build / "tools/keel/keel", "load", f"{service.url}/health", "--roots", service.authority.root, "--connections", "16",
        "--churn", "50", "--duration", f"{seconds + 2}s", "--warmup", "0s", "--expect-status", "200", "--json", "-"
    ], stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    for i in range(RENEWALS):
        certificate, key = service.authority.issue(days=-1 if i == 7 else 90)
        if i == 13:
            key = service.authority.issue()[1]
        service.pair.write_bytes(certificate + key)
        service.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
    report = json.loads(load.communicate(timeout=60)[0])
    errors = sum(report["errors"].values())
    loaded, kept = service.times_logged('"certificate loaded"'), service.times_logged("certificates could not be loaded")
    score = f"{errors} failed of {report['requests']}, {loaded} loaded, {kept} wrong ones left"
    return score, errors == 0 and kept == 2 and loaded >= RENEWALS - 2 and report["requests"] > 1000, "0 failed, 18 loaded, 2 left"


def handovers(build, _service):
    """Processes take over from each other under load: no request and no handshake fails, and sessions are resumed."""
    with tempfile.TemporaryDirectory(prefix="keel-tls-") as name:
        folder = pathlib.Path(name)
        arguments = [f"--network.handover.path={folder}/handover"]
        service = Service(build, folder, arguments=arguments)
        started = [service]
        load = None
        try:
            load = subprocess.Popen([
                build / "tools/keel/keel", "load", f"{service.url}/health", "--roots", service.authority.root,
                "--connections", "16", "--churn", "50", "--duration", "300s", "--warmup", "0s", "--expect-status", "200",
                "--json", "-"
            ], stdout=subprocess.PIPE, text=True)
            time.sleep(0.5)
            context = service.context()
            first, _ = last, _ = service.session_after(context)
            resumed = 0
            for _ in range(RESTARTS):
                successor = Service(build, folder, service, arguments)
                started.append(successor)
                service.end(is_relieved=True)
                service = successor
                # The one of the process before, and the one of the first.
                last, is_resumed = service.session_after(context, last)
                resumed += is_resumed and service.session_after(context, first)[1]
            load.send_signal(signal.SIGINT)
            report = json.loads(load.communicate(timeout=60)[0])
            service.end()
        finally:
            for one in [load, *(one.process for one in started)]:
                if one is not None and one.poll() is None:
                    one.kill()
                    one.wait()
    # The interrupt leaves some unanswered.
    errors = {name: count for name, count in report["errors"].items() if count and name != "unanswered"}
    return (f"{sum(errors.values())} failed of {report['requests']} {errors or ''}, resumed after {resumed} of {RESTARTS}",
            not errors and report["requests"] > 1000 and resumed == RESTARTS, "0 failed, all resumed")


SUITES = {
    "the server's own suites": own_suites,
    "HTTP vectors": http_vectors,
    "sslyze": sslyze,
    "testssl.sh": testssl,
    "records both ways": exchange.score,
    "simulation": simulation,
    "clients": clients.score,
    "servers": servers.score,
    "misbehaving peers": misbehaving,
    "renewals under load": renewals,
    "restarts under load": handovers,
    "an ACME client beside it": acme.score,
}
# What .ci/run asks for, in a minute; of the records fewer.
SAMPLE = ("sslyze", "records both ways", "clients", "servers", "misbehaving peers", "renewals under load",
          "restarts under load")
# These start what they need.
ALONE = (own_suites, http_vectors, simulation, exchange.score, servers.score, handovers, acme.score)


def missing_in(score):
    """The programs that a suite says are not here; "": none."""
    return score.partition("not here: ")[2].partition(", failed:")[0]


def verdict_on(score, is_enough, demand, complete):
    """(whether it is good, what the table says)"""
    if not is_enough:
        return False, f"BELOW {demand}"
    if complete and (missing := missing_in(score)):
        return False, f"INCOMPLETE without {missing}"
    return True, "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", action="store_true", help="what takes a minute")
    parser.add_argument("--complete", action="store_true", help="a program that is not installed is a failure")
    options = parser.parse_args()
    if not VENV.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    subprocess.run([VENV / "bin/pip", "install", "--quiet", "--require-hashes", "-r", REQUIREMENTS], check=True)
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(VENV / "bin/python", [VENV / "bin/python", *sys.argv])

    if options.sample:
        exchange.RECORDS = exchange.RECORDS_SAMPLE
        global FLOOD
        FLOOD = FLOOD_SAMPLE
    failed = 0
    for name, suite in SUITES.items():
        if options.only not in name or (options.sample and name not in SAMPLE):
            continue
        began = time.monotonic()
        try:
            if suite in ALONE:
                score, is_enough, demand = suite(options.build.resolve(), None)
            else:
                with serving(options.build.resolve()) as service:
                    score, is_enough, demand = suite(options.build.resolve(), service)
        except Failed as failure:
            score, is_enough, demand = str(failure), False, "a score"
        is_good, verdict = verdict_on(score, is_enough, demand, options.complete)
        failed += not is_good
        print(f"{name:26} {score:60} {verdict}   {time.monotonic() - began:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
