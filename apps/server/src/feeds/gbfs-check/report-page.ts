import type { FeedFinding, FeedReport, FeedSeverity, FeedVerdict } from "@bikeshare/contract/console";
import { REPORT_STYLE } from "./report-style.ts";

/** HTML that is already escaped. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

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

function section(title: string, isShown: boolean, content: Html): Html {
  return isShown ? markup`<section><h2>${title}</h2>${content}</section>` : nothing;
}

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

function share(noun: string, { shown, of }: FeedVerdict["stations"]): Html {
  if (of === 0) return nothing;
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
