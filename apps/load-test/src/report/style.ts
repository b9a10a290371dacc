/** The report's style. Both colour schemes keep a contrast of 4.5 : 1 for text and 3 : 1 for lines. */
export const style = `
:root { color-scheme: light dark; --page: #ffffff; --ink: #1c2128; --faint: #5b6470; --rule: #d9dee4; --good: #1a7f37; --bad: #c01c28;
  --line-1: #0b62c4; --line-2: #b35900; --line-3: #1a7f37; --line-4: #8135b8; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --ink: #e6e9ed; --faint: #9aa4b0; --rule: #333b45; --good: #4ac26b;
  --bad: #ff7b72; --line-1: #6cb2ff; --line-2: #f0a050; --line-3: #4ac26b; --line-4: #cf9bf5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 920px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 32px 0 8px; }
p, ul { margin: 8px 0; } .faint { color: var(--faint); }
.verdict { font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 8px; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { color: var(--faint); font-weight: 500; } th:first-child, td:first-child { text-align: left; }
td.text, th.text { text-align: left; white-space: normal; overflow-wrap: anywhere; }
figure { margin: 16px 0; } figure.small { display: inline-block; width: calc(50% - 8px); margin: 8px 4px; vertical-align: top; }
@media (max-width: 640px) { figure.small { width: 100%; } }
figcaption { font-weight: 600; display: flex; flex-wrap: wrap; gap: 4px 16px; }
svg { width: 100%; height: auto; display: block; }
.legend { font-weight: 400; display: flex; flex-wrap: wrap; gap: 2px 14px; color: var(--faint); }
.legend i { display: inline-block; width: 18px; height: 0; border-top: 3px solid var(--stroke); margin-right: 5px; vertical-align: middle; }
.legend i.baseline { border-top-style: dashed; }
.line { fill: none; stroke: var(--stroke); stroke-width: 1.8; stroke-linejoin: round; }
.line-1 { --stroke: var(--line-1); } .line-2 { --stroke: var(--line-2); } .line-3 { --stroke: var(--line-3); } .line-4 { --stroke: var(--line-4); }
.baseline { --stroke: var(--faint); stroke-dasharray: 6 4; }
.grid { stroke: var(--rule); } .axis { stroke: var(--faint); }
.tick { fill: var(--faint); font-size: 12px; } svg .title { fill: var(--faint); font-size: 12px; }
`;
