import { UsageError } from "../../errors/errors.ts";
import { type CommandContext, type ServiceCommand, textOf } from "../command.ts";
import { endpoints } from "../endpoints.generated.ts";
import type { Output } from "../output.ts";
import { createDispatcher } from "./dispatcher.ts";
import { createPrinter, type EventSink } from "./event-sink.ts";
import { findStart, pollEvents } from "./poll-events.ts";
import { parseTarget, readSecret } from "./receiver-options.ts";

/**
 * Seconds between two requests for new events. Too low: uses up the rate limit of the key that the developed program
 * needs (3 s are 20 of 60 a minute). Too high: delays deliveries.
 */
const DEFAULT_INTERVAL_SECONDS = 3;
const MAX_INTERVAL_SECONDS = 3600;
/**
 * The service's own limit of deliveries in flight to one endpoint. Too low: hides how a receiver handles concurrent
 * deliveries.
 */
const DEFAULT_CONCURRENCY = 10;
/** Notices: the service delivers them but does not list them, so `listen` cannot get them. */
const UNLISTED_EVENTS = ["station.updated", "bike.state_changed"];

const eventNames: readonly string[] = endpoints["events list"].parameters.event.values;

/** The command `listen`: delivers events to a receiver on this machine, which the service itself cannot reach. */
export const listenCommand: ServiceCommand = {
  name: "listen",
  summary: "Deliver events as signed webhooks to an address of this machine",
  takesId: false,
  options: {
    "forward-to": { value: "<URL>", description: "your receiver's URL: http://localhost:4000/hooks" },
    print: { description: "print each event as a line of JSON, for `jq` and similar; all else goes to stderr" },
    events: { value: "<a,b>", description: `only these events: ${eventNames.join(", ")}` },
    since: {
      value: "<when>",
      description: "begin with `oldest`, at a time, `10m` ago, or after an event's id; default: now",
    },
    "secret-file": {
      value: "<path>",
      description: "a file with the signing secret; default: BIKESHARE_WEBHOOK_SECRET, else a new secret",
    },
    interval: {
      value: "<seconds>",
      description: `time between two requests for new events; default: ${DEFAULT_INTERVAL_SECONDS}`,
    },
    concurrency: {
      value: "<n>",
      description: `the most deliveries in flight; default: ${DEFAULT_CONCURRENCY}, as at the service`,
    },
    "allow-remote": { description: "allow the URL of another machine" },
  },
  run: listen,
};

async function listen({ client, values, output: standard, environment }: CommandContext): Promise<void> {
  const { clock, stopped } = environment;
  // With --print stdout has only the events, so results of other kinds become notes on stderr.
  const prints = values["print"] === true;
  const output = prints ? { ...standard, result: (_: object, text: string) => standard.note(text) } : standard;
  const url = textOf(values, "forward-to");
  if (!url && !prints) throw new UsageError("give --forward-to http://localhost:4000/hooks, or --print");
  const target = url === undefined ? undefined : parseTarget("forward-to", values);
  const names = parseEventNames(textOf(values, "events"));
  const intervalMs = parseIntervalMs(textOf(values, "interval"));
  const concurrency = parseConcurrency(textOf(values, "concurrency"));
  const { secret, source } = await readSecret(values, environment);
  const start = await findStart(client, textOf(values, "since"), clock(), stopped);
  const dispatcher = target && createDispatcher({ target, secret, start, concurrency, environment, output });
  // The printer passes each event on to the dispatcher, if there is one.
  const sink = dispatcher && !prints ? dispatcher : createPrinter(environment, start, dispatcher);
  output.result(
    // A secret that the user gave is not printed, because others may read the terminal or a log.
    {
      ready: true,
      forward_to: target?.href ?? null,
      secret: source === undefined ? secret : null,
      since: start ?? null,
    },
    `${target ? `Signing with ${source ?? secret}\nForwarding to ${target.href}\n` : ""}Ready. Stop with Ctrl-C.`,
  );
  try {
    await pollEvents({ client, names, start, intervalMs, sink, environment, output });
  } catch (error) {
    if (!stopped.aborted) throw error;
  } finally {
    await closeSink(sink, target !== undefined, output);
  }
}

async function closeSink(sink: EventSink, isForwarding: boolean, output: Output): Promise<void> {
  const { delivered, failed, since } = await sink.close();
  const counts = isForwarding ? `${delivered} delivered, ${failed} failed` : `${delivered} printed`;
  output.result(
    { ended: true, delivered, failed, since: since ?? null },
    `${counts}. Continue with --since ${since ?? "oldest"}`,
  );
}

function parseEventNames(text: string | undefined): string[] {
  if (text === undefined) return [];
  const names = text.split(",").map((name) => name.trim());
  const unlisted = names.find((name) => UNLISTED_EVENTS.includes(name));
  if (unlisted !== undefined) throw new UsageError(`${unlisted} is not in the list of events, which \`listen\` reads`);
  const unknown = names.find((name) => !eventNames.includes(name));
  if (unknown === undefined) return names;
  throw new UsageError(`--events: "${unknown}" is not an event. The events are: ${eventNames.join(", ")}`);
}

function parseIntervalMs(text = String(DEFAULT_INTERVAL_SECONDS)): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds > 0 && seconds <= MAX_INTERVAL_SECONDS) return seconds * 1000;
  throw new UsageError(`--interval must be a number of seconds above 0, at most ${MAX_INTERVAL_SECONDS}`);
}

function parseConcurrency(text = String(DEFAULT_CONCURRENCY)): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new UsageError("--concurrency must be an integer from 1 to 99");
}
