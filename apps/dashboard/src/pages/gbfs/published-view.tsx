import { api } from "../../api/api.ts";
import { readDocument } from "../../api/client.ts";
import { retryFailed, useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { SelectField } from "../../components/field.tsx";
import { Loading } from "../../components/loading.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import type { Access } from "../../session/session.ts";
import { fieldOf, itemsOf } from "./json-parts.ts";

/** Most characters of a document that are shown, because the stations of a city can be a megabyte. */
const MAX_SHOWN = 50_000;

/** The published GBFS documents, as readers of the feed get them. */
export function PublishedView({ access }: { readonly access: Access }) {
  const url = useUrlState();
  const { systemId } = access;
  const versions = useQuery({
    queryKey: ["gbfs-feeds", systemId],
    queryFn: ({ signal }) => api.descriptions.feeds({ params: { system_id: systemId }, signal }),
  });
  const all = versions.data?.data ?? [];
  // The service lists the oldest version first, so the newest one is the default.
  const version = all.find((each) => each.version === url.get("version")) ?? all.at(-1);
  // The `gbfs.json` of the version, which lists the addresses of its other documents.
  const discovery = useDocument(version?.url);
  const feeds = feedsOf(discovery.data);
  const wanted = url.get("feed") || "system_information";
  const feed = feeds.find(({ name }) => name === wanted) ?? feeds[0];
  const shown = useDocument(feed?.url);
  const failure = versions.error ?? discovery.error ?? shown.error;
  if (failure !== null)
    return <ErrorState error={failure} onRetry={() => void retryFailed(versions, discovery, shown)} />;
  if (version === undefined || feed === undefined) return <Loading />;
  const text = shown.data === undefined ? "" : JSON.stringify(shown.data, null, 2);
  return (
    <section class="stack">
      <div class="filters">
        <SelectField
          label="Version"
          value={version.version}
          choices={all.map((each) => ({ value: each.version, label: `GBFS ${each.version}` }))}
          onChange={(chosen) => url.filter({ version: chosen })}
        />
        <SelectField
          label="Feed"
          value={feed.name}
          choices={feeds.map(({ name }) => ({ value: name, label: name }))}
          onChange={(chosen) => url.filter({ feed: chosen })}
        />
        <Button onClick={() => void shown.refetch()}>Read again</Button>
      </div>
      <p>
        <a class="mono" href={feed.url}>
          {feed.url}
        </a>
      </p>
      {shown.data === undefined ? <Loading /> : <Code label={feed.name} text={text.slice(0, MAX_SHOWN)} />}
      {text.length > MAX_SHOWN && <p class="muted">The rest is at the address above.</p>}
    </section>
  );
}

/**
 * Reads a document from the origin of this page. Its public address may have another origin, which the page's security
 * policy does not allow.
 */
function useDocument(address: string | undefined) {
  return useQuery({
    queryKey: ["published", address],
    queryFn: ({ signal }) => readDocument(new URL(address ?? "").pathname, { signal, cache: "no-store" }),
    enabled: address !== undefined,
  });
}

interface ListedFeed {
  readonly name: string;
  readonly url: string;
}

/** Returns the feeds of a `gbfs.json`. GBFS 2.x lists them by language; the first language is used. */
function feedsOf(document: unknown): readonly ListedFeed[] {
  const data = fieldOf(document, "data");
  const languages = typeof data === "object" && data !== null ? Object.values(data) : [];
  return itemsOf(fieldOf(data, "feeds") ?? fieldOf(languages[0], "feeds")) as readonly ListedFeed[];
}
