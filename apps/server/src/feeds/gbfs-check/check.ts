import { isAtLeast } from "@bikeshare/contract";
import type { CheckedFile, FeedConsumer, FeedReport } from "@bikeshare/contract/console";
import { textFrom } from "../gbfs/values.ts";
import { type Consumer, verdictOf } from "./consumers/consumer.ts";
import { google } from "./consumers/google.rules.ts";
import { lamassu } from "./consumers/lamassu.rules.ts";
import { motis } from "./consumers/motis.rules.ts";
import { otp } from "./consumers/otp.rules.ts";
import { type FeedFiles, FeedSet } from "./feed-set.ts";
import { brief, FindingLog } from "./findings.ts";
import { conditionRules } from "./rules/condition-rules.ts";
import { contentRules, servingRules } from "./rules/content-rules.ts";
import { referenceRules } from "./rules/reference-rules.ts";
import type { Rule } from "./rules/rule.ts";
import { checkStructure } from "./structure.rules.ts";

/** All rules that the table of fields (`gbfsFeeds`) cannot express. `structure.rules.ts` checks the table itself. */
export const rules: readonly Rule[] = [...conditionRules, ...referenceRules, ...contentRules, ...servingRules];

/** The options of a check. */
export interface CheckOptions {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The consumers for which to return a verdict. Default: all. */
  readonly for?: readonly FeedConsumer[] | undefined;
}

/**
 * Checks a feed set: a GBFS list of feeds with all its files. Returns what is wrong, and what each consumer, such as
 * OpenTripPlanner, cannot show because of that.
 */
export function checkFeed(files: FeedFiles, { now, for: asked }: CheckOptions): FeedReport {
  const set = new FeedSet(files, now);
  const log = new FindingLog();
  checkStructure(set, log);
  const passed: string[] = [];
  const isWell = !["field-value", "required-field", "version"].some((rule) => log.has(rule));
  if (isWell && set.documents.length > 0) passed.push(`Every field has the form that GBFS ${set.version} gives it.`);
  for (const rule of rules) {
    if (!isApplicable(rule, set)) continue;
    runRule(rule, set, log);
    // Rules for HTTP find nothing in files that were not read by HTTP. That is no success to report.
    const isNotJudged = servingRules.includes(rule) && files.kind !== "address";
    if (rule.fine !== undefined && !isNotJudged && !log.has(rule.id)) passed.push(rule.fine);
  }
  const findings = log.list();
  const count = (severity: string) => findings.filter((finding) => finding.severity === severity).length;
  // Some consumers read version 2 of a system that publishes it beside a newer one.
  const setInVersion2 = files.version2 === undefined ? set : new FeedSet(files.version2, now);
  const system = set.one("system_information")?.data;
  return {
    location: brief(files.location),
    kind: files.kind,
    checked_at: new Date(now).toISOString(),
    system_id: briefText(system?.["system_id"]),
    system_name: briefText(system?.["name"]),
    version: set.version,
    errors: count("error"),
    warnings: count("warning"),
    notes: count("note"),
    verdicts: consumers
      .filter(({ id }) => asked?.includes(id) ?? true)
      .map((each) => verdictOf(each, each.readsVersion2 === true ? setInVersion2 : set)),
    findings,
    passed,
    files: checkedFiles(set),
  };
}

/** Tells whether a rule applies to the version and the files of a feed set. */
function isApplicable({ since, needs = [], id }: Rule, set: FeedSet): boolean {
  if (since !== undefined && !isAtLeast(set.version, since)) return false;
  // This rule compares reads over some minutes, which only some checks make.
  if (id === "ids-stay" && (set.files.followed?.reads ?? 0) < 2) return false;
  return needs.every((name) => set.one(name) !== undefined);
}

function runRule({ id, severity, text, fix, find }: Rule, set: FeedSet, log: FindingLog): void {
  for (const found of find(set)) log.add({ rule: id, severity, text, fix, ...found });
}

/** Returns the files of a feed set as the report lists them, the unreadable ones last. */
function checkedFiles({ documents, failed }: FeedSet): CheckedFile[] {
  return [
    ...documents.map(({ file, name, source, content, records, lastUpdated }) => ({
      name: brief(file),
      address: brief(source.address),
      version: briefText(content["version"]),
      records: name === "gbfs" || records.length === 0 ? null : records.length,
      data_at: isoOf(lastUpdated),
      bytes: source.bytes?.byteLength ?? 0,
      milliseconds: source.http === undefined ? null : Math.round(source.http.milliseconds),
      failure: null,
    })),
    ...failed.map(({ file, source, failure }) => ({
      name: brief(file),
      address: brief(source.address),
      failure: brief(failure),
      version: null,
      records: null,
      data_at: null,
      bytes: source.bytes?.byteLength ?? 0,
      milliseconds: null,
    })),
  ];
}

/** Returns a text of a feed, shortened; null: it is missing or no text. */
function briefText(value: unknown): string | null {
  const text = textFrom(value);
  return text === undefined ? null : brief(text);
}

/** Later times are mistakes of the publisher. RFC 3339 cannot write the year 10000. */
const GREATEST_MS = Date.UTC(9999, 11, 31);

function isoOf(at: number | undefined): string | null {
  return at === undefined || at < 0 || at > GREATEST_MS ? null : new Date(at).toISOString();
}

/** The consumers of feeds whose rules are known. */
export const consumers: readonly Consumer[] = [lamassu, otp, motis, google];
