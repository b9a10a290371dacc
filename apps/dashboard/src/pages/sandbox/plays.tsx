import { deliveryNames, type SandboxScenarioName, sandboxScenarios } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Status } from "../../components/status.tsx";
import type { SandboxControls } from "./sandbox-controls.ts";

/* Forms that make things happen in a partner's sandbox: play a scenario, cause one event, or let time pass. */

interface ControlsProps {
  readonly controls: SandboxControls;
}

const scenarios = Object.entries(sandboxScenarios) as [SandboxScenarioName, string][];

/** Returns the title of a scenario: `ride-corrected` is "Ride corrected". */
function titleOf(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("-", " ");
}

/** A button for each scenario, with a description of what it tests. */
export function Scenarios({ controls: { params, isPending, isStopped, act } }: ControlsProps) {
  const play = (name: SandboxScenarioName) =>
    act(async () => {
      const { steps, key } = await api.partnerSandbox.play({ params: { ...params, name }, body: {} });
      return { title: titleOf(name), steps, key };
    });
  return (
    <ul class="sandbox-scenarios">
      {scenarios.map(([name, text]) => (
        <li key={name}>
          <Button pending={isPending} disabled={isStopped} onClick={() => play(name)}>
            {titleOf(name)}
          </Button>
          <p class="muted">{text}</p>
        </li>
      ))}
    </ul>
  );
}

const ANY_STATION = { value: "", label: "Any station" };

/** A form that causes one event, at a chosen station or at one that the sandbox chooses. */
export function EventForm({ controls: { params, isPending, isStopped, act } }: ControlsProps) {
  const [event, setEvent] = useState<string>("ride.completed");
  const [station, setStation] = useState("");
  const { data } = useQuery({
    queryKey: ["sandbox-stations", params],
    queryFn: ({ signal }) => api.partnerStations.list({ params, signal }),
  });
  const name = deliveryNames.find((one) => one === event);
  const cause = () =>
    act(async () => {
      if (name === undefined) throw new Error("Choose an event.");
      const body = station === "" ? {} : { station_id: station };
      const { steps } = await api.partnerSandbox.trigger({ params: { ...params, name }, body });
      return { title: name, steps };
    });
  return (
    <Form onSubmit={cause}>
      <SelectField
        label="Event"
        value={event}
        choices={deliveryNames.map((each) => ({ value: each, label: each }))}
        onChange={setEvent}
      />
      <SelectField
        label="Station"
        value={station}
        choices={[ANY_STATION, ...(data?.data ?? []).map(({ id, name: label }) => ({ value: id, label }))]}
        onChange={setStation}
      />
      <div class="row">
        <Button type="submit" pending={isPending} disabled={isStopped}>
          Cause it
        </Button>
      </div>
    </Form>
  );
}

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

const leaps = [
  [MINUTE_SECONDS, "1 minute"],
  [5 * MINUTE_SECONDS, "5 minutes"],
  [10 * MINUTE_SECONDS, "10 minutes"],
  [30 * MINUTE_SECONDS, "30 minutes"],
  [HOUR_SECONDS, "1 hour"],
  [8 * HOUR_SECONDS, "8 hours"],
  [DAY_SECONDS, "1 day"],
  [7 * DAY_SECONDS, "7 days"],
] as const;

/** A form that advances the clock of the sandbox. It shows whether the work that became due is done. */
export function Clock({ controls: { params, activity, isPending, act } }: ControlsProps) {
  const [seconds, setSeconds] = useState(String(10 * MINUTE_SECONDS));
  const { advanced_seconds: advanced, ready } = activity.clock;
  const advance = () =>
    act(async () => {
      await api.partnerSandbox.advance({ params, body: { seconds: Number(seconds) } });
      const [, words] = leaps.find(([each]) => String(each) === seconds) ?? [];
      return { title: "Clock", steps: [`${words ?? "Time"} passed: what falls due then is done now.`] };
    });
  return (
    <Form onSubmit={advance}>
      <p>
        <Status tone={ready ? "success" : "progress"}>{ready ? "ready" : "working"}</Status>{" "}
        {ready ? "Everything that fell due is done." : "What fell due is being done."}
        {advanced > 0 && ` ${durationText(advanced)} were added since the city was made.`}
      </p>
      <SelectField
        label="Let pass"
        hint="Reservations, alerts, keys and the next attempts of deliveries come so much nearer"
        value={seconds}
        choices={leaps.map(([each, label]) => ({ value: String(each), label }))}
        onChange={setSeconds}
      />
      <div class="row">
        <Button type="submit" pending={isPending}>
          Let time pass
        </Button>
      </div>
    </Form>
  );
}

/** Returns a duration as `1 d 2 h 10 min`. */
function durationText(seconds: number): string {
  const parts = [
    [Math.floor(seconds / DAY_SECONDS), "d"],
    [Math.floor((seconds % DAY_SECONDS) / HOUR_SECONDS), "h"],
    [Math.floor((seconds % HOUR_SECONDS) / MINUTE_SECONDS), "min"],
    [seconds % MINUTE_SECONDS, "s"],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}
