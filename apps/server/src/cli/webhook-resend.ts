import { oneOf } from "../runtime/startup/values.ts";
import { offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { countResend, startResend } from "../webhooks/log/bulk-resend.ts";
import { readCodeFilter } from "../webhooks/log/delivery-filter.rules.ts";
import { type OpenCli, type ParentCommand, withSystem } from "./context.ts";
import { option, partnerOption, pastInstant, readValue } from "./options.ts";

const statuses = ["pending", "succeeded", "failed", "held", "failing", "unsuccessful"] as const;

/** `webhooks resend`: all deliveries that filters let through, as on the page of deliveries. */
export function registerResend(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("resend")
    .description("send all deliveries again that match every filter, after current events")
    .requiredOption(...partnerOption)
    .addOption(option("--status <status>", `only these: ${statuses.join(", ")}`, oneOf(statuses)))
    .addOption(option("--event <name>", "only of this event", oneOf(offeredEvents)))
    .addOption(option("--code <code>", "only those last answered so, such as 503 or 5xx", codeFrom))
    .option("--failure <failure>", "only those whose latest attempt failed so, such as timeout")
    .option("--resource <id>", "only about this ride, station, reservation or bike")
    .option("--since <time>", "created from then on: RFC 3339, or back from now such as 24h")
    .option("--until <time>", "created before then")
    .option("--dry-run", "only count")
    .action(({ partner: partnerId, since, until, resource: resourceId, dryRun = false, ...given }) => {
      const instant = (name: string, text: string | undefined) =>
        text === undefined ? undefined : readValue(name, text, pastInstant(cli().clock()));
      const range = { since: instant("--since", since), until: instant("--until", until) };
      const choice = { filter: { ...given, ...range, resourceId } };
      return withSystem(cli(), async (context, systemId) => {
        const scope = { systemId, partnerId };
        if (dryRun) {
          const total = await countResend(context, scope, choice);
          context.output.result({ id: null, total, dry_run: true }, `${total} deliveries would be sent again.`);
          return;
        }
        const { id, total, status } = await startResend(context, scope, choice);
        const waits = status === "waiting" ? " They wait until the endpoint is active." : "";
        context.output.result(
          { id, total, dry_run: false },
          `Resend ${id}: ${total} deliveries are sent again.${waits}`,
        );
      });
    });
}

function codeFrom(text: string) {
  const code = readCodeFilter(text);
  if (code === undefined) throw new Error("must be a code such as 503, or a class such as 5xx");
  return code;
}
