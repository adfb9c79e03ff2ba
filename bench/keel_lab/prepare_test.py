"""The preparation of a machine, on a root that the tests plant: it changes nothing unasked, and gives all back."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from keel_lab import prepare

FILES = {
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "proc/sys/kernel/perf_event_paranoid": "2\n",
    "proc/sys/net/core/somaxconn": "128\n",
    "proc/sys/net/ipv4/tcp_max_syn_backlog": "8192\n",
    "proc/irq/5/smp_affinity_list": "0-1\n",
    "proc/swaps": "Filename Type Size\n/dev/sda2 partition 100\n/swap file 100\n",
    "state/apt-daily.timer": "active\n",
    "state/fstrim.timer": "inactive\n",
}
SYSTEMCTL = """#!/bin/sh
unit={root}/state/$2
case $1 in
  is-active) cat $unit 2>/dev/null || echo inactive ;;
  cat) cat $unit 2>/dev/null ;;
  start) echo active >$unit ;;
  stop) echo inactive >$unit ;;
esac
"""
SWAP = """#!/bin/sh
if [ {on} = 1 ]; then
  echo "$1 file 100" >>{root}/proc/swaps
else
  grep -v "^$1 " {root}/proc/swaps >{root}/s
  mv {root}/s {root}/proc/swaps
fi
"""


class Prepare(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for path, text in FILES.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.program("systemctl", SYSTEMCTL)
        self.program("swapon", SWAP.replace("{on}", "1"))
        self.program("swapoff", SWAP.replace("{on}", "0"))
        self.enterContext(mock.patch.object(prepare, "TIMERS", ("apt-daily.timer", "fstrim.timer", "absent.timer")))
        self.record = self.root / "var/prepared.json"
        self.said = []

    def program(self, name, text):
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("{root}", str(self.root)))
        path.chmod(0o755)

    def run_it(self, *arguments, answer=None):
        with mock.patch("builtins.input", side_effect=[answer] if answer is not None else EOFError):
            return prepare.main(list(arguments), self.root, self.record, self.said.append)

    def everything(self):
        """Each setting's value by its own words."""
        return {setting.name: setting.read(self.root) for setting in prepare.settings(self.root)}

    def text(self, path):
        return (self.root / path).read_text()

    def files(self):
        return {path: self.text(path) for path in FILES}

    def test_without_apply_it_shows_and_changes_nothing(self):
        self.assertEqual(self.run_it(), 0)

        self.assertEqual(self.files(), FILES)
        self.assertFalse(self.record.exists())
        said = "\n".join(self.said)
        self.assertRegex(said, r"cpu1/cpufreq/scaling_governor +schedutil -> performance")
        self.assertRegex(said, r"swap +/dev/sda2 /swap -> off")
        self.assertRegex(said, r"apt-daily.timer +active -> inactive")
        self.assertIn("8 would be changed", said)

    def test_what_is_as_wanted_or_better_or_absent_is_not_shown(self):
        self.run_it()
        said = "\n".join(self.said)
        for absent in ("tcp_max_syn_backlog", "fstrim", "transparent_hugepage", "boost"):
            self.assertNotIn(absent, said)

    def test_apply_asks_and_no_answer_means_no(self):
        for answer in (None, "", "n"):
            self.assertEqual(self.run_it("--apply", answer=answer), 1)
            self.assertEqual(self.files(), FILES)
            self.assertFalse(self.record.exists())

    def test_apply_changes_what_was_shown_after_a_yes(self):
        self.assertEqual(self.run_it("--apply", answer="y"), 0)

        self.assertEqual(self.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "performance\n")
        self.assertEqual(self.text("proc/sys/net/core/somaxconn"), "4096\n")
        self.assertEqual(self.text("state/apt-daily.timer"), "inactive\n")
        self.assertEqual(prepare.Swap().read(self.root), "off")
        self.assertEqual(prepare.plan(self.root), [])

    def test_restore_gives_back_exactly_what_was_there(self):
        before = self.everything()
        self.run_it("--apply", "--yes")
        self.assertNotEqual(self.everything(), before)

        self.assertEqual(self.run_it("--restore"), 0)

        self.assertEqual(self.everything(), before)
        self.assertEqual(self.files(),
                         FILES | {"proc/swaps": "Filename Type Size\n/dev/sda2 file 100\n/swap file 100\n"})
        self.assertFalse(self.record.exists())
        self.assertIn("8 restored.", self.said)

    def test_a_second_apply_does_not_forget_what_was_there_before_the_first(self):
        before = self.everything()
        self.run_it("--apply", "--yes")
        (self.root / "proc/sys/kernel/perf_event_paranoid").write_text("1\n")
        self.run_it("--apply", "--yes")

        self.run_it("--restore")

        self.assertEqual(self.everything(), before)

    def test_what_is_there_is_on_the_disk_before_anything_is_changed(self):
        seen = []
        with mock.patch.object(prepare.File, "write", lambda *_: seen.append(json.loads(self.record.read_text()))):
            self.run_it("--apply", "--yes")
        self.assertEqual(seen[0]["/proc/sys/kernel/perf_event_paranoid"], "2")

    def test_a_setting_that_the_kernel_refuses_is_said_and_the_rest_is_changed(self):
        real = prepare.File.write

        def refusing(setting, root, value):
            if "no_turbo" in setting.path:
                raise prepare.Refused(f"{setting.path}: Operation not permitted")
            real(setting, root, value)

        with mock.patch.object(prepare.File, "write", refusing):
            self.assertEqual(self.run_it("--apply", "--yes"), 1)
        self.assertIn("not changed: /sys/devices/system/cpu/intel_pstate/no_turbo: Operation not permitted", self.said)
        self.assertEqual(self.text("proc/sys/kernel/perf_event_paranoid"), "-1\n")

    def test_what_cannot_be_restored_stays_in_the_record(self):
        self.run_it("--apply", "--yes")
        with mock.patch.object(prepare.Unit, "write", side_effect=prepare.Refused("apt-daily.timer: no")):
            self.assertEqual(self.run_it("--restore"), 1)
        self.assertEqual(json.loads(self.record.read_text()), {"apt-daily.timer": "active"})

        self.assertEqual(self.run_it("--restore"), 0)
        self.assertEqual(self.text("state/apt-daily.timer"), "active\n")

    def test_restore_without_a_record_does_nothing(self):
        self.assertEqual(self.run_it("--restore"), 0)
        self.assertEqual(self.files(), FILES)

    def test_a_spoilt_record_is_an_error_and_changes_nothing(self):
        self.record.parent.mkdir()
        self.record.write_text("{")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(self.run_it("--restore"), 2)
        self.assertIn("prepared.json", said.getvalue())
        self.assertEqual(self.files(), FILES)

    def test_the_choice_in_brackets_is_the_value(self):
        path = self.root / "sys/kernel/mm/transparent_hugepage/enabled"
        path.parent.mkdir(parents=True)
        path.write_text("[always] madvise never\n")
        self.run_it()
        self.assertRegex("\n".join(self.said), r"transparent_hugepage/enabled +always -> madvise")

    def test_yes_without_apply_is_a_mistake(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
            self.run_it("--yes")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("--yes goes with --apply", said.getvalue())
