import type { FeedSource, FollowedFeed } from "@bikeshare/contract/console";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Sentence } from "../../components/code.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { type UrlState, useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { FeedStatus } from "./feed-status.tsx";
import { FleetLink } from "./ride-columns.tsx";

const POLL_INTERVAL_MS = 15_000;

/** The operator's page of the feeds that stations and bikes come from, and their health. */
export function FeedsPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  const systemId = access?.systemId ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["feeds", systemId],
    queryFn: ({ signal }) => api.feeds.list({ params: { system_id: systemId }, signal }),
    enabled: access !== undefined,
    refetchInterval: POLL_INTERVAL_MS,
  });
  if (access === undefined) return <NotFoundPage />;
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  return (
    <div class="stack">
      <PageHeader title="Feeds">Sources of stations and bikes, and their health.</PageHeader>
      {data.data.length === 0 && (
        <EmptyState title="No sources yet">
          <Sentence>Set GBFS_SYNC_URL for `serve`, or run `bikeshare import gbfs`.</Sentence>
        </EmptyState>
      )}
      {data.data.map((source) => (
        <Source key={source.source} source={source} url={url} />
      ))}
    </div>
  );
}

const tones: Readonly<Record<FeedSource["state"], Tone>> = {
  well: "success",
  not_followed: "neutral",
  no_feed: "neutral",
  silent: "danger",
  rejected: "danger",
  failing: "warning",
  stale: "warning",
};

function Source({ source, url }: { readonly source: FeedSource; readonly url: UrlState }) {
  const { since } = source;
  return (
    <section class="stack" aria-label={source.source}>
      <h2>{source.source}</h2>
      <Notice tone={tones[source.state]} title={source.text}>
        {source.action !== null && <Sentence>{source.action}</Sentence>}{" "}
        {since !== null && source.action !== null && (
          <>
            Since <Time at={since} />.
          </>
        )}
      </Notice>
      <SourceFacts source={source} />
      {source.feeds.length > 0 && (
        <Table
          caption={`Feeds of ${source.source}`}
          columns={feedColumns}
          rows={source.feeds}
          rowKey={({ feed }) => feed}
          empty={null}
        />
      )}
      {source.missing.length > 0 && <Missing source={source} url={url} />}
    </section>
  );
}

function SourceFacts({ source }: { readonly source: FeedSource }) {
  const { stations } = source;
  const isFollowed = source.interval_seconds !== null;
  return (
    <Facts
      facts={[
        ["Stations online", stations.online],
        ["Offline", stations.offline],
        ["Planned", stations.planned],
        ["Removed", stations.removed],
        ["Bikes", source.bikes],
        ...(isFollowed
          ? ([
              ["Address", <span class="mono">{source.location}</span>],
              ["Asked every", `${source.interval_seconds} s`],
              ["Asked last", <Time at={source.polled_at} />],
            ] as const)
          : []),
        // `no_feed`: the stations come from trip files or from the operator's interface, so there is nothing published.
        ...(source.state === "no_feed"
          ? []
          : ([
              ["System id it publishes", source.published_id],
              ["Stations as of", <Time at={source.information_at} />],
              ["Status as of", <Time at={source.status_at} />],
              ["Bikes as of", <Time at={source.vehicles_at} />],
            ] as const)),
      ]}
    />
  );
}

const feedColumns: readonly Column<FollowedFeed>[] = [
  { id: "feed", title: "Feed", cell: ({ feed }) => feed },
  {
    id: "state",
    title: "State",
    cell: ({ state, failures, message, advice }) =>
      state === "failing" ? (
        <>
          <Status tone="danger">{failures === 1 ? "failed once" : `failed ${failures} times`}</Status>
          <div>{message}</div>
          <div class="muted">{advice}</div>
        </>
      ) : (
        <FeedStatus state={state} />
      ),
  },
  { id: "data", title: "Data as of", cell: ({ data_at: at }) => <Time at={at} none="–" /> },
  { id: "good", title: "Last read", cell: ({ succeeded_at: at }) => <Time at={at} /> },
  { id: "checked", title: "Last asked", isSecondary: true, cell: ({ checked_at: at }) => <Time at={at} /> },
];

/** A table of the stations that the source listed earlier, and its latest snapshots did not. */
function Missing({ source: { source, missing }, url }: { readonly source: FeedSource; readonly url: UrlState }) {
  return (
    <section class="stack">
      <h3>Stations missing from its latest snapshots</h3>
      <Table
        caption={`Stations that ${source} did not list`}
        columns={[
          { id: "id", title: "Station", cell: ({ id }) => <FleetLink of="stations" id={id} url={url} /> },
          { id: "name", title: "Name", isSecondary: true, cell: ({ name }) => name },
          { id: "status", title: "Status", cell: ({ status }) => status },
          {
            id: "absent",
            title: "Missing from",
            cell: ({ absent_snapshots: n }) => (n > 1 ? "the last two or more" : "the last one"),
          },
          { id: "listed", title: "Listed last", cell: ({ last_listed_at: at }) => <Time at={at} /> },
        ]}
        rows={missing}
        rowKey={({ id }) => id}
        empty={null}
      />
    </section>
  );
}
