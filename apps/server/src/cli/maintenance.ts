import { listLongRides } from "../city/fleet/long-rides.ts";
import { checkInvariants } from "../health/check/service.ts";
import { listActs } from "../partners/audit/queries.ts";
import { readVersion } from "../version.ts";
import { type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { limitOption, pastInstant, readValue } from "./options.ts";
import { table } from "./output.ts";

/** `check`, `audit list` and `openapi`: what an administrator runs beside the service. */
export function registerMaintenance(program: ParentCommand, cli: OpenCli): void {
  program
    .command("check")
    .description("check that the stored data is consistent; exit status 1 when it is not")
    .action(() => withSystem(cli(), check));
  program
    .command("audit")
    .description("who did what to systems, partners, keys and webhooks")
    .command("list")
    .description("list acts, the newest first")
    .option("--since <time>", "RFC 3339, or a duration back from now such as 24h")
    .option("--actor <actor>", "cli:<account>, server, or cli for every account")
    .option("--subject <id>", "what it was done to: the id of a system, partner, key, endpoint or delivery")
    .addOption(limitOption(100_000, 100))
    .action(({ since: text, ...filters }) => {
      const context = cli();
      const since = text === undefined ? undefined : readValue("--since", text, pastInstant(context.clock()));
      return withSystem(context, async ({ db, output }, systemId) => {
        const entries = await listActs(db, systemId, { since, ...filters });
        const detail = (entry: (typeof entries)[number]) => JSON.stringify(entry.detail);
        output.result(
          { entries },
          table(entries, { at: "at", actor: "actor", action: "action", subject: "subject", detail }),
        );
      });
    });
  program
    .command("openapi")
    .description("print the OpenAPI document, as a running service serves it at /openapi.json")
    .action(async () => {
      const { config, output } = cli();
      // Only now: the other commands would wait for it.
      const { createOpenApiDocument } = await import("@bikeshare/contract/openapi");
      const baseUrl = config.publicUrl ?? `http://${config.host}:${config.port}`;
      const document = createOpenApiDocument({ baseUrl, version: readVersion() });
      output.result({ ...document }, JSON.stringify(document, null, 2));
    });
}

/** Rides under way that are shown. */
const MAX_LONG_RIDES = 20;

async function check({ db, output, config, clock }: SystemContext, systemId: string): Promise<void> {
  const invariants = await checkInvariants(db, systemId);
  const broken = invariants.filter((invariant) => invariant.broken > 0 && invariant.severity === "error");
  const lines = invariants.map(({ name, meaning, severity, broken: n, examples }) => {
    const word = severity === "warning" ? "WARNING" : "BROKEN ";
    return n === 0 ? `ok      ${name}` : `${word} ${name}: ${meaning} Not so for ${n}: ${examples.join(", ")}`;
  });
  const longRides = await listLongRides(db, systemId, new Date(clock() - config.longRideAfterMs), MAX_LONG_RIDES);
  if (longRides.length > 0) {
    const rides = longRides.map(({ id, bike_id: bike }) => `${id} of bike ${bike}`).join(", ");
    lines.push(`WARNING  long_rides: under way for longer than LONG_RIDE_AFTER: ${rides}`);
  }
  output.result({ system: systemId, ok: broken.length === 0, invariants, long_rides: longRides }, lines.join("\n"));
  if (broken.length > 0) {
    throw new Error(`${broken.length} of ${invariants.length} invariants are broken in system ${systemId}.`);
  }
}
