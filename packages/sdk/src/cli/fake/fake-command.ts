import { UsageError } from "../../errors/errors.ts";
import { createFakeBikeShare, type FakeBikeShare, sampleCity } from "../../testing.ts";
import { type LocalCommand, type LocalContext, textOf } from "../command.ts";
import { createDispatcher } from "../listen/dispatcher.ts";
import type { EventSink } from "../listen/event-sink.ts";
import { parseTarget, readSecret } from "../listen/receiver-options.ts";
import { createControl } from "./control.ts";

/** Not the service's default port 3000, so that both can run on one machine. */
const DEFAULT_PORT = 4010;
/** Milliseconds between two checks for new events. Too low: costs processor time. Too high: delays webhooks. */
const EVENT_INTERVAL_MS = 100;
/** The service's own limit of deliveries in flight to one endpoint. */
const CONCURRENCY = 10;

/** The command `fake`: serves the service in memory over HTTP, for programs in any language. */
export const fakeCommand: LocalCommand = {
  name: "fake",
  summary: "Serve a fake of the service on this machine, to develop and test against",
  takesId: false,
  options: {
    port: { value: "<port>", description: `the port of 127.0.0.1; default: ${DEFAULT_PORT}; 0: any that is free` },
    "rate-limit": { value: "<n>", description: "requests of a key in any 60 seconds; default: 60, as at the service" },
    "webhook-url": { value: "<URL>", description: "POST each event there, signed: http://localhost:4000/webhooks" },
    "secret-file": {
      value: "<path>",
      description: "a file with the signing secret; default: BIKESHARE_WEBHOOK_SECRET, else a new secret",
    },
    "allow-remote": { description: "allow the URL of another machine" },
  },
  runLocally: serveFake,
};

async function serveFake({ values, output, environment }: LocalContext): Promise<void> {
  const port = parseNumber("port", textOf(values, "port") ?? String(DEFAULT_PORT), 65_535);
  const rateLimit = textOf(values, "rate-limit");
  const target = values["webhook-url"] === undefined ? undefined : parseTarget("webhook-url", values);
  const { secret, source } = await readSecret(values, environment);
  const fake = createFakeBikeShare({
    ...sampleCity(),
    now: environment.clock,
    webhookSecret: secret,
    rateLimit: rateLimit === undefined ? undefined : parseNumber("rate-limit", rateLimit, 1_000_000),
  });
  const server = await fake.listen({ port, instead: createControl(fake, { target, clock: environment.clock }) });
  const secretShown = source ?? secret;
  output.result(
    // A secret that the user gave is not printed, because others may read the terminal or a log.
    { ready: true, url: server.url, key: fake.apiKey, secret: source === undefined ? secret : null },
    [
      `A fake of the Bike-Sharing Data Service: ${server.url}`,
      `Key: ${fake.apiKey}`,
      ...(target === undefined ? [] : [`Webhooks to ${target.href}, signed with ${secretShown}`]),
      `What it can be told to do: ${server.url}/fake`,
      "Stop with Ctrl-C.",
    ].join("\n"),
  );
  const dispatcher =
    target && createDispatcher({ target, secret, start: undefined, concurrency: CONCURRENCY, environment, output });
  await deliverUntilStopped(fake, dispatcher, environment);
  await dispatcher?.close();
  await server.close();
}

/** Passes each new event to the dispatcher. The events that the city begins with are not sent. */
async function deliverUntilStopped(
  fake: FakeBikeShare,
  dispatcher: EventSink | undefined,
  { stopped, wait }: LocalContext["environment"],
): Promise<void> {
  let taken = fake.events().length;
  while (!stopped.aborted) {
    for (const event of fake.events().slice(taken)) {
      taken++;
      await dispatcher?.write(event);
    }
    await wait(EVENT_INTERVAL_MS, stopped).catch(() => undefined);
  }
}

function parseNumber(option: string, text: string, most: number): number {
  if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
  throw new UsageError(`--${option} must be an integer from 0 to ${most}`);
}
