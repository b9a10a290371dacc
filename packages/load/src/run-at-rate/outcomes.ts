/** How often an endpoint had one outcome. */
export interface OutcomeCount {
  readonly endpoint: string;
  readonly outcome: string;
  readonly isExpected: boolean;
  readonly count: number;
}

/** Counts the outcomes of requests, and collects what else was wrong with the answers. */
export interface OutcomeCounter {
  add(endpoint: string, outcome: string, isExpected: boolean, count?: number): void;
  addIssue(issue: string): void;
  counts(): OutcomeCount[];
  /** Returns the first `MAX_ISSUES` issues, and how many more there were. */
  issues(): string[];
}

/** Maximum error messages that are kept. Too high: messages that contain ids fill the memory. */
const MAX_ISSUES = 20;

export function createOutcomeCounter(): OutcomeCounter {
  const counts = new Map<string, OutcomeCount>();
  const issues: string[] = [];
  let moreIssues = 0;
  return {
    add(endpoint, outcome, isExpected, count = 1) {
      const name = `${endpoint} ${outcome}`;
      counts.set(name, { endpoint, outcome, isExpected, count: count + (counts.get(name)?.count ?? 0) });
    },
    addIssue(issue) {
      if (issues.length < MAX_ISSUES) issues.push(issue);
      else moreIssues++;
    },
    counts: () => [...counts.values()].toSorted((a, b) => b.count - a.count),
    issues: () => [...issues, ...(moreIssues > 0 ? [`${moreIssues} more`] : [])],
  };
}
