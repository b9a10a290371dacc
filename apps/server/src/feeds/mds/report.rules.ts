import { mdsReportRow, mdsSpecialGroups, type MdsVehicle } from "@bikeshare/contract/mds";
import { leaveOut } from "./left-out.rules.ts";
import { formFactorOf } from "./records.rules.ts";
import type { Agency } from "./service.ts";

/** The number of trips of one group of riders with vehicles of one form factor. */
interface TripCount {
  /** Null: riders in none of the special groups. */
  readonly special_group: string | null;
  /** Null: unknown. */
  readonly form_factor: string | null;
  readonly n: number;
}

/** The trips of a month. */
export interface Report {
  /** Such as `2026-10`. */
  readonly month: string;
  readonly counts: readonly TripCount[];
  /** The form factors of the vehicles in operation; null: unknown. */
  readonly formsInOperation: readonly (string | null)[];
}

/** The smallest count that is published, because a smaller group could reveal a person. */
const K_ANONYMITY = 10;

/** The number that is published instead of a smaller count, and as the number of riders, which is not known. */
const HIDDEN = -1;

/** Writes a month's report as CSV: a row for each group of riders and each vehicle type of MDS that occurs. */
export function reportText({ month, counts, formsInOperation }: Report, { providerId, leftOut }: Agency): string {
  const forms = [...formsInOperation, ...counts.map(({ form_factor: form }) => form)].map(formFactorOf);
  const groups = (["all_riders", ...mdsSpecialGroups] as const).filter(
    (group) => leftOut.reports?.includes(`special_group_type.${group}`) !== true,
  );
  const rows = [...new Set(forms)].sort().flatMap((form) => {
    const published = publishedCounts(counts, form);
    return groups.map((group) => ({
      provider_id: providerId,
      start_date: `${month}-01`,
      duration: "P1M",
      special_group_type: group,
      geography_id: null,
      vehicle_type: form,
      trip_count: published.get(group) ?? HIDDEN,
      rider_count: HIDDEN,
    }));
  });
  const columns = Object.keys(mdsReportRow.shape) as (keyof typeof mdsReportRow.shape)[]; // its own keys
  const lines = rows.map((row) => {
    const given: Partial<typeof row> = leaveOut(leftOut.reports, row);
    // No value has a comma or a quote in it.
    return columns.map((name) => (name in given ? String(given[name]) : "")).join(",");
  });
  return [columns.join(","), ...lines].map((line) => `${line}\n`).join("");
}

/**
 * Returns the counts of one vehicle type that are published, by group. All other groups are hidden. A reader can compute the
 * trips of the hidden groups together: all trips less those of the published groups. While that difference is too small, the
 * smallest published group is hidden as well.
 */
function publishedCounts(counts: readonly TripCount[], form: MdsVehicle["vehicle_type"]): ReadonlyMap<string, number> {
  const ofForm = counts.filter((each) => formFactorOf(each.form_factor) === form);
  const sum = (of: readonly TripCount[]) => of.reduce((total, { n }) => total + n, 0);
  const all = sum(ofForm);
  // The largest group first, so that `pop` removes the smallest.
  const published = mdsSpecialGroups
    .map((group) => ({ group, n: sum(ofForm.filter((each) => each.special_group === group)) }))
    .filter(({ n }) => n >= K_ANONYMITY)
    .sort((a, b) => b.n - a.n);
  const hidden = () => published.reduce((left, { n }) => left - n, all);
  while (published.length > 0 && hidden() > 0 && hidden() < K_ANONYMITY) published.pop();
  const ofAll = all < K_ANONYMITY ? [] : [["all_riders", all] as const];
  return new Map([...ofAll, ...published.map(({ group, n }) => [group, n] as const)]);
}
