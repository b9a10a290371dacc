import { type Command, Option } from "commander";
import { listDeliveries, MAX_DELIVERIES, redeliver, showDelivery } from "../webhooks/deliveries.ts";
import { offeredEvents } from "../webhooks/endpoint.ts";
import { createReplay, type Replay, replayableStates } from "../webhooks/replays.ts";
import type { CliContext } from "./context.ts";
import { readWholeNumber, systemOption } from "./options.ts";
import { table } from "./table.ts";
import { readList, readPast, readWord, withPartner } from "./webhooks-options.ts";
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

/** `webhooks deliveries`, `attempts`, `redeliver` and `replay`. */
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
  withPartner(webhooks.command("replay"))
    .description("send a range of deliveries again, behind what happens now")
    .requiredOption("--since <time>", "made from then on: RFC 3339, or back from now such as 24h")
    .option("--until <time>", "made before then; now, when not given")
    .option("--status <a,b>", `only these: ${replayableStates.join(", ")}; all of them, when not given`)
    .option("--dry-run", "only count")
    .action((options: ReplayOptions, command: Command) => replay(context(), options, command));
}

async function deliveries(cli: CliContext, options: DeliveriesOptions, command: Command): Promise<void> {
  const { clock } = cli;
  const { partner, since, until } = options;
  const limit = readWholeNumber("--limit", options.limit, 1, MAX_DELIVERIES);
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
    const text = table(["id", "event", "created", "status", "attempts", "explanation"], rows);
    cli.output.result({ deliveries: page.deliveries, next: page.next }, `${text}${more}`);
  });
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
  hurried: "waited for its next attempt, which is due now.",
  already_due: "is in line or being sent already: nothing was changed.",
} as const;

async function again(cli: CliContext, id: string, command: Command): Promise<void> {
  const { clock, ids } = cli;
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const context = { db, clock, ids, actor: "cli" };
    const { outcome } = await redeliver(context, { systemId, partnerId: null }, id);
    cli.output.result({ id, outcome }, `${id} ${redelivered[outcome]}`);
  });
}

async function replay(cli: CliContext, options: ReplayOptions, command: Command): Promise<void> {
  const { clock, ids } = cli;
  const { partner, until, status, dryRun = false } = options;
  const range = {
    since: readPast("--since", options.since, clock()),
    until: until === undefined ? undefined : readPast("--until", until, clock()),
    statuses:
      status === undefined ? undefined : readList(status).map((word) => readWord("--status", word, replayableStates)),
  };
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const context = { db, clock, ids, actor: "cli" };
    const made = await createReplay(context, { systemId, partnerId: partner, ...range, dryRun });
    cli.output.result({ ...made, dry_run: dryRun }, describeMade(made));
  });
}

function describeMade({ id, total, since, until, endpoint_status: status }: Replay): string {
  const range = `made from ${since.toISOString()} to ${until.toISOString()}`;
  if (id === null) return `${total} deliveries ${range} would be sent again.`;
  const waits = status === "active" ? "" : ` They wait until the endpoint is active; it is ${status}.`;
  return `Replay ${id}: ${total} deliveries ${range} are sent again, behind what happens now.${waits}`;
}
