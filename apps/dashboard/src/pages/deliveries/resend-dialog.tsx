import type { BulkResend, ResendSelection } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { type api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { useAction } from "../use-action.ts";
import type { WebhookTarget } from "../webhook/webhook-client.ts";
import { countDeliveries } from "./words.ts";

interface ResendDialogProps {
  /** The deliveries to resend. Undefined: the dialog is closed. */
  readonly selection: ResendSelection | undefined;
  /** The calls of a resend: those for a partner's admins, or those for the operator's. */
  readonly client: typeof api.resends | typeof api.systemResends;
  readonly target: WebhookTarget;
  readonly onClose: () => void;
}

/** Milliseconds between two reads of the progress. */
const PROGRESS_INTERVAL_MS = 1_000;

/** A dialog that resends many deliveries. It shows their number first, then the progress and a button to stop. */
export function ResendDialog(props: ResendDialogProps) {
  const { selection } = props;
  const { count, resend, isPending, start, cancel, close } = useResend(props);
  const total = count.data?.total ?? 0;
  const actions =
    resend === undefined ? (
      <>
        <Button onClick={close}>Close</Button>
        <Button variant="primary" disabled={total === 0} pending={isPending} onClick={start}>
          Resend {countDeliveries(total)}
        </Button>
      </>
    ) : (
      <>
        {!isOver(resend) && (
          <Button variant="danger" pending={isPending} onClick={cancel}>
            Cancel the rest
          </Button>
        )}
        <Button variant="primary" onClick={close}>
          {isOver(resend) ? "Close" : "Close and continue in the background"}
        </Button>
      </>
    );
  return (
    <Dialog title="Resend deliveries" isOpen={selection !== undefined} onClose={close} actions={actions}>
      {resend !== undefined && <Progress resend={resend} counted={total} />}
      {resend === undefined && count.error !== null && (
        <ErrorState error={count.error} onRetry={() => void count.refetch()} />
      )}
      {resend === undefined && count.error === null && count.data === undefined && <Loading label="Counting …" />}
      {resend === undefined && count.data !== undefined && <Counted total={total} />}
    </Dialog>
  );
}

/** Reads the number of deliveries, and follows the resend once it has begun. */
function useResend({ selection, client, target, onClose }: ResendDialogProps) {
  const [started, setStarted] = useState<BulkResend>();
  const { run, isPending } = useAction();
  const request = { ...target, params: { ...target.params, resend_id: started?.id ?? "" } };
  const count = useQuery({
    queryKey: ["resend-count", target, selection],
    queryFn: () => client.count({ ...target, body: selection ?? {} }),
    enabled: selection !== undefined && started === undefined,
    staleTime: 0,
  });
  const progress = useQuery({
    queryKey: ["resend", target, started?.id],
    queryFn: () => client.get(request),
    enabled: started !== undefined,
    refetchInterval: (query) => (isOver(query.state.data) ? false : PROGRESS_INTERVAL_MS),
  });
  const begin = async () => setStarted(await client.create({ ...target, body: selection ?? {} }));
  const stop = async () => {
    await client.cancel({ ...request, body: {} });
    await progress.refetch();
  };
  return {
    count,
    // The latest progress. Undefined: the resend has not begun.
    resend: progress.data ?? started,
    isPending,
    start: () => void run(begin),
    cancel: () => void run(stop),
    close: () => {
      setStarted(undefined);
      queries.invalidateQueries({ queryKey: ["deliveries"] }).catch(() => undefined);
      onClose();
    },
  };
}

function Counted({ total }: { readonly total: number }) {
  if (total === 0) {
    return <p>None can be resent: they wait for their first attempt, or are tests.</p>;
  }
  return (
    <>
      <p>
        <strong>{countDeliveries(total)}</strong> will be sent again, under the same <code>delivery_id</code>, behind
        whatever happens meanwhile.
      </p>
      <p class="muted">
        What succeeds before its turn is left out. What waits for its next attempt is tried now. Your receiver must drop
        repeats by the delivery_id.
      </p>
    </>
  );
}

interface ProgressProps {
  readonly resend: BulkResend;
  /** The number of deliveries that the reader was shown. */
  readonly counted: number;
}

function Progress({ resend, counted }: ProgressProps) {
  const { status, queued } = resend;
  const total = Math.max(counted, resend.total);
  // Deliveries that succeeded between the count and the start are not part of the resend, so they count as left out.
  const leftOut = resend.skipped + total - resend.total;
  return (
    <>
      <label class="stack">
        <span>{progressWords[status]}</span>
        <progress class="resend-progress" max={Math.max(1, total)} value={queued + leftOut} />
      </label>
      <p role="status">
        {queued.toLocaleString("en")} of {countDeliveries(total)} queued
        {leftOut > 0 && `, ${leftOut.toLocaleString("en")} left out: succeeded since`}.
      </p>
      {status === "waiting" && (
        <Notice tone="warning">Starts when the endpoint is active and earlier resends are done.</Notice>
      )}
    </>
  );
}

const progressWords: Readonly<Record<BulkResend["status"], string>> = {
  running: "Being queued",
  waiting: "Waiting",
  finished: "All queued",
  cancelled: "Cancelled: queued deliveries are sent, the others stay as they were",
};

function isOver(resend: BulkResend | undefined): boolean {
  return resend?.status === "finished" || resend?.status === "cancelled";
}
