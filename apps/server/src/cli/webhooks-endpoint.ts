import type { Command } from "commander";
import { removeEndpoint, pauseEndpoint, resumeEndpoint } from "../webhooks/endpoints/endpoint-status.ts";
import { listEndpointsWithStatus, showEndpoint } from "../webhooks/endpoints/endpoint-view.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";
import { contextOf, type PartnerOption, withPartner } from "./webhooks-options.ts";
import { describeEndpoint, describeOverview, describeReplayNeed } from "./webhooks-text.ts";

/** `webhooks list`, `show`, `pause`, `resume` and `remove`. */
export function registerEndpoint(webhooks: Command, context: () => CliContext): void {
  webhooks
    .command("list")
    .description("list every partner's endpoint and how it does")
    .action((_options: unknown, command: Command) => list(context(), command));
  withPartner(webhooks.command("show"))
    .description("show an endpoint and how it does; never its secrets")
    .action((options: PartnerOption, command: Command) => show(context(), options, command));
  withPartner(webhooks.command("pause"))
    .description("hold what happens from now on, for up to 30 days")
    .action((options: PartnerOption, command: Command) => pause(context(), options, command));
  withPartner(webhooks.command("resume"))
    .description("send to a paused endpoint again, beginning with one probe")
    .action((options: PartnerOption, command: Command) => resume(context(), options, command));
  withPartner(webhooks.command("remove"))
    .description("end an endpoint: its secrets are destroyed, nothing is sent any more; its log and the audit log stay")
    .action((options: PartnerOption, command: Command) => remove(context(), options, command));
}

async function list(cli: CliContext, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const overview = await listEndpointsWithStatus({ db, clock: cli.clock }, systemId);
    cli.output.result({ ...overview }, describeOverview(overview));
  });
}

async function show(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const view = await showEndpoint({ db, clock: cli.clock }, { systemId, partnerId: partner });
    cli.output.result({ ...view }, describeEndpoint(view));
  });
}

async function pause(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const asked = { systemId, partnerId: partner, reason: "operator" as const };
    const { endpoint, changed } = await pauseEndpoint(contextOf(cli, db), asked);
    const { id, status, pause_reason, paused_at } = endpoint;
    cli.output.result(
      { id, status, pause_reason, paused_at, changed },
      changed
        ? `Paused ${id}. What happens from now on is held for up to 30 days; \`webhooks resume\` goes on.`
        : `${id} was paused already (${pause_reason ?? ""}).`,
    );
  });
}

async function resume(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const resumed = await resumeEndpoint(contextOf(cli, db), { systemId, partnerId: partner });
    const { endpoint, changed, probe, held, held_since } = resumed;
    const { id, status } = endpoint;
    const probing = probe === null ? "The next event is sent as a probe." : `${probe} is sent as a probe.`;
    const lines = changed ? [`Resumed ${id}. ${probing}`] : [`${id} is not paused: it is ${status}.`];
    lines.push(...describeReplayNeed(partner, held, held_since));
    cli.output.result({ id, status, changed, probe, held, held_since }, lines.join("\n"));
  });
}

async function remove(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const { endpoint, changed, unsent } = await removeEndpoint(contextOf(cli, db), { systemId, partnerId: partner });
    const { id, status, pause_reason, paused_at } = endpoint;
    const when = paused_at?.toISOString() ?? "";
    const done = [
      `Removed ${id}: its secrets are destroyed, and nothing is sent any more. What is in flight ends.`,
      "Its log stays, each delivery for its 30 days. The audit log keeps the addresses that were set.",
      ...(unsent === 0
        ? []
        : [
            `${unsent} deliveries were not sent. To send them: make it anew by \`webhooks set\` with --url and --events,`,
            `then \`webhooks replay --partner ${partner} --since 30d --status held\`.`,
          ]),
    ];
    cli.output.result(
      { id, status, pause_reason, paused_at, changed, unsent },
      changed ? done.join("\n") : `${id} was removed already, ${when}. Nothing was changed.`,
    );
  });
}
