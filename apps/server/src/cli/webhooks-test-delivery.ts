import { setTimeout as wait } from "node:timers/promises";
import type { Command } from "commander";
import type { Database } from "../db/database.ts";
import { offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { type DeliveryDetail, showDelivery } from "../webhooks/log/deliveries.ts";
import { sendTestDelivery } from "../webhooks/log/resend.ts";
import type { CliContext } from "./context.ts";
import { readWord, systemOption } from "./options.ts";
import { contextOf, type PartnerOption, withPartner } from "./webhooks-options.ts";
import { describeDelivery } from "./webhooks-text.ts";

interface TestOptions extends PartnerOption {
  readonly event?: string;
}

/** Milliseconds between two looks at what became of the test. Shorter only asks the database more often. */
const LOOK = 100;
/** Looks: 30 s, twice what an attempt may take. Fewer give up on a receiver that answers late. */
const LOOKS = 300;

/** `webhooks test`. */
export function registerTest(webhooks: Command, context: () => CliContext): void {
  withPartner(webhooks.command("test"))
    .description("send one signed example of an event now, and show the whole exchange")
    .option("--event <name>", "which event; the first that the endpoint gets, when not given")
    .action((options: TestOptions, command: Command) => test(context(), options, command));
}

async function test(cli: CliContext, options: TestOptions, command: Command): Promise<void> {
  const { event: word, partner } = options;
  const event = word === undefined ? undefined : readWord("--event", word, offeredEvents);
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const id = await sendTestDelivery(contextOf(cli, db), { systemId, partnerId: partner, event });
    const delivery = await settled(cli, db, systemId, id);
    const { exchanges, ...about } = delivery;
    cli.output.result({ ...about, attempts: exchanges, attempts_made: about.attempts }, describeDelivery(delivery));
    if (delivery.status === "succeeded") return;
    throw new Error(
      delivery.status === "pending"
        ? `Not sent within ${(LOOK * LOOKS) / 1000} s: \`webhooks show\` says what waits before it, \`webhooks attempts ${id}\` what becomes of it.`
        : "The endpoint did not receive the test.",
    );
  });
}

/** The test as it has come to rest, or as it stands when it takes too long. */
async function settled({ clock }: CliContext, db: Database, systemId: string, id: string): Promise<DeliveryDetail> {
  const look = () => showDelivery({ db, clock }, { systemId, partnerId: null }, id);
  let delivery = await look();
  for (let looks = 1; looks < LOOKS && delivery.status === "pending"; looks++) {
    await wait(LOOK);
    delivery = await look();
  }
  return delivery;
}
