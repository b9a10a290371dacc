import { type FactName, factNames, factRules } from "../city/systems/facts.rules.ts";
import {
  describeSystem,
  detailsOf,
  detailsOfAll,
  type FactChanges,
  type SystemDetails,
  addSystem,
  systemsOf,
} from "../city/systems/service.ts";
import { commandError } from "../command-errors.ts";
import { systemId as parseSystemId } from "../runtime/startup/values.ts";
import { type CliContext, type OpenCli, type ParentCommand, run, runOnSystem } from "./context.ts";
import { readValue, UsageError } from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";

/** The option of each fact, and its help. */
const factOptions: Readonly<Record<FactName, readonly [option: string, meaning: string]>> = {
  name: ["--name", "the name that riders see"],
  timezone: ["--time-zone", "an IANA time zone such as Europe/Oslo"],
  language: ["--language", "the language of its names: a BCP 47 tag such as nb or en-GB"],
  feed_contact_email: ["--email", "the contact address for consumers of its feeds"],
  operator: ["--operator", "the company that runs it"],
  url: ["--url", "its website"],
  licence: ["--licence", "the licence of its feeds: an SPDX identifier such as CC-BY-4.0, or a URL"],
  opening_hours: ["--opening-hours", "in OpenStreetMap's opening_hours syntax (default: 24/7)"],
};

/** `systems create`, `set` and `list`. */
export function registerSystems(program: ParentCommand, cli: OpenCli): void {
  const systems = program.command("systems").description("manage the bike-share systems of this deployment");
  systems
    .command("create")
    .description("create another system")
    .argument("<id>", "the system's id (GBFS system_id): visible ASCII characters")
    .option("--name <name>", "the name that riders see (default: the id)")
    .action((text, { name = text }) => {
      const id = readValue("<id>", text, parseSystemId);
      return run(cli(), (opened) => create(opened, id, name));
    });
  const set: ParentCommand = systems
    .command("set")
    .description(
      "set properties of a system that GBFS publishes; they take precedence over imported feeds, an empty value clears one",
    );
  for (const [option, meaning] of Object.values(factOptions)) set.option(`${option} <value>`, meaning);
  set.action(() => {
    const changes = readChanges(set.opts());
    return runOnSystem(cli(), async (context) => {
      const { db, systemId, systemOption } = context;
      await describeSystem(context, systemId, changes);
      const details = await detailsOf(db, systemId);
      if (details === undefined) throw commandError("not_found", "system", { id: systemId });
      return { object: factsOf(details), notes: missingNotes(details, systemOption !== "") };
    });
  });
  systems
    .command("list")
    .description("list the systems with their properties")
    .action(() => run(cli(), list));
}

function create(cli: CliContext, id: string, name: string): Promise<Result> {
  return cli.withDatabase(async (db) => {
    // Create the first system before the second: otherwise commands without --system would change their meaning.
    if ((await systemsOf(db)).length === 0 && id !== cli.config.systemId) await cli.resolveSystem(db, undefined);
    if (await addSystem({ ...cli, db }, id, name)) return { object: { id } };
    throw new Error(`System ${id} exists already. Choose another id; \`systems list\` shows those in use.`);
  });
}

function readChanges(given: Readonly<Record<string, unknown>>): FactChanges {
  const changes = factNames.flatMap((name): [FactName, string | null][] => {
    const [option] = factOptions[name];
    const text = given[option.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof text !== "string") return [];
    if (text === "") return [[name, null]];
    if (factRules[name].read(text) === undefined)
      throw new UsageError(`${option} is ${JSON.stringify(text)}: it must be ${factRules[name].expected}.`);
    return [[name, text]];
  });
  if (changes.length === 0) {
    const names = Object.values(factOptions).map(([option]) => option);
    throw new UsageError(`Give at least one of ${names.join(", ")}.`);
  }
  return Object.fromEntries(changes);
}

function list({ withDatabase }: CliContext): Promise<Result> {
  return withDatabase(async (db) => {
    const systems = await detailsOfAll(db);
    const made = new Map((await systemsOf(db)).map((system) => [system.system_id, system.created_at]));
    const columns: Columns<SystemDetails> = {
      id: "id",
      name: "name",
      "time zone": (system) => knownFact(system, "timezone"),
      language: (system) => knownFact(system, "language"),
      email: (system) => knownFact(system, "feed_contact_email"),
      operator: "operator",
      licence: "licence",
      url: "url",
    };
    return {
      object: { systems: systems.map((system) => ({ ...factsOf(system), created_at: made.get(system.id) })) },
      table: table(systems, columns, "No systems."),
      notes: systems.flatMap((system) => missingNotes(system, systems.length > 1)),
    };
  });
}

/** Returns a fact, or null where GBFS publishes a default. */
function knownFact(system: SystemDetails, name: FactName): string | null {
  return system.missing.includes(name) ? null : system[name];
}

function factsOf({ timezone, feed_contact_email, missing, ...system }: SystemDetails): object {
  return {
    ...system,
    time_zone: timezone,
    email: feed_contact_email,
    missing: missing.map((name) => factOptions[name][0].slice(2)),
  };
}

/** Returns the defaults that GBFS publishes for missing facts, and the command that sets them. */
function missingNotes({ id, missing }: SystemDetails, isNamed: boolean): string[] {
  if (missing.length === 0) return [];
  const defaults: Partial<Record<FactName, string>> = {
    name: "the id as its name",
    timezone: "the time zone UTC",
    language: "the language en",
    feed_contact_email: "no contact address (3.0 requires one: unknown@example.invalid)",
  };
  const published = missing.flatMap((name) => defaults[name] ?? []).join("; ");
  const command = missing.map((name) => `${factOptions[name][0]} …`).join(" ");
  return [
    `GBFS publishes defaults for settings that ${id} lacks: ${published}.`,
    `Set them: bikeshare ${isNamed ? `--system ${id} ` : ""}systems set ${command}`,
  ];
}
