import type { FeedFinding, FeedReport, FeedSeverity, FeedVerdict } from "@bikeshare/contract/console";

/** HTML that is already escaped. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template. Text and numbers are escaped. */
type Part = string | number | Html | readonly Html[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

/** Builds HTML from a template and escapes every value that is not HTML itself. */
function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const written = parts.map((part) => {
    if (part instanceof Html) return part.text;
    return typeof part === "object" ? part.map(({ text }) => text).join("") : escaped(String(part));
  });
  return new Html(String.raw({ raw: texts }, ...written));
}

/** Stands where a part of the page is left out. */
const nothing = markup``;

/** Returns a report as one self-contained HTML page, for publishers who do not know this service. */
export function reportPage(report: FeedReport): string {
  const { verdicts, findings, passed, files } = report;
  const name = report.system_name ?? report.system_id ?? "Feed";
  const parts = [
    heading(name, report),
    markup`<main>`,
    section("Who shows it", verdicts.length > 0, markup`<div class="verdicts">${verdicts.map(verdict)}</div>`),
    section(
      "What to mend",
      findings.length > 0,
      markup`<p class="hint">${HINT}</p><ol class="findings">${findings.map(finding)}</ol>`,
    ),
    section(
      "What is fine",
      passed.length > 0,
      markup`<ul class="passed">${passed.map((text) => markup`<li>${text}</li>`)}</ul>`,
    ),
    section(
      "Files",
      true,
      markup`<div class="scroll"><table>${FILE_HEAD}<tbody>${files.map(fileRow)}</tbody></table></div>`,
    ),
    markup`</main><footer><p>${ABOUT}</p></footer>`,
  ];
  const head = markup`<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${name}: GBFS report</title><style>${new Html(REPORT_STYLE)}</style>`;
  return `<!doctype html>\n${markup`<html lang="en"><head>${head}</head><body>${parts}</body></html>`.text}\n`;
}

const HINT = "The most important first. Equal cases are counted together, with up to three examples.";
const ABOUT =
  "GBFS is the format in which shared bicycles, scooters and cars are published (gbfs.org). This report holds a feed against its specification, and says what programs that read it make of it. “Error” breaks the specification, “warning” costs riders or readers something, “note” is worth a look.";
const FILE_HEAD = markup`<thead><tr><th>File</th><th>Version</th><th class="number">Records</th><th>Data from</th><th class="number">Size</th><th class="number">Time</th></tr></thead>`;

function heading(name: string, report: FeedReport): Html {
  const facts = [
    fact("Version", `GBFS ${report.version}`),
    fact("Checked", when(report.checked_at)),
    fact("Read from", report.location),
  ];
  return markup`<header><p class="kicker">GBFS report</p><h1>${name}</h1><p class="lead">${summary(report)}</p><dl class="facts">${facts}</dl></header>`;
}

/** Returns a part of the page with a title, if it is shown. */
function section(title: string, isShown: boolean, content: Html): Html {
  return isShown ? markup`<section><h2>${title}</h2>${content}</section>` : nothing;
}

/** Returns the first sentences of the report: how good the feed is, and how many readers lose something. */
function summary({ errors, warnings, verdicts }: FeedReport): string {
  const found = [
    ...(errors > 0 ? [kinds(errors, "error")] : []),
    ...(warnings > 0 ? [kinds(warnings, "warning")] : []),
  ];
  const feed =
    found.length === 0 ? "The feed is as its specification wants it." : `The feed has ${found.join(" and ")}.`;
  if (verdicts.length === 0) return feed;
  const losing = verdicts.filter(({ state }) => state !== "complete").length;
  if (losing === 0) return `${feed} Every reader that we know shows all of it.`;
  if (losing === verdicts.length && losing > 1) return `${feed} All ${losing} readers that we know lose something.`;
  return `${feed} ${losing} of ${verdicts.length} readers that we know ${losing === 1 ? "loses" : "lose"} something.`;
}

