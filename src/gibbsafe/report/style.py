"""The report's style sheet: screen and paper, light and dark."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --card: #f5f7fa; --ink: #1b2430; --soft: #5a6675; --line: #d8dee6;
  --accent: #24629e; --warm: #a8501f; --good: #23704a;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :root { --page: #14181e; --card: #1c222b; --ink: #e4e8ee; --soft: #9aa7b6; --line: #323b47;
  --accent: #86b9ea; --warm: #e79a6b; --good: #7fcaa1; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 var(--sans); }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
sup { line-height: 0; }
header p, .soft { color: var(--soft); }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .6rem; padding-top: .9rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0 .8rem; max-width: 46rem; }
.claim { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; margin: 1.4rem 0 .6rem; }
.claim div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .7rem 1.1rem; }
.claim b { display: block; font-size: 1.45rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.claim span { color: var(--soft); font-size: .85rem; }
.pair { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
.pair > * { flex: 1 1 19rem; }
figure { margin: .8rem 0; }
figcaption { color: var(--soft); font-size: .88rem; max-width: 46rem; }
svg.figure { width: 100%; height: auto; max-height: 60rem; color: var(--ink); }
.medium svg.figure { max-width: 42rem; } .small svg.figure { max-width: 24rem; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .93rem; }
th, td { text-align: left; vertical-align: top; padding: .34rem .9rem .34rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 500; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tag { border: 1px solid currentColor; border-radius: 1rem; padding: .05rem .6rem; font-size: .8rem; white-space: nowrap; }
.checked { color: var(--good); } .asserted { color: var(--warm); }
.alarm { border-left: 4px solid var(--warm); background: var(--card); padding: .7rem 1rem; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .88em; overflow-wrap: anywhere; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem 1rem; white-space: pre-wrap; }
ul { margin: .4rem 0 .8rem; padding-left: 1.2rem; } li { margin: .25rem 0; max-width: 46rem; }
@media (max-width: 46rem) { section { overflow-x: auto; } }
@page { size: A4; margin: 18mm 16mm; }
@media print { :root { --page: #fff; --card: #f5f7fa; --ink: #111; --soft: #555; --line: #ccc; --accent: #24629e; --warm: #a8501f;
  --good: #23704a; } body { font-size: 10.5pt; } main { padding: 0; max-width: none; } h2 { break-after: avoid; }
  figure, tr, .claim, .alarm { break-inside: avoid; } }
"""
