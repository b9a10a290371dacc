import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type Scope, usePartnerScope } from "../scope.ts";
import { useAction } from "../use-action.ts";
import "./sandbox.css";

type PartnerParams = { readonly system_id: string; readonly partner_id: string };

/** A partner's sandbox: where it is made, and where scenarios are played. */
export function SandboxPage() {
  const scope = usePartnerScope();
  if (scope?.partnerId === undefined) return <NotFoundPage />;
  return <Sandbox scope={scope} params={{ system_id: scope.systemId, partner_id: scope.partnerId }} />;
}

interface SandboxProps {
  readonly scope: Scope;
  readonly params: PartnerParams;
}

function Sandbox({ scope, params }: SandboxProps) {
  const { data, refetch } = useQuery({
    queryKey: ["sandbox", params.system_id, params.partner_id],
    queryFn: ({ signal }) => api.partnerSandbox.show({ params, signal }),
  });
  if (data === undefined) return <PageHeader title="Sandbox" />;
  if (data.sandbox === null) return <Creation scope={scope} params={params} />;
  if (data.sandbox.system_id !== scope.systemId) return <Entrance scope={scope} systemId={data.sandbox.system_id} />;
  const { rides, max_rides: most, seed } = data.sandbox;
  return (
    <>
      <PageHeader title="Sandbox">
        40 stations and 300 bikes of seed {seed}; {rides.toLocaleString("en")} of {most.toLocaleString("en")} rides.
      </PageHeader>
      <Scenarios scope={scope} params={params} onDone={() => void refetch()} />
    </>
  );
}

function Creation({ scope, params }: SandboxProps) {
  const { run, isPending } = useAction();
  const create = () =>
    run(async () => {
      const made = await api.partnerSandbox.create({ params, body: {} });
      // Loaded anew: whose pages somebody may see is read when the session begins.
      const address = addressIn({ ...scope, systemId: made.system_id, isFirstSystem: false }, "sandbox");
      location.assign(import.meta.env.BASE_URL.replace(/\/$/, "") + address);
    });
  const action = scope.canChange && (
    <Button variant="primary" disabled={isPending} onClick={() => void create()}>
      Create sandbox
    </Button>
  );
  return (
    <PageHeader title="Sandbox" actions={action}>
      A test city of your own, with its own keys and webhooks. Nothing in it touches live data.
    </PageHeader>
  );
}

function Entrance({ scope, systemId }: { readonly scope: Scope; readonly systemId: string }) {
  const [, navigate] = useLocation();
  const open = () => navigate(addressIn({ ...scope, systemId, isFirstSystem: false }, "sandbox"));
  return (
    <PageHeader
      title="Sandbox"
      actions={
        <Button variant="primary" onClick={open}>
          Open sandbox
        </Button>
      }
    >
      Your test city, with its own keys and webhooks.
    </PageHeader>
  );
}

const scenarios = {
  "rush-hour": "Rush hour",
  "station-outage": "Station outage",
  "bike-breaks-while-reserved": "Reserved bike breaks",
  "reservation-expires": "Reservation expires",
  "late-report": "Late report",
  "ride-corrected": "Ride corrected",
  "receiver-down-then-recovers": "Receiver down, then recovers",
} as const;

/** What was done, the latest first. */
interface Played {
  readonly title: string;
  readonly steps: readonly string[];
}

/** Results that stay on the page. */
const MAX_SHOWN = 20;

function Scenarios({ scope, params, onDone }: SandboxProps & { readonly onDone: () => void }) {
  const [played, setPlayed] = useState<readonly Played[]>([]);
  const { run, isPending } = useAction();
  const show = (result: Played) => {
    setPlayed((before) => [result, ...before].slice(0, MAX_SHOWN));
    onDone();
  };
  const play = (name: keyof typeof scenarios) =>
    run(async () => {
      const { steps } = await api.partnerSandbox.play({ params: { ...params, name }, body: {} });
      show({ title: scenarios[name], steps });
    });
  const reset = () =>
    run(async () => {
      await api.partnerSandbox.reset({ params, body: {} });
      show({ title: "Reset", steps: ["the city is as it was made"] });
    });
  return (
    <>
      {scope.canChange && (
        <div class="row sandbox-scenarios">
          {(Object.keys(scenarios) as (keyof typeof scenarios)[]).map((name) => (
            <Button key={name} disabled={isPending} onClick={() => void play(name)}>
              {scenarios[name]}
            </Button>
          ))}
          <Button disabled={isPending} onClick={() => void reset()}>
            Reset city
          </Button>
        </div>
      )}
      <ol class="sandbox-played" aria-live="polite">
        {played.map(({ title, steps }, index) => (
          <li key={played.length - index}>
            <strong>{title}</strong>
            <ul>
              {steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </>
  );
}
