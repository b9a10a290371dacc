import type { Ride } from "@bikeshare/contract";
import type { BikeQuery, ReservationQuery, RideQuery } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { Filter } from "../../components/filters.tsx";
import { Time } from "../../components/time.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { BikeState } from "./bike-state.tsx";
import { EndRides } from "./end-rides.tsx";
import { FleetList } from "./fleet-list.tsx";
import { bikeName, FleetLink, reservationColumns, rideColumns } from "./ride-columns.tsx";

const choices = (values: readonly string[]) => values.map((value) => ({ value, label: value.replaceAll("_", " ") }));

const bikeFilters: readonly Filter[] = [
  {
    name: "vehicle_state",
    label: "State",
    choices: choices(["available", "reserved", "on_trip", "non_operational", "non_contactable", "missing", "removed"]),
  },
  { name: "station_id", label: "Station", placeholder: "its id" },
];

/** The operator's list of bikes. */
export function BikesPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId };
  const query = url.given(["vehicle_state", "station_id", "cursor"]) as BikeQuery; // the server validates the address's parameters
  return (
    <FleetList
      title="Bikes"
      scope={[access.systemId, query]}
      read={(signal) => api.fleet.bikes({ params, query, signal })}
      isByTime={false}
      filters={bikeFilters}
      columns={(names) => [
        {
          id: "bike",
          title: "Bike",
          cell: ({ id, number }) => (
            <Link href={url.here(`/operator/bikes/${encodeURIComponent(id)}`)} title={id}>
              {bikeName(id, number)}
            </Link>
          ),
        },
        { id: "state", title: "State", cell: ({ vehicle_state }) => <BikeState state={vehicle_state} /> },
        {
          id: "station",
          title: "Station",
          cell: ({ station_id }) => <FleetLink of="stations" id={station_id} names={names} url={url} />,
        },
        { id: "type", title: "Type", cell: ({ vehicle_type_id }) => vehicle_type_id, isSecondary: true },
        {
          id: "reported",
          title: "Reported",
          isSecondary: true,
          cell: ({ last_reported }) => <Time at={last_reported} />,
        },
      ]}
    />
  );
}

const rideFilters: readonly Filter[] = [
  { name: "status", label: "Status", choices: choices(["started", "completed", "cancelled"]) },
  { name: "bike_id", label: "Bike", placeholder: "its id" },
  { name: "station_id", label: "Station", placeholder: "its id" },
  { name: "started_after", label: "Started from", isInstant: true },
  { name: "started_before", label: "Started before", isInstant: true },
];

/** The operator's list of rides. */
export function RidesPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId };
  const parameters = ["status", "bike_id", "station_id", "started_after", "started_before", "cursor"] as const;
  const query = url.given(parameters) as RideQuery; // the server validates the address's parameters
  return (
    <FleetList
      title="Rides"
      scope={[access.systemId, query]}
      read={(signal) => api.fleet.rides({ params, query, signal })}
      isByTime
      filters={rideFilters}
      columns={(names) => rideColumns(url, names, { isWholeList: true })}
      // "End rides" needs a filter by start, so that rides that have just begun are not ended with the others.
      {...(access.canChange &&
        query.status === "started" &&
        query.started_before !== undefined && {
          actions: (rows: readonly Ride[]) => <EndRides systemId={access.systemId} ids={rows.map(({ id }) => id)} />,
        })}
    />
  );
}

/** The operator's list of reservations, of all partners. */
export function ReservationsPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  const systemId = access?.systemId ?? "";
  const params = { system_id: systemId };
  const { data: partners } = useQuery({
    queryKey: ["partners", systemId],
    queryFn: ({ signal }) => api.partners.list({ params, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined) return <NotFoundPage />;
  const given = url.given(["status", "partner_id", "bike_id", "cursor"]);
  const filters: readonly Filter[] = [
    // The service can filter only by this status.
    { name: "status", label: "Status", choices: choices(["active"]) },
    {
      name: "partner_id",
      label: "Partner",
      choices: (partners?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
    },
    { name: "bike_id", label: "Bike", placeholder: "its id" },
  ];
  // The service accepts one of these filters at a time, so the others are hidden.
  const chosen = filters.filter(({ name }) => url.get(name) !== "");
  return (
    <FleetList
      title="Reservations"
      scope={[access.systemId, given]}
      read={(signal) => api.fleet.reservations({ params, query: given as ReservationQuery, signal })}
      isByTime
      filters={chosen.length === 0 ? filters : chosen}
      columns={(names) => reservationColumns(url, names, { isWholeList: true })}
    />
  );
}
