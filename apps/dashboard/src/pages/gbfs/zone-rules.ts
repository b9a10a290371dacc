import { usualZoneRules as usual } from "@bikeshare/contract/facts";

/** The fields of a zone's rule that decide how the zone is drawn and described. */
export interface ZoneRule {
  readonly ride_start_allowed?: boolean | undefined;
  readonly ride_end_allowed?: boolean | undefined;
  readonly ride_through_allowed?: boolean | undefined;
  readonly maximum_speed_kph?: number | undefined;
  readonly station_parking?: boolean | undefined;
}

/** The default rule outside all zones. */
export const openRule: ZoneRule = usual.open;

/** A way to draw and name zones, which follows from their rule. */
interface ZoneLook {
  readonly id: string;
  readonly title: string;
  /** The text of the choice of this look for a zone. Undefined: the title. */
  readonly choice?: string;
  /** The rule that a zone gets when the operator chooses this look. */
  readonly rule: ZoneRule;
  readonly fits: (rule: ZoneRule) => boolean;
}

const open: ZoneLook = { id: "open", title: "Riding and parking", rule: usual.open, fits: () => true };

/** Sorted from the strictest. A zone is drawn with the first look that fits its rule. */
export const zoneLooks: readonly ZoneLook[] = [
  {
    id: "closed",
    title: "No riding",
    rule: usual["no-riding"],
    fits: (rule) => rule.ride_through_allowed === false,
  },
  {
    id: "no-end",
    title: "No parking",
    rule: usual["no-parking"],
    fits: (rule) => rule.ride_end_allowed === false,
  },
  {
    id: "stations",
    title: "Parking at stations only",
    rule: usual["stations-only"],
    fits: (rule) => rule.station_parking === true,
  },
  {
    id: "slow",
    title: "Slow",
    choice: `Slow: at most ${usual.slow.maximum_speed_kph} km/h`,
    rule: usual.slow,
    fits: (rule) => rule.maximum_speed_kph !== undefined,
  },
  open,
];

/** Returns how a zone is drawn. The first rule is the one that planners read. */
export function lookOf(rules: readonly ZoneRule[] = []): ZoneLook {
  const rule = rules[0] ?? {};
  return zoneLooks.find(({ fits }) => fits(rule)) ?? open;
}

/** Returns a zone's first rule in words. */
export function ruleInWords(rules: readonly ZoneRule[] = []): string {
  const [rule] = rules;
  if (rule === undefined) return "no rule";
  const words = [
    rule.ride_through_allowed === false ? "no riding" : undefined,
    rule.ride_start_allowed === false ? "no start" : undefined,
    rule.ride_end_allowed === false ? "no parking" : undefined,
    rule.station_parking === true ? "parking at stations only" : undefined,
    rule.maximum_speed_kph === undefined ? undefined : `at most ${rule.maximum_speed_kph} km/h`,
  ].filter((word) => word !== undefined);
  const further = rules.length > 1 ? `, and ${rules.length - 1} more for some types` : "";
  return (words.length === 0 ? "riding and parking" : words.join(", ")) + further;
}

/**
 * Finds an unchanged zone in a list that others may have changed. Of several equal zones it is the one at `earlier`, if that is
 * one of them. @returns -1 if the zone is not in the list as it was
 */
export function indexOfZone(zones: readonly unknown[], zone: unknown, earlier: number): number {
  const text = JSON.stringify(zone);
  const isIt = (each: unknown) => JSON.stringify(each) === text;
  return isIt(zones[earlier]) ? earlier : zones.findIndex(isIt);
}
