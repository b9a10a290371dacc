import type { HistoryQuery, ResourceEvent } from "@bikeshare/contract/console";
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Code } from "../../components/code.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { UrlState } from "../../layout/url-state.ts";
import "./item-timeline.css";

/* Two parts of the pages of bikes, rides, reservations and stations: the history, and the item as the API gives it. */

/**
 * A moment in the history of an item that is known without an event. Imports create no events, and events are kept for 30
 * days only.
 */
export interface Moment {
  readonly at: string;
  /** The type of the event that reports the same. If such an event exists, it is shown instead, with this `text`. */
  readonly event?: string;
  readonly text: ComponentChildren;
}

/** `HistoryQuery` names the item by its kind (`of`) and its id. */
interface TimelineProps extends HistoryQuery {
  readonly systemId: string;
  readonly url: UrlState;
  readonly moments?: readonly Moment[];
}

const deliveryTones: Readonly<Record<ResourceEvent["deliveries"][number]["status"], Tone>> = {
  pending: "progress",
  succeeded: "success",
  failed: "danger",
  held: "warning",
};

/** The history of a bike, ride, reservation or station, newest first, with the deliveries of each event. */
export function Timeline({ systemId, url, of, id, moments = [] }: TimelineProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["fleet", "history", systemId, of, id],
    queryFn: ({ signal }) => api.fleet.history({ params: { system_id: systemId }, query: { of, id }, signal }),
  });
  return (
    <section class="stack" aria-labelledby="timeline">
      <div>
        <h2 id="timeline">Timeline</h2>
        {data?.is_complete === false && (
          <p class="muted">Not all events and deliveries are shown: there are too many.</p>
        )}
      </div>
      {data === undefined &&
        (error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data !== undefined && <Entries events={data.data} moments={moments} url={url} />}
    </section>
  );
}

interface EntriesProps {
  readonly events: readonly ResourceEvent[];
  readonly moments: readonly Moment[];
  readonly url: UrlState;
}

/** Events and moments in one list, newest first. A moment whose event is in the list only gives that event its text. */
function Entries({ events, moments, url }: EntriesProps) {
  const textByEvent = new Map(moments.map((moment) => [moment.event, moment.text]));
  const listed = new Set(events.map(({ event }) => event));
  const unlisted = moments.filter(({ event }) => event === undefined || !listed.has(event));
  const entries = [
    ...events.map((event) => ({ at: event.at, key: event.id, text: textByEvent.get(event.event), event })),
    ...unlisted.map(({ at, text }, index) => ({ at, key: `moment ${index}`, text, event: undefined })),
  ].toSorted((one, other) => other.at.localeCompare(one.at));
  if (entries.length === 0)
    return <EmptyState title="No events">Imports make no events, and events are kept for 30 days.</EmptyState>;
  return (
    <ol class="moments">
      {entries.map(({ at, key, text, event }) => (
        <li key={key}>
          <span class="moment-text">
            {text !== undefined && <span>{text}</span>}
            {event !== undefined && <code class={text === undefined ? "mono" : "mono muted"}>{event.event}</code>}
          </span>
          <span class="muted">
            <Time at={at} />
          </span>
          {event !== undefined && event.deliveries.length > 0 && <Deliveries event={event} url={url} />}
        </li>
      ))}
    </ol>
  );
}

function Deliveries({ event, url }: { readonly event: ResourceEvent; readonly url: UrlState }) {
  return (
    <ul class="moment-deliveries" aria-label="Delivered to">
      {event.deliveries.map(({ id, partner_id, partner_name, status }) => (
        <li key={id} class="row">
          <Link href={url.link(`/partners/${encodeURIComponent(partner_id)}/deliveries/${encodeURIComponent(id)}`)}>
            {partner_name}
          </Link>
          <Status tone={deliveryTones[status]}>{status}</Status>
        </li>
      ))}
    </ul>
  );
}

/** The JSON of an object as partners get it from the API. */
export function AsApi({ value }: { readonly value: object }) {
  return (
    <details>
      <summary>As the API gives it</summary>
      <Code text={JSON.stringify(value, null, 2)} label="As the API gives it" />
    </details>
  );
}
