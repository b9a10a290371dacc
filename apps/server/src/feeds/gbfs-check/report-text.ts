import type { FeedFinding, FeedReport, FeedVerdict } from "@bikeshare/contract/console";

/** Maximum notes that are shown. Errors and warnings are always shown. */
const MAX_NOTES = 10;

/** How the terminal shows severities and states. */
const MARKS = { error: "ERROR", warning: "WARNING", note: "NOTE" } as const;
const STATES = { complete: "ok", partial: "LOSS", nothing: "NOTHING" } as const;

/** Writes a report for the terminal: the verdicts, the findings, the passed rules, and the number of findings. */
export function reportText(report: FeedReport): string {
  const { findings, verdicts, passed, files } = report;
  const notes = findings.filter(({ severity }) => severity === "note");
  const shown = findings.filter(({ severity }) => severity !== "note").concat(notes.slice(0, MAX_NOTES));
  const hidden = findings.length - shown.length;
  const name = report.system_name ?? report.system_id ?? "A system without a name";
  return [
    `${name}: GBFS ${report.version}, ${files.length} files of ${report.location}`,
    verdicts.map(verdictText).join("\n"),
    shown.map(findingText).join("\n"),
    hidden > 0 ? `${hidden} more notes: --html and --json have them.` : "",
    passed.length > 0 ? `Fine: ${passed.join(" ")}` : "",
    `${count(report.errors, "error")}, ${count(report.warnings, "warning")}, ${count(report.notes, "note")}.`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Returns the lines of a verdict. Its text contains the first loss, so that each other loss has a line. */
function verdictText({ state, text, losses }: FeedVerdict): string {
  const others = losses.slice(1).map((loss) => `           ${loss.text}`);
  return [`${STATES[state].padEnd(8)} ${text}`, ...others].join("\n");
}

/** Returns the lines of a finding: the problem, its place with one example, and what to do. */
function findingText({ severity, file, path, text, fix, count: times, examples }: FeedFinding): string {
  const [first] = examples;
  const shown = [first?.id, first?.value].filter((part) => typeof part === "string" && part !== "").join(": ");
  const where = shown === "" ? "" : ` (${shown})`;
  const often = times === 1 ? "" : `, ${times.toLocaleString("en-US")} times`;
  return [
    `${MARKS[severity].padEnd(8)} ${text}`,
    `         ${[file, path].filter((part) => part !== "").join(" ")}${often}${where}`,
    `         ${fix}`,
  ].join("\n");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
