import type { Ride } from "@bikeshare/contract";
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import { Status, type Tone } from "../../components/status.tsx";
import type { Column } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import type { UrlState } from "../../layout/url-state.ts";

const tones: Readonly<Record<Ride["status"], Tone>> = {
  started: "progress",
  completed: "success",
  cancelled: "neutral",
};

export function RideStatus({ status }: Pick<Ride, "status">) {
  return <Status tone={tones[status]}>{status}</Status>;
}

/** A link to the page of something of the fleet; words where there is none. */
export function FleetLink({ of, id, url, none }: FleetLinkProps): ComponentChildren {
  if (id === null) return <span class="muted">{none ?? "none"}</span>;
  return <Link href={url.link(`/operator/${of}/${encodeURIComponent(id)}`)}>{id}</Link>;
}

interface FleetLinkProps {
  readonly of: "stations" | "bikes" | "rides" | "reservations";
  readonly id: string | null;
  readonly url: UrlState;
  readonly none?: string;
}

/** The columns of a list of rides. */
export function rideColumns(url: UrlState): readonly Column<Ride>[] {
  return [
    { id: "id", title: "Ride", cell: ({ id }) => <FleetLink of="rides" id={id} url={url} /> },
    { id: "status", title: "Status", cell: ({ status }) => <RideStatus status={status} /> },
    { id: "started", title: "Started", cell: ({ started_at }) => <Time at={started_at} /> },
    { id: "duration", title: "Duration", align: "end", cell: ({ duration_seconds: s }) => durationText(s) },
    {
      id: "bike",
      title: "Bike",
      isSecondary: true,
      cell: ({ bike_id }) => <FleetLink of="bikes" id={bike_id} url={url} />,
    },
    {
      id: "from",
      title: "From",
      isSecondary: true,
      cell: ({ start_station_id: id }) => <FleetLink of="stations" id={id} url={url} none="no station" />,
    },
    {
      id: "to",
      title: "To",
      isSecondary: true,
      cell: ({ end_station_id: id }) => <FleetLink of="stations" id={id} url={url} none="no station" />,
    },
  ];
}

/** `12 min 5 s`, `1 h 3 min`. */
export function durationText(seconds: number | null): string {
  if (seconds === null) return "under way";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60).toLocaleString("en")} h ${minutes % 60} min`;
}
