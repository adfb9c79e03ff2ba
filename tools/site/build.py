#!/usr/bin/env python3
"""make docs: the pages of the repository as a static site, which can be read and searched without a server.

The pages are the Markdown that the repository has: README.md, docs/ and what stands beside README.md. They are copied
to build/docs/pages as the generator reads Markdown, which is stricter than GitHub: a list and a table need an empty line
before them. A file that a page links to and that is no page becomes one that shows it. The navigation is docs/README.md.
The build fails at a link to a file or heading that does not exist, and at a site that would ask another host for anything.
"""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "build/docs"
VENV = ROOT / "build/docs-venv"
REQUIREMENTS = HERE / "requirements.txt"

LINK = re.compile(r"(`[^`]*`)|(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
LIST_ITEM = re.compile(r"([-*+]|\d+\.) ")
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".yaml": "yaml", ".yml": "yaml", ".py": "python", ".sql": "sql", ".sh": "sh",
             ".service": "ini", ".txt": "text"}


def page_names():
    beside = [path.name for path in ROOT.glob("*.md")]
    return sorted(beside) + sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))


def with_empty_lines(text):
    """`text` with an empty line before each list and table that follows a paragraph; code stays as it is."""
    made, in_code, before = [], False, ""
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        if not in_code and not is_fence and before.strip():
            begins_list = LIST_ITEM.match(line) and not LIST_ITEM.match(before) and not before.startswith(" ")
            begins_table = line.startswith("|") and not before.startswith("|")
            if begins_list or begins_table:
                made.append("")
        in_code ^= is_fence
        made.append(line)
        before = line
    return "\n".join(made)


def local_target(page, target):
    """The file of the repository that a link of `page` names; None for another host."""
    if "://" in target or target.startswith("mailto:"):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(page), target))


def convert(page, text, pages, sources):
    """The page for the generator; what it links to beside `pages` is added to `sources`."""
    def link(found):
        if found[1]:
            return found[1]
        target = local_target(page, found[2])
        if target is None or target in pages or not (ROOT / target).is_file():
            return found[0]
        sources.add(target)
        return f"{found[2]}.md{found[3] or ''}"

    blocks = re.split(r"(^```.*?^```$)", with_empty_lines(text), flags=re.MULTILINE | re.DOTALL)
    return "".join(block if block.startswith("```") else LINK.sub(link, block) for block in blocks)


def source_page(name, text):
    # The search finds what docs/api says of a header, which links to it.
    hidden = "---\nsearch: {exclude: true}\n---\n" if name.endswith(".h") else ""
    fence = "`" * max([3] + [len(run) + 1 for run in re.findall(r"`{3,}", text)])
    language = LANGUAGES.get(pathlib.Path(name).suffix, "text")
    return f"{hidden}# {name}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def navigation(index):
    """The sections of docs/README.md with the pages that they list: [{section: [{title: page}]}]."""
    nav, pages, seen = [], [], set()
    for line in index.split("\n"):
        if line.startswith("## "):
            pages = []
            nav.append({line[3:]: pages})
        elif not line.startswith("|"):
            for title, target in re.findall(r"\[([^\]]+)\]\(([\w./]+\.md)\)", line):
                name = os.path.normpath(os.path.join("docs", target))
                if nav and name.startswith("docs/") and name not in seen:
                    seen.add(name)
                    pages.append({title: name})
    return [section for section in nav if all(section.values())]


def with_breaks(page):
    """The page's HTML with places in the code of its tables where a line may break: after the parts of a name."""
    def cell(found):
        return re.sub(r"(?<=<code>)[^<]+(?=</code>)", lambda code: re.sub(r"(?<=[\w{}])([._/:=]+)(?=\w)", r"\1<wbr>", code[0]),
                      found[0])

    return re.sub(r"<td[ >].*?</td>", cell, page, flags=re.DOTALL)


class Requests(html.parser.HTMLParser):
    """What a browser would ask for when it shows a page; a link asks for nothing."""

    def __init__(self):
        super().__init__()
        self.urls = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed"):
            self.urls.append(values.get("src"))
        elif tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.urls.append(values.get("href"))


def foreign_requests(site):
    found = []
    for path in sorted(site.rglob("*.html")):
        requests = Requests()
        requests.feed(path.read_text())
        found += [f"{path.relative_to(site)}: {url}" for url in requests.urls
                  if url and re.match(r"(https?:)?//", url)]
    for path in sorted(site.rglob("*.css")):
        found += [f"{path.relative_to(site)}: {url}"
                  for url in re.findall(r"url\([\"']?((?:https?:)?//[^)\"']+)", path.read_text())]
    return found


def install():
    stamp = VENV / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    # Nothing is installed that is not one of the files that were looked at.
    subprocess.run([VENV / "bin/pip", "install", "-q", "--disable-pip-version-check", "--require-hashes",
                    "--only-binary=:all:", "-r", REQUIREMENTS], check=True)
    stamp.write_text(wanted)


def write_pages(out):
    pages, sources = page_names(), set()
    shutil.rmtree(out, ignore_errors=True)
    for name in pages:
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(convert(name, (ROOT / name).read_text(), set(pages), sources))
    for name in sources:
        path = out / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source_page(name, (ROOT / name).read_text()))
    for name in ("style.css", "iframe-worker.js"):
        shutil.copy(HERE / name, out)


def main():
    install()
    write_pages(OUT / "pages")
    nav = [{"Keel": "README.md"}, {"Documentation": "docs/README.md"}, *navigation((ROOT / "docs/README.md").read_text())]
    listed = json.dumps(nav)
    nav.append({"The project": [{name.removesuffix(".md").capitalize(): name} for name in page_names()
                                if f'"{name}"' not in listed]})
    # JSON is YAML.
    (OUT / "mkdocs.yml").write_text(json.dumps({
        "INHERIT": str(HERE / "mkdocs.yml"), "docs_dir": str(OUT / "pages"), "site_dir": str(OUT / "site"), "nav": nav}))
    # Not --quiet: it would leave warnings out of what --strict counts.
    built = subprocess.run([VENV / "bin/mkdocs", "build", "--strict", "-f", OUT / "mkdocs.yml"], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if built.returncode:
        said = [line for line in built.stdout.splitlines() if line.startswith(("WARNING", "ERROR", "Aborted"))]
        return "\n".join([*said, "tools/site: the generator has failed"])
    for path in (OUT / "site").rglob("*.html"):
        path.write_text(with_breaks(path.read_text()))
    if found := foreign_requests(OUT / "site"):
        return "tools/site: pages send requests to other hosts:\n" + "\n".join(found[:20])
    print(f"The documentation is built: {(OUT / 'site/docs/index.html').as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
