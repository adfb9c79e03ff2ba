"""The metrics that the library registers, as their calls in the sources say."""

import re
from dataclasses import dataclass

import cpp_text

NAME_AND_HELP = re.compile(r'"([a-z][a-z0-9_]*)",\s*(' + cpp_text.LITERALS.pattern + ")")
REGISTERED = re.compile(r"\b(?:registry\w*|metrics)(?:\.|->)(counter|gauge|histogram)\(\s*([^,]+),")
# What hands on the name and the help of somebody else's row.
HANDED_ON = re.compile(r"name|\w+\.name")
UNITS = {"seconds": "seconds", "bytes": "bytes"}


@dataclass
class Metric:
    name: str
    kind: str  # counter, gauge, histogram
    help: str
    place: str  # FILE:LINE

    @property
    def unit(self):
        words = self.name.removesuffix("_total").split("_")
        if words[-2:] in (["timestamp", "seconds"], ["time", "seconds"]):
            return "seconds since 1970"
        return next((UNITS[word] for word in reversed(words) if word in UNITS), "")


def kind_of(name, before):
    """`before` is what stands before the name in its call or row."""
    if name.endswith("_total"):
        return "counter"
    calls = re.findall(r"\b(counter|gauge|histogram)\b\(?|Kind::(Gauge|Workers|Histogram)", before)
    last = (calls[-1][0] or calls[-1][1]).lower() if calls else "gauge"
    return "histogram" if last == "histogram" else "gauge"


def of_source(path, text):
    """(metrics, mistakes) of one source."""
    code = cpp_text.with_constants(cpp_text.without_comments(text))
    found, mistakes = [], []
    for match in NAME_AND_HELP.finditer(code):
        help_text = cpp_text.text_of(match[2])
        before = code[max(0, match.start() - 120):match.start()]
        is_called = re.search(r"(counter|gauge|histogram)\(\s*$", before)
        if " " not in help_text or not help_text[0].isupper() or not re.search(r"metric|registr", code):
            continue
        if "_" not in match[1] and not is_called:
            continue
        at = max(text.find('"' + match[1] + '"'), 0)
        place = f"{path}:{text.count(chr(10), 0, at) + 1}"
        found.append(Metric(match[1], kind_of(match[1], before), help_text, place))
    names = {metric.name for metric in found}
    for call in REGISTERED.finditer(code):
        argument = call[2].strip()
        if argument.strip('"') not in names and not HANDED_ON.fullmatch(argument):
            line = code.count("\n", 0, call.start()) + 1
            mistakes.append(f"{path}:{line}: the name and the help of a metric must be literals where the metric is "
                            f"registered: {argument}")
    return found, mistakes


def of_library():
    """(metrics, mistakes) of all sources; one that two databases have is there twice."""
    metrics, mistakes = {}, []
    for path in cpp_text.library():
        if "/testing" in path or path == "src/keel/observe/metric.h":
            continue
        found, wrong = of_source(path, (cpp_text.ROOT / path).read_text())
        mistakes += wrong
        for metric in found:
            metrics.setdefault((path, metric.name), metric)
    kinds = {}
    for metric in metrics.values():
        known = kinds.setdefault(metric.name, metric)
        if known.kind != metric.kind:
            mistakes.append(f"{metric.place}: {metric.name} is a {metric.kind}, and a {known.kind} at {known.place}")
    return list(metrics.values()), mistakes
