import type { Problem } from "./problem.ts";
import { appendReport } from "./report.ts";

/** What is wrong with the records of a followed source, written down once. */
export interface ProblemJournal {
  /**
   * Writes down the problems that are new.
   * @param now milliseconds since 1970
   * @returns the file's path; null where none is new
   */
  add(problems: readonly Problem[], now: number): Promise<string | null>;
}

/** Problems that are remembered, and so written, by one process. Higher lets a feed of random ids fill the disk. */
const MAX_PROBLEMS = 10_000;

/**
 * Keeps a file of problems, made with the first one. A problem is the same again when feed, record, field and reason are:
 * a feed repeats it in every round, with whatever value.
 */
export function createProblemJournal(directory: string, name: () => string): ProblemJournal {
  const known = new Set<string>();
  let fileName: string | undefined;
  return {
    async add(problems, now) {
      const fresh: (Problem & { readonly at: string })[] = [];
      for (const problem of problems) {
        const { feed, record, field, reason } = problem;
        const key = JSON.stringify([feed, record, field, reason]);
        if (known.has(key) || known.size >= MAX_PROBLEMS) continue;
        known.add(key);
        fresh.push({ at: new Date(now).toISOString(), ...problem });
      }
      if (fresh.length === 0) return null;
      return appendReport(directory, (fileName ??= name()), fresh);
    },
  };
}
