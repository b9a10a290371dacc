import type { DeliveryDetail } from "@bikeshare/contract/console";
import { useContext } from "preact/hooks";
import { Link, useParams, useSearch } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { visibleControls } from "../../components/code.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Loading } from "../../components/loading.tsx";
import { Status } from "../../components/status.tsx";
import { Time, TimedText } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { SplitSide } from "../../layout/split-side.ts";
import { type Access, usePartnerAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { useAction } from "../use-action.ts";
import { Attempt } from "./attempt.tsx";
import { Curl } from "./curl.tsx";
import { stateOf } from "./words.ts";
import "./deliveries.css";

/** Milliseconds between two reads of an unfinished delivery. */
const REFRESH_INTERVAL_MS = 3_000;

/** One delivery: why it has arrived or not, every attempt on a timeline, and the actions on it. */
export function DeliveryPage() {
  const access = usePartnerAccess();
  const { id } = useParams<{ id: string }>();
  return access === undefined ? <NotFoundPage /> : <DeliveryView access={access} id={id} />;
}

interface DeliveryViewProps {
  readonly access: Access & { readonly partnerId: string };
  readonly id: string;
}

function DeliveryView({ access, id }: DeliveryViewProps) {
  const params = { system_id: access.systemId, partner_id: access.partnerId, delivery_id: id };
  const { data, error, refetch } = useQuery({
    queryKey: ["delivery", params],
    queryFn: ({ signal }) => api.deliveries.get({ params, signal }),
    refetchInterval: ({ state }) => (state.data?.status === "pending" ? REFRESH_INTERVAL_MS : false),
  });
  const addresses = useAddresses(access.partnerId, data);
  if (data === undefined) {
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  }
  const { tone, word } = stateOf(data);
  // `exchanges` has the attempts that are still logged, oldest first, with their requests and responses.
  const longestMs = Math.max(...data.exchanges.map(({ timings }) => timings.total ?? 0));
  return (
    <div class="stack">
      <PageHeader
        title={
          <span class="row">
            {data.event} <Status tone={tone}>{word}</Status>
          </span>
        }
        actions={
          <>
            <Neighbour href={addresses.newer} label="Newer failing" shortcut="k" />
            <Neighbour href={addresses.older} label="Older failing" shortcut="j" />
            {data.exchanges.length > 0 && <Curl params={params} canSign={access.canChange} />}
            {access.membership.role === "admin" && (
              <ResendButton params={params} access={access} onResent={() => refetch()} />
            )}
          </>
        }
      >
        <TimedText text={data.explanation} />
      </PageHeader>
      <Facts facts={factsOf(data, addresses.list)} isWide />
      {data.exchanges.length === 0 ? (
        <EmptyState title="Not tried yet">Attempts will appear here.</EmptyState>
      ) : (
        <ol class="timeline" reversed aria-label="Attempts, latest first">
          {data.exchanges.toReversed().map((attempt, index) => (
            <Attempt key={attempt.number} attempt={attempt} isOpen={index === 0} longestMs={longestMs} />
          ))}
        </ol>
      )}
    </div>
  );
}

interface ResendButtonProps {
  readonly params: { readonly system_id: string; readonly partner_id: string; readonly delivery_id: string };
  readonly access: Access;
  readonly onResent: () => Promise<unknown>;
}

/**
 * A button that resends the delivery, for the admins of the partner and of the operator. On this page, the operator's admins
 * can change nothing else.
 */
function ResendButton({ params, access, onResent }: ResendButtonProps) {
  const { run, isPending } = useAction();
  const { resend: send } = access.membership.partner_id === null ? api.endpoints : api.deliveries;
  const resend = () =>
    run(async () => {
      const { outcome } = await send({ params, body: {} });
      showToast("success", resendWords[outcome]);
      await onResent();
    });
  return (
    <Button variant="primary" pending={isPending} onClick={() => void resend()}>
      Resend
    </Button>
  );
}

const resendWords = {
  redelivered: "Resent now.",
  retried_now: "The next attempt is made now.",
  already_due: "Already queued or being sent.",
} as const;

/** @param list the address of the list of this webhook's deliveries */
function factsOf({ id, event_id: eventId, resource_id: resourceId, ...delivery }: DeliveryDetail, list: string) {
  const { created_at: at, next_attempt_at: next, endpoint_name: name } = delivery;
  return [
    ["Webhook", <Link href={list}>{name}</Link>],
    ["delivery_id", <Id label="delivery_id" id={id} />],
    ["Event", <Id label="Event" id={eventId} />],
    ...(resourceId === null ? [] : [["Resource", <Id label="Resource" id={resourceId} />] as const]),
    ["Created", <Time at={at} show="both" />],
    ...(next === null ? [] : [["Next attempt", <Time at={next} show="both" />] as const]),
  ] as const;
}

function Id({ label, id }: { readonly label: string; readonly id: string }) {
  return (
    <span class="row mono">
      {visibleControls(id)} <CopyButton text={id} label={`Copy: ${label}`} />
    </span>
  );
}

interface Addresses {
  readonly list: string;
  readonly older: string | undefined;
  readonly newer: string | undefined;
}

/** Returns the addresses of the list of the webhook's deliveries, and of the next older and newer failing delivery. */
function useAddresses(partnerId: string, delivery: DeliveryDetail | undefined): Addresses {
  const search = useSearch();
  const inList = new URLSearchParams(search);
  if (delivery !== undefined) inList.set("endpoint", delivery.endpoint_id);
  const list = `/partners/${encodeURIComponent(partnerId)}/deliveries?${inList.toString()}`;
  const pageOf = (id: string | null | undefined) =>
    id === null || id === undefined
      ? undefined
      : `/partners/${encodeURIComponent(partnerId)}/deliveries/${encodeURIComponent(id)}${search === "" ? "" : `?${search}`}`;
  // "Next" and "previous" are meant as in the list, which begins with the newest delivery.
  return { list, older: pageOf(delivery?.next_failing_id), newer: pageOf(delivery?.previous_failing_id) };
}

interface NeighbourProps {
  readonly href: string | undefined;
  readonly label: string;
  readonly shortcut: string;
}

/** A link to the next older or newer failing delivery. Beside the list it has no shortcut: there the keys move in the list. */
function Neighbour({ href, label, shortcut }: NeighbourProps) {
  const key = useContext(SplitSide) === "item" ? undefined : shortcut;
  const content = (
    <>
      {label} {key !== undefined && <kbd>{key}</kbd>}
    </>
  );
  if (href === undefined) return <Button disabled>{content}</Button>;
  return (
    <ButtonLink href={href} shortcut={key}>
      {content}
    </ButtonLink>
  );
}
