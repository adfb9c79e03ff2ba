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

    def test_envoy_sets_or_removes_every_field(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        (block,) = proxies.blocks("yml")
        manager = yaml.safe_load(block)
        self.assertIs(manager["use_remote_address"], True)
        self.assertIs(manager["preserve_external_request_id"], False)
        self.assertEqual(manager["xff_num_trusted_hops"], 0)
        routes = manager["route_config"]
        (added,) = routes["request_headers_to_add"]
        self.assertEqual(added["append_action"], "OVERWRITE_IF_EXISTS_OR_ADD")
        set_by_envoy = {added["header"]["key"], "x-forwarded-proto", "x-request-id"}
        self.assertEqual(set(routes["request_headers_to_remove"]) | set_by_envoy,
                         {field.lower() for field in proxies.FIELDS})

    def test_the_block_of_envoy_is_part_of_its_connection_manager(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        (block,) = proxies.blocks("yml")
        config, _ = proxies.in_its_place("Envoy", block, 4321)
        resources = yaml.safe_load(config.format(folder="/tmp/x", port=1234))["static_resources"]
        (listener,) = resources["listeners"]
        manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
        self.assertEqual(listener["address"]["socket_address"]["port_value"], 1234)
        self.assertEqual({name: manager[name] for name in yaml.safe_load(block)}, yaml.safe_load(block))
        self.assertIn("port_value: 4321", config)

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

    def test_a_time_limit_of_envoy_for_a_whole_response_is_named(self):
        self.assertEqual(proxies.complaints(GOOD, {proxies.ENVOY_LIMIT: "15000"}), ["a response is ended after 15000 ms"])

    def test_fields_of_an_upgrade_that_a_proxy_changes_are_named(self):
        fields = {name.lower(): value for name, value in proxies.UPGRADE.items()}
        self.assertEqual(proxies.upgrade_complaints(fields | {"connection": "upgrade"}), [])
        self.assertEqual(proxies.upgrade_complaints(fields | {"host": "service"}), ["Host of the upgrade is service"])
        del fields["upgrade"]
        self.assertEqual(proxies.upgrade_complaints(fields), ["Upgrade of the upgrade is missing"])

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
