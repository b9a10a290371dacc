import type { EventDescription, Webhook } from "@bikeshare/contract/console";
import { useLocation, useSearchParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { retryFailed, useQuery } from "../../api/queries.ts";
import { ButtonLink } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useShownOnce } from "../../session/shown-once.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type PageScope, usePartnerScope } from "../scope.ts";
import { SignatureSection } from "../signature/signature-section.tsx";
import { Replays, ReplaySection } from "./replay-section.tsx";
import { SecretSection } from "./secret-section.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { StatusSection } from "./status-section.tsx";
import { TestSection } from "./test-section.tsx";
import type { WebhookClient } from "./webhook-client.ts";
import { WebhookList } from "./webhook-list.tsx";
import "./webhook.css";

/** The page of a partner's webhooks: the address of each, its health, and its signing secret. */
export function WebhookPage() {
  const scope = usePartnerScope();
  if (scope === undefined) return <NotFoundPage />;
  return (
    <WebhooksView
      scope={scope}
      client={api.webhook}
      of=""
      about="The service sends events here as they happen."
      addressOf={(query) => addressIn(scope, "webhook", query)}
    />
  );
}

interface WebhooksViewProps {
  readonly scope: PageScope;
  readonly client: WebhookClient;
  /** Added to the end of each title, to name the partner if the page does not show that otherwise. */
  readonly of: string;
  /** A sentence below the title. */
  readonly about: string;
  /** Returns the address of this page with a query, such as the one that names a webhook. */
  readonly addressOf: (query: Readonly<Record<string, string>>) => string;
}

/** The webhook that was saved last, with its secret if the response had one. */
interface SavedWebhook {
  readonly id: string;
  readonly secret: string | undefined;
}

/** The limit of endpoints for each partner. PostgreSQL enforces the same limit. */
const MAX_WEBHOOKS = 10;

/**
 * Shows a partner's only webhook, the webhook that the address names, the form of a new one, or the list. The pages of the
 * partner and of the operator use it, each with its own client.
 */
export function WebhooksView(props: WebhooksViewProps) {
  const { scope, addressOf, of } = props;
  const [search] = useSearchParams();
  const [, navigate] = useLocation();
  const [saved, setSaved] = useShownOnce<SavedWebhook>();
  const { list, events } = useWebhooks(scope);
  if (list.data === undefined || events.data === undefined) {
    const error = list.error ?? events.error;
    return error === null ? (
      <Loading />
    ) : (
      <ErrorState isPage error={error} onRetry={() => void retryFailed(list, events)} />
    );
  }
  const webhooks = list.data.data;
  const wanted = search.get("endpoint");
  const isAdding = search.has("new") || webhooks.length === 0;
  const chosen = wanted === null && webhooks.length === 1 ? webhooks[0] : webhooks.find(({ id }) => id === wanted);
  const otherNames = webhooks.filter((each) => isAdding || each !== chosen).map(({ name }) => name);
  const common = { ...props, catalogue: events.data.data, otherNames, saved };
  const onSaved = (id: string, secret: string | undefined) => {
    setSaved({ id, secret });
    if (isAdding) navigate(addressOf({ endpoint: id }));
  };
  const add =
    scope.canChange && webhooks.length < MAX_WEBHOOKS ? (
      <ButtonLink href={addressOf({ new: "1" })}>Add a webhook</ButtonLink>
    ) : null;
  if (isAdding) return <NewWebhook {...common} onSaved={onSaved} />;
  if (chosen !== undefined)
    return <OneWebhook key={chosen.id} {...common} webhook={chosen} add={add} onSaved={onSaved} />;
  // The webhook was just added, and the list does not have it yet.
  if (wanted !== null && wanted === saved?.id) return <Loading />;
  if (wanted !== null)
    return (
      <EmptyState title="No such webhook" action={<ButtonLink href={addressOf({})}>All webhooks</ButtonLink>}>
        It was removed, or the link is wrong.
      </EmptyState>
    );
  return (
    <div class="stack">
      <PageHeader title={`Webhooks${of}`} actions={add} />
      <WebhookList webhooks={webhooks} addressOf={addressOf} scope={scope} />
    </div>
  );
}

/** The properties that the form of a new webhook and the view of one webhook share. */
interface PartProps extends WebhooksViewProps {
  /** All event types. */
  readonly catalogue: readonly EventDescription[];
  /** The names of the webhooks besides the one whose form is shown. */
  readonly otherNames: readonly string[];
  readonly saved: SavedWebhook | undefined;
  readonly onSaved: (id: string, secret: string | undefined) => void;
}

