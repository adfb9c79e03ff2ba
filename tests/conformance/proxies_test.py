#!/usr/bin/env python3
"""The configurations of docs/proxies.md as text, and the judge of proxies.py."""

import sys
import unittest

import proxies

GOOD = {"client": proxies.CLIENT, "scheme": "http", "authority": proxies.HOST, "id": "0123456789abcdef" * 2}


class ProxiesTest(unittest.TestCase):

    def test_each_proxy_has_one_configuration_that_names_every_field(self):
        for language in ["nginx", "haproxy"]:
            block = proxies.blocks(language)[0]
            for field in proxies.FIELDS:
                self.assertIn(field.lower(), block.lower(), language)

    def test_the_page_says_of_every_field_what_becomes_of_it(self):
        for field in proxies.FIELDS:
            self.assertIn(f"\n| `{field}` | ", proxies.PAGE.read_text())

    def test_the_second_block_of_haproxy_forwards_bytes_behind_a_header(self):
        block = proxies.blocks("haproxy")[1]
        self.assertIn("mode tcp", block)
        config, _ = proxies.in_its_place("HAProxy", block.replace(" send-proxy-v2", " send-proxy"), 4321)
        text = config.format(folder="/tmp/x", port=1234)
        self.assertIn("bind 127.0.0.1:1234", text)
        self.assertRegex(text, r"server one 127\.0\.0\.1:4321 .*send-proxy\b(?!-v2)")

    def test_envoy_removes_what_it_does_not_set(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        (block,) = proxies.blocks("yml")
        manager = yaml.safe_load(block)
        self.assertIs(manager["use_remote_address"], True)
        self.assertIs(manager["preserve_external_request_id"], False)
        self.assertEqual(manager["xff_num_trusted_hops"], 0)
        (host,) = manager["route_config"]["virtual_hosts"]
        set_by_envoy = {"x-forwarded-for", "x-forwarded-proto", "x-request-id"}
        self.assertEqual(set(host["request_headers_to_remove"]) | set_by_envoy,
                         {field.lower() for field in proxies.FIELDS})

    def test_nothing_is_wrong_with_what_the_proxy_wrote(self):
        fields = {"x-forwarded-for": proxies.CLIENT, "x-forwarded-proto": "http", "x-request-id": GOOD["id"]}
        self.assertEqual(proxies.complaints(GOOD, fields), [])

    def test_what_was_made_up_is_named(self):
        made_up = {name.lower(): value for name, value in proxies.FIELDS.items()}
        self.assertEqual(proxies.complaints(GOOD, made_up), [f"{name} passes" for name in proxies.FIELDS])
        appended = {"x-forwarded-for": f"{proxies.FORGED_ADDRESS}, {proxies.CLIENT}"}
        self.assertEqual(proxies.complaints(GOOD, appended), ["X-Forwarded-For passes"])
        for name, value in [("client", proxies.FORGED_ADDRESS), ("scheme", "https"), ("authority", "forged.example"),
                            ("id", "forged-id")]:
            self.assertEqual(proxies.complaints(GOOD | {name: value}, {}), [f"{name} is {value}"])

    def test_chunks_become_the_body(self):
        self.assertEqual(proxies.dechunked(b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"), b"abc0123456789")
        self.assertEqual(proxies.dechunked(b""), b"")

    def test_a_block_gets_the_ports_of_the_test(self):
        for name, language in [("nginx", "nginx"), ("HAProxy", "haproxy")]:
            config, _ = proxies.in_its_place(name, proxies.blocks(language)[0], 4321)
            text = config.format(folder="/tmp/x", port=1234)
            self.assertIn("127.0.0.1:1234", text)
            self.assertIn("127.0.0.1:4321", text)
            self.assertNotIn(":80;", text)


if __name__ == "__main__":
    sys.exit(unittest.main())
