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


def polyline(points, css):
    return f'<polyline class="{css}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def short(number):
    if number == 0:
        return "0"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{float(f'{number:.3g}'):g}"


def place(value, scale, width=1000):
    """On a logarithmic axis."""
    low, high = scale
    return (math.log(min(max(value, low), high)) - math.log(low)) / (math.log(high) - math.log(low)) * width


def round_numbers(low, high, steps):
    """Those of each power of ten, within low and high."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def limits(target):
    """The ratios at which the verdict turns."""
    value = target and target["value"]
    return [] if target is None else [1 - value, 1 + value] if target["kind"] == "within" else [value]


def ratio_scale(rows):
    """(low, high) of a logarithmic axis on which all rows, their targets and 1 have a place."""
    ends = [1.0]
    for row in rows:
        ends += [row.low, row.high, *limits(row.target)]
    ends = [end for end in ends if end > 0 and math.isfinite(end)]
    low, high = min(ends), max(ends)
    margin = max((high / low) ** 0.06, 1.02)
    return low / margin, high * margin


def ticks(scale):
    """Round numbers within a logarithmic scale, 1 among them."""
    low, high = scale
    decades = math.log10(high / low)
    steps = (1,) if decades > 3 else (1, 2, 5) if decades > 0.8 else (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
    found = {round(number, 10) for number in round_numbers(low, high, steps)} | {1.0}
    if decades < 0.25:
        found |= {round(number / 20, 2) for number in range(1, 60)}
    inside = sorted(number for number in found if low <= number <= high)
    while len(inside) > 7:
        inside = [number for at, number in enumerate(inside) if at % 2 == inside.index(1.0) % 2]
    return inside


def ratio_strip(row, scale):
    """The interval of a ratio and its median, with the line of equality, the target and the noise."""
    at = lambda value: place(value, scale)
    said = f"ratio {short(row.median)}, interval {short(row.low)} to {short(row.high)}"
    if row.target:
        said += f", target {row.target['kind']} {row.target['value']:g}"
    body = []
    if row.noise:
        left, right = map(at, row.noise)
        body.append(f'<rect class="noise" x="{left:.1f}" y="0" width="{max(right - left, 2):.1f}" height="24"/>')
    uprights = [(tick, "grid") for tick in ticks(scale)] + [(1, "equal")]
    uprights += [(end, "target") for end in limits(row.target)]
    body += [line(at(value), 0, at(value), 24, css) for value, css in uprights]
    body.append(line(at(row.low), 12, at(row.high), 12, "interval"))
    body.append(line(at(row.median), 4, at(row.median), 20, "median"))
    return svg(said, body, (1000, 24), "strip", stretch=True)


def bar(times, longest, css):
    """How many times as much as 1, from 0 on, and the interval of that; the line is 1."""
    at = lambda value: value / longest * 1000
    said = f"{short(times.median)} times, interval {short(times.low)} to {short(times.high)}"
    body = [f'<rect class="{css}" x="0" y="4" width="{at(times.median):.1f}" height="16"/>',
            line(at(1), 0, at(1), 24, "equal"), line(at(times.low), 12, at(times.high), 12, "whisker")]
    body += [line(at(end), 7, at(end), 17, "whisker") for end in (times.low, times.high)]
    return svg(said, body, (1000, 24), "strip", stretch=True)


def chart(said, lines, x_axis, y_axis):
    """`lines` of points; an axis: (title, the part of its length at a value, [(value, label)])."""
    (x_title, x_part, x_ticks), (y_title, y_part, y_ticks), body = x_axis, y_axis, []
    x_of = lambda value: LEFT + x_part(value) * (WIDTH - LEFT - RIGHT)
    y_of = lambda value: HEIGHT - BOTTOM - y_part(value) * (HEIGHT - TOP - BOTTOM)
    for at, label in ((x_of(value), label) for value, label in x_ticks):
        body += [line(at, TOP, at, HEIGHT - BOTTOM, "grid"), text(at, HEIGHT - BOTTOM + 18, label)]
    for at, label in ((y_of(value), label) for value, label in y_ticks):
        body += [line(LEFT, at, WIDTH - RIGHT, at, "grid"), text(LEFT - 6, at + 4, label, anchor="end")]
    body += [polyline([(x_of(x), y_of(y)) for x, y in points], f"line{number % 6}")
             for number, points in enumerate(lines)]
    body += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_title, "axis"), text(LEFT, TOP - 3, y_title, "axis", "end")]
    return svg(said, body, (WIDTH, HEIGHT), "chart")


def nines(fraction):
    """The place of a fraction when each further nine takes as much room as the one before."""
    return -math.log10(max(1 - fraction, 1e-5))


def cdf(distributions):
    """Latency on a logarithmic axis against the share of requests that took no longer."""
    lines = [[(us, share) for us, share in row["cdf"] if us > 0] for row in distributions]
    points = sum(lines, [])
    if not points:
        return None
    low, high = min(us for us, _ in points), max(us for us, _ in points)
    low, high = (low / 1.3, high * 1.3) if low == high else (low, high)
    top = max(nines(share) for _, share in points) or 1
    inside = round_numbers(low, high, (1,) if high / low > 300 else (1, 2, 5)) or [low, high]
    said = "; ".join(
        f"{row['side']}: half within {short(row['percentiles']['50'])} {row['unit']}, 99 % within "
        f"{short(row['percentiles']['99'])} {row['unit']}"
        for row in distributions if {"50", "99"} <= row["percentiles"].keys())
    return chart(f"Latency. {said}", lines,
                 (f"latency, {distributions[0]['unit']}", lambda us: place(us, (low, high), 1),
                  [(us, short(us)) for us in inside[::max(1, len(inside) // 6)]]),
                 ("within it", lambda share: nines(share) / top,
                  [(share, f"{share * 100:g} %") for share in NINES if nines(share) <= top * 1.01]))


def linear_ticks(low, high):
    if high <= low:
        return [low]
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(by for by in (1, 2, 5, 10) if (high - low) / (step * by) <= 5)
    return [at * step for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def over_time(series):
    """Series of one unit over the seconds of a run; the axis begins at 0."""
    points = [point for row in series for point in row["points"]]
    if not points:
        return None
    end = max(seconds for seconds, _ in points) or 1
    high, low = max(max(value for _, value in points) * 1.08, 0), min(min(value for _, value in points), 0)
    high = high if high > low else low + 1
    said = "; ".join(f"{row['name']}: from {short(row['points'][0][1])} to {short(row['points'][-1][1])} {row['unit']}"
                     for row in series if row["points"])
    return chart(said, [row["points"] for row in series],
                 ("seconds", lambda seconds: seconds / end, [(at, short(at)) for at in linear_ticks(0, end)]),
                 (series[0]["unit"], lambda value: (value - low) / (high - low),
                  [(at, short(at)) for at in linear_ticks(low, high)]))
