import type { EventDescription, Probe, Webhook } from "@bikeshare/contract/console";
import { MAX_ENDPOINT_NAME, MAX_MESSAGES_PER_HOUR } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { Checkbox, SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { showToast } from "../../components/toast.tsx";
import { isEmbedded } from "../../embedding.ts";
import { type Refusals, useRefusal } from "../refusal.ts";
import { useAction } from "../use-action.ts";
import { type GivenPlaces, givenPlaces, PlacesFields, placesOf, PreviewButton } from "./places-fields.tsx";
import { ProbeResult } from "./probe-result.tsx";
import { type GivenThreshold, givenThresholds, ThresholdFields, thresholdsOf } from "./thresholds-fields.tsx";
import { refreshWebhooks, type WebhookClient, type WebhookTarget } from "./webhook-client.ts";

interface SettingsFormProps {
  readonly target: WebhookTarget;
  readonly client: WebhookClient;
  /** The webhook to change. Null: a new one is added. */
  readonly webhook: Webhook | null;
  readonly events: readonly EventDescription[];
  readonly canChange: boolean;
  /** The names of the partner's other webhooks. */
  readonly otherNames: readonly string[];
  /** Called with the saved webhook's id, and the new secret if the response has one. Only the operator's has. */
  readonly onSaved: (id: string, secret: string | undefined) => void;
}

/** The form of a webhook's settings: its address, events and limits. The address can be tested before it is saved. */
export function SettingsForm(props: SettingsFormProps) {
  const { target, client, webhook, events, canChange, otherNames } = props;
  const [name, setName] = useState(webhook?.name ?? (otherNames.length > 0 ? "" : "Main"));
  const [url, setUrl] = useState(webhook?.url ?? "");
  // `onEmail` and `onSignature` are named like the properties of `FurtherSettings` to which they are passed.
  const [email, onEmail] = useState(webhook?.email ?? "");
  const [signature, onSignature] = useState(webhook?.signature ?? "service");
  const { what, choose, fields } = useSendingRules(webhook);
  const settings: Settings = { name: name.trim(), url, ...what, email: email === "" ? null : email, signature };
  const { refusing, errorOf } = useRefusal(settings);
  const { save, isPending } = useSaving(props, refusing);
  const [isTried, setTried] = useState(false);
  const isNameTaken = otherNames.some((other) => other.toLowerCase() === name.trim().toLowerCase());
  const submit = async () => {
    setTried(true);
    if (!isNameTaken && what.events.length > 0) await save(settings);
  };
  return (
    <section class="card stack" aria-labelledby="settings">
      <h2 id="settings">Address and events</h2>
      <Form onSubmit={() => canChange && submit()}>
        <fieldset class="stack webhook-settings" disabled={!canChange}>
          <NameField
            name={name}
            error={isNameTaken ? "Another webhook has this name." : errorOf("name")}
            onName={setName}
          />
          <AddressField {...{ target, client, url, canChange }} error={errorOf("url")} onUrl={setUrl} />
          <EventChoices
            {...{ events, webhook, canChange }}
            chosen={what.events}
            error={isTried && what.events.length === 0 ? "Choose at least one event." : errorOf("events")}
            onChange={choose}
          />
          <SendingFields params={target.params} {...fields} errorOf={errorOf} />
          {canChange && <PreviewButton {...{ target, client, what, refusing }} />}
          <FurtherSettings {...{ email, onEmail, signature, onSignature }} error={errorOf("email")} />
          {canChange && (
            <div class="row">
              <Button type="submit" variant="primary" pending={isPending}>
                Save
              </Button>
            </div>
          )}
        </fieldset>
      </Form>
    </section>
  );
}

interface NameFieldProps {
  readonly name: string;
  readonly error: string | undefined;
  readonly onName: (name: string) => void;
}

function NameField({ name, error, onName }: NameFieldProps) {
  return (
    <TextField
      label="Name"
      hint="Such as production or staging"
      error={error}
      maxLength={MAX_ENDPOINT_NAME}
      value={name}
      onInput={onName}
      required
    />
  );
}

/** The settings that decide which events are sent. */
type SendingRules = Pick<Webhook, "events" | "places" | "thresholds" | "max_per_hour">;

/**
 * Holds the typed rules of what is sent: events, places, thresholds, and the hourly limit. `what` are the rules as the
 * service reads them, `fields` the typed values with their setters, named like the properties of `SendingFields`.
 */
function useSendingRules(webhook: Webhook | null) {
  const [chosen, setChosen] = useState<readonly string[]>(webhook?.events ?? []);
  const [places, onPlaces] = useState<GivenPlaces>(givenPlaces(webhook?.places ?? null));
  const [thresholds, setThresholds] = useState<readonly GivenThreshold[]>(() =>
    givenThresholds(webhook?.thresholds ?? []),
  );
  const [perHour, onPerHour] = useState(webhook?.max_per_hour?.toString() ?? "");
  const what: SendingRules = {
    events: [...chosen],
    places: placesOf(places),
    thresholds: thresholdsOf(thresholds),
    max_per_hour: perHour === "" ? null : Number(perHour),
  };
  const choose = (event: string, isChosen: boolean) =>
    setChosen(isChosen ? [...chosen, event] : chosen.filter((each) => each !== event));
  const onThresholds = (given: readonly GivenThreshold[]) => {
    setThresholds(given);
    // A threshold was added: selects the events of thresholds too, because without them it sends nothing.
    if (given.length > thresholds.length) setChosen(withAlarms(chosen));
  };
  return { what, choose, fields: { places, onPlaces, thresholds, onThresholds, perHour, onPerHour } };
}

type SendingFieldsProps = ReturnType<typeof useSendingRules>["fields"] &
  Pick<WebhookTarget, "params"> &
  Pick<Refusals, "errorOf">;

function SendingFields(props: SendingFieldsProps) {
  const { params, places, onPlaces, thresholds, onThresholds, perHour, onPerHour, errorOf } = props;
  return (
    <>
      <PlacesFields places={places} errorOf={errorOf} onChange={onPlaces} />
      <ThresholdFields {...{ params, thresholds, errorOf }} onChange={onThresholds} />
      <TextField
        label="Most deliveries in an hour"
        hint="Further events of the hour are skipped, and stay in the log. All are sent, when empty."
        error={errorOf("max_per_hour")}
        type="number"
        min={1}
        max={MAX_MESSAGES_PER_HOUR}
        value={perHour}
        onInput={onPerHour}
      />
    </>
  );
}

/** Returns the chosen events plus the events of thresholds, which the page calls alarms. */
function withAlarms(chosen: readonly string[]): readonly string[] {
  if (chosen.includes("station.*")) return chosen;
  return [...new Set([...chosen, "station.below_threshold", "station.back_to_normal"])];
}

/** What the form saves. */
type Settings = SendingRules & Pick<Webhook, "name" | "email" | "signature"> & { readonly url: string };

/**
 * Returns a function that saves the settings of the webhook, or adds a webhook.
 * @param refusing runs a request, and keeps the error of a value that the service rejects, for the value's field
 */
function useSaving(
  { target, client, webhook, otherNames, onSaved }: SettingsFormProps,
  refusing: Refusals["refusing"],
) {
  const { run, isPending } = useAction();
  const send = (settings: Settings) => {
    // `set` without a webhook's id makes the first webhook. Further ones are added.
    if (webhook === null)
      return otherNames.length > 0
        ? client.add({ params: target.params, body: settings })
        : client.set({ ...target, body: settings });
    const { name, url, events, places, thresholds, max_per_hour, email, signature } = webhook;
    // The settings before the change: the service saves nothing if somebody else has changed them since.
    const seen = { name, url, events, places, thresholds, max_per_hour, email, signature };
    return client.set({ ...target, body: { ...settings, seen } });
  };
  const save = (settings: Settings) =>
    run(async () => {
      try {
        await refusing(async () => {
          const { id, outcome, has_new_secret, secret } = await send(settings);
          onSaved(id, secret ?? undefined);
          showToast("success", describeOutcome(outcome, has_new_secret, secret !== undefined));
        });
      } finally {
        await refreshWebhooks();
      }
    });
  return { save, isPending };
}

/**
 * The hint in a frame of the operator's portal. There the server rejects an address with another host, because a frame does
 * not prove its reader's identity.
 */
const FRAME_HINT = "Where events are POSTed; another host is set in the dashboard itself";

interface AddressFieldProps extends Pick<SettingsFormProps, "target" | "client" | "canChange"> {
  readonly url: string;
  readonly error: string | undefined;
  readonly onUrl: (url: string) => void;
}

/** The input for the address, with a button that sends a test request to it. */
function AddressField({ target, client, url, error, onUrl, canChange }: AddressFieldProps) {
  const [probe, setProbe] = useState<Probe>();
  const { run, isPending } = useAction();
  const tryAddress = () => run(async () => setProbe(await client.probe({ ...target, body: { url } })));
  return (
    <>
      <TextField
        label="Address"
        hint={isEmbedded ? FRAME_HINT : "Where events are POSTed; https"}
        error={error}
        value={url}
        onInput={onUrl}
        monospace
        required
      />
      {canChange && !isEmbedded && (
        <div class="row">
          <Button pending={isPending} disabled={url === ""} onClick={() => void tryAddress()}>
            Try this address
          </Button>
        </div>
      )}
      {probe !== undefined && <ProbeResult probe={probe} />}
    </>
  );
}

/** @param isShown whether the response has the new secret; otherwise the reader can request it */
function describeOutcome(
  outcome: "created" | "changed" | "unchanged",
  hasNewSecret: boolean,
  isShown: boolean,
): string {
  const said = outcome === "unchanged" ? "Nothing was changed." : "The webhook is saved.";
  return hasNewSecret ? `${said} Its secret is shown below${isShown ? "" : ", on request"}.` : said;
}

interface FurtherSettingsProps {
  readonly email: string;
  readonly error: string | undefined;
  readonly onEmail: (email: string) => void;
  readonly signature: Webhook["signature"];
  readonly onSignature: (signature: Webhook["signature"]) => void;
}

function FurtherSettings({ email, error, onEmail, signature, onSignature }: FurtherSettingsProps) {
  return (
    <>
      <TextField
        label="Mail when deliveries fail"
        hint="One address. Leave empty to send no mail."
        error={error}
        type="email"
        value={email}
        onInput={onEmail}
      />
      <SelectField
        label="Signature"
        value={signature}
        choices={[
          { value: "service", label: "Service-Signature" },
          { value: "both", label: "Service-Signature and Standard Webhooks" },
        ]}
        onChange={(value) => onSignature(value === "both" ? "both" : "service")}
      />
    </>
  );
}

interface EventChoicesProps extends Pick<SettingsFormProps, "events" | "webhook" | "canChange"> {
  readonly chosen: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (name: string, isChosen: boolean) => void;
}

/** Checkboxes for event types, and for patterns that select all events about one kind of resource. */
function EventChoices({ events, chosen, error, webhook, canChange, onChange }: EventChoicesProps) {
  const patterns = [...new Set(events.map(({ name }) => patternOf(name)))];
  return (
    <fieldset class="webhook-events" data-wrong={error && "true"}>
      <legend>Events</legend>
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      <div class="row">
        {patterns.map((pattern) => (
          <Checkbox
            key={pattern}
            label={<code>{pattern}</code>}
            checked={chosen.includes(pattern)}
            disabled={!canChange}
            onChange={(isChosen) => onChange(pattern, isChosen)}
          />
        ))}
      </div>
      {events.map((event) => (
        <EventChoice
          key={event.name}
          event={event}
          isChosen={chosen.includes(event.name) || chosen.includes(patternOf(event.name))}
          isUnreadable={webhook?.unreadable_events.includes(event.name) === true}
          // A chosen pattern includes the event, so the event cannot be deselected alone.
          canChange={canChange && !chosen.includes(patternOf(event.name))}
          onChange={(isChosen) => onChange(event.name, isChosen)}
        />
      ))}
    </fieldset>
  );
}

/** Returns the pattern for all events about the same kind of resource: `ride.completed` becomes `ride.*`. */
function patternOf(event: string): string {
  return event.replace(/\..*/, ".*");
}

interface EventChoiceProps {
  readonly event: EventDescription;
  readonly isChosen: boolean;
  /** Whether no key of the partner may read what the event is about. */
  readonly isUnreadable: boolean;
  readonly canChange: boolean;
  readonly onChange: (isChosen: boolean) => void;
}

function EventChoice({ event, isChosen, isUnreadable, canChange, onChange }: EventChoiceProps) {
  const { name, description, fields, sample } = event;
  return (
    <div>
      <Checkbox
        label={<code>{name}</code>}
        {...(isUnreadable && { hint: "No key of the partner may read what this event is about" })}
        checked={isChosen}
        disabled={!canChange}
        onChange={onChange}
      />
      <details>
        <summary>What {name} carries</summary>
        <div class="stack">
          <p class="muted">{description}</p>
          <dl class="webhook-fields">
            {fields.map((field) => (
              <div key={field.name}>
                <dt>
                  <code>{field.name}</code> <span class="muted">{field.type}</span>
                </dt>
                {field.description !== null && <dd class="muted">{field.description}</dd>}
              </div>
            ))}
          </dl>
          <Code label={`A sample of ${name}`} text={JSON.stringify(JSON.parse(sample), null, 2)} />
        </div>
      </details>
    </div>
  );
}
