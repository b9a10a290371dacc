import type { Webhook } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type Scope, usePartnerScope } from "../scope.ts";
import { SignatureSection } from "../signature/signature-section.tsx";
import { Replays, ReplaySection } from "./replay-section.tsx";
import { SecretSection } from "./secret-section.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { StatusSection } from "./status-section.tsx";
import { TestSection } from "./test-section.tsx";
import type { WebhookClient } from "./webhook-client.ts";
import "./webhook.css";

/** A partner's webhook: where events go, how that does, and how it is signed. */
export function WebhookPage() {
  const scope = usePartnerScope();
  if (scope === undefined) return <NotFoundPage />;
  return (
    <WebhookView
      scope={scope}
      client={api.webhook}
      title="Webhook"
      about="The service sends events here as they happen."
    />
  );
}

interface WebhookViewProps {
  readonly scope: Scope;
  readonly client: WebhookClient;
  readonly title: string;
  readonly about: string;
}

/** The webhook of a scope's partner, changed by whatever the client offers. */
export function WebhookView({ scope, client, title, about }: WebhookViewProps) {
  const { params, shown, events } = useWebhook(scope);
  const [secret, setSecret] = useState<string>();
  if (shown.data === undefined || events.data === undefined) {
    const error = shown.error ?? events.error;
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void shown.refetch()} />;
  }
  const { webhook } = shown.data;
  const { canChange } = scope;
  const catalogue = events.data.data;
  const common = { params, client, canChange };
  return (
    <div class="stack form-page">
      <PageHeader title={title}>{about}</PageHeader>
      {!canChange && <Notice tone="info">Read-only: only admins can change this.</Notice>}
      {webhook !== null && <StatusSection {...common} webhook={webhook} />}
      {webhook === null && !canChange ? (
        <EmptyState title="No webhook yet">An admin of the partner can set an address.</EmptyState>
      ) : (
        <SettingsForm {...common} key={settingsOf(webhook)} webhook={webhook} events={catalogue} onSecret={setSecret} />
      )}
      {webhook !== null && (
        <>
          <SecretSection {...common} secrets={webhook.secrets} secret={secret} onSecret={setSecret} />
          {canChange && (
            <TestSection
              {...common}
              events={catalogue}
              addressOf={(id) => addressIn(scope, `deliveries/${encodeURIComponent(id)}`)}
            />
          )}
          {canChange && client.replay !== undefined && <ReplaySection params={params} replay={client.replay} />}
          <Replays replays={webhook.replays} params={params} stop={canChange ? client.stopReplay : undefined} />
        </>
      )}
      <SignatureSection />
    </div>
  );
}

/** Milliseconds between two reads while the status is about to change by itself. */
const CHANGING_INTERVAL_MS = 2_000;

/** Tells whether a probe, a replay or a pause is in progress, so that the shown state will change. */
function isChanging(webhook: Webhook | null | undefined): boolean {
  if (webhook === null || webhook === undefined) return false;
  const { status, pending, is_replaying: isReplaying } = webhook;
  return status === "probing" || (status === "active" && isReplaying) || (status === "paused" && pending > 0);
}

/** Returns the key of the form: a change of status alone must not reset the user's input. */
function settingsOf(webhook: Webhook | null): string {
  return JSON.stringify(webhook && [webhook.url, webhook.events, webhook.email, webhook.signature]);
}

/** Reads the webhook and the event types. */
function useWebhook({ systemId, partnerId = "" }: Scope) {
  const params = { system_id: systemId, partner_id: partnerId };
  const shown = useQuery({
    queryKey: ["webhook", params],
    queryFn: ({ signal }) => api.webhook.show({ params, signal }),
    refetchInterval: ({ state }) => (isChanging(state.data?.webhook) ? CHANGING_INTERVAL_MS : false),
  });
  const events = useQuery({
    queryKey: ["webhook-events", params],
    queryFn: ({ signal }) => api.webhook.events({ params, signal }),
    staleTime: Infinity,
  });
  return { params, shown, events };
}
