"""A flame graph: one SVG file that needs nothing else, from the stacks that `perf script` prints.

Width is the share of samples, time has no place in it. Hover says what a frame is, a click zooms, the field searches.
"""

import html
import re
import zlib

WIDTH = 1200
ROW = 17
TOP = 58
NARROWEST = 0.1     # Pixels; what is narrower is left out.
CHARACTER = 6.6     # Pixels that one of the font takes.

SCRIPT = """
const all = [...document.querySelectorAll('g.f')];
const hint = document.getElementById('hint'), found = document.getElementById('found');
const of = g => ({x: +g.dataset.x, w: +g.dataset.w, y: +g.dataset.y, name: g.dataset.n});
function zoom(to) {
  const scale = WIDTH / to.w;
  for (const g of all) {
    const f = of(g), x = (f.x - to.x) * scale, w = f.w * scale;
    const around = f.x <= to.x + 1e-6 && f.x + f.w >= to.x + to.w - 1e-6;
    const inside = f.x >= to.x - 1e-6 && f.x + f.w <= to.x + to.w + 1e-6;
    const shows = (f.y >= to.y && around) || inside;
    g.style.display = shows ? '' : 'none';
    if (!shows) continue;
    const from = Math.max(0, x), end = Math.min(WIDTH, x + w);
    const rect = g.querySelector('rect'), text = g.querySelector('text');
    rect.setAttribute('x', from);
    rect.setAttribute('width', Math.max(0, end - from));
    text.setAttribute('x', from + 3);
    const room = Math.floor((end - from - 6) / CHARACTER);
    text.textContent = room < 3 ? '' : f.name.length <= room ? f.name : f.name.slice(0, room - 1) + '\\u2026';
  }
}
function search(term) {
  let hits = [];
  for (const g of all) {
    const hit = term !== '' && g.dataset.n.toLowerCase().includes(term.toLowerCase());
    g.classList.toggle('hit', hit);
    if (hit) hits.push(of(g));
  }
  hits.sort((a, b) => a.x - b.x || b.w - a.w);
  let end = 0, sum = 0;
  for (const f of hits) if (f.x >= end - 1e-6) { sum += f.w; end = f.x + f.w; }
  found.textContent = term === '' ? '' : (100 * sum / WIDTH).toFixed(1) + ' % in ' + hits.length + ' frames';
}
for (const g of all) {
  g.addEventListener('click', () => zoom(of(g)));
  g.addEventListener('mouseover', () => { hint.textContent = g.querySelector('title').textContent; });
}
document.getElementById('term').addEventListener('input', event => search(event.target.value));
zoom(of(all[0]));
"""

STYLE = """
svg { background: #fff; font: 11px ui-monospace, monospace; } text { fill: #111; pointer-events: none; }
.head { font: bold 15px system-ui, sans-serif; } #hint, #found { font-size: 12px; }
g.f { cursor: pointer; } g.f:hover rect { stroke: #000; } g.hit rect { fill: #c026d3; } g.f text { fill: #111; }
input { width: 200px; font: 12px ui-monospace, monospace; }
@media (prefers-color-scheme: dark) {
  svg { background: #14161a; } text { fill: #ddd; } g.f:hover rect { stroke: #fff; }
}
"""


def fold(text):
    """{(outermost, ..., innermost): samples} of what perf script prints."""
    found, stack, name = {}, [], ""

    def end():
        if name:
            whole = (name, *reversed(stack))
            found[whole] = found.get(whole, 0) + 1

    for line in text.splitlines():
        frame = re.match(r"\s+[0-9a-f]+ (.+)$", line)
        if frame and name:
            stack.append(symbol(frame.group(1)))
        elif line.strip() and not line[0].isspace():
            end()
            stack, name = [], line.split()[0]
        elif not line.strip():
            end()
            stack, name = [], ""
    end()
    return found


def symbol(text):
    """"name+0x12 (/lib/x.so)" without the offset; what has no name is called by its file, the kernel is marked."""
    name, _, place = text.rpartition(" (")
    place = place.removesuffix(")")
    name = re.sub(r"\+0x[0-9a-f]+$", "", name if name else text)
    if name == "[unknown]":
        return f"[{place.rpartition('/')[2]}]"
    return f"{name} [kernel]" if place.startswith("[kernel") or place.endswith((".ko", ".ko.xz")) else name


class Frame:
    def __init__(self, name):
        self.name = name
        self.samples = 0
        self.inner = {}

    def add(self, stack, samples):
        self.samples += samples
        if stack:
            self.inner.setdefault(stack[0], Frame(stack[0])).add(stack[1:], samples)

    def depth(self):
        return 1 + max((frame.depth() for frame in self.inner.values()), default=0)


def tree(folded):
    root = Frame("all")
    for stack, samples in sorted(folded.items()):
        root.add(stack, samples)
    return root


def colour(name):
    """The same for the same name: blue in the kernel, from yellow to red outside."""
    shade = zlib.crc32(name.encode()) % 1000 / 1000
    hue = 200 + 25 * shade if name.endswith("[kernel]") else 8 + 44 * shade
    return f"hsl({hue:.0f} 85% {62 + 12 * shade:.0f}%)"


def drawn(frame, x, level, bottom, whole):
    """The group of a frame, and of all inside it."""
    width = WIDTH * frame.samples / whole
    if width < NARROWEST:
        return
    y = bottom - ROW * (level + 1)
    name = html.escape(frame.name)
    yield (f'<g class="f" data-x="{x:.4f}" data-w="{width:.4f}" data-y="{y}" data-n="{name}">'
           f"<title>{name}: {frame.samples} samples, {100 * frame.samples / whole:.2f} %</title>"
           f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" fill="{colour(frame.name)}"/>'
           f'<text x="{x + 3:.2f}" y="{y + 12}"></text></g>')
    for inner in frame.inner.values():
        yield from drawn(inner, x, level + 1, bottom, whole)
        x += WIDTH * inner.samples / whole


def svg(folded, title):
    root = tree(folded)
    height = TOP + ROW * root.depth() + 10
    groups = "\n".join(drawn(root, 0.0, 0, height - 10, root.samples))
    script = f"const WIDTH = {WIDTH}, CHARACTER = {CHARACTER};{SCRIPT}"
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">
<style>{STYLE}</style>
<text class="head" x="6" y="20">{html.escape(title)}</text>
<text id="hint" x="6" y="42">{root.samples} samples; click zooms, the lowest row zooms out</text>
<text id="found" x="{WIDTH - 220}" y="46"></text>
<foreignObject x="{WIDTH - 220}" y="6" width="214" height="26">
<input xmlns="http://www.w3.org/1999/xhtml" id="term" placeholder="search" aria-label="search"/></foreignObject>
{groups}
<script><![CDATA[{script}]]></script>
</svg>
"""
