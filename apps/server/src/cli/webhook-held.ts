import type { ActorContext } from "../command-context.ts";
import { integer } from "../runtime/startup/values.ts";
import type { PartnerScope } from "../webhooks/endpoints/endpoint-context.ts";
import { dropHeld, type HeldDeliveries, sendHeld, showHeld } from "../webhooks/endpoints/held.ts";
import { type OpenCli, type ParentCommand, withSystem } from "./context.ts";
import { option, partnerOption } from "./options.ts";

/** `webhooks send-held` and `drop-held`: what becomes of deliveries that were held while an endpoint was paused. */
export function registerHeld(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("send-held")
    .description("send what is held, after current events, as soon as the endpoint is active")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      withSystem(cli(), async (context, systemId) => {
        const sent = await sendHeld(context, { systemId, partnerId });
        const text = sent === 0 ? "Nothing is held that is not being sent." : `${sent} held deliveries are sent.`;
        context.output.result({ sent }, text);
      }),
    );
  webhooks
    .command("drop-held")
    .description("give up what is held; each can be sent again for as long as the log keeps it")
    .requiredOption(...partnerOption)
    .addOption(
      option("--count <n>", "how many are held, as this command says without it", integer(1, Number.MAX_SAFE_INTEGER)),
    )
    .action(({ partner: partnerId, count }) =>
      withSystem(cli(), async (context, systemId) => {
        const scope = { systemId, partnerId };
        const { total, until } = await showHeld(context, scope);
        const dropped = count === undefined ? 0 : await dropAll(context, scope, { total: count, until });
        const how = total === 0 ? "" : ` To drop them: webhooks drop-held --partner ${partnerId} --count ${total}`;
        const text =
          count === undefined ? `${total} deliveries are held.${how}` : `Dropped ${dropped} held deliveries.`;
        context.output.result({ dropped, held: total - dropped }, text);
      }),
    );
}

/** Drops batch by batch what was counted. */
async function dropAll(context: ActorContext, scope: PartnerScope, seen: HeldDeliveries): Promise<number> {
  let dropped = 0;
  for (let total = seen.total; total > 0;) {
    const batch = await dropHeld(context, scope, { ...seen, total });
    if (batch.dropped === 0) break;
    dropped += batch.dropped;
    total = batch.remaining;
  }
  return dropped;
}
