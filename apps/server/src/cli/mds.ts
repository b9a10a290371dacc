import { readFile, stat } from "node:fs/promises";
import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { MAX_RATE_LIMIT, type RequirementAnswers } from "@bikeshare/contract/console";
import { MDS_VERSION } from "@bikeshare/contract/mds";
import { FactIssue, readFactValue } from "../city/descriptions/fact-values.rules.ts";
import { createFeedClient } from "../feeds/gbfs/address-source.ts";
import { parseBounded, tooLarge } from "../feeds/gbfs/bounded-json.ts";
import { createAgency, providerIdOf, setAgency } from "../feeds/mds/agencies.ts";
import { boundaryFrom } from "../feeds/mds/jurisdiction.rules.ts";
import type { LeftOutFields } from "../feeds/mds/left-out.rules.ts";
import { answerRequirements, readRequirements, type RequirementFile } from "../feeds/mds/requirements.rules.ts";
import { isAddress, shownAddress } from "../feeds/outgoing.ts";
import { integer } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { option, pastInstant, plainName, readValue, UsageError } from "./options.ts";
import { type Columns, table } from "./output.ts";

/**
 * Registers `mds create-agency`, `mds set-agency` and `mds check`. An agency is a city or another authority that reads the
 * system's data by the Mobility Data Specification (MDS). Its requirement file lists the fields that it asks for.
 */
export function registerMds(program: ParentCommand, cli: OpenCli): void {
  const mds = program.command("mds").description("serve cities by the Mobility Data Specification");
  registerCreate(mds, cli);
  registerSet(mds, cli);
  registerCheck(mds, cli);
}

