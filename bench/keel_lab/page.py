"""The pages: everything of a page is in the one file, and every text in it is escaped."""

import pathlib

import jinja2

from keel_lab import claims, plots

# Verdict: (a sign beside the word, so that colour is not needed, CSS class).
MARKS = {
    "met": ("✓", "good"), "missed": ("✗", "bad"), "undecided": ("?", "unsure"),
    "below the detectable effect": ("≈", "unsure"), "no target": ("·", "soft"), "beaten": ("✓", "good"),
    "contradicted": ("≠", "bad"), "not comparable": ("·", "soft"), "open": ("○", "unsure"),
}


def plain(number):
    """A number for a table; text and what is missing as they are."""
    if number is None or number == "":
        return "–"
    return plots.short(number) if isinstance(number, (int, float)) else str(number)


def environment():
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent), autoescape=True,
                              undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                              )
    made.filters |= {
        "plain": plain, "ratio2": lambda number: f"{number:.2f}"
        if number < 10 else plots.short(number), "ratio": lambda number: f"{number:.3f}"
        if number < 10 else plots.short(number),
    }
    made.globals |= {"marks": MARKS}
    return made


def render(template, **values):
    return environment().get_template(template).render(**values)


def grouped(rows):
    """[(group, cells of its rows)] of the ledger."""
    groups = {}
    for row in rows:
        groups.setdefault(row.claim["group"], []).append(claims.cells(row))
    return list(groups.items())
