import type { SandboxActivity } from "@bikeshare/contract/console";
import { MAX_FAULT_ANSWERS } from "@bikeshare/contract/pure";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Checkbox, SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import type { SandboxControls } from "./sandbox-controls.ts";

/* Faults that a sandbox simulates on request: the API answers with errors, or deliveries of webhooks go wrong. */

type ApiFault = SandboxActivity["faults"][number];
type DeliveryFaults = NonNullable<SandboxActivity["webhook_faults"]>;

interface ActiveFaultsProps {
  readonly controls: SandboxControls;
  readonly canChange: boolean;
}

/**
 * Notices about the faults that the sandbox simulates now, with buttons to end them, so that nobody searches for the cause
 * of an error that they have requested.
 */
export function ActiveFaults({ controls: { params, activity, isPending, act }, canChange }: ActiveFaultsProps) {
  const { faults, webhook_faults: ofDeliveries } = activity;
  const endApi = () =>
    act(async () => {
      await api.partnerSandbox.endFaults({ params, body: {} });
      return { title: "API faults", steps: ["They have ended."] };
    });
  const endDeliveries = () =>
    act(async () => {
      // Without faults in the body, all faults end.
      await api.partnerSandbox.setWebhookFaults({ params, body: {} });
      return { title: "Delivery faults", steps: ["They have ended."] };
    });
  return (
    <>
      {faults.length > 0 && (
        <FaultNotice
          title="The API fails on purpose"
          endLabel="End API faults"
          {...{ canChange, isPending }}
          onEnd={endApi}
        >
          <ul class="sandbox-faults">
            {faults.map((fault, index) => (
              <li key={index}>
                {apiFaultText(fault)}, ends <Time at={fault.until} />
              </li>
            ))}
          </ul>
        </FaultNotice>
      )}
      {ofDeliveries !== null && (
        <FaultNotice
          title="Deliveries fail on purpose"
          endLabel="End delivery faults"
          {...{ canChange, isPending }}
          onEnd={endDeliveries}
        >
          {deliveryFaultText(ofDeliveries)}
          {ofDeliveries.until !== undefined && (
            <>
              , ends <Time at={ofDeliveries.until} />
            </>
          )}
        </FaultNotice>
      )}
    </>
  );
}

interface FaultNoticeProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The text of the button that ends the fault. */
  readonly endLabel: string;
  readonly canChange: boolean;
  readonly isPending: boolean;
  readonly onEnd: () => void;
}

function FaultNotice({ title, children, endLabel, canChange, isPending, onEnd }: FaultNoticeProps) {
  const button = (
    <Button pending={isPending} onClick={onEnd}>
      {endLabel}
    </Button>
  );
  return (
    <Notice tone="warning" title={title} actions={canChange && button}>
      {children}
    </Notice>
  );
}

function apiFaultText({ route, status, share, count }: ApiFault): string {
  const what = status === "timeout" ? "no answer" : `status ${status}`;
  const often = share === 1 ? "" : ` for ${Math.round(share * 100)} % of requests`;
  const left = count === null ? "" : `, ${count.toLocaleString("en")} left`;
  return `${route ?? "Every endpoint"}: ${what}${often}${left}`;
}

function deliveryFaultText({ delay, duplicate, reorder, bad_signature: badSignature, down }: DeliveryFaults): string {
  const words = [
    down && "none arrives",
    delay > 0 && `${delay} s late`,
    duplicate && "sent twice",
    reorder && "out of order",
    badSignature && "wrong signatures",
  ];
  return words.filter(Boolean).join(", ");
}

/** The answers that the form offers: the status, and its label. */
const statuses = [
  [503, "503 unavailable"],
  [500, "500 internal error"],
  [429, "429 too many requests"],
  ["timeout", "No answer, and the end of the connection after 30 s"],
] as const;

/** When a fault ends, in minutes from now. */
const ends = [
  { value: "1", label: "In a minute" },
  { value: "10", label: "In 10 minutes" },
  { value: "60", label: "In an hour" },
] as const;

/** Returns the instant `minutes` from now. */
function endIn(minutes: string): string {
  return new Date(new Date().getTime() + Number(minutes) * 60_000).toISOString();
}

