import type { ShownAgency } from "@bikeshare/contract/console";
import { api } from "../../api/api.ts";
import { addressOf } from "../../api/client.ts";
import { useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { usePartnerAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";

interface OfAgency {
  readonly agency: ShownAgency;
}

/**
 * The page of an agency: a city or another authority that reads the system by the Mobility Data Specification (MDS). It
 * shows which data the city gets. By MDS the city requests the past by the hour, the present state of the vehicles, and a
 * report of each month. Its requirement file names the endpoints and fields that it wants.
 */
export function AgencyPage() {
  const access = usePartnerAccess();
  const params = { system_id: access?.systemId ?? "", partner_id: access?.partnerId ?? "" };
  const { data, error, refetch } = useQuery({
    queryKey: ["agency", params],
    queryFn: ({ signal }) => api.agency.get({ params, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined || data?.agency === null) return <NotFoundPage />;
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  const { agency } = data;
  return (
    <div class="stack">
      <PageHeader title="City data">What the city reads by the Mobility Data Specification 2.0</PageHeader>
      <NotServed agency={agency} />
      <Lacks agency={agency} />
      <h2>What the city gets</h2>
      <GivenInWords agency={agency} />
      <AgencyFacts agency={agency} />
      <h2>Hours</h2>
      <Table caption="Hours" columns={hourColumns} rows={agency.hours} rowKey={({ hour }) => hour} empty={null} />
      <States agency={agency} />
      <h2>Monthly reports</h2>
      <Table
        caption="Monthly reports"
        columns={monthColumns(access.systemId, access.partnerId)}
        rows={agency.months}
        rowKey={({ month }) => month}
        empty={null}
      />
      <h2>Read last</h2>
      <Reads agency={agency} />
      <h2>Requirements</h2>
      <Requirements agency={agency} />
    </div>
  );
}

function AgencyFacts({ agency }: OfAgency) {
  const { time_zone: zone, has_own_time_zone: hasOwn } = agency;
  return (
    <Facts
      isWide
      facts={[
        ["Address", <span class="mono">{agency.url}</span>],
        ["Time zone of months", hasOwn ? zone : `${zone} (the system’s)`],
        ["Agency id", <span class="mono">{agency.agency_id}</span>],
        ["Provider id", <span class="mono">{agency.provider_id}</span>],
      ]}
    />
  );
}

/** The statuses with which the city's requests for an hour or month are answered, each with its tone and text. */
const words: Readonly<Record<200 | 202 | 404, readonly [tone: Tone, word: string]>> = {
  200: ["success", "200 ready"],
  202: ["progress", "202 not settled"],
  404: ["neutral", "404 not served"],
};

function Answered({ status }: { readonly status: 200 | 202 | 404 }) {
  const [tone, word] = words[status];
  return <Status tone={tone}>{word}</Status>;
}

const hourColumns: readonly Column<ShownAgency["hours"][number]>[] = [
  { id: "hour", title: "Hour", cell: ({ hour }) => <Time at={hour} show="exact" /> },
  { id: "status", title: "Answer", cell: ({ status }) => <Answered status={status} /> },
  { id: "read", title: "Read", cell: ({ read_at: at }) => <Time at={at} none="not yet" /> },
];

const stateColumns: readonly Column<ShownAgency["vehicles"]["states"][number]>[] = [
  { id: "state", title: "State", cell: ({ state }) => state },
  { id: "vehicles", title: "Vehicles", align: "end", cell: ({ vehicles }) => vehicles.toLocaleString("en") },
];

function States({ agency }: OfAgency) {
  return (
    <>
      <h2>Vehicles by state</h2>
      <Table
        caption="Vehicles by state"
        columns={stateColumns}
        rows={agency.vehicles.states}
        rowKey={({ state }) => state}
        empty={<EmptyState title="No vehicles" />}
      />
    </>
  );
}

/** The route of the report of one month, as a CSV file. */
const REPORT = "/console/v1/systems/:system_id/partners/:partner_id/agency/reports/:file";

function monthColumns(systemId: string, partnerId: string): readonly Column<ShownAgency["months"][number]>[] {
  const hrefOf = (month: string) =>
    addressOf(REPORT, { system_id: systemId, partner_id: partnerId, file: `${month}.csv` });
  return [
    {
      id: "month",
      title: "Month",
      cell: ({ month, status }) =>
        status === 200 ? (
          <a href={hrefOf(month)} download>
            {month}.csv
          </a>
        ) : (
          month
        ),
    },
    {
      id: "status",
      title: "Answer",
      cell: ({ status }) => <Answered status={status} />,
    },
  ];
}

/** An endpoint of MDS or of another specification that the requirements name. */
type Endpoint = ShownAgency["requirements"]["programs"][number]["endpoints"][number];

const endpointColumns: readonly Column<Endpoint>[] = [
  {
    id: "endpoint",
    title: "Endpoint",
    cell: (row) => [row.spec, row.version, row.api, row.endpoint].filter((part) => part !== "").join(" "),
  },
  {
    id: "status",
    title: "Answer",
    cell: ({ status }) => <Status tone={status === "given" ? "success" : "warning"}>{status}</Status>,
  },
  { id: "given", title: "Given", isSecondary: true, cell: (endpoint) => fieldsOf(endpoint, "given") },
  { id: "missing", title: "Missing", cell: (endpoint) => fieldsOf(endpoint, "missing") },
  { id: "disallowed", title: "Disallowed", cell: (endpoint) => fieldsOf(endpoint, "disallowed") },
];

/** Returns the fields as `route, distance*`. A star marks fields that are sent only when they are known. */
function fieldsOf({ fields }: Endpoint, wanted: Endpoint["fields"][number]["status"]) {
  const found = fields.filter(({ status }) => status === wanted);
  if (found.length === 0) return <span class="muted">none</span>;
  return found.map(({ field, is_optional: isOptional }) => `${field}${isOptional ? "*" : ""}`).join(", ");
}

/** What the requirements ask for, and what of it the service gives. */
function Requirements({ agency: { requirements, has_requirements: hasOwn } }: OfAgency) {
  return (
    <>
      <p class="muted">
        {hasOwn ? "What the city’s requirement file asks for." : "No requirement file is kept: what MDS asks for."} A
        star marks fields that are given where they are known.
      </p>
      {requirements.programs.map(({ description, is_ours: isOurs, endpoints }, index) => (
        <section key={index} class="stack">
          {hasOwn && <h3>{isOurs ? description : `${description} (other providers)`}</h3>}
          <Table
            caption="Requirements"
            columns={endpointColumns}
            rows={endpoints}
            rowKey={(row) => `${row.spec} ${row.version} ${row.api} ${row.endpoint}`}
            empty={<EmptyState title="Nothing" />}
          />
        </section>
      ))}
    </>
  );
}

function NotServed({ agency }: OfAgency) {
  if (agency.is_served) return null;
  return (
    <Notice tone="warning" title="MDS is off">
      The city gets nothing until the service runs with <span class="mono">MDS=on</span>.
    </Notice>
  );
}

/** What every agency gets, in sentences. */
const givenToAll = [
  "Each vehicle’s number, type and propulsion, and where it is. During a trip: where the trip began.",
  "Each change of a vehicle’s state, with its time, place and trip.",
  "Each finished trip: vehicle, times, both ends, distance, and price where it is reported.",
  "Each station with its vehicles and free docks.",
  "Trips per month. Counts below 10 are hidden, and those that reveal one.",
];

/** Describes in sentences which data the city gets, and which it does not get. */
function GivenInWords({ agency }: OfAgency) {
  const leftOut = leftOutOf(agency);
  return (
    <>
      <ul>
        {givenToAll.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <p>
        Not who rides, and no positions under way. Events since <Time at={agency.logged_since} />, each kept for{" "}
        {agency.kept_days} days. Trips since <Time at={agency.trips_since} />.
      </p>
      <p>
        {agency.has_boundary
          ? "Only vehicles and stations within its boundary, and trips that began or ended there. Its events say which vehicles leave and enter."
          : "No boundary is set: it gets everything, wherever it is."}
      </p>
      {leftOut.length > 0 && <p>Left out, because its requirement file disallows it: {leftOut.join(", ")}.</p>}
    </>
  );
}

/**
 * Returns the endpoints that the city requires of this provider. Other programs of its requirements name other
 * providers.
 */
function ownEndpoints({ requirements }: ShownAgency): readonly Endpoint[] {
  return requirements.programs.filter(({ is_ours: isOurs }) => isOurs).flatMap(({ endpoints }) => endpoints);
}

/** Returns the names of an endpoint's fields with a status: `trips: distance`. */
function fieldNames({ endpoint, fields }: Endpoint, wanted: Endpoint["fields"][number]["status"]): string[] {
  return fields.filter(({ status }) => status === wanted).map(({ field }) => `${endpoint}: ${field}`);
}

/** Returns the fields that the city's requirements disallow. */
function leftOutOf(agency: ShownAgency): string[] {
  return [...new Set(ownEndpoints(agency).flatMap((endpoint) => fieldNames(endpoint, "disallowed")))];
}

/** Returns what of an endpoint the city requires and does not get: the endpoint itself, or some of its fields. */
function missingOf(endpoint: Endpoint): string[] {
  if (endpoint.status !== "missing") return fieldNames(endpoint, "missing");
  const name = [endpoint.spec, endpoint.api, endpoint.endpoint].filter((part) => part !== "").join(" ");
  return [`${name} (not served)`];
}

/**
 * Lists what the city gets incompletely or not at all: vehicles without a position (they have no status) or a type (they are
 * called bicycles), and endpoints and fields that its requirement file asks for. An agency without a file counts as requiring
 * exactly what is served, so nothing of that is missing.
 */
function Lacks({ agency }: OfAgency) {
  const { vehicles } = agency;
  const missing = ownEndpoints(agency).flatMap(missingOf);
  const texts = [
    vehicles.nowhere > 0 && `${countOf(vehicles.nowhere)} no known position, and so no status.`,
    vehicles.untyped > 0 && `${countOf(vehicles.untyped)} no known type, and so are called bicycles.`,
    missing.length > 0 && `Its requirement file asks for more: ${[...new Set(missing)].join(", ")}.`,
  ].filter((text) => text !== false);
  if (texts.length === 0) return null;
  return (
    <Notice tone="info" title="What is missing">
      <ul>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Notice>
  );
}

function countOf(vehicles: number): string {
  return `${vehicles.toLocaleString("en")} ${vehicles === 1 ? "vehicle has" : "vehicles have"}`;
}

const readColumns: readonly Column<ShownAgency["reads"][number]>[] = [
  { id: "endpoint", title: "Read last", cell: ({ endpoint }) => endpoint },
  {
    id: "what",
    title: "Hour or month",
    // An hour or the start of a period is an instant (`2026-11-26T08:00:00Z`), a month is `2026-11`.
    cell: ({ what }) => (what.includes("T") ? <Time at={what} show="exact" /> : what),
  },
  { id: "at", title: "Read", cell: ({ at }) => <Time at={at} /> },
];

/** A table of what the city read last. */
function Reads({ agency }: OfAgency) {
  return (
    <Table
      caption="Read last"
      columns={readColumns}
      rows={agency.reads}
      rowKey={({ at, endpoint, what }) => `${at} ${endpoint} ${what}`}
      empty={<EmptyState title="Nothing read yet" />}
    />
  );
}