/** The form of a new webhook. */
function NewWebhook({ scope, client, of, about, catalogue, otherNames, addressOf, onSaved }: PartProps) {
  const { canChange } = scope;
  const hasOthers = otherNames.length > 0;
  return (
    <div class="stack form-page">
      <PageHeader
        title={hasOthers ? `New webhook${of}` : `Webhook${of}`}
        actions={hasOthers && <ButtonLink href={addressOf({})}>All webhooks</ButtonLink>}
      >
        {about}
      </PageHeader>
      {canChange ? (
        <SettingsForm
          target={{ params: paramsOf(scope), query: {} }}
          {...{ client, canChange, otherNames, onSaved }}
          webhook={null}
          events={catalogue}
        />
      ) : (
        <EmptyState title="No webhook yet">An admin of the partner can set an address.</EmptyState>
      )}
      <SignatureSection />
    </div>
  );
}

interface OneWebhookProps extends PartProps {
  readonly webhook: Webhook;
  readonly add: preact.ComponentChildren;
}

/** One webhook, with the actions that the client offers. */
function OneWebhook(props: OneWebhookProps) {
  const { scope, client, of, about, catalogue, otherNames, saved, webhook, add, addressOf, onSaved } = props;
  const [shown, setShown] = useShownOnce<string>();
  const { canChange } = scope;
  const hasOthers = otherNames.length > 0;
  const target = { params: paramsOf(scope), query: { endpoint_id: webhook.id } };
  const common = { target, client, canChange };
  // The secret that was shown or rotated here, or else that of the webhook just added.
  const secret = shown ?? (saved?.id === webhook.id ? saved.secret : undefined);
  return (
    <div class="stack form-page">
      <PageHeader
        title={`${hasOthers ? webhook.name : "Webhook"}${of}`}
        actions={
          <>
            {hasOthers ? <ButtonLink href={addressOf({})}>All webhooks</ButtonLink> : add}
            <ButtonLink href={addressIn(scope, "deliveries", { endpoint: webhook.id })}>Deliveries</ButtonLink>
          </>
        }
      >
        {about}
      </PageHeader>
      {!canChange && <Notice tone="info">Read-only: only admins can change this.</Notice>}
      <StatusSection {...common} webhook={webhook} />
      <SettingsForm
        {...common}
        otherNames={otherNames}
        webhook={webhook}
        key={settingsOf(webhook)}
        events={catalogue}
        onSaved={(id, newSecret) => {
          setShown(newSecret);
          onSaved(id, newSecret);
        }}
      />
      <SecretSection {...common} secrets={webhook.secrets} secret={secret} onSecret={setShown} />
      {canChange && (
        <TestSection
          {...common}
          events={catalogue}
          addressOf={(id) => addressIn(scope, `deliveries/${encodeURIComponent(id)}`)}
        />
      )}
      {canChange && client.replay !== undefined && <ReplaySection target={target} replay={client.replay} />}
      <Replays replays={webhook.replays} systemId={scope.systemId} stop={canChange ? client.stopReplay : undefined} />
      <SignatureSection />
    </div>
  );
}

/** Milliseconds between two reads while the status will soon change without the reader. */
const CHANGING_INTERVAL_MS = 2_000;

/**
 * Tells whether the shown state will soon change: during a probe or a replay, and after a pause until every waiting
 * delivery is held.
 */
function isChanging({ status, pending, is_replaying: isReplaying }: Webhook): boolean {
  return status === "probing" || (status === "active" && isReplaying) || (status === "paused" && pending > 0);
}

/**
 * Returns the `key` of the settings form. It contains only the settings, so that a change of status does not reset the
 * reader's input.
 */
function settingsOf(webhook: Webhook): string {
  const { name, url, events, places, thresholds, max_per_hour: perHour, email, signature } = webhook;
  return JSON.stringify([name, url, events, places, thresholds, perHour, email, signature]);
}

function paramsOf({ systemId, partnerId = "" }: PageScope) {
  return { system_id: systemId, partner_id: partnerId };
}

/** Reads the webhooks and the event types. */
function useWebhooks(scope: PageScope) {
  const params = paramsOf(scope);
  const list = useQuery({
    queryKey: ["webhook", params],
    queryFn: ({ signal }) => api.webhook.list({ params, signal }),
    refetchInterval: ({ state }) => (state.data?.data.some(isChanging) === true ? CHANGING_INTERVAL_MS : false),
  });
  const events = useQuery({
    queryKey: ["webhook-events", params],
    queryFn: ({ signal }) => api.webhook.events({ params, signal }),
    staleTime: Infinity,
  });
  return { list, events };
}
