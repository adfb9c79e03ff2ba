"""The workflows and the container file call what there is: each script, make target, preset and subcommand exists."""

import importlib
import json
import re
import shlex
import unittest

import yaml

from keel_lab import experiment

ROOT = experiment.ROOT
PRESETS = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
VARIABLES = set(re.findall(r"\$[({](?:if \$\()?([a-z]+)\b", (ROOT / "Makefile").read_text()))
PROFILES = set(re.findall(r"^(\w+) *\|", (ROOT / "scripts/setup").read_text(), re.MULTILINE))
MODULES = dict(re.findall(r'"([a-z-]+)": "(\w+)"', (ROOT / "bench/lab").read_text()))


def mistakes(command):
    """What the command calls that does not exist."""
    for part in re.split(r"&&|\|\||;", command):
        words = shlex.split(part)
        if not words:
            continue
        program, *rest = words
        if program == "make":
            yield from (f"no make target {word}" for word in rest if "=" not in word and word not in TARGETS)
            yield from (f"no variable of make in {word}" for word in rest if "=" in word
                        and word.partition("=")[0] not in VARIABLES)
        elif program == "cmake" and "--preset" in rest and rest[rest.index("--preset") + 1] not in PRESETS:
            yield f"no preset in {part.strip()}"
        elif "/" in program and not (ROOT / program).exists():
            yield f"no file {program}"
        elif program == "scripts/setup":
            yield from (f"no profile {word} of scripts/setup" for word in rest if word not in PROFILES)
        elif program == "bench/lab":
            if not rest or rest[0] not in MODULES:
                yield f"no subcommand in {part.strip()}"
            else:
                importlib.import_module("keel_lab." + MODULES[rest[0]])


def dangers(workflow):
    """How another's code could become ours, or do what it may not. YAML reads the key `on` as true."""
    if workflow.get("permissions") != {"contents": "read"}:
        yield "the token may do more than read"
    if "pull_request_target" in workflow[True]:
        yield "a pull request's code gets the token of main"
    for name, job in workflow["jobs"].items():
        container = job.get("container")
        options = container.get("options", "") if isinstance(container, dict) else ""
        not_for_changes = ("github.event_name == 'push'", "github.event_name != 'pull_request'")
        if re.search(r"--privileged|--cap-add|--device|--volume|docker\.sock", options) and \
                "pull_request" in workflow[True] and job.get("if") not in not_for_changes:
            yield f"{name}: a pull request's code in a container with privileges"
        if job.get("permissions", workflow.get("permissions")) != workflow.get("permissions"):
            yield f"{name}: permissions of its own"
        for step in job["steps"]:
            action = step.get("uses", "")
            if action and not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action):
                yield f"{name}: {action} is no commit"
            if action.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
                yield f"{name}: the token is kept in the checkout"
            if "${{" in step.get("run", ""):
                yield f"{name}: what somebody else wrote becomes a part of a command"


def workflows():
    return {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}


class Workflows(unittest.TestCase):
    def test_the_workflows_are_those_that_are_documented(self):
        self.assertEqual(set(workflows()), {"ci.yml", "bench.yml", "suites.yml"})

    def test_every_command_of_a_workflow_calls_what_exists(self):
        for name, workflow in workflows().items():
            for job in workflow["jobs"].values():
                for step in job["steps"]:
                    with self.subTest(f"{name}: {step}"):
                        self.assertEqual(list(mistakes(step.get("run", ""))), [])

    def test_every_job_has_a_limit_of_time(self):
        for name, workflow in workflows().items():
            for job, content in workflow["jobs"].items():
                self.assertGreater(content.get("timeout-minutes", 0), 0, f"{name}: {job}")

    def test_ci_runs_what_everybody_runs_on_a_bare_debian(self):
        job = workflows()["ci.yml"]["jobs"]["run"]
        self.assertEqual(job["container"]["image"], "debian:12")
        self.assertIn(".ci/run", [step.get("run") for step in job["steps"]])

    def test_nothing_of_another_may_change_what_runs_or_what_it_may_do(self):
        for name, workflow in workflows().items():
            with self.subTest(name):
                self.assertEqual(list(dangers(workflow)), [])

    def test_each_danger_is_noticed(self):
        step = {"uses": "actions/checkout@" + "0" * 40, "with": {"persist-credentials": False}}
        safe = {True: {"push": None, "pull_request": None}, "permissions": {"contents": "read"}, "jobs": {"a": {
            "steps": [step, {"run": "make test"}]}}}
        privileged = {"container": {"image": "debian:12", "options": "--privileged"}}
        self.assertEqual(list(dangers(safe)), [])
        self.assertEqual(list(dangers(safe | {"jobs": {"a": {**safe["jobs"]["a"], **privileged,
                                                             "if": "github.event_name == 'push'"}}})), [])
        for wrong in (
            {"permissions": {"contents": "write"}},
            {"permissions": None},
            {True: {"pull_request_target": None}},
            {"jobs": {"a": {**safe["jobs"]["a"], **privileged}}},
            {"jobs": {"a": {**safe["jobs"]["a"], **privileged, "if": "always()"}}},
            {"jobs": {"a": {**safe["jobs"]["a"], "permissions": {"contents": "write"}}}},
            {"jobs": {"a": {"steps": [{"uses": "actions/checkout@v4", "with": {"persist-credentials": False}}]}}},
            {"jobs": {"a": {"steps": [{"uses": step["uses"]}]}}},
            {"jobs": {"a": {"steps": [{"run": "echo ${{ github.event.pull_request.title }}"}]}}},
        ):
            self.assertTrue(list(dangers(safe | wrong)), wrong)

    def test_what_pip_installs_is_known_by_its_hash(self):
        for path in (*ROOT.glob("bench/peers/python/*/requirements.txt"), *ROOT.glob("tests/*/requirements*.txt")):
            packages = [line for line in path.read_text().replace("\\\n", " ").splitlines() if not line.startswith("#")]
            for line in packages:
                self.assertRegex(line, r"^[\w.-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+$", path)
            self.assertTrue(packages, path)
        for path in (ROOT / "bench/keel_lab/peers.py", ROOT / "tests/conformance/suites.py"):
            self.assertEqual(path.read_text().count('"install"'), path.read_text().count('"--require-hashes"'), path)

    def test_the_container_file_calls_what_exists(self):
        text = (ROOT / "bench/Containerfile").read_text().replace("\\\n", " ")
        commands = re.findall(r"^RUN (.+)$", text, re.MULTILINE)
        entry, arguments = (json.loads(re.search(rf"^{word} (.+)$", text, re.MULTILINE).group(1))
                            for word in ("ENTRYPOINT", "CMD"))
        for command in [*commands, " ".join(entry + arguments)]:
            self.assertEqual(list(mistakes(command)), [], command)

    def test_a_call_of_what_does_not_exist_is_noticed(self):
        for wrong in ("make bnech", "make tls-conformance compelte=yes", "scripts/nothing", "cmake --preset relaese",
                      "bench/lab runn", "scripts/setup bnech"):
            self.assertTrue(list(mistakes(wrong)), wrong)
