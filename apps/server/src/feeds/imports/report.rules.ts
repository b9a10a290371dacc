// The part of an import's report that the database stores, for readers without access to the report file.

/** Something that an import left out or repaired. */
export interface ReportEntry {
  /** The name of the file or feed that the entry is about. */
  readonly part: string;
  /** The line in the file, or the id of a station or vehicle; null: the entry is about the whole file or feed. */
  readonly record: string | null;
  readonly field: string | null;
  /** The rejected value, shortened. */
  readonly value: string | null;
  readonly reason: string;
  /** `rejected`: the record was left out. `refused`: the whole file was. `repaired`, `warning`: the record was imported. */
  readonly outcome: "rejected" | "refused" | "repaired" | "warning";
}

/** The number of entries for each reason, and the first entries. */
export interface ReportSummary {
  readonly reasons: Readonly<Record<string, number>>;
  readonly first: readonly ReportEntry[];
}

/** Most stored entries of a report: enough to see the problem. PostgreSQL compresses them to some 30 kB. */
const MAX_KEPT_ENTRIES = 1_000;

/** Adds up the entries of a report. */
export function createReportSummary() {
  const reasons = new Map<string, number>();
  const first: ReportEntry[] = [];
  return {
    add(entry: ReportEntry): void {
      reasons.set(entry.reason, (reasons.get(entry.reason) ?? 0) + 1);
      if (first.length < MAX_KEPT_ENTRIES) first.push({ ...entry, value: storable(entry.value) });
    },
    result: (): ReportSummary => ({ reasons: Object.fromEntries(reasons), first }),
  };
}

/** Replaces what PostgreSQL's JSON cannot store: NUL, and lone surrogates, which cutting a value can leave at its end. */
function storable(value: string | null): string | null {
  return value === null ? null : value.replaceAll("\0", "\uFFFD").toWellFormed();
}
