import type { StationsWaiting } from "../../fleet/station-snapshot.ts";

/** Says why stations that a feed names are not listed; undefined where all are. */
export function waitingRemark({ withoutInformation, withoutReadings }: StationsWaiting): string | undefined {
  const parts = [
    ...(withoutInformation > 0 ? [`${withoutInformation} are not in station_information`] : []),
    ...(withoutReadings > 0 ? [`${withoutReadings} are not in station_status`] : []),
  ];
  if (parts.length === 0) return undefined;
  return `Stations that are not listed until both feeds have named them: ${parts.join(", ")}.`;
}
