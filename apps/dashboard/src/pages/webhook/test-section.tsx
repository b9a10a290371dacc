import type { EventDescription } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { SelectField } from "../../components/field.tsx";
import { Loading } from "../../components/loading.tsx";
import { TimedText } from "../../components/time.tsx";
import { Attempt } from "../deliveries/attempt.tsx";
import { useAction } from "../use-action.ts";
import type { PartnerParams, WebhookClient, WebhookTarget } from "./webhook-client.ts";

interface TestSectionProps {
  readonly target: WebhookTarget;
  readonly client: Pick<WebhookClient, "test">;
  readonly events: readonly EventDescription[];
  /** Returns the address of a delivery's page. */
  readonly addressOf: (deliveryId: string) => string;
}

/** An event type of the contract. The choices come from the service, which may be newer than these pages. */
type KnownEvent = NonNullable<Parameters<WebhookClient["test"]>[0]["body"]>["event"];

/** Milliseconds between two checks whether the test delivery has arrived. */
const POLL_INTERVAL_MS = 500;

/** Sends a test delivery, and shows its request and response. */
export function TestSection({ target, client, events, addressOf }: TestSectionProps) {
  const [event, setEvent] = useState(events[0]?.name ?? "");
  const [id, setId] = useState<string>();
  const { run, isPending } = useAction();
  const send = () =>
    run(async () => {
      const known = event as KnownEvent;
      setId((await client.test({ ...target, body: { event: known } })).delivery_id);
    });
  return (
    <section class="card stack" aria-labelledby="test">
      <h2 id="test">Test</h2>
      <p class="muted">Sends a signed sample event once, and logs it like any other delivery.</p>
      <div class="webhook-actions">
        <SelectField
          label="Event"
          value={event}
          choices={events.map(({ name }) => ({ value: name, label: name }))}
          onChange={setEvent}
        />
        <Button pending={isPending} onClick={() => void send()}>
          Send a test
        </Button>
      </div>
      {id !== undefined && <TestResult params={target.params} id={id} address={addressOf(id)} />}
    </section>
  );
}

interface TestResultProps {
  readonly params: PartnerParams;
  readonly id: string;
  readonly address: string;
}

function TestResult({ params, id, address }: TestResultProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["test-delivery", params, id],
    queryFn: ({ signal }) => api.deliveries.get({ params: { ...params, delivery_id: id }, signal }),
    refetchInterval: (query) => (query.state.data?.status === "pending" ? POLL_INTERVAL_MS : false),
  });
  if (data === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined || data.status === "pending") return <Loading label="On its way …" />;
  return (
    <div class="stack">
      <p role="status">
        The test <TimedText text={data.explanation} />. <Link href={address}>Its page</Link>
      </p>
      <ol class="webhook-list">
        {data.exchanges.map((attempt) => (
          <Attempt key={attempt.number} attempt={attempt} isOpen longestMs={attempt.timings.total ?? 0} />
        ))}
      </ol>
    </div>
  );
}
