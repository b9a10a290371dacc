import type { Webhook } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
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
import { SecretSection } from "./secret-section.tsx";
import { type PartnerParams, SettingsForm } from "./settings-form.tsx";
import { TestSection } from "./test-section.tsx";
import "./webhook.css";

/** A partner's webhook: where events go, how that does, and how it is signed. */
export function WebhookPage() {
  const scope = usePartnerScope();
  const { params, shown, events } = useWebhook(scope);
  if (scope === undefined) return <NotFoundPage />;
  if (shown.data === undefined || events.data === undefined) {
    const error = shown.error ?? events.error;
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void shown.refetch()} />;
  }
  const { webhook } = shown.data;
  const { canChange } = scope;
  const catalogue = events.data.data;
  return (
    <div class="stack">
      <PageHeader title="Webhook">Where events are sent as they happen.</PageHeader>
      {!canChange && <Notice tone="info">You may read this, but not change it.</Notice>}
      {webhook !== null && <StatusSection params={params} webhook={webhook} canChange={canChange} />}
      {webhook === null && !canChange ? (
        <EmptyState title="There is no webhook yet">An admin of the partner can set its address.</EmptyState>
      ) : (
        <SettingsForm
          key={webhook?.updated_at}
          params={params}
          webhook={webhook}
          events={catalogue}
          canChange={canChange}
        />
      )}
      {webhook !== null && (
        <>
          <SecretSection params={params} secrets={webhook.secrets} canChange={canChange} />
          {canChange && (
            <TestSection
              params={params}
              events={catalogue}
              addressOf={(id) => addressIn(scope, `deliveries/${encodeURIComponent(id)}`)}
            />
          )}
          <Replays replays={webhook.replays} />
        </>
      )}
      <SignatureSection />
    </div>
  );
}

/** What the page shows: the webhook, and the events there are. */
function useWebhook(scope: Scope | undefined) {
  const params = { system_id: scope?.systemId ?? "", partner_id: scope?.partnerId ?? "" };
  const isKnown = scope !== undefined;
  const shown = useQuery({
    queryKey: ["webhook", params],
    queryFn: ({ signal }) => api.webhook.show({ params, signal }),
    enabled: isKnown,
  });
  const events = useQuery({
    queryKey: ["webhook-events", params],
    queryFn: ({ signal }) => api.webhook.events({ params, signal }),
    enabled: isKnown,
    staleTime: Infinity,
  });
  return { params, shown, events };
}

interface StatusSectionProps {
  readonly params: PartnerParams;
  readonly webhook: Webhook;
  readonly canChange: boolean;
}

function StatusSection({ params, webhook, canChange }: StatusSectionProps) {
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
      {canChange && <StatusActions params={params} isPaused={status === "paused"} />}
    </section>
  );
}

interface StatusActionsProps {
  readonly params: PartnerParams;
  readonly isPaused: boolean;
}

function StatusActions({ params, isPaused }: StatusActionsProps) {
  const { run, isPending } = useAction();
  const act = (work: () => Promise<unknown>, said: string) =>
    void run(async () => {
      await work();
      await queries.invalidateQueries({ queryKey: ["webhook"] });
      showToast("success", said);
    });
  const request = { params, body: {} };
  const resume = () => act(() => api.webhook.resume(request), "The webhook is resumed.");
  const pause = () => act(() => api.webhook.pause(request), "Events are held from now on.");
  const retry = () => act(() => api.webhook.retryNow(request), "What waited is sent now.");
  if (isPaused) {
    return (
      <div class="row">
        <Button pending={isPending} onClick={resume}>
          Resume
        </Button>
      </div>
    );
  }
  return (
    <div class="row">
      <Button pending={isPending} onClick={pause}>
        Pause
      </Button>
      <Button pending={isPending} onClick={retry}>
        Retry what waits now
      </Button>
    </div>
  );
}

function Replays({ replays }: { readonly replays: Webhook["replays"] }) {
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
          { id: "ended", title: "Ended", cell: ({ finished_at }) => <Time at={finished_at} none="not yet" /> },
        ]}
      />
    </section>
  );
}
