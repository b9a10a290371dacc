import type { Webhook } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { InstantField } from "../../components/instant-field.tsx";
import { Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";
import { type WebhookTarget, refreshWebhooks, type WebhookClient } from "./webhook-client.ts";

type Replay = NonNullable<WebhookClient["replay"]>;
/** Which deliveries to send again: created within a time range, with one of some statuses. */
type Range = Omit<Parameters<Replay>[0]["body"], "dry_run">;

interface ReplaySectionProps {
  readonly target: WebhookTarget;
  readonly replay: Replay;
}

/** The choices of deliveries to send again, in the order of the list. */
const choices = {
  all: { label: "All finished and held deliveries", statuses: ["succeeded", "failed", "held"] },
  missed: { label: "Failed and held", statuses: ["failed", "held"] },
  failed: { label: "Failed", statuses: ["failed"] },
  held: { label: "Held", statuses: ["held"] },
  succeeded: { label: "Succeeded", statuses: ["succeeded"] },
} as const;

/**
 * The operator's form that sends a range of deliveries again. It shows their number first, and then sends exactly the
 * counted range.
 */
export function ReplaySection({ target, replay }: ReplaySectionProps) {
  const [counted, setCounted] = useState<{ readonly range: Range; readonly total: number }>();
  const { run, isPending } = useAction();
  const count = (range: Range) =>
    run(async () => {
      const { since, until, total } = await replay({ ...target, body: { ...range, dry_run: true } });
      // Keeps the exact range that the service returns (an empty end was "now"), so that the counted deliveries are sent.
      setCounted({ range: { ...range, since, until }, total });
    });
  const start = (range: Range) =>
    run(async () => {
      const { total, endpoint_status: status } = await replay({ ...target, body: { ...range, dry_run: false } });
      await refreshWebhooks();
      setCounted(undefined);
      const waits = status === "active" ? "" : " They wait until the webhook is active.";
      showToast("success", `${total} deliveries are sent again, after current events.${waits}`);
    });
  return (
    <section class="card stack" aria-labelledby="replay">
      <h2 id="replay">Replay</h2>
      <p class="muted">Resends deliveries created within a time range.</p>
      <RangeForm isPending={isPending} onInput={() => setCounted(undefined)} onSubmit={(range) => void count(range)} />
      {counted !== undefined && (
        <div class="row" role="status">
          <span>
            {counted.total} deliveries from <Time at={counted.range.since} /> to{" "}
            <Time at={counted.range.until ?? null} />
          </span>
          {counted.total > 0 && (
            <Button variant="primary" pending={isPending} onClick={() => void start(counted.range)}>
              Send them again
            </Button>
          )}
        </div>
      )}
    </section>
  );
}

interface RangeFormProps {
  readonly isPending: boolean;
  /** Called when the reader changes the range. */
  readonly onInput: () => void;
  readonly onSubmit: (range: Range) => void;
}

function RangeForm({ isPending, onInput, onSubmit }: RangeFormProps) {
  const [since, setSince] = useState("");
  const [until, setUntil] = useState("");
  const [choice, setChoice] = useState<keyof typeof choices>("missed");
  const submit = () => onSubmit({ since, ...(until !== "" && { until }), statuses: [...choices[choice].statuses] });
  const changing = (set: (value: string) => void) => (value: string) => {
    onInput();
    set(value);
  };
  return (
    <Form onSubmit={() => since !== "" && submit()}>
      <div class="webhook-actions">
        <InstantField label="Created from" value={since} onInput={changing(setSince)} />
        <InstantField label="To (empty: now)" value={until} min={since} onInput={changing(setUntil)} />
        <SelectField
          label="Which"
          value={choice}
          choices={Object.entries(choices).map(([value, { label }]) => ({ value, label }))}
          onChange={changing((value) => setChoice(value as keyof typeof choices))}
        />
        <Button type="submit" pending={isPending} disabled={since === ""}>
          Count them
        </Button>
      </div>
    </Form>
  );
}

interface ReplaysProps {
  readonly replays: Webhook["replays"];
  readonly systemId: string;
  /** Undefined: the reader cannot stop a replay. */
  readonly stop: WebhookClient["stopReplay"];
}

/** The latest replays, with their progress. */
export function Replays({ replays, systemId, stop }: ReplaysProps) {
  const { run, isPending } = useAction();
  const stopping = (stopReplay: NonNullable<typeof stop>, id: string) =>
    run(async () => {
      await stopReplay({ params: { system_id: systemId, replay_id: id }, body: {} });
      await refreshWebhooks();
    });
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
                <Button pending={isPending} onClick={() => void stopping(stop, id)}>
                  Stop
                </Button>
              ),
          },
        ]}
      />
    </section>
  );
}
