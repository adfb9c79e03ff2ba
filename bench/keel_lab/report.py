"""The results as Markdown."""


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def number(value, digits=2):
    return "not permitted" if value is None else f"{value:,.{digits}f}"


def verdict(comparison):
    """Judged by the whole interval; between the two the run was too noisy to say."""
    target = comparison.get("target")
    if not target:
        return "–"
    kind, limit = target
    ratio = comparison["ratio"]
    if kind == "not below":  # Beyond the interval.
        met, missed = ratio["high"] >= limit, ratio["high"] < limit
    elif kind == "above":
        met, missed = ratio["low"] > limit, ratio["high"] <= limit
    elif kind == "at most":
        met, missed = ratio["high"] <= limit, ratio["low"] > limit
    else:
        met, missed = ratio["low"] >= limit, ratio["high"] < limit
    return f"{kind} {limit}: " + ("met" if met else "missed" if missed else "undecided")


def comparisons(results):
    rows = []
    for one in results:
        ratio, (a, b) = one["ratio"], one["sides"]
        both = lambda key, digits, scale=1: " / ".join(f"{side[key]['median'] * scale:,.{digits}f}" for side in (a, b))
        rows.append([f"{one['a']} : {one['b']}", {"cpu_us": "CPU per operation", "rate": "operations per second"}[one["of"]],
                     f"{ratio['median']:.3f}", f"{ratio['low']:.3f} – {ratio['high']:.3f} ({ratio['coverage']:.1%})",
                     f"{ratio['min']:.3f} – {ratio['max']:.3f}", verdict(one), both("cpu_us", 2), both("rate", 0),
                     both("server_used", 0, 100), both("client_used", 0, 100), both("answer_bytes", 0),
                     f"{one['pairs']}, {one['repeated']}, {one['disturbed']}"])
    return table(["A : B", "ratio of", "median", "interval", "min – max", "verdict", "server CPU us each", "operations/s",
                  "server %", "client %", "answer bytes", "pairs, repeated, disturbed"], rows)


def memory(results):
    seen = {}
    for one in results:
        for label, side in zip((one["a"], one["b"]), one["sides"]):
            seen.setdefault(label, side)
    return table(["server", "start to first answer, ms", "RSS idle, MB", "RSS after the run, MB"],
                 [[label, f"{side['start_ms']['median']:.1f}", f"{side['idle_rss_kb']['median'] / 1024:.1f}",
                   f"{side['rss_kb']['median'] / 1024:.1f}"] for label, side in seen.items()])


def turns(results):
    rows = []
    for one in results:
        ratio, (a, b) = one["ratio"], one["sides"]
        rows.append([f"{one['a']} : {one['b']}", f"{ratio['median']:.3f}",
                     f"{ratio['low']:.3f} – {ratio['high']:.3f} ({ratio['coverage']:.1%})",
                     f"{ratio['min']:.3f} – {ratio['max']:.3f}", verdict(one),
                     " / ".join(f"{side['cpu_us']['median'] * 1000:,.1f}" for side in (a, b)),
                     f"{one['pairs']}, {one['repeated']}, {one['disturbed']}"])
    return table(["A : B, in one process", "median of operations per second", "interval", "min – max", "verdict", "ns each",
                  "pairs, repeated, disturbed"], rows)


def bound(of, a, b, limit):
    """A count of A against the same count of B; counts have no interval."""
    met = a <= b * limit
    return [of, f"{a:,.2f} / {b:,.2f}", f"{a / b:.2f}", f"at most {limit}: {'met' if met else 'missed'}"]


def bounds(rows):
    return table(["count", "A / B", "ratio", "verdict"], rows)


def markdown(document):
    parts = [table(["machine", ""], document["machine"].items())]
    if document["comparisons"]:
        parts += ["Ratios are A / B inside each pair. A rate counts only when the server is busy (95 % or more); CPU per operation always.",
                  comparisons(document["comparisons"]), memory(document["comparisons"])]
    if document["turns"]:
        parts.append(turns(document["turns"]))
    if document["per_request"]:
        stepped = any("instructions" in one for one in document["per_request"])
        optional = lambda one, name: number(one[name], 0) if name in one else "–"
        more = lambda one: [optional(one, "instructions"), optional(one, "idle_bytes")] if stepped else []
        parts.append(table(["per operation", "system calls", "heap allocations", "bytes allocated",
                            *(["user instructions", "bytes per idle connection"] if stepped else [])],
                           [[one["of"], number(one["system_calls"]), number(one["allocations"], 3),
                             number(one["allocated_bytes"], 0), *more(one)] for one in document["per_request"]]))
    if document["bounds"]:
        parts.append(bounds(document["bounds"]))
    if document["wrk"]:
        parts.append(table(["wrk (not judged)", "requests/s", "p50", "p99"],
                           [[one["of"], one["rate"], one["p50"], one["p99"]] for one in document["wrk"]]))
    if document["failed"]:
        parts.append("Not measured:\n" + "\n".join(f"- {line}" for line in document["failed"]))
    return "\n\n".join(parts) + "\n"
