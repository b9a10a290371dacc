import type { FleetReservation, HistoryQuery, ResourceEvent } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import type { UrlState } from "../../layout/url-state.ts";
import { FleetLink } from "./ride-columns.tsx";

interface HistoryProps {
  readonly systemId: string;
  readonly url: UrlState;
}

const deliveryTones: Readonly<Record<ResourceEvent["deliveries"][number]["status"], Tone>> = {
  pending: "progress",
  succeeded: "success",
  failed: "danger",
  held: "warning",
};

/** The events of a bike, station or ride, and their deliveries. */
export function EventHistory({ systemId, url, of, id }: HistoryProps & HistoryQuery) {
  const { data, error, refetch } = useQuery({
    queryKey: ["fleet", "history", systemId, of, id],
    queryFn: ({ signal }) => api.fleet.history({ params: { system_id: systemId }, query: { of, id }, signal }),
  });
  return (
    <section class="stack">
      <div>
        <h2>Events and deliveries</h2>
        {data?.is_complete === false && (
          <p class="muted">Too many events at the same time: some may be missing here.</p>
        )}
      </div>
      <Table
        caption="Events and deliveries"
        columns={[
          { id: "at", title: "Time", cell: ({ at }) => <Time at={at} /> },
          { id: "event", title: "Event", cell: ({ event }) => event },
          { id: "deliveries", title: "Delivered to", cell: (event) => <Deliveries event={event} url={url} /> },
        ]}
        rows={data?.data}
        rowKey={(event) => event.id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No events">Imports make no events, and events are kept for 30 days.</EmptyState>}
      />
    </section>
  );
}

function Deliveries({ event, url }: { readonly event: ResourceEvent; readonly url: UrlState }) {
  if (event.deliveries.length === 0) return <span class="muted">nobody</span>;
  return (
    <>
      {event.deliveries.map(({ id, partner_id, partner_name, status }) => (
        <div key={id} class="row">
          <Link href={url.link(`/partners/${encodeURIComponent(partner_id)}/deliveries/${encodeURIComponent(id)}`)}>
            {partner_name}
          </Link>
          <Status tone={deliveryTones[status]}>{status}</Status>
        </div>
      ))}
    </>
  );
}

const reservationTones: Readonly<Record<FleetReservation["status"], Tone>> = {
  active: "progress",
  fulfilled: "success",
  cancelled: "neutral",
  expired: "neutral",
};

export function ReservationStatus({ status }: Pick<FleetReservation, "status">) {
  return <Status tone={reservationTones[status]}>{status}</Status>;
}

function reservationColumns(url: UrlState): readonly Column<FleetReservation>[] {
  return [
    { id: "id", title: "Reservation", cell: ({ id }) => <FleetLink of="reservations" id={id} url={url} /> },
    { id: "status", title: "Status", cell: ({ status }) => <ReservationStatus status={status} /> },
    { id: "created", title: "Created", cell: ({ created_at: at }) => <Time at={at} /> },
    {
      id: "partner",
      title: "Partner",
      isSecondary: true,
      cell: ({ partner_id: id, partner_name: name }) => (
        <Link href={url.link(`/operator/partners/${encodeURIComponent(id)}`)}>{name}</Link>
      ),
    },
    {
      id: "ride",
      title: "Ride",
      isSecondary: true,
      cell: ({ ride_id: id }) => <FleetLink of="rides" id={id} url={url} />,
    },
  ];
}

/** The newest reservations of a bike, or the one that a ride fulfilled. */
export function Reservations({
  systemId,
  url,
  filter,
}: HistoryProps & { readonly filter: { readonly bike_id: string } | { readonly ride_id: string } }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["fleet", "reservations", systemId, filter],
    queryFn: ({ signal }) => api.fleet.reservations({ params: { system_id: systemId }, query: filter, signal }),
  });
  const title = "bike_id" in filter ? "Latest reservations" : "Fulfilled reservation";
  return (
    <section class="stack">
      <h2>{title}</h2>
      <Table
        caption={title}
        columns={reservationColumns(url)}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title={"bike_id" in filter ? "No reservations" : "No reservation"} />}
      />
    </section>
  );
}
