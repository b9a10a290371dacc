import { UsageError } from "../errors/errors.ts";
import { type Command, type CommandContext, type Given, textOf } from "./command.ts";
import { readSecretFile } from "./connection.ts";
import { endpoints } from "./endpoints.generated.ts";
import { follow } from "./follow.ts";
import { createForwarder } from "./forwarder.ts";
import type { Host } from "./host.ts";
import { createPrinter } from "./printer.ts";
import { findStart } from "./start-place.ts";
import { readTarget } from "./target.ts";

/**
 * Seconds between two looks for new events. Lower takes the key's requests away from the program that is developed with
 * it (20 of 60 a minute so); higher makes deliveries late.
 */
const DEFAULT_EVERY_S = 3;
/** Deliveries that the service has on their way to one endpoint, at most. Fewer hide what a receiver makes of several. */
const SERVICE_AT_ONCE = 10;
/** Delivered by the service itself alone. */
const NOTICES = ["station.updated", "bike.state_changed"];

const eventNames: readonly string[] = endpoints["events list"].parameters.event.values;

/** `listen`: develop a receiver of webhooks without an address that the internet can reach. */
export const listenCommand: Command = {
  name: "listen",
  summary: "Deliver events as signed webhooks to an address of this machine",
  takesId: false,
  flags: {
    "forward-to": { value: "<URL>", says: "where your receiver listens: http://localhost:4000/hooks" },
    print: { says: "print each event as one line of JSON, for `jq` and the like; all else goes to stderr" },
    events: { value: "<a,b>", says: `only these: ${eventNames.join(", ")}` },
    since: { value: "<when>", says: "`oldest`, a time, `10m` ago, or behind an event's id; from now on if not said" },
    "secret-file": {
      value: "<path>",
      says: "a file that holds the secret to sign with; else BIKESHARE_WEBHOOK_SECRET, else a new one",
    },
    every: { value: "<seconds>", says: `between two looks for new events; ${DEFAULT_EVERY_S} if not said` },
    "at-once": {
      value: "<n>",
      says: `deliveries on their way at a time; ${SERVICE_AT_ONCE}, as the service, if not said`,
    },
    "allow-remote": { says: "the address may be another machine's" },
  },
  run: listen,
};

async function listen({ client, given, output: usual, host }: CommandContext): Promise<void> {
  const prints = given["print"] === true;
  const output = prints ? { ...usual, result: (_: object, text: string) => usual.note(text) } : usual;
  const address = textOf(given, "forward-to");
  const isForwarding = address !== undefined || !prints;
  const target = isForwarding ? readTarget(address, given["allow-remote"] === true) : undefined;
  const names = readNames(textOf(given, "events"));
  const everyMs = readEvery(textOf(given, "every"));
  const atOnce = readAtOnce(textOf(given, "at-once"));
  const { secret, from } = await readSecret(given, host);
  const start = await findStart(client, textOf(given, "since"), host.clock(), host.stopped);
  const forwarder = target && createForwarder({ target, secret, start, atOnce, host, output });
  const receiver = forwarder && !prints ? forwarder : createPrinter(host, start, forwarder);
  output.result(
    // Whoever gave the secret has it; on a terminal and in a log others would have it too.
    { ready: true, forward_to: target?.href ?? null, secret: from === undefined ? secret : null, since: start ?? null },
    `${target ? `Signing with ${from ?? secret}\nForwarding to ${target.href}\n` : ""}Ready. Ctrl-C ends it.`,
  );
  try {
    await follow({ client, names, start, everyMs, receiver, host, output });
  } catch (error) {
    if (!host.stopped.aborted) throw error;
  } finally {
    const { delivered, failed, since } = await receiver.finish();
    const counts = target ? `${delivered} delivered, ${failed} given up` : `${delivered} printed`;
    output.result(
      { ended: true, delivered, given_up: failed, since: since ?? null },
      `${counts}. Go on with --since ${since ?? "oldest"}`,
    );
  }
}

function readNames(text: string | undefined): string[] {
  if (text === undefined) return [];
  const names = text.split(",").map((name) => name.trim());
  const notice = names.find((name) => NOTICES.includes(name));
  if (notice !== undefined) throw new UsageError(`${notice} is not in the list of events, which \`listen\` follows`);
  const unknown = names.find((name) => !eventNames.includes(name));
  if (unknown === undefined) return names;
  throw new UsageError(`--events: "${unknown}" is no event. There are: ${eventNames.join(", ")}`);
}

function readEvery(text = String(DEFAULT_EVERY_S)): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds > 0 && seconds <= 3600) return seconds * 1000;
  throw new UsageError("--every must be a number of seconds above 0, at most 3600");
}

function readAtOnce(text = String(SERVICE_AT_ONCE)): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new UsageError("--at-once must be a whole number, 1 to 99");
}

/** What to sign with, and where it is from; made here for this run when `from` is undefined. */
async function readSecret(given: Given, host: Host): Promise<{ readonly secret: string; readonly from?: string }> {
  const file = textOf(given, "secret-file");
  const from = file === undefined ? "BIKESHARE_WEBHOOK_SECRET" : `the secret in ${file}`;
  const text =
    file === undefined
      ? host.env["BIKESHARE_WEBHOOK_SECRET"]
      : await readSecretFile("secret-file", file, host.readFile);
  if (text === undefined) return { secret: `whsec_${Buffer.from(host.randomBytes(32)).toString("base64url")}` };
  if (text.trim() === "") throw new UsageError("the secret must not be empty");
  return { secret: text.trim(), from };
}
