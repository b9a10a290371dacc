import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { MAX_RATE_LIMIT } from "@bikeshare/contract/console";
import { FactIssue, readFactValue } from "../city/descriptions/fact-values.rules.ts";
import { createAgency, setAgency } from "../feeds/mds/agencies.ts";
import { boundaryFrom } from "../feeds/mds/boundary.rules.ts";
import { readDocument } from "../feeds/mds/read-document.ts";
import { integer } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { option, plainName, readValue, UsageError } from "./options.ts";

/** `mds create-agency` and `mds set-agency`. */
export function registerMds(program: ParentCommand, cli: OpenCli): void {
  const mds = program.command("mds").description("serve cities by the Mobility Data Specification");
  registerCreate(mds, cli);
  registerSet(mds, cli);
}

function registerCreate(mds: ParentCommand, cli: OpenCli): void {
  const rateLimits = `requests in any ${RATE_WINDOW_SECONDS} s (default: RATE_LIMIT_PER_MINUTE)`;
  mds
    .command("create-agency")
    .description("create a city's agency with its key, which is shown once; the first one begins the log of vehicles")
    .argument("<name>", "the agency's name, which is unique among partners")
    .addOption(option("--agency-id <uuid>", "the agency's id in MDS (default: a random one)", uuid))
    .addOption(option("--provider-id <uuid>", "your id in MDS, for the first agency (default: a random one)", uuid))
    .addOption(option("--rate-limit <n>", rateLimits, integer(1, MAX_RATE_LIMIT)))
    .addOption(option("--time-zone <zone>", `${timeZoneAbout} (default: the system's)`, timeZone))
    .option("--boundary <file>", boundaryAbout)
    .action(async (given, { agencyId, providerId, rateLimit, timeZone: zone, boundary: file }) => {
      const name = readValue("<name>", given, plainName);
      const boundary = file === undefined ? undefined : await readBoundary(file);
      return runOnSystem(cli(), async (context) => {
        const { mode: keyKind, mds: isServed } = context.config;
        const settings = { timeZone: zone, boundary };
        const made = await createAgency(context, context.systemId, {
          ...{ name, agencyId, providerId, rateLimit, keyKind, ...settings },
        });
        return {
          object: {
            ...{ client_id: made.partnerId, name, agency_id: made.agencyId, provider_id: made.providerId },
            ...{ key_id: made.key.id, key: made.key.key, vehicles: made.vehicles },
          },
          notes: [
            "Copy the key now: the service stores only its hash and cannot show it again. It is the agency's bearer token, and its client secret at /mds/token.",
            ...(isServed
              ? []
              : [
                  "MDS is off here. If it is off in the service too, set MDS=on and restart it: until then it answers nothing below /mds.",
                ]),
          ],
        };
      });
    });
}

function registerSet(mds: ParentCommand, cli: OpenCli): void {
  mds
    .command("set-agency")
    .description("change an agency's settings; those that you leave out stay")
    .argument("<id>", "the agency's client id")
    .addOption(option("--time-zone <zone>", `${timeZoneAbout}; \`default\`: the system's`, timeZoneOrDefault))
    .option("--boundary <file>", `${boundaryAbout}; \`none\` removes it`)
    .action(async (id, { timeZone: zone, boundary: file }) => {
      if (zone === undefined && file === undefined) throw new UsageError("Give what to change: see --help.");
      const boundary = file === undefined || file === "none" ? file && null : await readBoundary(file);
      return runOnSystem(cli(), async (context) => {
        const change = { timeZone: zone === "default" ? null : zone, boundary };
        const settings = await setAgency(context, context.systemId, id, change);
        const { time_zone, boundary: area } = settings;
        return {
          object: { client_id: id, time_zone, boundary: area },
          facts: {
            ...{ "client id": id, "time zone": time_zone ?? "the system's" },
            boundary: area === null ? "none" : "set",
          },
        };
      });
    });
}

const timeZoneAbout = "the IANA time zone of its months, such as Europe/Oslo";
const boundaryAbout = "GeoJSON of its area";

function timeZone(text: string): string {
  return expecting(() => readFactValue({ kind: "timeZone" }, text, "", "en") as string); // a text, by its kind
}

/** The library takes no null for a value. */
function timeZoneOrDefault(text: string): string {
  return text === "default" ? text : timeZone(text);
}

async function readBoundary(file: string) {
  const document = await readDocument(file).catch((error: unknown) => {
    throw new UsageError(
      `--boundary ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
    );
  });
  return readValue("--boundary", file, () => expecting(() => boundaryFrom(document)));
}

/** Says what a value must be without naming it: options do that. */
function expecting<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof FactIssue) throw new Error(`must be ${error.expected}`, { cause: error });
    throw error;
  }
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

function uuid(text: string): string {
  const id = text.toLowerCase();
  if (!UUID.test(id)) throw new Error("must be a UUID such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  return id;
}
