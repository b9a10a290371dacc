import type { Webhook } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { endpointState } from "../endpoint-state.ts";
import { useAction } from "../use-action.ts";
import { waitingText } from "../waiting-text.ts";
import { HeldDialog } from "./held-dialog.tsx";
import { hourText } from "./hour-text.ts";
import { type WebhookTarget, refreshWebhooks, type WebhookClient } from "./webhook-client.ts";

interface StatusSectionProps {
  readonly target: WebhookTarget;
  readonly client: WebhookClient;
  readonly webhook: Webhook;
  readonly canChange: boolean;
}

/** The status of the webhook, its problems, and buttons to pause, resume, retry and remove it. */
export function StatusSection({ target, client, webhook, canChange }: StatusSectionProps) {
  const { status, failing_since, pending, held, held_since, workers, paused_at, is_replaying: isReplaying } = webhook;
  const [tone, text] = endpointState(webhook);
  // The deliveries of this hour, if the webhook has an hourly limit.
  const hour = hourText(webhook);
  // Whether the operator has paused the webhook and this is the partner's page, where the partner cannot resume it. Only the
  // operator's client has `replay`.
  const isOperatorsPause = webhook.pause_reason === "operator" && client.replay === undefined;
  return (
    <section class="card stack" aria-labelledby="status">
      <h2 id="status">Status</h2>
      <p>
        <Status tone={tone}>{text}</Status>
        {paused_at !== null && (
          <span class="muted">
            {" "}
            since <Time at={paused_at} />
          </span>
        )}
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
      {hour !== undefined && <p class="muted">This hour (UTC): {hour}.</p>}
      {isReplaying && (
        <p class="muted">
          {status === "active" ? "Deliveries are being resent." : "Deliveries are resent once the webhook is active."}
        </p>
      )}
      {workers === 0 && <Notice tone="warning">No worker is sending webhooks at present.</Notice>}
      {status !== "paused" && held > 0 && !isReplaying && (
        <StrandedNotice target={target} client={client} held={held} canChange={canChange} />
      )}
      {canChange && isOperatorsPause && <p>Only the operator can resume or remove the webhook.</p>}
      {canChange && !isOperatorsPause && (
        <StatusActions target={target} client={client} isPaused={status === "paused"} />
      )}
    </section>
  );
}

interface StrandedNoticeProps extends Pick<StatusSectionProps, "target" | "client" | "canChange"> {
  readonly held: number;
}

/** A notice about deliveries that are held although the webhook is not paused, with buttons to release or drop them. */
function StrandedNotice({ target, client, held, canChange }: StrandedNoticeProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Notice tone="warning" actions={canChange && <Button onClick={() => setAsking(true)}>Send or drop them</Button>}>
        {waitingText(held)} {held === 1 ? "delivery is" : "deliveries are"} still held from the last pause. Held
        deliveries are not sent by themselves.
      </Notice>
      <HeldDialog target={target} client={client} isPaused={false} isOpen={isAsking} onClose={() => setAsking(false)} />
    </>
  );
}

interface StatusActionsProps {
  readonly target: WebhookTarget;
  readonly client: WebhookClient;
  readonly isPaused: boolean;
}

function StatusActions({ target, client, isPaused }: StatusActionsProps) {
  const { run, isPending } = useAction();
  const [isAsking, setAsking] = useState(false);
  const change = async (work: () => Promise<unknown>, outcome: string) => {
    await work();
    await refreshWebhooks();
    showToast("success", outcome);
  };
  const act = (work: () => Promise<unknown>, outcome: string) => void run(() => change(work, outcome));
  const request = { ...target, body: {} };
  const resume = () =>
    void run(async () => {
      // Counts again, because the page's count may be seconds old and more deliveries may have been held since.
      const { total } = await api.webhook.held({ ...target });
      if (total > 0) setAsking(true);
      else await change(() => client.resume(request), "The webhook is resumed.");
    });
  const pause = () => act(() => client.pause(request), "Events are held from now on.");
  const retry = () => act(() => client.retryNow(request), "Waiting deliveries are sent now.");
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
      <RemoveButton target={target} client={client} />
      <HeldDialog target={target} client={client} isPaused isOpen={isAsking} onClose={() => setAsking(false)} />
    </div>
  );
}

/** A button that removes the webhook after a confirmation. */
function RemoveButton({ target, client }: Pick<StatusActionsProps, "target" | "client">) {
  const [isAsking, setAsking] = useState(false);
  const { run, isPending } = useAction();
  const remove = () =>
    run(async () => {
      await client.remove({ ...target, body: {} });
      setAsking(false);
      await refreshWebhooks();
      showToast("success", "The webhook is removed.");
    });
  return (
    <>
      <Button variant="danger" onClick={() => setAsking(true)}>
        Remove
      </Button>
      <Dialog
        title="Remove the webhook?"
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        actions={
          <>
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button variant="danger" pending={isPending} onClick={() => void remove()}>
              Remove the webhook
            </Button>
          </>
        }
      >
        <p>
          Removing deletes its secrets and stops all deliveries; the log stays. To stop for a while, pause it instead.
        </p>
      </Dialog>
    </>
  );
}
