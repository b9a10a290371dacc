import type { FeedFinding, FeedSeverity } from "@bikeshare/contract/console";
import { shorten } from "../report-files.ts";

/** One problem that a rule found at one place of a feed. */
export interface Finding extends Omit<FeedFinding, "count" | "examples" | "path"> {
  /** The path of the value in question: `data.stations[12].capacity`. */
  readonly path: string;
  readonly id?: string | undefined;
  readonly value?: unknown;
}

/** Maximum examples of each kind of finding. */
const MAX_EXAMPLES = 3;
/** Maximum kinds of findings. More are dropped. Too high: a document full of errors fills the memory. */
const MAX_KINDS = 1_000;

/** Maximum characters of each text. Texts quote names from the feed, which may have any length. */
const MAX_TEXT_LENGTH = 500;

const RANKS: Readonly<Record<FeedSeverity, number>> = { error: 0, warning: 1, note: 2 };

/** Equal findings, merged. */
type Group = FeedFinding & { count: number };

/** Collects findings. Merges those that differ only in their record into one, with their number and a few examples. */
export class FindingLog {
  readonly #groups = new Map<string, Group>();

  /** Adds a finding, or counts it if an equal one was added. */
  add({ path: place, id, value, ...finding }: Finding): void {
    const path = brief(place);
    const { file, text, fix } = finding;
    const rest = { ...finding, file: brief(file), text: brief(text), fix: brief(fix) };
    // Without the indexes, equal problems of different records have the same key.
    const general = path.replaceAll(/\[\d+\]/g, "[]");
    const key = [rest.rule, rest.file, general, rest.text].join("\n");
    const group = this.#groups.get(key);
    if (group !== undefined) {
      group.count++;
      if (group.examples.length < MAX_EXAMPLES) group.examples.push(exampleOf(path, id, value));
    } else if (this.#groups.size < MAX_KINDS) {
      this.#groups.set(key, { ...rest, path: general, count: 1, examples: [exampleOf(path, id, value)] });
    }
  }

  /** Tells whether a rule has found anything. */
  has(rule: string): boolean {
    return this.#groups.values().some((group) => group.rule === rule);
  }

  /** Returns the findings, the most important first. */
  list(): FeedFinding[] {
    return [...this.#groups.values()].sort((a, b) => RANKS[a.severity] - RANKS[b.severity] || b.count - a.count);
  }
}

function exampleOf(path: string, id: string | undefined, value: unknown) {
  return { path, id: id === undefined ? null : brief(id), value: value === undefined ? null : shownValue(value) };
}

/** Returns a value as shortened JSON. */
function shownValue(value: unknown): string {
  return shorten(JSON.stringify(value) ?? "undefined").replaceAll(/\s+/g, " ");
}

/** Shortens a text that may quote the feed. */
export function brief(text: string): string {
  return shorten(text, MAX_TEXT_LENGTH);
}