function kinds(count: number, noun: string): string {
  return `${count} ${count === 1 ? "kind" : "kinds"} of ${noun}`;
}

function fact(name: string, value: string): Html {
  return markup`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

const STATES: Readonly<Record<FeedVerdict["state"], string>> = {
  complete: "Shows all",
  partial: "Loses something",
  nothing: "Shows nothing",
};

/** Returns a verdict. Its text repeats the first loss, so the text is shown only if there are no losses. */
function verdict({ name, about, state, text, stations, vehicles, losses }: FeedVerdict): Html {
  return markup`<article class="verdict ${state}">
    <h3>${name}<span class="pill">${STATES[state]}</span></h3>
    <p class="about">${about}</p>
    ${losses.length === 0 ? markup`<p class="said">${inCode(`${text}.`)}</p>` : nothing}
    ${share("Stations", stations)}${share("Vehicles", vehicles)}
    ${
      losses.length === 0
        ? nothing
        : markup`<ul>
            ${losses.map((loss) => markup`<li><span>${inCode(`${capital(loss.text)}.`)}</span> <em>${inCode(loss.fix)}</em></li>`)}
          </ul>`
    }
  </article>`;
}

/** Returns a bar that shows how many stations or vehicles a reader shows; nothing if the feed has none. */
function share(noun: string, { shown, of }: FeedVerdict["stations"]): Html {
  if (of === 0) return nothing;
  // Rounded down, so that the bar is full only if all are shown.
  const percent = Math.floor((shown / of) * 100);
  return markup`<div class="share">
    <span>${noun}</span><span class="bar"><span style="width:${percent}%"></span></span
    ><span class="of">${number(shown)} of ${number(of)}</span>
  </div>`;
}

const SEVERITIES: Readonly<Record<FeedSeverity, string>> = { error: "Error", warning: "Warning", note: "Note" };

function finding({ severity, text, fix, file, path, count, examples }: FeedFinding): Html {
  const named = examples.filter(({ id, value }) => id !== null || value !== null);
  return markup`<li class="finding ${severity}">
    <div class="head"><span class="pill">${SEVERITIES[severity]}</span><strong>${inCode(text)}</strong></div>
    <p class="fix">${inCode(fix)}</p>
    <p class="where">
      <code>${file}</code
      >${path === "" ? nothing : markup` <code>${path}</code>`}${count === 1 ? nothing : markup` <span class="times">${number(count)} times</span>`}
    </p>
    ${
      named.length === 0
        ? nothing
        : markup`<ul class="examples">
            ${named.map(({ id, value }) => markup`<li>${id === null ? nothing : markup`<span class="id">${id}</span>`}${value === null ? nothing : markup`<code>${value}</code>`}</li>`)}
          </ul>`
    }
  </li>`;
}

/** Converts text between backquotes to `<code>`. */
function inCode(text: string): readonly Html[] {
  return text.split("`").map((part, index) => (index % 2 === 1 ? markup`<code>${part}</code>` : markup`${part}`));
}

function fileRow({ name, version, records, data_at, bytes, milliseconds, failure }: FeedReport["files"][number]): Html {
  const cells = markup`<td>${version ?? ""}</td>
    <td class="number">${records === null ? "" : number(records)}</td>
    <td>${data_at === null ? "" : when(data_at)}</td>`;
  return markup`<tr>
    <th scope="row">${name}</th>
    ${failure === null ? cells : markup`<td colspan="3" class="failed">${failure}</td>`}
    <td class="number">${size(bytes)}</td>
    <td class="number">${milliseconds === null ? "" : `${number(milliseconds)} ms`}</td>
  </tr>`;
}

function capital(text: string): string {
  return text.replace(/^[a-z]/, (first) => first.toUpperCase());
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}

function size(bytes: number): string {
  return bytes < 10_000 ? `${number(bytes)} B` : `${number(Math.round(bytes / 1000))} kB`;
}

function when(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** The style of the report's page: light and dark, for small screens and for print. */
const REPORT_STYLE = `
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
