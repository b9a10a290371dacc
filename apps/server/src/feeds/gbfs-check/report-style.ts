/** The style of the report's page: light and dark, for small screens and for print. */
export const REPORT_STYLE = `
:root { color-scheme: light dark; --ink: #16202c; --soft: #5a6775; --line: #dfe4ea; --page: #f6f7f9; --card: #fff; --code: #eef1f5;
  --good: #0b6b46; --good-back: #e2f4ea; --loss: #8a5300; --loss-back: #fdf0d9; --bad: #b3261e; --bad-back: #fdeae8; --note: #2d5a9e; --note-back: #e7effb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf1; --soft: #a0acb9; --line: #2c3642; --page: #12171d; --card: #1a2129; --code: #252e38;
  --good: #7bd3a7; --good-back: #14352a; --loss: #f0bd6a; --loss-back: #3b2c12; --bad: #f59d95; --bad-back: #431f1d; --note: #9dc1f5; --note-back: #1c2f4b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3rem; }
.kicker { margin: 0; color: var(--soft); font-size: .8125rem; font-weight: 600; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: .25rem 0 .5rem; font-size: clamp(1.75rem, 5vw, 2.5rem); line-height: 1.15; letter-spacing: -.02em; }
h2 { margin: 3rem 0 1rem; font-size: 1.25rem; letter-spacing: -.01em; }
.lead { margin: 0; font-size: 1.125rem; max-width: 45rem; }
.hint { margin: -.75rem 0 1rem; color: var(--soft); font-size: .875rem; }
.facts { display: flex; flex-wrap: wrap; gap: .75rem 2.5rem; margin: 1.5rem 0 0; }
.facts div { min-width: 0; } dt { color: var(--soft); font-size: .8125rem; } dd { margin: 0; font-size: .9375rem; }
code { font: .875em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--code); border-radius: 4px; padding: .05em .35em; }
.pill { flex: none; border-radius: 1rem; padding: .1rem .6rem; font-size: .75rem; font-weight: 600; white-space: nowrap; }
.verdicts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 29rem), 1fr)); gap: 1rem; }
.verdict { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.125rem 1.25rem; }
.verdict h3 { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .25rem 1rem; margin: 0; font-size: 1.0625rem; }
.about { margin: 0 0 .875rem; color: var(--soft); font-size: .875rem; } .said { margin: 0 0 .875rem; }
.verdict ul { margin: .875rem 0 0; padding: .75rem 0 0; border-top: 1px solid var(--line); list-style: none; font-size: .875rem; }
.verdict li + li { margin-top: .5rem; } .verdict li span { font-weight: 600; } em { font-style: normal; color: var(--soft); }
.complete .pill { background: var(--good-back); color: var(--good); } .partial .pill, .warning .pill { background: var(--loss-back); color: var(--loss); }
.nothing .pill, .error .pill { background: var(--bad-back); color: var(--bad); } .note .pill { background: var(--note-back); color: var(--note); }
.share { display: grid; grid-template-columns: 5rem 1fr auto; align-items: center; gap: .75rem; font-size: .875rem; color: var(--soft); }
.share .of { color: var(--ink); font-variant-numeric: tabular-nums; }
.bar { height: .5rem; border-radius: .25rem; background: var(--code); overflow: hidden; } .bar span { display: block; height: 100%; background: var(--good); }
.partial .bar span { background: var(--loss); }
.findings { margin: 0; padding: 0; list-style: none; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.finding { padding: 1rem 1.25rem; } .finding + .finding { border-top: 1px solid var(--line); }
.head { display: flex; align-items: baseline; gap: .75rem; } .head strong { font-weight: 600; }
.head .pill { min-width: 4.75rem; text-align: center; }
.fix, .where, .examples { margin: .375rem 0 0 5.5rem; } .where, .examples { font-size: .875rem; color: var(--soft); }
.times { white-space: nowrap; color: var(--ink); font-weight: 600; }
.examples { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; } .examples .id { margin-right: .5rem; }
.passed { margin: 0; padding: 0; list-style: none; columns: 20rem 2; column-gap: 2.5rem; font-size: .9375rem; }
.passed li { break-inside: avoid; padding: .125rem 0 .125rem 1.5rem; position: relative; } .passed li::before { content: "✓"; position: absolute; left: 0; color: var(--good); font-weight: 700; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
table { width: 100%; border-collapse: collapse; font-size: .875rem; overflow-wrap: normal; } th, td { padding: .5rem 1rem; text-align: left; white-space: nowrap; }
thead th { color: var(--soft); font-weight: 500; } tbody tr { border-top: 1px solid var(--line); } tbody th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; } .failed { color: var(--bad); white-space: normal; }
footer { margin-top: 3rem; padding-bottom: 3rem; color: var(--soft); font-size: .875rem; } footer p { max-width: 45rem; }
@media (max-width: 40rem) { header { padding-top: 1.5rem; } .head { flex-wrap: wrap; gap: .375rem; } .head strong { flex-basis: 100%; } .fix, .where, .examples { margin-left: 0; } h2 { margin-top: 2.25rem; } }
@media print { :root { --page: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ccc; --code: #f2f2f2; --good: #0b6b46; --good-back: #fff; --loss: #8a5300; --loss-back: #fff; --bad: #b3261e; --bad-back: #fff; --note: #2d5a9e; --note-back: #fff; }
  body { font-size: 11pt; } header { padding-top: 0; } .pill { border: 1px solid currentColor; } .verdict, .finding, tr { break-inside: avoid; } h2 { break-after: avoid; } .bar { border: 1px solid var(--line); } .bar span { print-color-adjust: exact; } }
`;
