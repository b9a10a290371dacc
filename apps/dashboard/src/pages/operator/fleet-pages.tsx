import type { Ride } from "@bikeshare/contract";
import type { BikeQuery, RideQuery } from "@bikeshare/contract/console";
import { useLocation } from "wouter-preact";
import { api } from "../../api/api.ts";
import { SelectField } from "../../components/field.tsx";
import { instantOf, localInput } from "../../components/instant-input.ts";
import { Time } from "../../components/time.tsx";
import { type UrlState, useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { BikeState } from "./bike-state.tsx";
import { EndRides } from "./end-rides.tsx";
import { FilterField } from "./filter-field.tsx";
import { FleetList } from "./fleet-list.tsx";
import { FleetLink, rideColumns } from "./ride-columns.tsx";

const bikeStates = ["available", "reserved", "on_trip", "non_operational", "non_contactable", "missing", "removed"];
const rideStatuses = ["started", "completed", "cancelled"];

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
      about="All bikes, by id."
      scope={[access.systemId, query]}
      read={(signal) => api.fleet.bikes({ params, query, signal })}
      isByTime={false}
      filters={
        <>
          <Finder of="bikes" label="Bike" url={url} />
          <ChoiceFilter name="vehicle_state" label="State" values={bikeStates} url={url} />
          <TextFilter name="station_id" label="Station" url={url} />
        </>
      }
      columns={[
        { id: "id", title: "Bike", cell: ({ id }) => <FleetLink of="bikes" id={id} url={url} /> },
        { id: "number", title: "Number", cell: ({ number }) => number, isSecondary: true },
        { id: "state", title: "State", cell: ({ vehicle_state }) => <BikeState state={vehicle_state} /> },
        {
          id: "station",
          title: "Station",
          cell: ({ station_id }) => <FleetLink of="stations" id={station_id} url={url} />,
        },
        { id: "type", title: "Type", cell: ({ vehicle_type_id }) => vehicle_type_id, isSecondary: true },
        {
          id: "reported",
          title: "Reported",
          isSecondary: true,
          cell: ({ last_reported }) => <Time at={last_reported} show="relative" />,
        },
      ]}
    />
  );
}

/** The operator's list of rides. */
export function RidesPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId };
  const names = ["status", "bike_id", "station_id", "started_after", "started_before", "cursor"] as const;
  const query = url.given(names) as RideQuery; // the server reads what is in the address
  return (
    <FleetList
      title="Rides"
      about="All rides, newest start first."
      scope={[access.systemId, query]}
      read={(signal) => api.fleet.rides({ params, query, signal })}
      isByTime
      filters={
        <>
          <Finder of="rides" label="Ride" url={url} />
          <ChoiceFilter name="status" label="Status" values={rideStatuses} url={url} />
          <TextFilter name="bike_id" label="Bike" url={url} />
          <TextFilter name="station_id" label="Station" url={url} />
          <TimeFilter name="started_after" label="Started from" url={url} />
          <TimeFilter name="started_before" label="Started before" url={url} />
        </>
      }
      columns={rideColumns(url)}
      // A ride that began a moment ago is ended from its own page.
      {...(access.canChange &&
        query.status === "started" &&
        query.started_before !== undefined && {
          actions: (rows: readonly Ride[]) => <EndRides systemId={access.systemId} ids={rows.map(({ id }) => id)} />,
        })}
    />
  );
}

interface FilterProps {
  readonly name: string;
  readonly label: string;
  readonly url: UrlState;
}

function TextFilter({ name, label, url }: FilterProps) {
  return (
    <FilterField
      label={label}
      value={url.get(name)}
      placeholder="an id"
      onFilter={(id) => url.filter({ [name]: id })}
    />
  );
}

function TimeFilter({ name, label, url }: FilterProps) {
  return (
    <FilterField
      label={label}
      type="datetime-local"
      value={localInput(url.get(name))}
      onFilter={(local) => url.filter({ [name]: instantOf(local) })}
    />
  );
}

function ChoiceFilter({ name, label, values, url }: FilterProps & { readonly values: readonly string[] }) {
  const choices = [
    { value: "", label: "all" },
    ...values.map((value) => ({ value, label: value.replaceAll("_", " ") })),
  ];
  return (
    <SelectField
      label={label}
      value={url.get(name)}
      choices={choices}
      onChange={(value) => url.filter({ [name]: value })}
    />
  );
}

/** Leads to the page of a bike or ride whose id is entered. */
function Finder({
  of,
  label,
  url,
}: {
  readonly of: "bikes" | "rides";
  readonly label: string;
  readonly url: UrlState;
}) {
  const [, navigate] = useLocation();
  const open = (id: string) => {
    if (id !== "") navigate(url.link(`/operator/${of}/${encodeURIComponent(id)}`));
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const box = event.currentTarget.querySelector("input");
        open(box?.value.trim() ?? "");
      }}
    >
      <FilterField label={`${label} with the id`} value="" placeholder="an id, then Enter" onFilter={() => undefined} />
    </form>
  );
}
