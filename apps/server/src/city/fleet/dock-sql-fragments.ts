import { STATES_IN_DOCK } from "@bikeshare/rules";

// SQL for the docks of the operator's stations, which follow their bikes.

/** Returns the condition that a bike `b` occupies a dock, by its state (`STATES_IN_DOCK`). */
export const standsInDock = (b: string) =>
  `${b}.vehicle_state in (${STATES_IN_DOCK.map((state) => `'${state}'`).join(", ")})`;

/** Returns an expression: the number of bikes that stand at the station `s` of the system `$1`. */
export const standingBikes = (s: string) =>
  `(select count(*)::int from bikes standing
    where standing.system_id = $1 and standing.station_id = ${s}.id and ${standsInDock("standing")})`;

/** Returns the condition that a station `s` counts docks from its bikes; all other stations show their feed's counts. */
export const hasOwnDocks = (s: string) => `(${s}.counters = 'operated' and ${s}.source = 'operator')`;

/**
 * Returns an expression: the number of free docks. It computes the same as `freeDocks` in `@bikeshare/rules`.
 * @param docks `base`: the number of free docks that the operator last reported, plus the bikes that stood there then;
 *   null: none was reported
 */
export const freeDocks = (docks: { base: string; capacity: string; disabled: string; standing: string }) =>
  `case when coalesce(${docks.base}, ${docks.capacity}) is not null then
     greatest(0, coalesce(${docks.base}, ${docks.capacity} - coalesce(${docks.disabled}, 0)) - ${docks.standing}) end`;
