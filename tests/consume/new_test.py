"""The service that keel new writes, against an installed Keel: it builds, passes its tests and serves untouched; and
keel dev while it is changed. Prints what each step took."""

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import unittest

import author

OPTIONS = None


def is_alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def deny_io_uring():
    """Lets io_uring_setup() fail with EPERM from here on, as the usual seccomp profiles of containers do."""
    io_uring_setup, eperm = 425, 1  # The same number on every architecture.

    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_uint16), ("if_true", ctypes.c_uint8), ("if_false", ctypes.c_uint8),
                    ("value", ctypes.c_uint32)]

    class Program(ctypes.Structure):
        _fields_ = [("count", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]

    instructions = (Instruction * 4)((0x20, 0, 0, 0),  # The number of the call,
                                     (0x15, 0, 1, io_uring_setup),
                                     (0x06, 0, 0, 0x00050000 | eperm),  # SECCOMP_RET_ERRNO
                                     (0x06, 0, 0, 0x7FFF0000))  # SECCOMP_RET_ALLOW
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    program = Program(len(instructions), instructions)
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, filter_mode, ctypes.byref(program), 0, 0):
        os._exit(125)


class TheServiceOfKeelNew(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        clock = author.Clock()
        # Named as in docs/tutorial.md: tutorial_test.py continues with what is built here.
        cls.project = author.Project(OPTIONS.prefix, OPTIONS.scratch, OPTIONS.compiler, name="journal")
        cls.project.run(["cmake", "--preset", "dev", "-D", f"CMAKE_PREFIX_PATH={OPTIONS.prefix}"])
        print("configured in", clock)
        clock = author.Clock()
        cls.project.run(["cmake", "--build", "--preset", "dev", "-j1"])
        print("built in", clock)

    def test_passes_its_tests(self):
        clock = author.Clock()
        said = self.project.run(["ctest", "--preset", "dev"])
        print("tested in", clock)
        self.assertIn("100% tests passed", said)
        self.assertIn("journal_service_sql", said)

    def test_serves_and_keeps_what_it_acknowledged(self):
        service, port = self.project.serve()
        self.addCleanup(service.kill)
        note = author.add_note(port, "buy tea")
        self.assertEqual(author.ask(port, "GET", f"/notes/{note}"), (200, '{"id":%d,"text":"buy tea"}' % note))
        self.assertEqual(service.end(signal.SIGTERM), 0, service.text())

        service, port = self.project.serve()
        self.addCleanup(service.kill)
        self.assertEqual(author.ask(port, "GET", f"/notes/{note}")[0], 200)
        self.assertEqual(service.end(signal.SIGTERM), 0, service.text())

    def test_names_the_package_that_its_tests_need_where_it_is_missing(self):
        command = ["cmake", "--preset", "dev", "-B", "build/alone", "-D", f"CMAKE_PREFIX_PATH={OPTIONS.prefix}",
                   "-D", "CMAKE_DISABLE_FIND_PACKAGE_GTest=ON"]
        with self.assertRaisesRegex(AssertionError, r"Debian:\s+libgtest-dev"):
            self.project.run(command)
        self.project.run([*command, "-D", "BUILD_TESTING=OFF"])

    def test_has_a_good_configuration_for_production(self):
        said = self.project.run([self.project.path("build/dev/journal"), "--config", "deploy/service.yaml",
                                 "--check-config"])
        self.assertIn("the configuration is valid", said)

    def root_of_container(self):
        if subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("user namespaces are not permitted here")
        root = self.project.path("build/rootfs")
        shutil.rmtree(root, ignore_errors=True)
        self.project.run(["deploy/rootfs", "build/dev/journal", "build/rootfs"])
        return root

    def serves_in_a_user_namespace(self, root, before=None):
        environment = {"KEEL_NETWORK__HTTP__PORT": "0", "KEEL_MONITORING__METRICS__EXPORT_PORT": "0"}
        service = author.Running(["unshare", "-Ur", shutil.which("chroot"), root, "/usr/local/bin/journal", "--config",
                                  "/etc/journal/service.yaml"], "/", environment, before)
        self.addCleanup(service.kill)
        port = int(service.says(r"^  service  http://127\.0\.0\.1:(\d+)")[0][1])
        engine = service.says(r"^  engine   (.*)")[0][1]
        note = author.add_note(port, "buy tea")
        self.assertEqual(author.ask(port, "GET", f"/notes/{note}")[0], 200)
        self.assertEqual(service.end(signal.SIGTERM), 0, service.text())
        return engine

    def test_runs_from_a_root_file_system_that_has_its_libraries_and_nothing_else(self):
        root = self.root_of_container()
        self.serves_in_a_user_namespace(root)
        programs = [os.path.join(at, name) for at, _, names in os.walk(root) for name in names
                    if "/bin/" in os.path.join(at, name)]
        self.assertEqual(programs, [os.path.join(root, "usr/local/bin/journal")])

    def test_runs_from_it_where_io_uring_is_forbidden(self):
        engine = self.serves_in_a_user_namespace(self.root_of_container(), deny_io_uring)
        self.assertRegex(engine, r"^epoll, .*io_uring")

    def test_is_built_and_handed_over_by_keel_dev_when_a_file_is_saved(self):
        source = self.project.read("src/notes.cc")
        for name in ("src/notes.cc", "service.yaml"):
            self.addCleanup(self.project.write, name, self.project.read(name))
        dev, port = self.project.dev()
        self.addCleanup(dev.kill)
        self.assertEqual(author.ask(port, "GET", "/notes/999")[0], 404)

        # A mistake: its line is shown, and the running service continues.
        seen = len(dev.lines)
        self.project.write("src/notes.cc", source.replace("remove(http::Request& request) {",
                                                          "remove(http::Request& request) {\n  nonsense;"))
        dev.says(r"^keel dev: the build failed after \d+\.\d s; process \d+ still serves$", seen)
        line = source[:source.index("Notes::remove(http::Request& request) {")].count("\n") + 2
        dev.says(rf"^src/notes\.cc:{line}:\d+: error: .*nonsense", seen)
        dev.says(r"the whole log is build/dev/keel-dev\.log$", seen)
        self.assertEqual(author.ask(port, "GET", "/notes/999")[0], 404)

        # The edit that mends it is served at the same port.
        clock = author.Clock()
        self.project.write("src/notes.cc", source.replace("no note has this number", "there is no such note"))
        author.wait_for(lambda: "there is no such note" in author.ask(port, "GET", "/notes/999")[1], "the edit")
        print("an edit was served after", clock)
        first = int(dev.says(r"^keel dev: process (\d+) is serving")[0][1])
        author.wait_for(lambda: not is_alive(first), "the end of the process before")

        # The configuration: the same program, started again.
        seen = len(dev.lines)
        self.project.write("service.yaml", self.project.read("service.yaml") + "\nlogging:\n  enabled: false\n")
        dev.says(r"^keel dev: restarts the program", seen)
        second, seen = dev.says(r"^keel dev: process (\d+) is serving .* it has taken over", seen)
        # A configuration that is wrong: the running service continues.
        self.project.write("service.yaml", "network: {http: {prot: 1}}\n")
        dev.says(r"^keel dev: process \d+ ended with exit code 2 before it was ready; "
                 rf"process {second[1]} still serves", seen)
        self.assertEqual(author.ask(port, "GET", "/notes/999")[0], 404)

        self.assertEqual(dev.end(signal.SIGINT), 0, dev.text())
        self.assertFalse(is_alive(int(second[1])))

    def test_leaves_no_process_behind_when_keel_dev_is_killed(self):
        dev, _ = self.project.dev()
        self.addCleanup(dev.kill)
        service = int(dev.says(r"^keel dev: process (\d+) is serving")[0][1])
        self.assertTrue(is_alive(service))
        dev.end(signal.SIGKILL)
        author.wait_for(lambda: not is_alive(service), "the end of the service")


class TheServiceOfKeelNewWithAContract(unittest.TestCase):
    def test_builds_passes_its_tests_and_serves_its_document(self):
        project = author.Project(OPTIONS.prefix, OPTIONS.scratch + "-contract", OPTIONS.compiler, "--contract")
        clock = author.Clock()
        project.run(["cmake", "--preset", "dev", "-D", f"CMAKE_PREFIX_PATH={OPTIONS.prefix}"])
        project.run(["cmake", "--build", "--preset", "dev", "-j1"])
        print("with a contract, built in", clock)
        self.assertIn("100% tests passed", project.run(["ctest", "--preset", "dev"]))
        service, port = project.serve()
        self.addCleanup(service.kill)
        note = author.add_note(port, "buy tea")
        self.assertEqual(author.ask(port, "GET", f"/notes/{note}"), (200, '{"id":%d,"text":"buy tea"}' % note))
        self.assertIn('"operationId":"listNotes"', author.ask(port, "GET", "/openapi.json")[1])
        self.assertEqual(author.ask(port, "GET", "/docs")[0], 200)
        self.assertEqual(service.end(signal.SIGTERM), 0, service.text())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("prefix", "scratch", "compiler"):
        parser.add_argument("--" + option, required=True)
    OPTIONS, rest = parser.parse_known_args()
    everything = author.Clock()
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    print("all of it took", everything)
    sys.exit(not program.result.wasSuccessful())
