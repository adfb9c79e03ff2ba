"""Small plots as inline SVG. Colours and sizes are CSS classes of page.html.j2; each says in words what it shows.

A strip stretches to the width of its box and has no text in it, so that it is readable on a phone; its labels are HTML.
"""

import math

from markupsafe import Markup, escape

WIDTH, HEIGHT = 720, 300  # Of a chart; a strip is 1000 wide.
# Room for "99.99 %" and half of "100,000" in the large letters of a phone.
LEFT, RIGHT, TOP, BOTTOM = 120, 48, 14, 44
NINES = (0.5, 0.9, 0.99, 0.999, 0.9999)


def svg(title, body, view, css, stretch=False):
    ratio = ' preserveAspectRatio="none"' if stretch else ""
    return Markup(
        f'<svg class="{css}" viewBox="0 0 {view[0]} {view[1]}" role="img"{ratio} aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(body)}</svg>"
    )


def line(x1, y1, x2, y2, css):
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x, y, said, css="", anchor="middle"):
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(said)}</text>'


def short(number):
    if number == 0:
        return "0"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{float(f'{number:.3g}'):g}"


# --- Ratios ---


def limits(target):
    """The ratios at which the verdict turns."""
    if target is None:
        return []
    value = target["value"]
    return [1 - value, 1 + value] if target["kind"] == "within" else [value]


def ratio_scale(rows):
    """(low, high) of a logarithmic axis on which all rows, their targets and 1 have a place."""
    ends = [1.0]
    for row in rows:
        ends += [row["low"], row["high"], *limits(row["target"])]
    ends = [end for end in ends if end > 0 and math.isfinite(end)]
    low, high = min(ends), max(ends)
    margin = max((high / low) ** 0.06, 1.02)
    return low / margin, high * margin


def ticks(scale):
    """Round numbers within a logarithmic scale, 1 among them."""
    low, high = scale
    decades = math.log10(high / low)
    steps = (1,) if decades > 3 else (1, 2, 5) if decades > 0.8 else (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
    found = {
        round(step * 10**power, 10)
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for step in steps
    }
    if decades < 0.25:
        found |= {round(number / 20, 2) for number in range(1, 60)}
    inside = sorted(number for number in found | {1.0} if low <= number <= high)
    while len(inside) > 7:
        inside = [number for at, number in enumerate(inside) if at % 2 == inside.index(1.0) % 2]
    return inside


def place(value, scale, width=1000):
    low, high = scale
    return (math.log(min(max(value, low), high)) - math.log(low)) / (math.log(high) - math.log(low)) * width


def ratio_strip(row, scale):
    """The interval of a ratio and its median, with the line of equality, the target and the noise."""
    target = row["target"]
    said = f"ratio {short(row['median'])}, interval {short(row['low'])} to {short(row['high'])}"
    if target:
        said += f", target {target['kind']} {target['value']:g}"
    body = []
    if row.get("noise"):
        left, right = place(row["noise"]["low"], scale), place(row["noise"]["high"], scale)
        body.append(f'<rect class="noise" x="{left:.1f}" y="0" width="{max(right - left, 2):.1f}" height="24"/>')
    body += [line(place(tick, scale), 0, place(tick, scale), 24, "grid") for tick in ticks(scale)]
    body.append(line(place(1, scale), 0, place(1, scale), 24, "equal"))
    body += [line(place(limit, scale), 0, place(limit, scale), 24, "target") for limit in limits(target)]
    body.append(line(place(row["low"], scale), 12, place(row["high"], scale), 12, "interval"))
    body.append(line(place(row["median"], scale), 4, place(row["median"], scale), 20, "median"))
    return svg(said, body, (1000, 24), "strip", stretch=True)


def sparkline(values):
    """The course of one figure over dated results."""
    low, high = min(values), max(values)
    room = (high - low) or abs(high) or 1
    points = [
        (at / max(len(values) - 1, 1) * 980 + 10, 44 - (value - low) / room * 36) for at, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = [line(x, y - 5, x, y + 5, "median") for x, y in points]
    said = f"{len(values)} results from {short(values[0])} to {short(values[-1])}, {short(low)} to {short(high)} in all"
    return svg(said, [f'<polyline class="line0" points="{path}"/>', *marks], (1000, 50), "spark", stretch=True)


# --- Charts with axes ---


def chart(title, lines, x_ticks, y_ticks, x_title, y_title):
    """`lines`: points already in places; `x_ticks`, `y_ticks`: (place, label)."""
    body = []
    for at, label in x_ticks:
        body += [line(at, TOP, at, HEIGHT - BOTTOM, "grid"), text(at, HEIGHT - BOTTOM + 18, label)]
    for at, label in y_ticks:
        body += [line(LEFT, at, WIDTH - RIGHT, at, "grid"), text(LEFT - 6, at + 4, label, anchor="end")]
    for number, points in enumerate(lines):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        body.append(f'<polyline class="line{number % 6}" points="{path}"/>')
    body.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_title, "axis"))
    body.append(
        f'<text class="axis" transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" '
        'text-anchor="middle">'
        f"{escape(y_title)}</text>"
    )
    return svg(title, body, (WIDTH, HEIGHT), "chart")


