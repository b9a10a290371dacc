import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { InstantField } from "../../components/instant-field.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";
import { type PartnerParams, refreshWebhooks, type WebhookClient } from "./webhook-client.ts";

type Replay = NonNullable<WebhookClient["replay"]>;
type Counted = Awaited<ReturnType<Replay>>;

interface ReplaySectionProps {
  readonly params: PartnerParams;
  readonly replay: Replay;
}

/** In the order of the list. */
const choices = {
  all: { label: "All that are finished or held", statuses: ["succeeded", "failed", "held"] },
  missed: { label: "Failed and held", statuses: ["failed", "held"] },
  failed: { label: "Failed", statuses: ["failed"] },
  held: { label: "Held", statuses: ["held"] },
  succeeded: { label: "Succeeded", statuses: ["succeeded"] },
} as const;

/** Sends a range of deliveries again. They are counted first, and what is sent is the range that was counted. */
export function ReplaySection({ params, replay }: ReplaySectionProps) {
  const [since, setSince] = useState("");
  const [until, setUntil] = useState("");
  const [choice, setChoice] = useState<keyof typeof choices>("missed");
  const [counted, setCounted] = useState<Counted>();
  const { run, isPending } = useAction();
  const statuses = [...choices[choice].statuses];
  const changing =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      setCounted(undefined);
      set(value);
    };
  const count = () =>
    run(async () => {
      const range = { since, ...(until !== "" && { until }), statuses };
      setCounted(await replay({ params, body: { ...range, dry_run: true } }));
    });
  const start = (range: Counted) =>
    run(async () => {
      const body = { since: range.since, until: range.until, statuses, dry_run: false };
      const { total, endpoint_status: status } = await replay({ params, body });
      await refreshWebhooks();
      setCounted(undefined);
      const waits = status === "active" ? "" : " They wait until the webhook is active.";
      showToast("success", `${total} deliveries are sent again, after current events.${waits}`);
    });
  return (
    <section class="card stack" aria-labelledby="replay">
      <h2 id="replay">Replay</h2>
      <p class="muted">Sends deliveries again that were created in a range of time.</p>
      <Form onSubmit={() => void (since !== "" && count())}>
        <div class="webhook-actions">
          <InstantField label="Created from" value={since} onInput={changing(setSince)} />
          <InstantField label="To (empty: now)" value={until} onInput={changing(setUntil)} />
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
      {counted !== undefined && (
        <div class="row" role="status">
          <span>
            {counted.total} deliveries from <Time at={counted.since} /> to <Time at={counted.until} />
          </span>
          {counted.total > 0 && (
            <Button variant="primary" pending={isPending} onClick={() => void start(counted)}>
              Send them again
            </Button>
          )}
        </div>
      )}
    </section>
  );
}
