"""`keel load` as a client: its command, and what its report says.

It sends a mix, keeps to a rate, and knows latencies, which the light client does not; it costs more. docs/load.md.
"""

import collections
import contextlib
import json
import pathlib
import signal
import subprocess
import tempfile

from keel_lab import resources, sides, slow_clients
from keel_lab.sides import CLIENT_CORE, Invalid

PATIENCE = 60  # Seconds beyond the measured time.
INTERRUPTED_PATIENCE = 5  # For what it has measured when it is interrupted.


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a load; `report` is what keel load had measured until then."""
    def __init__(self, report):
        super().__init__()
        self.report = report


def template(text, work):
    """{n} of the light client in keel load's words."""
    return text.replace("{n}", f"{{n:1..{work.range}}}") if work.range else text


def requests(work, folder):
    """The options that say what is asked for; a mix is a file in `folder`."""
    if work.mix:
        file = pathlib.Path(folder, "mix.yaml")
        file.write_text(work.mix)
        return [f"--mix={file}"]
    found = [f"--request={work.method} {template(work.path, work)}"]
    if work.body:
        found += ["--header=Content-Type: application/json", f"--body={template(work.body, work)}"]
    found.append(f"--expect-status={work.status}")
    return found + ([f"--expect-body={work.answer}"] if work.answer is not None else [])


def command(keel, server, work, folder, duration, warmup, *more):
    port = server.admin_port if work.listener == "admin" else server.https_port if work.https else server.port
    scheme = "https" if work.https else "http"
    return [
        keel, "load", f"{scheme}://127.0.0.1:{port}", *requests(work, folder), f"--connections={work.connections}",
        f"--duration={duration:g}s", f"--warmup={warmup:g}s", f"--cores={CLIENT_CORE}", f"--server-pid={server.pid}",
        f"--json={folder}/report.json", *([f"--rate={work.rate}"] if work.rate else []),
        *([f"--churn={work.churn}"] if work.churn else []),
        *([f"--roots={server.roots}", "--sessions=0"] if work.https else []), *more
    ]


@contextlib.contextmanager
def started(arguments):
    """The process; killed when it is left before its end. A Ctrl-C of the terminal does not reach it: see report()."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def report(process, folder, seconds):
    """What keel load has written when it has ended, within its `seconds` and some more; Interrupted by Ctrl-C."""
    file = pathlib.Path(folder, "report.json")
    try:
        _, said = process.communicate(timeout=seconds + PATIENCE)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired, OSError, ValueError):
            process.wait(INTERRUPTED_PATIENCE)
            raise Interrupted(json.loads(file.read_text())) from None
        raise
    except subprocess.TimeoutExpired:
        raise Invalid(f"keel load had not ended {PATIENCE} s after its time") from None
    if not file.exists():
        raise Invalid(f"keel load ended with {sides.ending(process.returncode)}: {said.strip()[-300:]}")
    return json.loads(file.read_text())


def check(one, late_is_wrong=True, expected=()):
    """Invalid unless there were answers, all as expected. Late is not wrong where an overload is meant, nor is a
    status where every one that came is among the `expected`."""
    ignored = () if late_is_wrong else ("timeout", "unanswered")
    if expected and set(one["statuses"]) <= {str(status) for status in expected}:
        ignored = (*ignored, "status")
    wrong = {kind: count for kind, count in one["errors"].items() if count and kind not in ignored}
    if wrong or not one["requests"]:
        raise Invalid("errors: " + (", ".join(f"{count} {kind}" for kind, count in wrong.items()) or "no answer"))


def run_other(command, server, seconds):
    """Another client, on the client's core: (what it prints, what it and the server used)."""
    with resources.Spent(server.pid) as spent:
        said = sides.output(command, seconds + PATIENCE, {CLIENT_CORE})
    return said, spent


def run(settings, server, work):
    """Of one load, and of what is beside it, what the light client would have said, and latencies."""
    keel = sides.keel(settings.build)
    both = [work] + ([work.beside] if work.beside else [])
    with resources.Spent(server.pid) as spent, contextlib.ExitStack() as stack:
        stack.enter_context(slow_clients.beside(server.port, work.slow_clients, CLIENT_CORE))
        running = []
        for one in both:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            # Two on one core, and one polls: then the other waits.
            more = ["--busy-poll=0s"] if len(both) > 1 or work.slow_clients else []
            arguments = command(keel, server, one, folder, settings.seconds, settings.warmup, *more)
            running.append((stack.enter_context(started(arguments)), folder))
        reports = [report(process, folder, settings.seconds + settings.warmup) for process, folder in running]
    for one in reports:
        check(one)
    return result(reports, spent.others)


def result(reports, others_used):
    main, statuses = reports[0], collections.Counter()
    for one in reports:
        statuses.update(one["statuses"])
    percentiles = main["latency"]["percentiles"]
    return {
        "requests": main["requests"], "all_requests": sum(main["statuses"].values()), "statuses": dict(statuses),
        "rate": main["achieved"], "bytes": sum(main["bytes"].values()), "cpu_us": main["server_cpu_us_per_request"],
        "server_utilisation": main["server_utilisation"],
        "client_utilisation": sum(one["client_utilisation"] for one in reports),
        "mean": main["latency"]["mean"], "p50": percentiles["50"], "p99": percentiles["99"], "others_used": others_used
    }
