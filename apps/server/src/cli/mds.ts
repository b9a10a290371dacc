import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { MAX_RATE_LIMIT } from "@bikeshare/contract/console";
import { createAgency } from "../feeds/mds/agencies.ts";
import { integer } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { option, plainName, readValue } from "./options.ts";

/** `mds create-agency`. */
export function registerMds(program: ParentCommand, cli: OpenCli): void {
  const mds = program.command("mds").description("serve cities by the Mobility Data Specification");
  const rateLimits = `requests in any ${RATE_WINDOW_SECONDS} s (default: RATE_LIMIT_PER_MINUTE)`;
  mds
    .command("create-agency")
    .description("create a city's agency with its key, which is shown once; the first one begins the log of vehicles")
    .argument("<name>", "the agency's name, which is unique among partners")
    .addOption(option("--agency-id <uuid>", "the agency's id in MDS (default: a random one)", uuid))
    .addOption(option("--provider-id <uuid>", "your id in MDS, for the first agency (default: a random one)", uuid))
    .addOption(option("--rate-limit <n>", rateLimits, integer(1, MAX_RATE_LIMIT)))
    .action((given, { agencyId, providerId, rateLimit }) => {
      const name = readValue("<name>", given, plainName);
      return runOnSystem(cli(), async (context) => {
        const { mode: keyKind, mds: isServed } = context.config;
        const made = await createAgency(context, context.systemId, { name, agencyId, providerId, rateLimit, keyKind });
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

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

function uuid(text: string): string {
  const id = text.toLowerCase();
  if (!UUID.test(id)) throw new Error("must be a UUID such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  return id;
}
