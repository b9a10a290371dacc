import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { ErrorState } from "../../components/error-state.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { lazyPart, useLazy } from "../../components/use-lazy.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { CheckList } from "../overview/check-list.tsx";
import { type PageScope, useOperatorScope } from "../scope.ts";
import { TroubledStations } from "./attention.tsx";
import { useGlance, useStations } from "./city-data.ts";
import { CityFigures } from "./figures.tsx";
import { MapPanel } from "./map-panel.tsx";
import { stationPanel, useSelectedStation } from "./selected-station.ts";
import "../overview/overview.css";

const trends = lazyPart(async () => (await import("./trends.tsx")).Trends);

/** The operator's start page: the city now, what needs attention, and charts of the past. */
export function OperatorOverviewPage() {
  const scope = useOperatorScope();
  return scope === undefined ? <NotFoundPage /> : <Overview scope={scope} />;
}

function Overview({ scope }: { readonly scope: PageScope }) {
  const glance = useGlance(scope.systemId);
  const stations = useStations(scope);
  const { link } = useUrlState();
  const [selectedId, select] = useSelectedStation();
  const timeZone = glance.data?.time_zone;
  const Trends = useLazy(trends);
  const StationPanel = useLazy(stationPanel);
  const showOnMap = (id: string) => {
    select(id);
    document.querySelector(".city-map")?.scrollIntoView({ block: "nearest" });
  };
  if (glance.data === undefined && glance.error !== null)
    return <ErrorState isPage error={glance.error} onRetry={() => void glance.refetch()} />;
  return (
    <>
      <PageHeader title="Overview" />
      <div class="city-top">
        <MapPanel systemId={scope.systemId} map={stations.data} selectedId={selectedId} onSelect={select} hasLayers />
        {selectedId === undefined ? (
          <CityFigures glance={glance.data} scope={scope} />
        ) : (
          StationPanel && (
            <StationPanel
              key={selectedId}
              viewer={scope}
              id={selectedId}
              map={stations.data}
              glance={glance.data}
              href={link(`/operator/stations/${encodeURIComponent(selectedId)}`)}
              onClose={() => select(undefined)}
            />
          )
        )}
      </div>
      <div class="city-attention">
        {glance.data === undefined ? (
          <section class="card troubled">
            <h2>Empty and full stations</h2>
          </section>
        ) : (
          <TroubledStations glance={glance.data} scope={scope} onSelect={showOnMap} />
        )}
        <ServiceHealth scope={scope} />
      </div>
      {timeZone !== undefined && Trends && <Trends scope={scope} timeZone={timeZone} />}
      <Requests scope={scope} />
    </>
  );
}

/** Milliseconds between two reads of the checks and the requests per minute. */
const HEALTH_INTERVAL_MS = 30_000;

/** Reads the checks and the requests per minute. Two parts of the page share the result. */
function useServiceHealth({ systemId }: PageScope) {
  const params = { system_id: systemId };
  return useQuery({
    queryKey: ["system-overview", params],
    queryFn: ({ signal }) => api.systemOverview.get({ params, signal }),
    refetchInterval: HEALTH_INTERVAL_MS,
  });
}

/** The failing checks, such as those of feeds, webhooks and keys. */
function ServiceHealth({ scope }: { readonly scope: PageScope }) {
  const { data, error, refetch } = useServiceHealth(scope);
  if (data === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data !== undefined) return <CheckList checks={data.checks} scope={scope} />;
  return (
    <section class="card checks">
      <h2>Health</h2>
    </section>
  );
}

/** A chart of the requests per minute: how many were answered, and how many a rate limit refused. */
function Requests({ scope }: { readonly scope: PageScope }) {
  const { data } = useServiceHealth(scope);
  const refused = data?.rate_limited ?? [];
  return (
    <section class="card" aria-label="Requests">
      <h2 class="visually-hidden">Requests</h2>
      <LazyChart
        title="Requests per minute"
        times={data?.minutes ?? []}
        series={[
          { label: "answered", values: (data?.requests ?? []).map((all, at) => all - (refused[at] ?? 0)) },
          { label: "refused by a limit", values: refused },
        ]}
        unit="requests"
      />
    </section>
  );
}
