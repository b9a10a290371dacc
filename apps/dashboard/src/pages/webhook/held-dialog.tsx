import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { showToast } from "../../components/toast.tsx";
import { countDeliveries } from "../deliveries/words.ts";
import { useAction } from "../use-action.ts";
import { type WebhookTarget, refreshWebhooks, type WebhookClient } from "./webhook-client.ts";

interface HeldDialogProps {
  readonly target: WebhookTarget;
  readonly client: Pick<WebhookClient, "resume" | "sendHeld" | "dropHeld">;
  /** Whether the webhook is paused. The dialog then resumes it too. */
  readonly isPaused: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/**
 * A dialog that asks what to do with held deliveries: send, drop or keep them. Deliveries of a paused webhook are held. They
 * stay held after the pause, until somebody decides.
 */
export function HeldDialog(props: HeldDialogProps) {
  const { isPaused, isOpen, onClose } = props;
  const { held, total, isPending, keep, drop, send } = useHeld(props);
  return (
    <Dialog
      title={isPaused ? "Resume the webhook" : "Held deliveries"}
      isOpen={isOpen}
      onClose={onClose}
      actions={
        <>
          {isPaused && !held.isPending && (
            <Button pending={isPending} onClick={keep}>
              {total === 0 ? "Resume" : "Resume and decide later"}
            </Button>
          )}
          {total > 0 && (
            <>
              <Button variant="danger" pending={isPending} onClick={drop}>
                Drop {total === 1 ? "it" : "them"}
                {isPaused && " and resume"}
              </Button>
              <Button variant="primary" pending={isPending} onClick={send}>
                {isPaused ? "Resume and send" : "Send"} the {total.toLocaleString("en")} held
              </Button>
            </>
          )}
        </>
      }
    >
      {held.error !== null && <ErrorState error={held.error} onRetry={() => void held.refetch()} />}
      {held.error === null && held.data === undefined && <Loading label="Counting …" />}
      {held.data !== undefined && <HeldText total={total} isPaused={isPaused} />}
    </Dialog>
  );
}

/** Counts the held deliveries and offers the actions on them: `keep` resumes the webhook and leaves them held. */
function useHeld({ target, client, isPaused, isOpen, onClose }: HeldDialogProps) {
  const held = useQuery({
    queryKey: ["webhook", target, "held"],
    queryFn: ({ signal }) => api.webhook.held({ ...target, signal }),
    enabled: isOpen,
    // Counted again only after a failed action or a lost connection, because exactly the counted deliveries are dropped.
    staleTime: Infinity,
    gcTime: 0,
  });
  const { run, isPending } = useAction();
  const total = held.data?.total ?? 0;
  const act = (work: () => Promise<string>) =>
    void run(async () => {
      try {
        const outcome = await work();
        onClose();
        showToast("success", outcome);
      } finally {
        await refreshWebhooks();
      }
    });
  const resume = async (sends: boolean) => (await client.resume({ ...target, body: { sends_held: sends } })).sent;
  const send = async () => {
    if (isPaused) return probeText(await resume(true));
    const { sent } = await client.sendHeld({ ...target, body: {} });
    return `${countDeliveries(sent)} will be sent after current events.`;
  };
  const keep = async () => {
    await resume(false);
    return "The webhook is resumed.";
  };
  const drop = async () => {
    let dropped = 0;
    // Each call drops one batch. `total` is what the reader was shown, less the batches before. The first call fails if more
    // is held than that. Later calls (`is_continued`) trust the number.
    for (let remaining = total; remaining > 0 && held.data !== undefined;) {
      const batch = await client.dropHeld({
        ...target,
        body: { ...held.data, total: remaining, is_continued: dropped > 0 },
      });
      dropped += batch.dropped;
      remaining = batch.remaining;
    }
    const outcome = `${countDeliveries(dropped)} dropped.`;
    if (!isPaused) return outcome;
    // Shown before the webhook is resumed: even if that fails, the deliveries have been dropped.
    showToast("success", outcome);
    return keep();
  };
  return { held, total, isPending, keep: () => act(keep), drop: () => act(drop), send: () => act(send) };
}

/** @param others the number of held deliveries that are sent after the probe */
function probeText(others: number): string {
  const followers = others === 0 ? "" : `, then the other ${others.toLocaleString("en")}`;
  return `The oldest held delivery is sent as a probe${followers}.`;
}

function HeldText({ total, isPaused }: { readonly total: number; readonly isPaused: boolean }) {
  if (total === 0) return <p>All held deliveries are already being sent.</p>;
  return (
    <>
      <p>
        <strong>{countDeliveries(total)}</strong> {total === 1 ? "is" : "are"} held.
        {isPaused &&
          (total === 1
            ? " Unless you drop it, it is sent as a probe."
            : " Unless you drop them, the oldest is sent as a probe. The others are sent once it succeeds, or stay held.")}
      </p>
      <p class="muted">
        A dropped delivery is not sent. It stays in the log as “dropped”, and can be resent from there for 30 days.
      </p>
    </>
  );
}
