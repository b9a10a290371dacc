import type { Ride } from "@bikeshare/contract";
import type { FleetNames, FleetReservation } from "@bikeshare/contract/console";
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import { lookUp } from "../../components/look-up.ts";
import { Status, type Tone } from "../../components/status.tsx";
import type { Column } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import type { UrlState } from "../../layout/url-state.ts";

/* What the operator's lists and pages of rides and reservations share: states, names, links and columns. */

const tones: Readonly<Record<Ride["status"], Tone>> = {
  started: "progress",
  completed: "success",
  cancelled: "neutral",
};

/** The status of a ride. */
export function RideStatus({ status }: Pick<Ride, "status">) {
  return <Status tone={tones[status]}>{status}</Status>;
}

const reservationTones: Readonly<Record<FleetReservation["status"], Tone>> = {
  active: "progress",
  fulfilled: "success",
  cancelled: "neutral",
  expired: "neutral",
};

/** The status of a reservation. */
export function ReservationStatus({ status }: Pick<FleetReservation, "status">) {
  return <Status tone={reservationTones[status]}>{status}</Status>;
}

/** Returns the name of a bike: `Bike 12` by its number, or else its id. */
export function bikeName(id: string, number: string | null | undefined): string {
  return number === null || number === undefined ? id : `Bike ${number}`;
}

interface FleetLinkProps {
  readonly of: "stations" | "bikes" | "rides" | "reservations";
  readonly id: string | null;
  /** The names of stations and the numbers of bikes. Undefined: the link shows the id. */
  readonly names?: FleetNames;
  readonly url: UrlState;
  readonly none?: string;
}

/** A link to the page of a station, bike, ride or reservation. Without an id, the text `none`. */
export function FleetLink({ of, id, names, url, none }: FleetLinkProps): ComponentChildren {
  if (id === null) return <span class="muted">{none ?? "none"}</span>;
  // Rides and reservations have no names: the link shows their ids.
  let name: string | undefined;
  if (of === "stations") name = names && lookUp(names.stations, id);
  if (of === "bikes") name = names && bikeName(id, lookUp(names.bikes, id));
  return (
    <Link href={url.link(`/operator/${of}/${encodeURIComponent(id)}`)} title={id}>
      {name ?? id}
    </Link>
  );
}

interface ColumnOptions {
  /** Whether this is the list of all rides or reservations, beside which the page of a row opens. Default: false. */
  readonly isWholeList?: boolean;
}

/**
 * Returns the columns of a list of rides. The link to a ride shows its start, because its id means nothing to people.
 */
export function rideColumns(
  url: UrlState,
  names: FleetNames,
  { isWholeList = false }: ColumnOptions = {},
): readonly Column<Ride>[] {
  const station = (id: string | null) => <FleetLink of="stations" id={id} names={names} url={url} none="no station" />;
  const address = isWholeList ? url.here : url.link;
  return [
    {
      id: "started",
      title: "Started",
      cell: ({ id, started_at }) => (
        <Link href={address(`/operator/rides/${encodeURIComponent(id)}`)} title={id}>
          <Time at={started_at} />
          <span class="visually-hidden">: ride {id}</span>
        </Link>
      ),
    },
    { id: "status", title: "Status", cell: ({ status }) => <RideStatus status={status} /> },
    {
      id: "bike",
      title: "Bike",
      cell: ({ bike_id }) => <FleetLink of="bikes" id={bike_id} names={names} url={url} />,
    },
    { id: "duration", title: "Duration", align: "end", cell: ({ duration_seconds: s }) => durationText(s) },
    { id: "from", title: "From", isSecondary: true, cell: ({ start_station_id: id }) => station(id) },
    {
      id: "to",
      title: "To",
      isSecondary: true,
      cell: ({ status, end_station_id: id }) => (status === "started" ? <UnderWay /> : station(id)),
    },
  ];
}

/** Returns the columns of a list of reservations. */
export function reservationColumns(
  url: UrlState,
  names: FleetNames,
  { isWholeList = false }: ColumnOptions = {},
): readonly Column<FleetReservation>[] {
  const address = isWholeList ? url.here : url.link;
  return [
    {
      id: "created",
      title: "Created",
      cell: ({ id, created_at: at }) => (
        <Link href={address(`/operator/reservations/${encodeURIComponent(id)}`)} title={id}>
          <Time at={at} />
          <span class="visually-hidden">: reservation {id}</span>
        </Link>
      ),
    },
    { id: "status", title: "Status", cell: ({ status }) => <ReservationStatus status={status} /> },
    {
      id: "bike",
      title: "Bike",
      cell: ({ bike_id }) => <FleetLink of="bikes" id={bike_id} names={names} url={url} />,
    },
    {
      id: "station",
      title: "Station",
      isSecondary: true,
      cell: ({ station_id }) => <FleetLink of="stations" id={station_id} names={names} url={url} />,
    },
    {
      id: "partner",
      title: "Partner",
      isSecondary: true,
      cell: ({ partner_id: id, partner_name: name }) => (
        <Link href={url.link(`/operator/partners/${encodeURIComponent(id)}`)}>{name}</Link>
      ),
    },
    { id: "ends", title: "Ends", isSecondary: true, cell: ({ expires_at: at }) => <Time at={at} /> },
  ];
}

/** The text in place of the end of a ride that has not ended. */
export function UnderWay() {
  return <span class="muted">under way</span>;
}

/** Returns the duration of a ride as `12 min 5 s` or `1 h 3 min`. Null: the ride has not ended. */
export function durationText(seconds: number | null): string {
  if (seconds === null) return "under way";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60).toLocaleString("en")} h ${minutes % 60} min`;
}