/** The form's initial values, as texts. An empty route means every endpoint; an empty count, any number of answers. */
const newApiFault = { status: "503", percent: "100", route: "", count: "", end: "10" };

/** Returns the fault that a form describes. */
function apiFaultOf({ status, percent, route, count, end }: typeof newApiFault) {
  return {
    status: statuses.find(([each]) => String(each) === status)?.[0] ?? 503,
    share: Number(percent) / 100,
    until: endIn(end),
    ...(route.trim() !== "" && { route: route.trim() }),
    ...(count !== "" && { count: Number(count) }),
  };
}

/** A form that makes the API fail, so that partners can test how their client handles errors. */
export function ApiFaultForm({ controls: { params, isPending, act } }: { readonly controls: SandboxControls }) {
  const [wanted, setWanted] = useState(newApiFault);
  const set = (name: keyof typeof wanted) => (value: string) => setWanted({ ...wanted, [name]: value });
  const add = () =>
    act(async () => {
      await api.partnerSandbox.addFault({ params, body: apiFaultOf(wanted) });
      return { title: "API faults", steps: ["Requests with this sandbox’s keys fail from now on."] };
    });
  return (
    <Form onSubmit={add}>
      <SelectField
        label="Answer"
        value={wanted.status}
        choices={statuses.map(([value, label]) => ({ value: String(value), label }))}
        onChange={set("status")}
      />
      <TextField
        label="Share of requests in %"
        type="number"
        min={1}
        max={100}
        value={wanted.percent}
        onInput={set("percent")}
        required
      />
      <TextField
        label="Endpoint"
        hint="Such as GET /v1/stations/:id; every endpoint of /v1, when empty"
        value={wanted.route}
        onInput={set("route")}
        monospace
      />
      <TextField
        label="Failing answers until it ends"
        hint="Any number, when empty"
        type="number"
        min={1}
        max={MAX_FAULT_ANSWERS}
        value={wanted.count}
        onInput={set("count")}
      />
      <SelectField label="Ends" value={wanted.end} choices={ends} onChange={set("end")} />
      <div class="row">
        <Button type="submit" pending={isPending}>
          Make the API fail
        </Button>
      </div>
    </Form>
  );
}

/** The faults that the form of deliveries offers, besides a delay. */
const deliveryFaults = [
  ["down", "No attempt arrives"],
  ["duplicate", "Each attempt is sent twice"],
  ["reorder", "Each second delivery overtakes the one before"],
  ["bad_signature", "Signatures are wrong: your receiver must refuse them"],
] as const;

const delays = [0, 1, 5, 10].map((seconds) => ({
  value: String(seconds),
  label: seconds === 0 ? "None" : `${seconds} s`,
}));

/** A form that makes deliveries fail, so that partners can test how their receiver handles that. */
export function DeliveryFaultForm({ controls: { params, isPending, act } }: { readonly controls: SandboxControls }) {
  const [wanted, setWanted] = useState({ down: false, duplicate: false, reorder: false, bad_signature: false });
  const [delay, setDelay] = useState("0");
  const [end, setEnd] = useState("10");
  const isNone = delay === "0" && !Object.values(wanted).some(Boolean);
  const set = () =>
    act(async () => {
      const body = { ...wanted, delay: Number(delay), until: endIn(end) };
      await api.partnerSandbox.setWebhookFaults({ params, body });
      return { title: "Delivery faults", steps: ["They hold for every webhook of this sandbox from now on."] };
    });
  return (
    <Form onSubmit={set}>
      {deliveryFaults.map(([name, label]) => (
        <Checkbox
          key={name}
          label={label}
          checked={wanted[name]}
          onChange={(checked) => setWanted({ ...wanted, [name]: checked })}
        />
      ))}
      <SelectField label="Delay of each attempt" value={delay} choices={delays} onChange={setDelay} />
      <SelectField label="Ends" value={end} choices={ends} onChange={setEnd} />
      <div class="row">
        <Button type="submit" pending={isPending} disabled={isNone}>
          Make deliveries fail
        </Button>
      </div>
    </Form>
  );
}