function registerCreate(mds: ParentCommand, cli: OpenCli): void {
  const rateLimits = `requests in any ${RATE_WINDOW_SECONDS} s (default: RATE_LIMIT_PER_MINUTE)`;
  mds
    .command("create-agency")
    .description("create a city's agency and its key, shown once; the first starts the log of vehicle events")
    .argument("<name>", "the agency's name, which is unique among partners")
    .addOption(option("--agency-id <uuid>", "the agency's id in MDS (default: a random one)", uuid))
    .addOption(option("--provider-id <uuid>", "your id in MDS, for the first agency (default: a random one)", uuid))
    .addOption(option("--rate-limit <n>", rateLimits, integer(1, MAX_RATE_LIMIT)))
    .addOption(option("--time-zone <zone>", `${timeZoneAbout} (default: the system's)`, timeZone))
    .option("--trips-since <instant>", `${tripsAbout} (default: since the log began)`)
    .option("--boundary <url | file>", boundaryAbout)
    .option("--requirements <url | file>", requirementsAbout)
    .action(async (given, { agencyId, providerId, rateLimit, timeZone: zone, tripsSince, ...files }) => {
      const name = readValue("<name>", given, plainName);
      const documents = await readDocuments(files);
      return runOnSystem(cli(), async (context) => {
        const { mds: isServed } = context.config;
        const settings = { timeZone: zone, tripsSince: readTripsSince(context, tripsSince), ...documents };
        const agency = { name, agencyId, providerId, rateLimit, ...settings };
        const made = await createAgency(context, context.systemId, agency);
        return {
          object: {
            client_id: made.partnerId,
            name,
            agency_id: made.agencyId,
            provider_id: made.providerId,
            key_id: made.key.id,
            key: made.key.key,
            vehicles: made.vehicles,
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
    .option("--trips-since <instant>", `${tripsAbout}; \`default\`: since the log began`)
    .option("--boundary <url | file>", `${boundaryAbout}; \`none\` removes it`)
    .option("--requirements <url | file>", `${requirementsAbout}; \`none\` removes it`)
    .action(async (id, { timeZone: zone, tripsSince, ...files }) => {
      if (zone === undefined && tripsSince === undefined && Object.keys(files).length === 0)
        throw new UsageError("Name what to change: --time-zone, --trips-since, --boundary or --requirements.");
      const documents = await readDocuments(files);
      return runOnSystem(cli(), async (context) => {
        const change = {
          timeZone: zone === "default" ? null : zone,
          tripsSince: readChangedTripsSince(context, tripsSince),
          ...documents,
        };
        const settings = await setAgency(context, context.systemId, id, change);
        const { time_zone, trips_since, boundary, requirements, left_out } = settings;
        const keptText = (file: unknown) => (file === null ? "none" : "kept");
        return {
          object: { client_id: id, time_zone, trips_since, boundary, requirements, left_out },
          facts: {
            "client id": id,
            "time zone": time_zone ?? "the system's",
            "trips since": trips_since ?? "the log of vehicle events began",
            boundary: keptText(boundary),
            "requirement file": keptText(requirements),
            "fields left out": leftOutText(left_out),
          },
        };
      });
    });
}

function registerCheck(mds: ParentCommand, cli: OpenCli): void {
  mds
    .command("check")
    .description("compare a city's requirement file with what it reads, field by field: given, missing or disallowed")
    .requiredOption("--requirements <url | file>", requirementsAbout)
    .action(async ({ requirements: location }) => {
      const file = await readRequirementFile(location);
      return runOnSystem(cli(), async ({ db, systemId }) => {
        const answers = answerRequirements(file, await providerIdOf(db, systemId));
        return {
          object: answers,
          facts: checkFacts(answers),
          table: table(rowsOf(answers), answerColumns, "The file asks for no field."),
        };
      });
    });
}

function checkFacts({ agency_name: agency, mds_release: release, programs }: RequirementAnswers) {
  const fields = programs.flatMap(({ endpoints }) => endpoints.flatMap((each) => each.fields));
  const count = (wanted: string) => fields.filter(({ status }) => status === wanted).length;
  return {
    agency,
    "file of MDS": release,
    "MDS served": MDS_VERSION,
    given: count("given"),
    missing: count("missing"),
    disallowed: count("disallowed"),
  };
}

interface AnswerRow {
  readonly program: string;
  readonly endpoint: string;
  readonly field: string;
  readonly answer: string;
}

const answerColumns: Columns<AnswerRow> = {
  program: "program",
  endpoint: "endpoint",
  field: "field",
  answer: "answer",
};

function rowsOf({ programs }: RequirementAnswers): AnswerRow[] {
  return programs.flatMap(({ description, is_ours: isOurs, endpoints }, index) => {
    const program = `${index + 1} ${description}${isOurs ? "" : " (other providers)"}`;
    return endpoints.flatMap(({ spec, version, api, endpoint, status, fields }) => {
      const named = { program, endpoint: [spec, version, api, endpoint].filter((part) => part !== "").join(" ") };
      // An endpoint that is missing as a whole, or of which the file asks for no field, has a row of its own.
      const hasOwnRow = status === "missing" || fields.length === 0;
      return [
        ...(hasOwnRow ? [{ ...named, field: "", answer: status }] : []),
        ...fields.map((each) => ({ ...named, field: each.field, answer: answerText(each) })),
      ];
    });
  });
}

function answerText({ status, is_optional: isOptional, is_required: isRequired }: FieldAnswer): string {
  const text = status === "given" && isOptional ? "given where known" : status;
  return `${text}${isRequired ? ", required" : ""}`;
}

type FieldAnswer = RequirementAnswers["programs"][number]["endpoints"][number]["fields"][number];

const timeZoneAbout = "the time zone of its monthly reports, such as Europe/Oslo";
const tripsAbout = "it reads trips that ended since this instant, or since a duration ago such as 720h";
const boundaryAbout = "its area as GeoJSON; it reads nothing outside";
const requirementsAbout = "its requirement file, from MDS's Policy API";

function leftOutText(fields: unknown): string {
  const lists = Object.entries((fields ?? {}) as LeftOutFields); // as `leftOutFields` makes it
  return lists.map(([list, names]) => `${list}: ${names.join(", ")}`).join("; ") || "none";
}

/** Reads `--trips-since`. A duration ago counts by the database's clock, not this machine's. */
function readTripsSince({ clock }: { readonly clock: () => number }, given: string | undefined): Date | undefined {
  return given === undefined ? undefined : readValue("--trips-since", given, pastInstant(clock()));
}

/** Reads `--trips-since`; returns null for the word `default`. */
function readChangedTripsSince(context: { readonly clock: () => number }, given: string | undefined) {
  return given === "default" ? null : readTripsSince(context, given);
}

interface GivenFiles {
  readonly boundary?: string | undefined;
  readonly requirements?: string | undefined;
}

async function readDocuments({ boundary, requirements }: GivenFiles) {
  return {
    boundary: await readOrNone(boundary, readBoundary),
    requirements: await readOrNone(requirements, readRequirementFile),
  };
}

/** Reads a document; returns null for the word `none`, and undefined if nothing is given. */
async function readOrNone<Value>(given: string | undefined, read: (location: string) => Promise<Value>) {
  if (given === undefined) return undefined;
  return given === "none" ? null : read(given);
}

async function readBoundary(location: string) {
  const document = await readFileOf("--boundary", location);
  return readValue("--boundary", shownAddress(location), () => expecting(() => boundaryFrom(document)));
}

async function readRequirementFile(location: string): Promise<RequirementFile> {
  const document = await readFileOf("--requirements", location);
  return readValue("--requirements", shownAddress(location), () => readRequirements(document));
}

async function readFileOf(name: string, location: string): Promise<unknown> {
  return readDocument(location).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${name} ${shownAddress(location)} cannot be read: ${reason}.`);
  });
}

function timeZone(text: string): string {
  // The empty text is the field's name, which the message does not use. A time zone has no language.
  return expecting(() => readFactValue({ kind: "timeZone" }, text, "", "en") as string); // a text, by its kind
}

/** Returns the word `default` as it is, because the option parser accepts no null as a value. */
function timeZoneOrDefault(text: string): string {
  return text === "default" ? text : timeZone(text);
}

/** Reads a value. The error says what the value must be without naming it, because the option adds the name. */
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

/** Maximum bytes of a boundary or a requirement file. San Francisco's requirement file has 9 KB. */
const MAX_BYTES = 1024 * 1024;

/** Returns the JSON of a file or of an http address. @throws Error that says what is wrong with it */
async function readDocument(location: string): Promise<unknown> {
  if (isAddress(location)) {
    const url = new URL(location);
    const { bytes } = await createFeedClient(url, { maxBytes: MAX_BYTES }).get(url);
    return parseBounded(bytes ?? new Uint8Array());
  }
  if ((await stat(location)).size > MAX_BYTES) throw tooLarge(MAX_BYTES);
  return parseBounded(await readFile(location));
}
