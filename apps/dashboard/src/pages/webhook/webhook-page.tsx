import type { Webhook } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status } from "../../components/status.tsx";
import { Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { endpointState } from "../endpoint-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type Scope, usePartnerScope } from "../scope.ts";
import { SignatureSection } from "../signature/signature-section.tsx";
import { useAction } from "../use-action.ts";
import { waitingText } from "../waiting-text.ts";
import { ReplaySection } from "./replay-section.tsx";
import { SecretSection } from "./secret-section.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { TestSection } from "./test-section.tsx";
import { type PartnerParams, refreshWebhooks, type WebhookClient } from "./webhook-client.ts";
import "./webhook.css";

/** A partner's webhook: where events go, how that does, and how it is signed. */
export function WebhookPage() {
  const scope = usePartnerScope();
  if (scope === undefined) return <NotFoundPage />;
  return (
    <WebhookView scope={scope} client={api.webhook} title="Webhook" about="Where events are sent as they happen." />
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
  return (
    <div class="stack">
      <PageHeader title={title}>{about}</PageHeader>
      {!canChange && <Notice tone="info">You may read this, but not change it.</Notice>}
      {webhook !== null && <StatusSection params={params} client={client} webhook={webhook} canChange={canChange} />}
      {webhook === null && !canChange ? (
        <EmptyState title="There is no webhook yet">An admin of the partner can set its address.</EmptyState>
      ) : (
        <SettingsForm
          key={webhook?.updated_at}
          params={params}
          client={client}
          webhook={webhook}
          events={catalogue}
          canChange={canChange}
          onSecret={setSecret}
        />
      )}
      {webhook !== null && (
        <>
          <SecretSection
            params={params}
            client={client}
            secrets={webhook.secrets}
            canChange={canChange}
            secret={secret}
            onSecret={setSecret}
          />
          {canChange && (
            <TestSection
              params={params}
              client={client}
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

/** What the page shows: the webhook, and the events there are. */
function useWebhook({ systemId, partnerId = "" }: Scope) {
  const params = { system_id: systemId, partner_id: partnerId };
  const shown = useQuery({
    queryKey: ["webhook", params],
    queryFn: ({ signal }) => api.webhook.show({ params, signal }),
  });
  const events = useQuery({
    queryKey: ["webhook-events", params],
    queryFn: ({ signal }) => api.webhook.events({ params, signal }),
    staleTime: Infinity,
  });
  return { params, shown, events };
}

interface StatusSectionProps {
  readonly params: PartnerParams;
  readonly client: WebhookClient;
  readonly webhook: Webhook;
  readonly canChange: boolean;
}

function StatusSection({ params, client, webhook, canChange }: StatusSectionProps) {
  const { status, failing_since, pending, held, held_since, workers } = webhook;
  const [tone, text] = endpointState(webhook);
  return (
    <section class="card stack" aria-labelledby="status">
      <h2 id="status">Status</h2>
      <p>
        <Status tone={tone}>{text}</Status>
      </p>
      {failing_since !== null && (
        <p>
          Failing since <Time at={failing_since} />, {webhook.failures} attempts.
        </p>
      )}
      <p class="muted">
        {waitingText(pending)} waiting, {waitingText(held)} held
        {held_since !== null && (
          <>
            {" "}
            since <Time at={held_since} />
          </>
        )}
      </p>
      {workers === 0 && <Notice tone="warning">No process of the service sends webhooks at present.</Notice>}
      {canChange && <StatusActions params={params} client={client} isPaused={status === "paused"} />}
    </section>
  );
}

interface StatusActionsProps {
  readonly params: PartnerParams;
  readonly client: WebhookClient;
  readonly isPaused: boolean;
}

function StatusActions({ params, client, isPaused }: StatusActionsProps) {
  const [isRemoving, setRemoving] = useState(false);
  const { run, isPending } = useAction();
  const act = (work: () => Promise<unknown>, said: string) =>
    void run(async () => {
      await work();
      setRemoving(false);
      await refreshWebhooks();
      showToast("success", said);
    });
  const request = { params, body: {} };
  const resume = () => act(() => client.resume(request), "The webhook is resumed.");
  const pause = () => act(() => client.pause(request), "Events are held from now on.");
  const retry = () => act(() => client.retryNow(request), "What waited is sent now.");
  const remove = () => act(() => client.remove(request), "The webhook is removed.");
  return (
    <div class="row">
      {isPaused ? (
        <Button pending={isPending} onClick={resume}>
          Resume
        </Button>
      ) : (
        <>
          <Button pending={isPending} onClick={pause}>
            Pause
          </Button>
          <Button pending={isPending} onClick={retry}>
            Retry what waits now
          </Button>
        </>
      )}
      <Button variant="danger" onClick={() => setRemoving(true)}>
        Remove
      </Button>
      <Dialog
        title="Remove the webhook?"
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        actions={
          <>
            <Button onClick={() => setRemoving(false)}>Cancel</Button>
            <Button variant="danger" pending={isPending} onClick={remove}>
              Remove the webhook
            </Button>
          </>
        }
      >
        <p>Its secrets are deleted and nothing more is sent. The log stays. Pausing can be undone.</p>
      </Dialog>
    </div>
  );
}

interface ReplaysProps {
  readonly replays: Webhook["replays"];
  readonly params: PartnerParams;
  readonly stop: WebhookClient["stopReplay"];
}

function Replays({ replays, params: { system_id }, stop }: ReplaysProps) {
  const { run, isPending } = useAction();
  if (replays.length === 0) return null;
  return (
    <section class="stack" aria-labelledby="replays">
      <h2 id="replays">Recent replays</h2>
      <Table
        caption="Recent replays"
        rows={replays}
        rowKey={({ id }) => id}
        empty={null}
        columns={[
          { id: "begun", title: "Begun", cell: ({ created_at }) => <Time at={created_at} /> },
          { id: "since", title: "From", isSecondary: true, cell: ({ since }) => <Time at={since} /> },
          { id: "until", title: "To", isSecondary: true, cell: ({ until }) => <Time at={until} /> },
          { id: "queued", title: "Queued", align: "end", cell: ({ queued, total }) => `${queued} of ${total}` },
          {
            id: "ended",
            title: "Ended",
            cell: ({ id, finished_at }) =>
              finished_at !== null || stop === undefined ? (
                <Time at={finished_at} none="not yet" />
              ) : (
                <Button
                  pending={isPending}
                  onClick={() =>
                    void run(async () => {
                      await stop({ params: { system_id, replay_id: id }, body: {} });
                      await refreshWebhooks();
                    })
                  }
                >
                  Stop
                </Button>
              ),
          },
        ]}
      />
    </section>
  );
}
