import type { SandboxActivity } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { visibleControls } from "../../components/code.tsx";
import { Status } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { failureWords, stateOf } from "../deliveries/words.ts";
import { addressIn, type PageScope } from "../scope.ts";

type Happening = SandboxActivity["happenings"][number];

interface FeedProps {
  readonly scope: PageScope;
  readonly happenings: readonly Happening[];
}

/** The latest events of the sandbox, newest first, each with the state of its deliveries. */
export function Feed({ scope, happenings }: FeedProps) {
  return (
    <section class="stack" aria-labelledby="feed">
      <h2 id="feed">What happens</h2>
      {happenings.length === 0 ? (
        <p class="muted">Nothing since yesterday. A bike is taken each minute while this page is open.</p>
      ) : (
        <ol class="sandbox-feed">
          {happenings.map((one) => (
            <li key={one.event_id}>
              <div class="row">
                <strong>{one.event}</strong>
                {one.resource_id !== null && <span class="muted mono">{visibleControls(one.resource_id)}</span>}
                <span class="muted">
                  <Time at={one.at} />
                </span>
              </div>
              <Deliveries scope={scope} deliveries={one.deliveries} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Deliveries({
  scope,
  deliveries,
}: {
  readonly scope: PageScope;
  readonly deliveries: Happening["deliveries"];
}) {
  if (deliveries.length === 0) return <p class="muted">No webhook gets it.</p>;
  return (
    <ul>
      {deliveries.map((delivery) => {
        const { id, endpoint_name: name, code, failure, next_attempt_at: next } = delivery;
        const { tone, word } = stateOf(delivery);
        return (
          <li key={id} class="row">
            <Status tone={tone}>{word}</Status>
            <Link href={addressIn(scope, `deliveries/${id}`)} aria-label={`Delivery to ${name}, ${id}`}>
              {name}
            </Link>
            <span class="muted">
              {[code, failure !== null && failureWords(failure)].filter(Boolean).join(", ")}
              {next !== null && delivery.is_failing && (
                <>
                  {" "}
                  next attempt <Time at={next} />
                </>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
