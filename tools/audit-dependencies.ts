// pnpm exec node tools/audit-dependencies.ts: checks the dependencies against tools/dependency-rules.ts and
// tools/pin-rules.ts. Fails for a licence that is not listed, for a high or critical advisory that is not accepted, for an
// acceptance whose review is due, for an unpinned program in builds and releases, for a `minimumReleaseAge` that is too low,
// and for an incomplete bill of materials. If `pnpm audit` gives no report, as from a mirror of the registry without
// advisories, prints that and goes on.
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AuditReport,
  type BillOfMaterials,
  billIssues,
  type LicenceList,
  openAdvisories,
  unknownLicences,
} from "./dependency-rules.ts";
import { pinIssues, releaseAgeIssues } from "./pin-rules.ts";

const root = join(import.meta.dirname, "..");
/**
 * Timeout of a command of pnpm, which may ask the registry. Too low: a slow registry counts as one without advisories.
 * Too high: a registry that never answers delays the check.
 */
const TIMEOUT_MS = 120_000;

/** Returns what pnpm prints on stdout, whatever its exit status is, because `audit` fails if it finds something. */
function pnpm(...args: readonly string[]): string {
  try {
    const options = { cwd: root, encoding: "utf8", timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 } as const;
    return execFileSync("pnpm", args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? "";
  }
}

/** Parses the output of `pnpm audit`: a report of advisories, or an error. Returns undefined for an error. */
function readReport(text: string): AuditReport | undefined {
  try {
    const report = JSON.parse(text) as Partial<AuditReport>;
    return report.advisories === undefined ? undefined : { advisories: report.advisories };
  } catch {
    return undefined;
  }
}

function checkAdvisories(): string[] {
  const report = readReport(pnpm("audit", "--json"));
  if (report !== undefined) return openAdvisories(report, new Date().toISOString().slice(0, 10));
  console.log("advisories: skipped, the registry answers none here");
  return [];
}

function checkBill(): string[] {
  const directory = mkdtempSync(join(tmpdir(), "bikeshare-bill-"));
  try {
    const file = join(directory, "server.cdx.json");
    const format = ["--prod", "--lockfile-only", "--sbom-format", "cyclonedx"];
    pnpm("--filter", "@bikeshare/server", "sbom", ...format, "--out", file);
    const { dependencies } = JSON.parse(readFileSync(join(root, "apps/server/package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    return billIssues(JSON.parse(readFileSync(file, "utf8")) as BillOfMaterials, dependencies);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * Checks the programs that build and release the packages. The README is not checked: its commands name no exact version, so
 * that they work in a clone of any age.
 */
function checkPins(): string[] {
  const files = globSync([".github/workflows/*.yml", ".ci/run", "deploy/docker/Dockerfile"], { cwd: root });
  const read = (file: string) => readFileSync(join(root, file), "utf8");
  const texts = Object.fromEntries(files.map((file) => [file, commandsOf(read(file))]));
  return [...pinIssues(texts), ...releaseAgeIssues(read("pnpm-workspace.yaml"))];
}

/** Returns a text without its comments, which may name programs without a version. */
function commandsOf(text: string): string {
  return text.replaceAll(/^ *(?:#|\/\/).*$/gm, "");
}

const licences = JSON.parse(pnpm("-r", "licenses", "list", "--json")) as LicenceList;
const issues = [
  ...unknownLicences(licences).map((issue) => `licence: ${issue}`),
  ...checkAdvisories().map((issue) => `advisory: ${issue}`),
  ...checkPins().map((issue) => `pin: ${issue}`),
  ...checkBill().map((issue) => `bill of materials: ${issue}`),
];
for (const issue of issues) console.error(issue);
const packages = Object.values(licences).flat().length;
console.log(`dependencies: ${packages} packages, ${issues.length} ${issues.length === 1 ? "issue" : "issues"}`);
process.exitCode = issues.length === 0 ? 0 : 1;
