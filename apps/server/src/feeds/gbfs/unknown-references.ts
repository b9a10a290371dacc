import type { Problem } from "./problems.ts";
import type { Named } from "./references.ts";
import type { GbfsSnapshot, SourceSnapshot } from "./snapshot.ts";

/** Returns the references of a snapshot to records that its source does not have. */
export function unknownReferences({ snapshot, failures, isWhole = false }: SourceSnapshot): Problem[] {
  const { information, status, vehicles, descriptions = [] } = snapshot;
  const found = [
    ...[information, status, vehicles].flatMap(
      (feed) => feed?.references.map((each) => ({ feed: feed.name, ...each })) ?? [],
    ),
    ...descriptions.flatMap((feed) => feed.references.map((each) => ({ feed: feed.feed, ...each }))),
  ];
  const known = new Map<Named, ReadonlySet<string> | undefined>();
  for (const { to } of found) if (!known.has(to)) known.set(to, knownIds(to));

  /** Undefined: the feed that has them is not in the snapshot, because it has not changed or cannot be read. */
  function knownIds(feed: Named): ReadonlySet<string> | undefined {
    const described = descriptions.find((each) => each.feed === feed)?.ids;
    const ids = feed === "station_information" ? information?.records.keys() : described;
    const isThereNone = isWhole && !failures.some((failure) => failure.feed === feed);
    return ids === undefined && !isThereNone
      ? undefined
      : new Set([...(ids ?? []), ...idsInUse(feed, snapshot)].filter((id) => id !== null));
  }

  return found
    .filter(({ to, id }) => known.get(to)?.has(id) === false)
    .map(({ feed, record, field, id }) => ({
      feed,
      record,
      field,
      value: id,
      reason: "unknown_reference",
      action: "repaired",
    }));
}

/** The types of vehicles and the regions of stations are there, whether or not a feed describes them. */
function idsInUse(feed: Named, { information, status, vehicles }: GbfsSnapshot): (string | null)[] {
  if (feed === "system_regions") return [...(information?.records.values() ?? [])].map((station) => station.region_id);
  if (feed !== "vehicle_types") return [];
  const atStations = [...(status?.records.values() ?? [])].flatMap((station) =>
    typesIn(station.vehicle_types_available),
  );
  return [...atStations, ...[...(vehicles?.records.values() ?? [])].map((vehicle) => vehicle.vehicle_type_id)];
}

function typesIn(json: string): string[] {
  const types = JSON.parse(json) as { vehicle_type_id: string }[]; // as `typesAvailable` writes it
  return types.map((type) => type.vehicle_type_id);
}
