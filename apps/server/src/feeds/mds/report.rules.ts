import { mdsReportRow, mdsSpecialGroups, type MdsVehicle } from "@bikeshare/contract/mds";
import { leaveOut } from "./left-out.rules.ts";
import { formFactorOf } from "./records.rules.ts";
import type { Agency } from "./service.ts";

/** Trips of a group of riders with a shape of vehicle. */
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
  readonly shapes: readonly (string | null)[];
}

/** The smallest count that is published: a smaller group could point at a person. */
const K_ANONYMITY = 10;

/** Published instead of a smaller count, and for the number of riders, which is not known. */
const HIDDEN = -1;

/** Returns a month's report: a row for every group of riders and shape of vehicle. */
export function reportText({ month, counts, shapes }: Report, { providerId, leftOut }: Agency): string {
  const forms = [...shapes, ...counts.map(({ form_factor: form }) => form)].map(formFactorOf);
  const groups = (["all_riders", ...mdsSpecialGroups] as const).filter(
    (group) => leftOut.reports?.includes(`special_group_type.${group}`) !== true,
  );
  const rows = [...new Set(forms)].sort().flatMap((form) => {
    const told = toldCounts(counts, form);
    return groups.map((group) => ({
      provider_id: providerId,
      start_date: `${month}-01`,
      duration: "P1M",
      special_group_type: group,
      geography_id: null,
      vehicle_type: form,
      trip_count: told.get(group) ?? HIDDEN,
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
 * Returns the counts that are told of a shape, by group; a group without one is hidden. The riders in none of the told
 * groups are the rest of all, so that the smallest group is hidden with them while the rest is small.
 */
function toldCounts(counts: readonly TripCount[], form: MdsVehicle["vehicle_type"]): ReadonlyMap<string, number> {
  const its = counts.filter((each) => formFactorOf(each.form_factor) === form);
  const sum = (of: readonly TripCount[]) => of.reduce((total, { n }) => total + n, 0);
  const all = sum(its);
  const told = mdsSpecialGroups
    .map((group) => ({ group, n: sum(its.filter((each) => each.special_group === group)) }))
    .filter(({ n }) => n >= K_ANONYMITY)
    .sort((a, b) => b.n - a.n);
  const rest = () => told.reduce((left, { n }) => left - n, all);
  while (told.length > 0 && rest() > 0 && rest() < K_ANONYMITY) told.pop();
  const ofAll = all < K_ANONYMITY ? [] : [["all_riders", all] as const];
  return new Map([...ofAll, ...told.map(({ group, n }) => [group, n] as const)]);
}
