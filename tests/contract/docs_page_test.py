#!/usr/bin/env python3
"""Looks at the page at /docs in Chromium, without a window: what it shows, does, and asks of other hosts.

`make contract-docs-page` builds the service and runs this. It needs what `scripts/setup contract` installs, and the
documents of ../shared/corpora/openapi. --shots writes pictures of the page, to look at.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
VENV = ROOT / "build/contract-venv"
CORPUS = ROOT / "../shared/corpora/openapi"
BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
SCRIPT = "<script>window.isBroken = true</script>"
IMAGE = "<img src=x onerror='window.isBroken = true'>"


def hostile():
    """A document that means no good: markup, scripts in addresses, names of JavaScript, circles, and much of everything."""
    many = {f"p{i}": {"type": "string"} for i in range(10000)}
    wide = {f"a{i}": {"anyOf": [{"$ref": "#/components/schemas/Wide"}, {"$ref": "#/components/schemas/Many"}]} for i in range(30)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": SCRIPT, "version": IMAGE,
            "description": f"# {SCRIPT}\n[x](javascript:alert(1)) [y](data:text/html,{SCRIPT}) ![i](https://other.example/i.png) {IMAGE}\n\n"
                           + "*" * 20000 + "\n" + "[" * 20000 + "\n" + "> " * 2000 + "deep\n" + "- " * 2000,
            "termsOfService": "javascript:alert(1)",
            "contact": {"name": "c", "url": "javascript:alert(1)"},
        },
        "servers": [{"url": "javascript:alert(1)"}, {"url": "https://other.example/{x}", "variables": {"x": {"default": SCRIPT}}}],
        "tags": [{"name": "__proto__", "description": IMAGE}, {"name": "constructor", "externalDocs": {"url": "javascript:alert(1)"}}],
        "paths": {
            f"/{SCRIPT}/{{__proto__}}": {
                "get": {
                    "operationId": "__proto__", "tags": ["__proto__"], "summary": IMAGE,
                    "parameters": [{"name": "__proto__", "in": "path", "required": True, "schema": {"type": "string"}},
                                   {"name": "constructor", "in": "query", "schema": {"type": "object"}}],
                    "responses": {"200": {"description": IMAGE, "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/__proto__"}}}}},
                },
                "post": {
                    "operationId": "content", "tags": ["constructor"],
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Many"}}}},
                    "responses": {"200": {"$ref": "#/components/responses/loop"}, "201": {"$ref": "#/nowhere"}, "default": None},
                },
            },
            "/odd": {
                "get": {"operationId": "search", "parameters": "no list", "responses": [], "tags": "no list", "security": [{"toString": []}]},
                "put": {"operationId": "navigation",
                        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Wide"}}}},
                        "responses": {"200": {"description": "x", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/All"}}}}}},
                "patch": 7,
            },
        },
        "components": {
            "responses": {"loop": {"$ref": "#/components/responses/loop"}},
            "securitySchemes": {"toString": {"type": "http", "scheme": "bearer"}, "__proto__": {"type": "apiKey", "in": "query", "name": "k"},
                                "o": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "javascript:alert(1)", "scopes": {"a": SCRIPT}}}}},
            "schemas": {
                "__proto__": {"type": "object", "properties": {"__proto__": {"$ref": "#/components/schemas/__proto__"},
                                                               "toString": {"type": "string", "default": SCRIPT}, "image": {"enum": [IMAGE]}}},
                "Many": {"type": "object", "properties": many},
                "Wide": {"type": "object", "properties": wide},
                "All": {"allOf": [{"$ref": "#/components/schemas/All"}] * 50},
                "One": {"oneOf": [{"$ref": "#/components/schemas/One"}] * 50},
                "Number": 5, "Null": None,
            },
        },
    }


def large(count):
    """As many operations as the largest documents have."""
    return {
        "openapi": "3.1.0", "info": {"title": "Large", "version": "1"},
        "paths": {f"/things{i}/{{id}}": {"get": {
            "operationId": f"thing{i}", "summary": f"Get thing {i}", "tags": [f"tag {i % 40}"], "description": "It *is* there. " * 20,
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "responses": {"200": {"description": "fine", "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/T{i}"}}}}},
        }} for i in range(count)},
        "components": {"schemas": {f"T{i}": {"type": "object", "properties": {f"p{k}": {"type": "string"} for k in range(20)}} for i in range(count)}},
    }


@contextlib.contextmanager
def serving(build):
    """The service with all documents; gives its address."""
    with tempfile.TemporaryDirectory(prefix="keel-docs-page-") as folder:
        folder = pathlib.Path(folder)
        (folder / "hostile.json").write_text(json.dumps(hostile()))
        (folder / "large.json").write_text(json.dumps(large(1500)))
        documents = {
            "petstore": CORPUS / "petstore/openapi.yaml", "museum": CORPUS / "museum/openapi.yaml", "styles": HERE / "styles.yaml",
            "hostile": folder / "hostile.json", "large": folder / "large.json",
        }
        environment = {
            **os.environ, "DOCUMENTS": " ".join(f"{name}={path.resolve()}" for name, path in documents.items()),
            "KEEL_NETWORK__HTTP__ADDRESS": "127.0.0.1", "KEEL_NETWORK__HTTP__PORT": "0", "KEEL_NETWORK__HTTP__ACCESS_LOG": "false",
            "KEEL_MONITORING__METRICS__EXPORT_PORT": "0",
        }
        with open(folder / "log", "w") as log:
            process = subprocess.Popen([build / "tests/contract/docs_page_service", f"--database.path={folder}/data.db"], cwd=folder,
                                       env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            address = None
            for line in process.stdout:
                if match := re.search(r"http://127\.0\.0\.1:\d+", line):
                    address = match[0]
                    break
            if address is None:
                raise RuntimeError("the service did not start: " + (folder / "log").read_text()[-500:])
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


class DocsPage(unittest.TestCase):
    address = ""
    browser = None

    def setUp(self):
        self.complaints = []
        self.contexts = []

    def tearDown(self):
        for context in self.contexts:
            context.close()
        self.assertEqual(self.complaints, [])

    def open(self, document, fragment="", width=1440, height=1000, scheme="light", **options):
        """A page without a past. What it asks of other hosts, and what the console says, is a complaint."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        self.contexts.append(context)
        return self.open_in(context, document, fragment)

    def open_in(self, context, document, fragment=""):
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: request.url.startswith((self.address, "data:", "blob:" + self.address))
                or self.complaints.append(f"request: {request.url}"))
        page.goto(f"{self.address}/{document}/docs{fragment}")
        page.locator("main h1").wait_for()
        return page

    def wait_until(self, page, expression):
        """Playwright's own wait evaluates text in the page, which the policy does not allow."""
        deadline = time.monotonic() + 10
        while not page.evaluate(expression):
            self.assertLess(time.monotonic(), deadline, expression)
            time.sleep(0.02)

    def send(self, page, operation):
        """What the service was asked."""
        card = page.locator(f"[id='operation/{operation}']")
        card.get_by_role("button", name="Send", exact=True).click()
        card.get_by_role("heading", name="Response", exact=True).wait_for()
        return json.loads(card.get_by_role("region", name="Response body").inner_text())

    def curl(self, page, operation):
        return page.locator(f"[id='operation/{operation}']").get_by_role("region", name="curl command").inner_text()

    # --- What is shown.

    def test_shows_what_the_document_says(self):
        page = self.open("petstore")
        self.assertEqual(page.title(), "Swagger Petstore - OpenAPI 3.0")
        self.assertEqual(page.locator(".operation").count(), 19)
        page.get_by_role("button", name="GET /pet/{petId}").click()
        card = page.locator("[id='operation/getPetById']")
        self.assertIn("Returns a single pet.", card.inner_text())
        self.assertIn("integer <int64>", card.locator(".about").inner_text())
        self.assertEqual(card.locator(".about .name").all_inner_texts()[:4], ["petId", "id", "name", "category"])
        card.get_by_role("button", name="category").click()
        self.assertIn("Dogs", card.locator(".about").inner_text())
        self.assertIn("Invalid ID supplied", card.inner_text())

    def test_shows_text_with_marks(self):
        page = self.open("styles")
        prose = page.locator(".introduction .prose")
        self.assertEqual(prose.evaluate("root => [...root.children].map((child) => child.tagName).join(' ')"), "H2 P UL DIV PRE BLOCKQUOTE")
        self.assertEqual(prose.locator("p").first.inner_html(), "A <em>word</em>, a <strong>strong</strong> one, <code>code &lt;b&gt;</code>, a "
                         '<a href="https://example.com/a_b_c" rel="noopener noreferrer nofollow" target="_blank">link</a>, 3 &lt; 4, and snake_case_names.')
        self.assertEqual(prose.locator("li li").inner_text(), "inner")
        self.assertEqual(prose.locator("td code").inner_text(), "2")
        self.assertEqual(prose.locator("pre").inner_text().strip(), "<script>")

    def test_opens_what_the_address_names(self):
        page = self.open("museum", "#createSpecialEvent")
        self.assertEqual(page.locator("[id='operation/createSpecialEvent'] .operation-head").get_attribute("aria-expanded"), "true")
        self.assertTrue(page.locator("[id='operation/createSpecialEvent'] .operation-head").evaluate("b => b === document.activeElement"))
        page.get_by_role("navigation").get_by_role("link", name="Buy museum tickets").click()
        page.locator("[id='operation/buyMuseumTickets'] .try").wait_for()
        self.assertTrue(page.url.endswith("#buyMuseumTickets"))
        self.wait_until(page, "document.getElementById('operation/buyMuseumTickets').getBoundingClientRect().top < 100")
        page.locator("main").get_by_role("button", name=re.compile("^TicketType")).click()
        self.assertIn("general", page.locator("[id='schema/TicketType']").inner_text())

    def test_finds_operations_without_a_mouse(self):
        page = self.open("petstore")
        page.keyboard.press("/")
        page.keyboard.type("order find")
        self.wait_until(page, "document.querySelectorAll('.operation:not([hidden])').length === 1")
        page.keyboard.press("Enter")
        page.locator("[id='operation/getOrderById'] .try").wait_for()
        self.assertTrue(page.url.endswith("#getOrderById"))
        page.keyboard.press("/")
        page.keyboard.type("no such thing")
        page.get_by_text("No operation has these words.").wait_for()
        page.keyboard.press("Escape")
        self.wait_until(page, "document.querySelectorAll('.operation:not([hidden])').length === 19")

    def test_is_used_without_a_mouse(self):
        page = self.open("petstore")
        names = []
        for _ in range(60):
            page.keyboard.press("Tab")
            names.append(page.evaluate("""() => {
              const element = document.activeElement, style = getComputedStyle(element);
              const isSeen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
              return [element.textContent.trim() || element.ariaLabel || element.id, isSeen];
            }"""))
            if names[-1][0].startswith("PUT/pet"):
                break
        self.assertEqual(names[0][0], "Skip to the content")
        self.assertTrue(names[-1][0].startswith("PUT/pet"), names)
        self.assertEqual([name for name, is_seen in names if not is_seen], [])
        page.keyboard.press("Enter")
        page.locator("[id='operation/updatePet'] .try").wait_for()
        page.keyboard.press("Enter")
        self.assertEqual(page.locator("[id='operation/updatePet'] .operation-body").is_visible(), False)

    def test_has_a_dark_mode_that_is_kept(self):
        background = "getComputedStyle(document.body).backgroundColor"
        page = self.open("petstore", scheme="dark")
        dark = page.evaluate(background)
        page.get_by_role("button", name="Dark mode", pressed=True).click()
        light = page.evaluate(background)
        self.assertNotEqual(dark, light)
        page.reload()
        page.locator("main h1").wait_for()
        self.assertEqual(page.evaluate(background), light)
        self.assertEqual(self.open("petstore", scheme="light").evaluate(background), light)

    def test_is_printed_with_everything_open(self):
        page = self.open("museum")
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.assertTrue(page.get_by_text("Creates a new special event for the museum.").is_visible())
        self.assertFalse(page.locator(".bar").is_visible() or page.locator(".try").first.is_visible())

    def test_fits_a_telephone(self):
        for document, fragment in (("petstore", "#findPetsByStatus"), ("museum", "#createSpecialEvent"), ("hostile", "#__proto__"), ("styles", "#query")):
            page = self.open(document, fragment, width=360, height=780)
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 360, document)
        page.get_by_role("button", name="Menu").click()
        page.get_by_role("navigation").get_by_role("link", name="/bytes").click()
        self.assertTrue(page.locator("[id='operation/bytes'] .try").is_visible())
        self.assertFalse(page.get_by_role("navigation").is_visible())

    def test_axe_finds_nothing_serious(self):
        from axe_playwright_python.sync_playwright import Axe
        cases = [("petstore", "#addPet", 1440, "light"), ("museum", "#createSpecialEvent", 1440, "dark"), ("styles", "#query", 1440, "light"),
                 ("petstore", "#uploadFile", 360, "dark"), ("hostile", "#__proto__", 1440, "light")]
        for document, fragment, width, scheme in cases:
            # axe is a script of another origin: the policy of the page is not in force here.
            page = self.open(document, fragment, width=width, scheme=scheme, bypass_csp=True)
            page.evaluate("document.getElementById('authentication')?.open()")
            for violation in Axe().run(page).response["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    self.complaints.append(f"{document}: axe: {violation['id']}: {violation['nodes'][0]['html'][:200]}")

    def test_shows_a_large_document_soon(self):
        began = time.monotonic()
        page = self.open("large")
        took = time.monotonic() - began
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"1,500 operations: first paint after {painted:.0f} ms, all after {took * 1000:.0f} ms", file=sys.stderr)
        self.assertLess(painted, 2000)
        self.assertLess(took, 5)
        self.assertEqual(page.locator(".operation").count(), 1500)

    def test_a_hostile_document_does_no_harm(self):
        page = self.open("hostile")
        self.assertEqual(page.title(), SCRIPT)
        for button in page.locator(".operation-head").all():
            button.click()
        for _ in range(2):
            page.evaluate("[...document.querySelectorAll('main button[aria-expanded=false]')].slice(0, 300).forEach((button) => button.click())")
        self.assertIsNone(page.evaluate("window.isBroken ?? null"))
        self.assertEqual(page.evaluate("Object.keys(Object.prototype).length + Object.keys(Array.prototype).length"), 0)
        self.assertEqual(page.locator("script").count(), 1)
        self.assertEqual(page.locator("img").count(), 0)
        self.assertEqual(page.locator("a:not([href^='http']):not([href^='mailto:']):not([href^='#'])").count(), 0)
        self.assertIn("Show 100 more of 9900", page.locator("main").inner_text())

    # --- What is sent.

    def test_sends_what_is_filled_in(self):
        page = self.open("petstore", "#addPet")
        card = page.locator("[id='operation/addPet']")
        card.get_by_label("Content").fill('{"name": "Ada", "photoUrls": []')
        card.get_by_text("This is not JSON").wait_for()
        card.get_by_label("Content").fill("""{"name": "Ada's", "photoUrls": []}""")
        card.get_by_text("valid JSON").wait_for()
        asked = self.send(page, "addPet")
        self.assertEqual((asked["method"], asked["target"]), ("POST", "/petstore/pet"))
        self.assertEqual(asked["body"], """{"name": "Ada's", "photoUrls": []}""")
        self.assertEqual(asked["fields"]["content-type" if "content-type" in asked["fields"] else "Content-Type"], "application/json")
        self.assertIn("200 OK", card.locator(".status").inner_text())
        self.assertIn(""""name": "Ada'\\''s\"""", self.curl(page, "addPet"))

    def test_asks_for_what_is_missing(self):
        page = self.open("petstore", "#getPetById")
        card = page.locator("[id='operation/getPetById']")
        card.get_by_label("petId").fill("")
        card.get_by_role("button", name="Send", exact=True).click()
        card.get_by_text("A value is required.").wait_for()
        self.assertTrue(card.get_by_label("petId").evaluate("input => input === document.activeElement"))

    def test_writes_parameters_in_their_styles(self):
        page = self.open("styles", "#simple")
        card = page.locator("[id='operation/simple']")
        card.get_by_label("one").fill("a/b c")
        card.get_by_label("list").fill("1\n2")
        card.get_by_label("object").fill('{"x": 1, "y": "z"}')
        self.assertEqual(self.send(page, "simple")["target"], "/styles/simple/a%2Fb%20c/1,2/x=1,y=z")

        page.goto(page.url.split("#")[0] + "#other")
        card = page.locator("[id='operation/other']")
        card.get_by_label("one").fill("a")
        card.get_by_label("list").fill("1\n2")
        card.get_by_label("object").fill('{"x": 1, "y": "z"}')
        self.assertEqual(self.send(page, "other")["target"], "/styles/label.a/;list=1;list=2/matrix;object=x,1,y,z")

        page.goto(page.url.split("#")[0] + "#query")
        card = page.locator("[id='operation/query']")
        for name in ("exploded", "flat", "spaces", "pipes", "X-List"):
            card.get_by_label(name).fill("a\nb c")
        card.get_by_label("X-List").fill('a,b\n"c"')
        card.get_by_label("deep").fill('{"x": 1, "tags": ["a", "b&c"]}')
        card.get_by_label("shades").fill('{"red": 1, "tags": ["a", "b"]}')
        card.get_by_label("json").fill('{"x": [1]}')
        card.get_by_label("path").fill("a/b?c=d#e")
        card.get_by_label("green").check()
        card.get_by_label("is-new").select_option("false")
        card.get_by_label("Accept").select_option("text/csv")
        asked = self.send(page, "query")
        self.assertEqual(asked["target"].split("?", 1)[1].split("&"), [
            "exploded=a", "exploded=b%20c", "flat=a,b%20c", "spaces=a%20b%20c", "pipes=a%7Cb%20c", "deep[x]=1", "deep[tags]=a",
            "deep[tags]=b%26c", "shades=red%7C1%7Ctags%7Ca%7Ctags%7Cb",
            "json=%7B%22x%22%3A%5B1%5D%7D", "path=a/b?c=d%23e", "some=green", "is-new=false"])
        fields = {name.lower(): value for name, value in asked["fields"].items()}
        self.assertEqual((fields["x-list"], fields["accept"]), ('"a,b","\\"c\\""', "text/csv"))

    def test_sends_forms_and_files(self):
        page = self.open("styles", "#form")
        card = page.locator("[id='operation/form']")
        card.get_by_label("name").fill("a&b")
        card.get_by_label("tags").fill("x\ny")
        asked = self.send(page, "form")
        self.assertEqual(asked["body"], "name=a%26b&tags=x&tags=y")

        page.goto(page.url.split("#")[0] + "#upload")
        card = page.locator("[id='operation/upload']")
        card.get_by_label("note").fill("hello")
        card.get_by_label("lines").fill('{"a":1}\n{"a":2}')
        card.get_by_label("file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"content"})
        asked = self.send(page, "upload")
        self.assertRegex(asked["body"], r'(?s)name="note"\r\n\r\nhello.*name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\ncontent')
        self.assertRegex(asked["body"], r'(?s)name="lines"\r\n\r\n\{"a":1\}\r\n.*name="lines"\r\n\r\n\{"a":2\}\r\n')
        self.assertIn("-F file=@a.txt", self.curl(page, "upload"))

        page.goto(page.url.split("#")[0] + "#anyType")
        page.locator("[id='operation/anyType']").get_by_label("Content").fill('{"a": "b"}')
        asked = self.send(page, "anyType")
        self.assertEqual(asked["body"], '{"a": "b"}')
        self.assertIn("application/json", [value for name, value in asked["fields"].items() if name.lower() == "content-type"])

        page.goto(page.url.split("#")[0] + "#bytes")
        page.locator("[id='operation/bytes']").get_by_label("File").set_input_files({"name": "b.bin", "mimeType": "", "buffer": b"bytes"})
        asked = self.send(page, "bytes")
        self.assertEqual((asked["target"], asked["body"]), ("/styles/v2/bytes", "bytes"))

    def test_sends_the_credentials_that_are_given(self):
        page = self.open("styles", "#form")
        page.locator("[id='operation/form']").get_by_role("link", name="authenticate").click()
        login = page.get_by_role("form", name="Authentication login")
        login.get_by_label("User").fill("ada")
        login.get_by_label("Password").fill("sécret")
        login.get_by_role("button", name="Use").click()
        page.locator("[id='operation/form']").get_by_text("Sent with your credentials.").wait_for()
        page.locator("[id='operation/form']").get_by_label("name").fill("x")
        fields = {name.lower(): value for name, value in self.send(page, "form")["fields"].items()}
        self.assertEqual(fields["authorization"], "Basic YWRhOnPDqWNyZXQ=")

        login.get_by_role("button", name="Forget").click()
        key = page.get_by_role("form", name="Authentication key")
        key.get_by_label("Key").fill("k&1")
        key.get_by_role("button", name="Use").click()
        self.assertEqual(self.send(page, "form")["target"], "/styles/form?key=k%261")

        token = page.get_by_role("form", name="Authentication token")
        token.get_by_label("Token").fill("abc")
        token.get_by_role("button", name="Use").click()
        page.reload()  # It stays in the tab, and in no other.
        page.locator("[id='operation/form'] .try").wait_for()
        page.locator("[id='operation/form']").get_by_label("name").fill("x")
        fields = {name.lower(): value for name, value in self.send(page, "form")["fields"].items()}
        self.assertEqual(fields["authorization"], "Bearer abc")
        other = self.open_in(self.contexts[-1], "styles", "#form")
        self.assertIn("It needs", other.locator("[id='operation/form'] .try").inner_text())

    def test_sends_a_cookie_and_takes_it_back(self):
        page = self.open("styles", "#bytes")
        page.locator("[id='operation/bytes']").get_by_role("link", name="authenticate").click()
        form = page.get_by_role("form", name="Authentication cookie")
        form.get_by_label("Key").fill("s1")
        form.get_by_role("button", name="Use").click()
        fields = {name.lower(): value for name, value in self.send(page, "bytes")["fields"].items()}
        self.assertEqual(fields["cookie"], "session=s1")
        self.assertEqual(page.evaluate("document.cookie"), "")

    def test_shows_a_picture(self):
        page = self.open("museum", "#getTicketCode")
        card = page.locator("[id='operation/getTicketCode']")
        card.get_by_role("button", name="Send", exact=True).click()
        card.locator(".preview").wait_for()
        self.assertEqual(card.locator(".preview").evaluate("image => image.naturalWidth"), 1)

    def test_sends_nothing_to_an_origin_that_is_not_named(self):
        page = self.open("museum", "#getMuseumHours")
        page.get_by_label("Server that requests are sent to").select_option(index=1)
        page.locator("[id='operation/getMuseumHours']").get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("This page may not send requests to https://redocly.com").wait_for()
        self.assertTrue(self.complaints and all("Content Security Policy" in one or "violates" in one for one in self.complaints), self.complaints)
        self.complaints.clear()


def take_pictures(browser, address, folder):
    for name, document, width, height, scheme, fragment in (
            ("light", "petstore", 1440, 1000, "light", "#addPet"), ("dark", "museum", 1440, 1000, "dark", "#createSpecialEvent"),
            ("narrow", "petstore", 360, 780, "light", "#findPetsByStatus"), ("top", "museum", 1440, 1000, "light", "")):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{address}/{document}/docs{fragment}")
        page.locator("main h1").wait_for()
        page.screenshot(path=folder / f"{name}.png")
        context.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--shots", type=pathlib.Path, help="a folder for pictures")
    parser.add_argument("--address", help="of a service that runs already")
    parser.add_argument("tests", nargs="*", help="names of tests")
    options = parser.parse_args()
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        if not VENV.exists():
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin/pip", "install", "--quiet", "--require-hashes", "-r", HERE / "requirements.txt"], check=True)
        os.execv(VENV / "bin/python", [VENV / "bin/python", *sys.argv])

    from playwright.sync_api import sync_playwright
    executable = next((path for path in BROWSERS if os.path.exists(path)), None)
    if executable is None:
        sys.exit("there is no Chromium: scripts/setup contract installs it")
    service = contextlib.nullcontext(options.address) if options.address else serving(options.build.resolve())
    with service as address, sync_playwright() as playwright:
        # As root, as in a container, Chromium has no sandbox.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        DocsPage.address = address
        DocsPage.browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        if options.shots:
            options.shots.mkdir(parents=True, exist_ok=True)
            take_pictures(DocsPage.browser, address, options.shots)
        names = ["DocsPage." + name for name in options.tests] or None
        result = unittest.main(module=__name__, argv=[sys.argv[0]], defaultTest=names, exit=False, verbosity=2).result
        DocsPage.browser.close()
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
