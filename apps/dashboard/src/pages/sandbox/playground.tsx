import type { SandboxActivity } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { LiveButton } from "../../components/live-button.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useShownOnce } from "../../session/shown-once.ts";
import type { PageScope } from "../scope.ts";
import { useAction } from "../use-action.ts";
import { ActiveFaults, ApiFaultForm, DeliveryFaultForm } from "./faults.tsx";
import { Feed } from "./feed.tsx";
import { Clock, EventForm, Scenarios } from "./plays.tsx";
import type { SandboxControls, Result, SandboxProps } from "./sandbox-controls.ts";
import "./sandbox.css";

/** Milliseconds between two reads of the sandbox's activity. A hidden tab reads nothing. */
const REFRESH_INTERVAL_MS = 2_000;

/** The page of a sandbox: its state and recent activity, and forms that cause events and faults. */
export function Playground({ scope, params }: SandboxProps) {
  const [isLive, setLive] = useState(true);
  const [result, setResult] = useShownOnce<Result>();
  const { run, isPending } = useAction();
  const { data, error, refetch } = useQuery({
    queryKey: ["sandbox-activity", params],
    queryFn: ({ signal }) => api.partnerSandbox.activity({ params, signal }),
    refetchInterval: isLive ? REFRESH_INTERVAL_MS : false,
  });
  if (data === undefined) {
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  }
  const { rides, max_rides: most, seed, stations, bikes } = data.sandbox;
  const act = (work: () => Promise<Result>) =>
    void run(async () => {
      setResult(undefined);
      setResult(await work());
      await refetch();
    });
  // The simulated city is being created again, or has reached its limit of rides.
  const isStopped = data.is_waking || isFull(data);
  const controls: SandboxControls = { params, activity: data, isPending, isStopped, act };
  return (
    <div class="stack">
      <PageHeader title="Sandbox" actions={<Actions isLive={isLive} onLive={setLive} {...{ scope, controls }} />}>
        {stations} stations and {bikes} bikes of seed {seed}; {rides.toLocaleString("en")} of{" "}
        {most.toLocaleString("en")} rides.
      </PageHeader>
      <Standstill activity={data} />
      <ActiveFaults controls={controls} canChange={scope.canChange} />
      <div class={scope.canChange ? "sandbox-columns" : undefined}>
        {scope.canChange && <Controls controls={controls} />}
        <div class="stack">
          <div role="status">{result !== undefined && <ResultView result={result} />}</div>
          <Feed scope={scope} happenings={data.happenings} />
        </div>
      </div>
    </div>
  );
}

function isFull({ sandbox: { rides, max_rides: most } }: SandboxActivity): boolean {
  return rides >= most;
}

/** A notice about why nothing happens in the sandbox. Renders nothing while the city runs. */
function Standstill({ activity }: { readonly activity: SandboxActivity }) {
  if (activity.is_waking) {
    return (
      <Notice tone="info" title="The city wakes up">
        It was emptied after 30 days without use, and is being made anew from its seed. That takes a few seconds.
      </Notice>
    );
  }
  if (!isFull(activity)) return null;
  return (
    <Notice tone="warning" title="The sandbox is full">
      It holds {activity.sandbox.max_rides.toLocaleString("en")} rides. Nothing more happens until the city is reset;
      keys, webhooks and the log of deliveries stay.
    </Notice>
  );
}

interface ActionsProps {
  readonly scope: PageScope;
  readonly controls: SandboxControls;
  readonly isLive: boolean;
  readonly onLive: (isLive: boolean) => void;
}

function Actions({ scope, controls: { params, isPending, act }, isLive, onLive }: ActionsProps) {
  const reset = () =>
    act(async () => {
      await api.partnerSandbox.reset({ params, body: {} });
      return { title: "Reset city", steps: ["The city is as it was made, and faults have ended."] };
    });
  return (
    <>
      <LiveButton isLive={isLive} onLive={onLive} />
      {scope.canChange && (
        <Button pending={isPending} onClick={reset}>
          Reset city
        </Button>
      )}
    </>
  );
}

function Controls({ controls }: { readonly controls: SandboxControls }) {
  const [tab, setTab] = useState("scenarios");
  return (
    <Tabs
      label="What to do in the sandbox"
      selected={tab}
      onSelect={setTab}
      tabs={[
        { id: "scenarios", label: "Scenarios", content: () => <Scenarios controls={controls} /> },
        { id: "event", label: "One event", content: () => <EventForm controls={controls} /> },
        { id: "clock", label: "Clock", content: () => <Clock controls={controls} /> },
        { id: "api", label: "API faults", content: () => <ApiFaultForm controls={controls} /> },
        { id: "deliveries", label: "Delivery faults", content: () => <DeliveryFaultForm controls={controls} /> },
      ]}
    />
  );
}

function ResultView({ result: { title, steps, key } }: { readonly result: Result }) {
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ul>
      {typeof key === "string" && <Code text={key} label="The key, which is shown once" />}
    </>
  );
}
