import type { Glance, StationSums } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { AvailabilityMark } from "../../components/map/legend.tsx";
import { exactText } from "../../components/time-zone.ts";
import { addressIn, type PageScope } from "../scope.ts";
import { useWeekOfStations } from "./city-data.ts";
import { lastingText } from "./times.ts";

/** Most stations in this list. The page of stations lists all. */
const SHOWN = 8;
const WEEK_HOURS = 7 * 24;
const HOUR_MS = 3_600_000;

/** The tooltip that explains the number of riders. */
const RIDERS_HELP =
  "Usually: rides that begin at an empty station, or end at a full one, in as long a time, by the mean of the last seven days.";

/** A station where riders find no bike, or no dock. */
export interface TroubledStation {
  readonly id: string;
  readonly name: string;
  readonly kind: "empty" | "full";
  /** Since when the station is empty or full. Null: for longer than the history goes back. */
  readonly since: string | null;
  /** Rides that usually begin at the station (if empty) or end there (if full) in as long a time. Undefined: not known. */
  readonly riders: number | undefined;
}

/**
 * Returns the empty and full stations of a `Glance`, which is the present state of the city. Those that affect the most
 * riders are first, and among equals those that have been empty or full for the longest time.
 * @param sums the rides of each station in the last seven days; undefined until they are loaded
 */
export function troubledStations(
  { at, stations: { empty, full } }: Pick<Glance, "at" | "stations">,
  sums: readonly StationSums[] | undefined,
): readonly TroubledStation[] {
  const byId = new Map(sums?.map((each) => [each.id, each]));
  const troubled = (kind: TroubledStation["kind"], list: typeof empty) =>
    list.data.map(({ id, name, since }): TroubledStation => {
      const week = byId.get(id);
      const perHour = week && (kind === "empty" ? week.rides_started : week.rides_ended) / WEEK_HOURS;
      // An unknown start counts as a week, which is as far as the sums go back.
      const hours = since === null ? WEEK_HOURS : (Date.parse(at) - Date.parse(since)) / HOUR_MS;
      return { id, name, kind, since, riders: perHour === undefined ? undefined : Math.round(perHour * hours) };
    });
  const lasting = ({ since }: TroubledStation) => Date.parse(at) - Date.parse(since ?? "1970-01-01T00:00:00Z");
  return [...troubled("empty", empty), ...troubled("full", full)].toSorted(
    (one, other) => (other.riders ?? 0) - (one.riders ?? 0) || lasting(other) - lasting(one),
  );
}

interface TroubledProps {
  readonly glance: Glance;
  readonly scope: PageScope;
  readonly onSelect: (id: string) => void;
}

/** The list of empty and full stations that need staff, the most urgent first. */
export function TroubledStations({ glance, scope, onSelect }: TroubledProps) {
  const { data } = useWeekOfStations(scope.systemId);
  const troubled = troubledStations(glance, data?.data);
  // The stations that the list leaves out. `glance` counts all, but names only some.
  const rest = glance.stations.empty.count + glance.stations.full.count - Math.min(SHOWN, troubled.length);
  return (
    <section class="card troubled" aria-labelledby="troubled">
      <h2 id="troubled">Empty and full stations</h2>
      {troubled.length === 0 ? (
        <p class="muted">Every station has a bike and a free dock.</p>
      ) : (
        <ol>
          {troubled.slice(0, SHOWN).map(({ id, name, kind, since, riders }) => (
            <li key={id}>
              <AvailabilityMark kind={kind} />
              <button type="button" class="troubled-name" title="Show on the map" onClick={() => onSelect(id)}>
                {name}
              </button>
              <span class="troubled-since">
                {kind === "empty" ? "No bikes" : "No docks"}
                {since === null ? (
                  " for longer than is known"
                ) : (
                  <>
                    {" "}
                    for <Lasting since={since} now={glance.at} />
                  </>
                )}
              </span>
              {riders !== undefined && (
                <span class="troubled-riders" title={RIDERS_HELP}>
                  {riders === 0 ? "less than 1 ride usually" : `${riders} ${riders === 1 ? "ride" : "rides"} usually`}
                </span>
              )}
            </li>
          ))}
        </ol>
      )}
      {troubled.some(({ riders }) => riders !== undefined) && <p class="muted">{RIDERS_HELP}</p>}
      {rest > 0 && (
        <p>
          {rest.toLocaleString("en")} more:{" "}
          <Link href={addressIn(scope, "stations", { availability: "empty" })}>all empty stations</Link>,{" "}
          <Link href={addressIn(scope, "stations", { availability: "full" })}>all full stations</Link>
        </p>
      )}
    </section>
  );
}

/** Shows how long the station has been empty or full, with the exact time as a tooltip. */
function Lasting({ since, now }: { readonly since: string; readonly now: string }) {
  return (
    <time dateTime={since} title={exactText(new Date(since))}>
      {lastingText(Date.parse(now) - Date.parse(since))}
    </time>
  );
}
