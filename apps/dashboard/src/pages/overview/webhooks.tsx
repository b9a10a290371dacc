import type { PartnerOverview } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { EmptyState } from "../../components/empty-state.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { addressIn, type PageScope } from "../scope.ts";
import { waitingText } from "../waiting-text.ts";
import { type Figure, Figures } from "./figures.tsx";

type Endpoint = PartnerOverview["endpoints"][number];

interface WebhooksProps {
  readonly overview: PartnerOverview;
  readonly scope: PageScope;
}

/** The health of a partner's webhooks. */
export function Webhooks({ overview: { endpoints }, scope }: WebhooksProps) {
  if (endpoints.length === 0) {
    const webhook = addressIn(scope, "webhook");
    return (
      <section class="card" aria-label="Webhook">
        <EmptyState title="No webhook address" action={<Link href={webhook}>Set an address</Link>}>
          The service sends events to your address as they happen.
        </EmptyState>
      </section>
    );
  }
  const isOne = endpoints.length === 1;
  return (
    <>
      {endpoints.map((endpoint) => (
        <Figures
          key={endpoint.id}
          title={isOne ? "Deliveries" : `Deliveries to ${endpoint.name}`}
          figures={deliveryFigures(endpoint, scope)}
        >
          <EndpointLine endpoint={endpoint} href={addressIn(scope, "webhook", { endpoint: endpoint.id })} />
        </Figures>
      ))}
    </>
  );
}

const tones: Readonly<Record<Endpoint["status"], Tone>> = { active: "success", probing: "progress", paused: "warning" };

function EndpointLine({ endpoint, href }: { readonly endpoint: Endpoint; readonly href: string }) {
  const isFailing = endpoint.failing_since !== null;
  return (
    <p class="endpoint-line">
      <Status tone={isFailing ? "danger" : tones[endpoint.status]}>{isFailing ? "failing" : endpoint.status}</Status>
      <Link href={href} className="mono">
        {endpoint.url}
      </Link>
      {endpoint.status !== "active" && <span class="muted">{endpoint.status_text}</span>}
    </p>
  );
}

function deliveryFigures(endpoint: Endpoint, scope: PageScope): readonly Figure[] {
  const { succeeded, given_up: givenUp, failing, pending, held, is_complete: isComplete } = endpoint.deliveries;
  const to = (status: string) => addressIn(scope, "deliveries", { endpoint: endpoint.id, status });
  // The service counts only so many of the deliveries in 24 hours. `12+`: there are more. `waitingText` does the same for
  // pending and held ones, which the service counts apart.
  const count = (value: number) => `${value.toLocaleString("en")}${isComplete ? "" : "+"}`;
  return [
    { label: "Succeeded", value: count(succeeded), note: "in 24 hours", href: to("succeeded") },
    { label: "Given up", value: count(givenUp), note: "in 24 hours", isBad: givenUp > 0, href: to("failed") },
    { label: "Failing", value: count(failing), note: "tried again", isBad: failing > 0, href: to("failing") },
    { label: "Pending", value: waitingText(pending), note: "now", href: to("pending") },
    {
      label: "Held",
      value: waitingText(held),
      note: "not sent",
      // A paused webhook holds its deliveries. Those of an active one wait until somebody sends or drops them.
      isBad: held > 0 && endpoint.status !== "paused",
      href: to("held"),
    },
  ];
}
