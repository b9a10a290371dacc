import { type Command, Option } from "commander";
import { offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { listDeliveries, MAX_DELIVERIES, showDelivery } from "../webhooks/log/deliveries.ts";
import { createReplay, type Replay, replayableStates, stopReplay } from "../webhooks/log/replays.ts";
import { redeliver, retryEndpointNow } from "../webhooks/log/resend.ts";
import type { CliContext } from "./context.ts";
import { readInteger, readWord, systemOption } from "./options.ts";
import { table } from "./table.ts";
import { contextOf, type PartnerOption, readList, readPast, withPartner } from "./webhooks-options.ts";
import { describeDelivery } from "./webhooks-text.ts";

interface DeliveriesOptions {
  readonly partner: string;
  readonly status?: "pending" | "succeeded" | "failed" | "held";
  readonly event?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: string;
  readonly after?: string;
}

interface ReplayOptions {
  readonly partner: string;
  readonly since: string;
  readonly until?: string;
  readonly status?: string;
  readonly dryRun?: boolean;
}

/** `webhooks deliveries`, `attempts`, `redeliver`, `retry-now`, `replay` and `stop-replay`. */
export function registerDeliveries(webhooks: Command, context: () => CliContext): void {
  withPartner(webhooks.command("deliveries"))
    .description("list a partner's deliveries, the newest first, each explained")
    .addOption(new Option("--status <status>", "only these").choices(["pending", "succeeded", "failed", "held"]))
    .option("--event <name>", "only of this event")
    .option("--since <time>", "made from then on: RFC 3339, or back from now such as 24h")
    .option("--until <time>", "made before then")
    .option("--limit <n>", `how many, 1 to ${MAX_DELIVERIES}`, "50")
    .option("--after <delivery id>", "go on after this one, the last of the page before")
    .action((options: DeliveriesOptions, command: Command) => deliveries(context(), options, command));
  webhooks
    .command("attempts")
    .description("show a delivery with every attempt: what was sent, what came back, what is next")
    .argument("<delivery id>")
    .action((id: string, _options: unknown, command: Command) => attempts(context(), id, command));
  webhooks
    .command("redeliver")
    .description("send a delivery again, now, under the same delivery_id")
    .argument("<delivery id>")
    .action((id: string, _options: unknown, command: Command) => again(context(), id, command));
  withPartner(webhooks.command("retry-now"))
    .description("retry now all deliveries that wait for their next attempt, for an endpoint that works again")
    .action((options: PartnerOption, command: Command) => retryNow(context(), options, command));
  withPartner(webhooks.command("replay"))
    .description("send a range of deliveries again, behind what happens now")
    .requiredOption("--since <time>", "made from then on: RFC 3339, or back from now such as 24h")
    .option("--until <time>", "made before then; now, when not given")
    .option("--status <a,b>", `only these: ${replayableStates.join(", ")}; all of them, when not given`)
    .option("--dry-run", "only count")
    .action((options: ReplayOptions, command: Command) => replay(context(), options, command));
  webhooks
    .command("stop-replay")
    .description("stop a replay: what it has handed over is sent, the rest is not")
    .argument("<replay id>")
    .action((id: string, _options: unknown, command: Command) => stop(context(), id, command));
}

async function deliveries(cli: CliContext, options: DeliveriesOptions, command: Command): Promise<void> {
  const { clock } = cli;
  const { partner, since, until } = options;
  const limit = readInteger("--limit", options.limit, 1, MAX_DELIVERIES);
  const event = options.event === undefined ? undefined : readWord("--event", options.event, offeredEvents);
  const filters = {
    status: options.status,
    event,
    since: since === undefined ? undefined : readPast("--since", since, clock()),
    until: until === undefined ? undefined : readPast("--until", until, clock()),
    after: options.after,
    limit,
  };
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const page = await listDeliveries({ db, clock }, { systemId, partnerId: partner, ...filters });
    const rows = page.deliveries.map((row) => [
      row.id,
      row.event,
      row.created_at.toISOString(),
      row.status,
      String(row.attempts),
      row.explanation,
    ]);
    const more = page.next === null ? "" : `\nMore: --after ${page.next}`;
    const text =
      rows.length === 0
        ? describeNone(partner, filters)
        : table(["id", "event", "created", "status", "attempts", "explanation"], rows);
    cli.output.result({ deliveries: page.deliveries, next: page.next }, `${text}${more}`);
  });
}

/** An empty page says more than a header without rows. */
function describeNone(partner: string, { limit: _limit, ...filters }: Readonly<Record<string, unknown>>): string {
  if (Object.values(filters).some((value) => value !== undefined)) return "No delivery fits.";
  return `No deliveries in the last 30 days. \`webhooks test --partner ${partner}\` sends an example.`;
}

async function attempts(cli: CliContext, id: string, command: Command): Promise<void> {
  const { clock } = cli;
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const delivery = await showDelivery({ db, clock }, { systemId, partnerId: null }, id);
    const { exchanges, ...about } = delivery;
    cli.output.result({ ...about, attempts: exchanges, attempts_made: about.attempts }, describeDelivery(delivery));
  });
}

const redelivered = {
  redelivered: "is due now, with a fresh schedule.",
  retried_now: "waited for its next attempt, which is due now.",
  already_due: "is queued or being sent already: nothing was changed.",
} as const;

async function again(cli: CliContext, id: string, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const { outcome } = await redeliver(contextOf(cli, db), { systemId, partnerId: null }, id);
    cli.output.result({ id, outcome }, `${id} ${redelivered[outcome]}`);
  });
}

async function retryNow(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const retried = await retryEndpointNow(contextOf(cli, db), { systemId, partnerId: partner });
    const text = retried === 0 ? "Nothing waits for a later attempt." : `${retried} deliveries are due now.`;
    cli.output.result({ deliveries: retried }, text);
  });
}

async function replay(cli: CliContext, options: ReplayOptions, command: Command): Promise<void> {
  const { clock } = cli;
  const { partner, until, status, dryRun = false } = options;
  const range = {
    since: readPast("--since", options.since, clock()),
    until: until === undefined ? undefined : readPast("--until", until, clock()),
    statuses:
      status === undefined ? undefined : readList(status).map((word) => readWord("--status", word, replayableStates)),
  };
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const made = await createReplay(contextOf(cli, db), { systemId, partnerId: partner, ...range, dryRun });
    cli.output.result({ ...made, dry_run: dryRun }, describeMade(made));
  });
}

async function stop(cli: CliContext, id: string, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const replayed = await stopReplay(contextOf(cli, db), systemId, id);
    const { changed, queued, total, finished_at: finished } = replayed;
    const text = changed
      ? `Stopped ${id}: ${queued} of ${total} were queued; those that wait in the queue are sent.`
      : `${id} was finished already, ${finished?.toISOString() ?? ""}: ${queued} of ${total} were handed over.`;
    cli.output.result({ ...replayed }, text);
  });
}

function describeMade({ id, total, since, until, endpoint_status: status }: Replay): string {
  const range = `made from ${since.toISOString()} to ${until.toISOString()}`;
  if (total === 0) return `No deliveries ${range} are to be sent again.`;
  if (id === null) return `${total} deliveries ${range} would be sent again.`;
  const waits = status === "active" ? "" : ` They wait until the endpoint is active; it is ${status}.`;
  return `Replay ${id}: ${total} deliveries ${range} are sent again, behind what happens now.${waits}`;
}
