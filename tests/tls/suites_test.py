"""The table of suites.py says what is missing, and --complete fails for it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import acme
import clients
import exchange
import servers
import suites


class Verdicts(unittest.TestCase):

    def test_what_is_missing_is_found_wherever_a_score_says_it(self):
        for score, missing in {
                "9 of 9": "", "compliant": "", "not here: testssl.sh": "testssl.sh",
                "3 of 3, not here: go, java": "go, java", "3 of 4, not here: go, failed: curl": "go",
        }.items():
            self.assertEqual(suites.missing_in(score), missing, score)

    def test_a_score_below_the_demand_is_a_failure_and_one_without_a_program_only_if_all_are_wanted(self):
        for complete in (False, True):
            self.assertEqual(suites.verdict_on("9 of 9", True, "all", complete), (True, "ok"))
            self.assertEqual(suites.verdict_on("8 of 9", False, "all", complete), (False, "BELOW all"))
        incomplete = "3 of 3, not here: go, java"
        self.assertEqual(suites.verdict_on(incomplete, True, "all", False), (True, "ok"))
        self.assertEqual(suites.verdict_on(incomplete, True, "all", True), (False, "INCOMPLETE without go, java"))


class Missing(unittest.TestCase):
    """Each suite says it when a program is not installed: with none on the path."""

    def none(self, module):
        return mock.patch.object(module.shutil, "which", return_value=None)

    def test_testssl_and_certbot_are_said_to_be_missing(self):
        with self.none(suites):
            self.assertEqual(suites.missing_in(suites.testssl(None, None)[0]), "testssl.sh")
            self.assertEqual(suites.missing_in(acme.score(None, None)[0]), "certbot, go")

    def test_clients_servers_and_peers_are_said_to_be_missing(self):
        with tempfile.TemporaryDirectory() as folder, self.none(clients):
            service = mock.Mock(folder=pathlib.Path(folder), port=1, url="https://localhost:1")
            refused = mock.Mock(returncode=60)
            with mock.patch.object(clients, "run", return_value=refused):
                missing = suites.missing_in(clients.score(None, service)[0]).split(", ")
            self.assertTrue({"curl", "node", "go", "java", "gnutls-cli", "chromium"} <= set(missing), missing)
            with mock.patch.object(servers, "Authority"), mock.patch.object(servers, "wrong_ones", return_value=(0, [])), \
                    mock.patch.object(servers.pathlib.Path, "write_bytes"):
                servers.Authority.return_value.issue.return_value = (b"", b"")
                self.assertEqual(suites.missing_in(servers.score(None, None)[0]), ", ".join(servers.SERVERS))
            with mock.patch.object(exchange, "Authority"), mock.patch.object(exchange, "compile_peers"):
                exchange.Authority.return_value.issue.return_value = (b"", b"")
                self.assertEqual(suites.missing_in(exchange.score(None, None)[0]), ", ".join(exchange.PEERS))

    def test_the_weekly_workflow_wants_all_of_them(self):
        workflow = (suites.ROOT / ".github/workflows/suites.yml").read_text()
        self.assertIn("make tls-conformance complete=yes\n", workflow)
        command = ["make", "--dry-run", "--directory", suites.ROOT, "tls-conformance"]
        for arguments, is_complete in (([], False), (["complete=yes"], True)):
            done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
            self.assertEqual("tests/tls/suites.py --complete" in done.stdout, is_complete)


if __name__ == "__main__":
    unittest.main()
