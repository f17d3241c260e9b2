"""The styles of pages and pictures, light and dark."""

from __future__ import annotations

# Each on the paper of its scheme: text has a contrast of at least 4.5, lines and areas of 3
# (WCAG 2.2, 1.4.3 and 1.4.11). The test computes it.
LIGHT = {
    "ink": "#1d2330", "dim": "#5b6474", "paper": "#ffffff", "rule": "#d8dce4", "card": "#f4f6fa",
    "link": "#1f5fd0", "with": "#1f5fd0", "without": "#b4500f", "other": "#7a4fb5",
    "limit": "#c01f3a", "read": "#2b8a5e", "new": "#1f5fd0", "again": "#b4500f",
    "anchors": "#2f6fdf", "lines": "#128a6f", "grounded": "#c2571a",
}  # fmt: skip
DARK = {
    "ink": "#e6e9f0", "dim": "#a3acbc", "paper": "#14171f", "rule": "#333a47", "card": "#1c212c",
    "link": "#8ab4ff", "with": "#7aa7ff", "without": "#f2995c", "other": "#c3a1f5",
    "limit": "#ff7d90", "read": "#4fd1ae", "new": "#7aa7ff", "again": "#f2995c",
    "anchors": "#7aa7ff", "lines": "#4fd1ae", "grounded": "#f2995c",
}  # fmt: skip


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


COLOURS = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
"""

# Lines differ in form as well as in colour: solid, dashed, dotted.
PLOTS = """
text { font: 12px system-ui, sans-serif; fill: var(--dim); stroke: var(--paper); stroke-width: 3px;
  paint-order: stroke; stroke-linejoin: round; }
path { fill: none; vector-effect: non-scaling-stroke; stroke-width: 2; }
line { stroke: var(--rule); }
path.with { stroke: var(--with); } path.under { fill: var(--with); opacity: .12; }
path.without { stroke: var(--without); stroke-dasharray: 6 4; }
path.other { stroke: var(--other); stroke-dasharray: 2 3; }
line.limit { stroke: var(--limit); stroke-width: 1.5; } text.limit { fill: var(--limit); }
circle.mark { fill: var(--paper); stroke: var(--with); stroke-width: 2; }
text.end { font-size: 18px; font-weight: 700; text-anchor: middle; fill: var(--ink); }
text.end.with { fill: var(--with); } text.end.without { fill: var(--without); }
text.end.other { fill: var(--other); }
path.area { stroke: none; } path.read { fill: var(--read); }
path.new { fill: var(--new); } path.again { fill: var(--again); }
"""

PAGE = (
    COLOURS
    + PLOTS
    + """
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.2; } h1 { margin: .5rem 0; } h2 { margin: 2.5rem 0 .5rem; }
h3 { margin: 1.4rem 0 .3rem; font-size: 1rem; } p { margin: .4rem 0; } .dim { color: var(--dim); }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, .wide:focus-visible { outline: 3px solid var(--link);
  outline-offset: 2px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
caption { text-align: left; color: var(--dim); padding: .3rem 0; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
tbody th { font-weight: 400; }
@media (max-width: 30rem) { th, td { padding: .25rem .3rem; font-size: .8rem; } }
.bar { display: grid; grid-template-columns: 6rem 1fr 4.5rem; gap: .5rem; align-items: center; }
.bar svg { width: 100%; height: 1.1rem; } .bar rect.all { fill: var(--rule); opacity: .5; }
.bar span:last-child { text-align: right; font-variant-numeric: tabular-nums; }
.anchors { fill: var(--anchors); } .lines { fill: var(--lines); }
.grounded { fill: var(--grounded); } .saved { fill: var(--with); }
.spread circle { fill-opacity: .45; }
figure { margin: 1rem 0 1.5rem; }
figure > svg { display: block; width: 100%; height: 15rem; overflow: visible;
  margin: 1.8rem 0 2rem; }
figcaption { color: var(--dim); font-size: .9rem; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .3rem 0;
  list-style: none; font-size: .9rem; }
.key svg { display: inline-block; width: 1.6rem; height: .8rem; margin: 0 .4rem 0 0;
  vertical-align: middle; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
.tiles div { flex: 1 1 max(8.5rem, 22%); background: var(--card); border-radius: .5rem;
  padding: .6rem .8rem; }
.tiles dt { color: var(--dim); font-size: .85rem; }
.tiles dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.tiles dd small { display: block; font-size: .8rem; color: var(--dim); }
details { border-bottom: 1px solid var(--rule); }
summary { cursor: pointer; padding: .5rem 0; }
pre { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; background: var(--card);
  padding: .7rem; margin: .2rem 0 .7rem; border-radius: .4rem; max-height: 70vh; overflow: auto;
  unicode-bidi: plaintext; }
summary h3 { display: inline; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: .2rem 1rem; }
.sides section { min-width: 0; } h4 { margin: .3rem 0; font-size: .9rem; }
ul.warnings { margin: .3rem 0; padding-left: 1.2rem; font-size: .9rem; }
"""
)
