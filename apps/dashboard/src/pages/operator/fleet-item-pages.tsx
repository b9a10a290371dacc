import type { Bike, Ride, Station } from "@bikeshare/contract";
import type { FleetNames, StationChange } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { lookUp } from "../../components/look-up.ts";
import { Status } from "../../components/status.tsx";
import { Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import type { UrlState } from "../../layout/url-state.ts";
import type { Access } from "../../session/session.ts";
import type { FactForm } from "../gbfs/fact-form.tsx";
import { useAction } from "../use-action.ts";
import { BikeState } from "./bike-state.tsx";
import { EndRides } from "./end-rides.tsx";
import { Reservations } from "./fleet-history.tsx";
import { ItemHeader, ItemPage } from "./item-page.tsx";
import { AsApi, Timeline } from "./item-timeline.tsx";
import { bikeName, durationText, FleetLink, rideColumns, RideStatus, UnderWay } from "./ride-columns.tsx";

/* The operator's pages of one bike and of one ride, and the part about the past on the page of one station. */

/** The operator's page of one bike, with its latest rides. */
export function BikePage() {
  return (
    <ItemPage
      noun="bike"
      read={(call) => api.fleet.bike(call)}
      show={({ bike, names }, url, access) => (
        <>
          <ItemHeader
            title={bikeName(bike.id, bike.number)}
            status={<BikeState state={bike.vehicle_state} />}
            id={bike.id}
            actions={access.canChange && <BikeStateButton access={access} bike={bike} />}
          />
          <Facts
            facts={[
              ["Station", <FleetLink of="stations" id={bike.station_id} names={names} url={url} />],
              ["Type", bike.vehicle_type_id],
              ["Position", bike.lat === null || bike.lon === null ? null : `${bike.lat}, ${bike.lon}`],
              ["Range", bike.current_range_meters === null ? null : `${bike.current_range_meters} m`],
              ["Reported", <Time at={bike.last_reported} show="both" />],
              ["Changed", <Time at={bike.updated_at} show="both" />],
            ]}
          />
          <Described access={access} kind="bike" id={bike.id} label="Pricing plan, home station, equipment…" />
          <LatestRides title="Latest rides" systemId={access.systemId} filter={{ bike_id: bike.id }} url={url} />
          <Reservations systemId={access.systemId} bikeId={bike.id} url={url} />
          <Timeline systemId={access.systemId} of="bike" id={bike.id} url={url} />
          <AsApi value={bike} />
        </>
      )}
    />
  );
}

interface BikeStateButtonProps {
  readonly access: Access;
  readonly bike: Bike;
}

/**
 * A button that marks a bike as broken, or as available again. Marking it as broken needs a confirmation, because it ends
 * the bike's reservation.
 */
function BikeStateButton({ access, bike: { id, number, vehicle_state: present } }: BikeStateButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const { run, isPending } = useAction();
  // Whether the bike is out of service, so that the button makes it available.
  const isAway = present === "non_operational" || present === "missing";
  const set = () =>
    run(async () => {
      const state = isAway ? "available" : "non_operational";
      const params = { system_id: access.systemId, id };
      const { results } = await api.fleet.setBikeState({ params, body: { state } });
      const failure = results[0]?.error;
      await queries.invalidateQueries();
      setAsking(false);
      if (failure) showToast("danger", failure.message);
      else showToast("success", isAway ? "Riders can take it again." : "The bike is marked as broken.");
    });
  if (present === "removed") return null;
  return (
    <>
      <Button pending={isPending} onClick={() => (isAway ? void set() : setAsking(true))}>
        {isAway ? "Available again" : "Mark as broken"}
      </Button>
      <Dialog
        title={`Mark ${bikeName(id, number)} as broken?`}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        actions={
          <>
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button variant="danger" pending={isPending} onClick={() => void set()}>
              Mark as broken
            </Button>
          </>
        }
      >
        <p>
          {present === "on_trip"
            ? "It is on a ride, which goes on: riders lose it when it ends."
            : "Riders can take it no more."}
          {present === "reserved" && " Its reservation ends."} “Available again” takes it back.
        </p>
      </Dialog>
    </>
  );
}

/** The operator's page of one ride. */
export function RidePage() {
  return (
    <ItemPage
      noun="ride"
      read={(call) => api.fleet.ride(call)}
      show={({ ride, names }, url, { systemId, canChange }) => (
        <>
          <ItemHeader
            title={`Ride on ${bikeName(ride.bike_id, lookUp(names.bikes, ride.bike_id))}`}
            status={<RideStatus status={ride.status} />}
            id={ride.id}
            actions={
              canChange && ride.status === "started" ? <EndRides systemId={systemId} ids={[ride.id]} /> : undefined
            }
          />
          <RideFacts ride={ride} names={names} url={url} />
          <RideTimeline ride={ride} names={names} url={url} systemId={systemId} />
          <AsApi value={ride} />
        </>
      )}
    />
  );
}

interface RidePartProps {
  readonly ride: Ride;
  readonly names: FleetNames;
  readonly url: UrlState;
}

function RideFacts({ ride, names, url }: RidePartProps) {
  const station = (id: string | null) => <FleetLink of="stations" id={id} names={names} url={url} none="no station" />;
  return (
    <Facts
      facts={[
        ["Bike", <FleetLink of="bikes" id={ride.bike_id} names={names} url={url} />],
        ["From", station(ride.start_station_id)],
        ["To", ride.status === "started" ? <UnderWay /> : station(ride.end_station_id)],
        ["Started", <Time at={ride.started_at} show="both" />],
        ["Ended", <Time at={ride.ended_at} show="both" none="under way" />],
        ["Duration", durationText(ride.duration_seconds)],
        ["Distance", ride.distance_meters === null ? null : `${ride.distance_meters.toLocaleString("en")} m`],
        ["End reason", ride.end_reason?.replaceAll("_", " ")],
        ["Rider", ride.rider_category],
        ["Counts in statistics", countableText(ride.is_countable)],
      ]}
    />
  );
}

/** The history of a ride, with the reservation that it fulfilled. */
function RideTimeline({ ride, names, url, systemId }: RidePartProps & { readonly systemId: string }) {
  const { data } = useQuery({
    queryKey: ["fleet", "reservations", systemId, { ride_id: ride.id }],
    queryFn: ({ signal }) =>
      api.fleet.reservations({ params: { system_id: systemId }, query: { ride_id: ride.id }, signal }),
  });
  const placeText = (id: string | null) =>
    id === null ? "outside a station" : `at ${lookUp(names.stations, id) ?? id}`;
  const reserved = (data?.data ?? []).map(({ id, created_at, partner_name }) => ({
    at: created_at,
    text: <Link href={url.link(`/operator/reservations/${encodeURIComponent(id)}`)}>Reserved by {partner_name}</Link>,
  }));
  const ended = ride.status === "cancelled" ? "Cancelled" : `Ended ${placeText(ride.end_station_id)}`;
  const moments = [
    ...reserved,
    { at: ride.started_at, event: "ride.started", text: `Started ${placeText(ride.start_station_id)}` },
    ...(ride.ended_at === null
      ? []
      : [
          {
            at: ride.ended_at,
            event: ride.status === "cancelled" ? "ride.cancelled" : "ride.completed",
            text: ended,
          },
        ]),
  ];
  return <Timeline systemId={systemId} url={url} of="ride" id={ride.id} moments={moments} />;
}

/** Says whether a ride counts in statistics: too short ones do not. Null: not known. */
function countableText(isCountable: boolean | null): string | null {
  if (isCountable === null) return null;
  return isCountable ? "yes" : "no, too short";
}

interface StationPastProps extends ChangesProps {
  readonly station: Station;
  readonly access: Access;
  readonly url: UrlState;
}

/**
 * The history of a station: when it was offline, its latest rides and its events. Also a form for the facts that GBFS
 * publishes about it.
 */
export function StationPast({ station, changes, searchedTo, access, url }: StationPastProps) {
  return (
    <>
      <StationChanges changes={changes} searchedTo={searchedTo} />
      <LatestRides
        title="Latest rides from and to this station"
        systemId={access.systemId}
        filter={{ station_id: station.id }}
        url={url}
      />
      <p>
        <Link href={url.link("/operator/bikes", { station_id: station.id })}>Bikes at this station</Link>
      </p>
      <Described access={access} kind="station" id={station.id} label="Address, hours, links…" />
      <Timeline systemId={access.systemId} of="station" id={station.id} url={url} />
      <AsApi value={station} />
    </>
  );
}

interface DescribedProps {
  readonly access: Access;
  readonly kind: "station" | "bike";
  readonly id: string;
  /** The text of the button that opens the form. */
  readonly label: string;
}

/**
 * A form for the facts that GBFS publishes about a station or bike in addition to its state. Its module is loaded when the
 * form is opened.
 */
function Described({ access, kind, id, label }: DescribedProps) {
  const [Opened, setOpened] = useState<typeof FactForm>();
  const open = async () => {
    const { FactForm: loaded } = await import("../gbfs/fact-form.tsx");
    setOpened(() => loaded);
  };
  return (
    <section class="stack">
      <div class="row">
        <h2>In planners</h2>
        <Button onClick={() => (Opened === undefined ? void open() : setOpened(undefined))}>
          {Opened === undefined ? label : "Close"}
        </Button>
      </div>
      {Opened !== undefined && <Opened access={access} kind={kind} id={id} heading="h3" />}
    </section>
  );
}

interface ChangesProps {
  /** When the station went offline and came back online. */
  readonly changes: readonly StationChange[];
  /** How far back the events were searched. Undefined: as far as they are kept. */
  readonly searchedTo: string | undefined;
}

function StationChanges({ changes, searchedTo }: ChangesProps) {
  return (
    <section class="stack">
      <h2>Offline periods</h2>
      <Table
        caption="Offline periods"
        rows={changes}
        rowKey={({ id }) => id}
        empty={
          <EmptyState title="No changes">
            {searchedTo === undefined ? (
              "Within the time that events are kept."
            ) : (
              <>
                At least since <Time at={searchedTo} />.
              </>
            )}
          </EmptyState>
        }
        columns={[
          { id: "at", title: "Time", cell: ({ at }) => <Time at={at} /> },
          {
            id: "event",
            title: "Change",
            cell: ({ event }) =>
              event === "station.online" ? (
                <Status tone="success">online</Status>
              ) : (
                <Status tone="warning">offline</Status>
              ),
          },
          { id: "reason", title: "Why", cell: ({ offline_reason: why }) => why?.replaceAll("_", " ") },
        ]}
      />
    </section>
  );
}

interface LatestRidesProps {
  readonly title: string;
  readonly systemId: string;
  readonly filter: { readonly bike_id: string } | { readonly station_id: string };
  readonly url: UrlState;
}

/** Most rides that the page of a bike or station shows. The list of rides has all. */
const LATEST_RIDES = 10;

function LatestRides({ title, systemId, filter, url }: LatestRidesProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["fleet", "latest-rides", systemId, filter],
    queryFn: ({ signal }) =>
      api.fleet.rides({ params: { system_id: systemId }, query: { ...filter, limit: LATEST_RIDES }, signal }),
  });
  return (
    <section class="stack">
      <div class="row">
        <h2>{title}</h2>
        <Link href={url.link("/operator/rides", { ...filter })}>All of them</Link>
      </div>
      <Table
        caption={title}
        columns={rideColumns(url, data?.names ?? { stations: {}, bikes: {} })}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No rides yet" />}
      />
    </section>
  );
}
