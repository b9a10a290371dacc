import type { OperatorAlert, Station } from "@bikeshare/contract";
import { Link, useParams } from "wouter-preact";
import { api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Loading } from "../../components/loading.tsx";
import { Status } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { lazyPart, useLazy } from "../../components/use-lazy.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { type UrlState, useUrlState } from "../../layout/url-state.ts";
import { type Access, useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { type PageScope, usePartnerScope } from "../scope.ts";
import { useAction } from "../use-action.ts";
import { lastingSince, useGlance, useStations } from "./city-data.ts";
import { StationDay, StationFill, StationFlowsView, StationWeekView } from "./station-view.tsx";

/** The operator's part about the past of a station. Its module is loaded after the page. */
const stationPast = lazyPart(async () => (await import("../operator/fleet-item-pages.tsx")).StationPast);

/** The operator's page of one station: how full it is, its day and its week, where its rides go, and its history. */
export function StationPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  const { id } = useParams<{ id: string }>();
  const systemId = access?.systemId ?? "";
  const StationPast = useLazy(stationPast);
  const { data, error, refetch } = useQuery({
    queryKey: ["fleet", "station", systemId, id],
    queryFn: ({ signal }) => api.fleet.station({ params: { system_id: systemId, id }, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined) return <NotFoundPage />;
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  const { station, changes, searched_to: searchedTo } = data;
  return (
    <div class="stack">
      <PageHeader
        title={station.name}
        actions={
          station.status !== "removed" && (
            <>
              <ButtonLink href={url.link("/operator/map", { station: station.id })}>On the map</ButtonLink>
              {access.canChange && <StateButton access={access} station={station} />}
            </>
          )
        }
      >
        <span class="mono">{station.id}</span>
      </PageHeader>
      <Now station={station} access={access} />
      <StationWeekView viewer={{ systemId: access.systemId, partnerId: undefined }} stationId={station.id} />
      <StationFlowsView
        systemId={access.systemId}
        stationId={station.id}
        addressOf={(other) => url.link(`/operator/stations/${encodeURIComponent(other)}`)}
      />
      <StationAlerts systemId={access.systemId} station={station} url={url} />
      {StationPast && (
        <StationPast station={station} changes={changes} searchedTo={searchedTo} access={access} url={url} />
      )}
    </div>
  );
}

function Now({ station, access }: { readonly station: Station; readonly access: Access }) {
  const glance = useGlance(access.systemId).data;
  const viewer = { systemId: access.systemId, partnerId: undefined };
  const shown = { ...station, bikes: station.num_bikes_available, docks: station.num_docks_available };
  return (
    <div class="station-now">
      <h2 class="visually-hidden">Now and today</h2>
      <div class="card station-panel">
        <StationFill station={shown} since={lastingSince(glance, station.id)} now={glance?.at} />
        <Facts
          facts={[
            ["Reserved", station.num_bikes_reserved],
            ["Broken", station.num_bikes_disabled ?? "not published"],
            ["Capacity", station.capacity ?? "not published"],
            ["Region", station.region_id],
            ["Reported", <Time at={station.last_reported} show="relative" />],
          ]}
        />
      </div>
      <div class="card">
        {glance !== undefined && <StationDay viewer={viewer} stationId={station.id} timeZone={glance.time_zone} />}
      </div>
    </div>
  );
}

/**
 * A button that takes the station offline or back online. It asks for no confirmation, because the change can be undone at
 * once.
 */
function StateButton({ access, station }: { readonly access: Access; readonly station: Station }) {
  const { run, isPending } = useAction();
  const isClosed = station.status === "offline" && station.offline_reason === "operator";
  const change = () =>
    run(async () => {
      const state = isClosed ? "online" : "offline";
      const params = { system_id: access.systemId, id: station.id };
      const { results } = await api.fleet.setStationState({ params, body: { state } });
      const failure = results[0]?.error;
      await queries.invalidateQueries();
      if (failure) showToast("danger", failure.message);
      else showToast("success", isClosed ? "The station is back." : "The station is offline. Apps show it as closed.");
    });
  return (
    <Button pending={isPending} onClick={() => void change()}>
      {isClosed ? "Bring it back online" : "Take it offline"}
    </Button>
  );
}

interface AlertsProps {
  readonly systemId: string;
  readonly station: Station;
  readonly url: UrlState;
}

/** The open alerts to riders about this station. */
function StationAlerts({ systemId, station, url }: AlertsProps) {
  const { data } = useQuery({
    queryKey: ["alerts", systemId, "open"],
    queryFn: ({ signal }) => api.alerts.list({ params: { system_id: systemId }, query: { status: "open" }, signal }),
  });
  const about = (data?.data ?? []).filter((alert) => isAbout(alert, station));
  if (about.length === 0) return null;
  return (
    <section class="card stack" aria-labelledby="alerts">
      <h2 id="alerts">Alerts to riders</h2>
      <ul class="plain-list">
        {about.map(({ id, summary }) => (
          <li key={id}>
            <Status tone="warning">{summary[0]?.text ?? id}</Status>
          </li>
        ))}
      </ul>
      <p>
        <Link href={url.link("/operator/alerts")}>All alerts</Link>
      </p>
    </section>
  );
}

/** Tells whether an alert names the station or its region. Alerts about the whole system do not count. */
function isAbout({ station_ids: stations, region_ids: regions }: OperatorAlert, { id, region_id: region }: Station) {
  return stations.includes(id) || (region !== null && regions.includes(region));
}

/** A partner's page of one station: how full it is, its day and its week. */
export function PartnerStationPage() {
  const scope = usePartnerScope();
  return scope === undefined ? <NotFoundPage /> : <PartnerStation scope={scope} />;
}

function PartnerStation({ scope }: { readonly scope: PageScope }) {
  const { link } = useUrlState();
  const { id, partner_id: partner } = useParams<{ id: string; partner_id: string }>();
  const { data, error, refetch } = useStations(scope);
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  const station = data.data.find((each) => each.id === id);
  if (station === undefined) return <NotFoundPage />;
  return (
    <div class="stack">
      <PageHeader
        title={station.name}
        actions={
          <ButtonLink href={link(`/partners/${encodeURIComponent(partner)}/stations`, { station: id })}>
            On the map
          </ButtonLink>
        }
      >
        <span class="mono">{id}</span>
      </PageHeader>
      <div class="station-now">
        <h2 class="visually-hidden">Now and today</h2>
        <div class="card station-panel">
          <StationFill station={station} />
        </div>
        <div class="card">
          <StationDay viewer={scope} stationId={id} timeZone={data.time_zone} />
        </div>
      </div>
      <StationWeekView viewer={scope} stationId={id} />
    </div>
  );
}