def nines(fraction):
    """The place of a fraction when each further nine takes as much room as the one before."""
    return -math.log10(max(1 - fraction, 1e-5))


def cdf(distributions):
    """Latency on a logarithmic axis against the share of requests that took no longer."""
    points = [(us, share) for row in distributions for us, share in row["cdf"] if us > 0]
    if not points:
        return None
    low, high = min(us for us, _ in points), max(us for us, _ in points)
    low, high = (low / 1.3, high * 1.3) if low == high else (low, high)
    top = max(nines(share) for _, share in points) or 1
    x_of = lambda us: LEFT + place(us, (low, high), WIDTH - LEFT - RIGHT)
    y_of = lambda share: HEIGHT - BOTTOM - nines(share) / top * (HEIGHT - TOP - BOTTOM)
    lines = [[(x_of(us), y_of(share)) for us, share in row["cdf"] if us > 0] for row in distributions]
    said = "; ".join(
        f"{row['side']}: half within {short(row['percentiles']['50'])} {row['unit']}, 99 % within "
        f"{short(row['percentiles']['99'])} {row['unit']}"
        for row in distributions
        if {"50", "99"} <= row["percentiles"].keys()
    )
    return chart(
        f"Latency. {said}",
        lines,
        [(x_of(tick), short(tick)) for tick in decimal_ticks(low, high)],
        [(y_of(share), f"{share * 100:g} %") for share in NINES if nines(share) <= top * 1.01],
        f"latency, {distributions[0]['unit']}",
        "requests within it",
    )


def decimal_ticks(low, high):
    inside = [
        step * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for step in ((1,) if high / low > 300 else (1, 2, 5))
        if low <= step * 10.0**power <= high
    ]
    return inside[:: max(1, len(inside) // 6)] or [low, high]


def linear_ticks(low, high):
    if high <= low:
        return [low]
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(by for by in (1, 2, 5, 10) if (high - low) / (step * by) <= 5)
    first = math.ceil(low / step)
    return [at * step for at in range(first, math.floor(high / step) + 1)]


def over_time(series):
    """Series of one unit over the seconds of a run; the axis begins at 0."""
    points = [point for row in series for point in row["points"]]
    if not points:
        return None
    end = max(seconds for seconds, _ in points) or 1
    high, low = max(max(value for _, value in points) * 1.08, 0), min(min(value for _, value in points), 0)
    high = high if high > low else low + 1
    x_of = lambda seconds: LEFT + seconds / end * (WIDTH - LEFT - RIGHT)
    y_of = lambda value: HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
    lines = [[(x_of(seconds), y_of(value)) for seconds, value in row["points"]] for row in series]
    said = "; ".join(
        f"{row['name']}: from {short(row['points'][0][1])} to {short(row['points'][-1][1])} {row['unit']}"
        for row in series
        if row["points"]
    )
    return chart(
        said,
        lines,
        [(x_of(at), short(at)) for at in linear_ticks(0, end)],
        [(y_of(at), short(at)) for at in linear_ticks(low, high)],
        "seconds",
        series[0]["unit"],
    )
