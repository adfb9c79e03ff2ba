"""What the author of a service does with an installed Keel: keel new, the build, keel dev, edits, requests."""

import filecmp
import http.client
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what}")


def child_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Clock:
    """Wall and CPU seconds of what the processes that have ended took."""

    def __init__(self):
        self.wall, self.cpu = time.monotonic(), child_cpu()

    def __str__(self):
        return f"{time.monotonic() - self.wall:.1f} s ({child_cpu() - self.cpu:.1f} s of CPU)"


def ask(port, method, path, body=None):
    """The status and the body, over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class Running:
    """A process and the lines that it says."""

    def __init__(self, command, folder, environment=None, before=None):
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        preexec_fn=before)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def text(self):
        return "\n".join(self.lines)

    def says(self, pattern, after=0, seconds=60):
        """The match in the first line from `after` on that has the pattern, and the number of the line behind it."""

        def find():
            for number in range(after, len(self.lines)):
                match = re.search(pattern, self.lines[number])
                if match:
                    return match, number + 1
            if self.process.poll() is not None and not self.reader.is_alive():
                raise AssertionError(f"it ended with {self.process.returncode} without saying {pattern}:\n{self.text()}")
            return None

        try:
            return wait_for(find, pattern, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from None

    def kill(self):
        """Whatever is left of it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(5)
        self.process.stdout.close()

    def end(self, number=signal.SIGTERM, seconds=30):
        self.process.send_signal(number)
        code = self.process.wait(seconds)
        self.reader.join(5)
        return code


def files_below(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


class Project:
    """A service that keel new has written."""

    def __init__(self, prefix, scratch, compiler, *options, name="shop", keeps=False):
        """`keeps`: what is built in `scratch` stays there, if it was written by the same keel new; its data does not."""
        self.keel = os.path.join(prefix, "bin", "keel")
        self.name = name
        self.folder = os.path.join(scratch, name)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("KEEL_")}
        self.environment.update(CXX=compiler, PATH=os.path.dirname(self.keel) + ":" + os.environ["PATH"])
        if keeps and os.path.isdir(self.path("build")):
            self._renew(options)
            return
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        self.run([self.keel, "new", name, *options], scratch)

    def _renew(self, options):
        """All files as keel new writes them, beside build/; those that are so keep their time."""
        with tempfile.TemporaryDirectory() as scratch:
            self.run([self.keel, "new", self.name, *options], scratch)
            fresh = os.path.join(scratch, self.name)
            wanted = files_below(fresh)
            for name in files_below(self.folder) - wanted:
                if not name.startswith("build/"):
                    os.remove(self.path(name))
            for name in wanted:
                if not os.path.exists(self.path(name)) or not filecmp.cmp(os.path.join(fresh, name), self.path(name), False):
                    os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
                    shutil.copy(os.path.join(fresh, name), self.path(name))

    def run(self, command, folder=None):
        done = subprocess.run(command, cwd=folder or self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        """As many editors save: beside it, and renamed."""
        with open(self.path(name) + "~", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name) + "~", self.path(name))

    def serve(self, *more):
        """The program as it was built, and its port."""
        running = Running([self.path(f"build/dev/{self.name}"), "--config", "service.yaml", "--network.http.port=0",
                           "--monitoring.metrics.export_port=0", *more], self.folder, self.environment)
        match, _ = running.says(r"^  service  http://127\.0\.0\.1:(\d+)")
        return running, int(match[1])

    def dev(self):
        """keel dev, and the port that it has, once there is one."""
        running = Running([self.keel, "dev", "--", "--network.http.port=0", "--monitoring.metrics.export_port=0"],
                          self.folder, self.environment)
        match, _ = running.says(r"^keel dev: process \d+ is serving on 127\.0\.0\.1:(\d+)", seconds=300)
        return running, int(match[1])


def add_note(port, text):
    status, body = ask(port, "POST", "/notes", json.dumps({"text": text}))
    assert status == 201, (status, body)
    return json.loads(body)["id"]
