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
import { type CliContext, type OpenCli, type ParentCommand, withSystem } from "./context.ts";
import { readValue, UsageError } from "./options.ts";
import { table } from "./output.ts";

/** What the command line calls each fact, and what it means. */
const factOptions: Readonly<Record<FactName, readonly [option: string, meaning: string]>> = {
  name: ["--name", "what riders call it"],
  timezone: ["--time-zone", "its IANA time zone, such as Europe/Oslo"],
  language: ["--language", "the language of its names, a BCP 47 tag such as nb or en-GB"],
  feed_contact_email: ["--email", "the contact address for readers of its feeds"],
  operator: ["--operator", "who runs it"],
  url: ["--url", "its address on the web"],
  licence: ["--licence", "of its feeds: an SPDX identifier such as CC-BY-4.0, or an address"],
  opening_hours: ["--opening-hours", "in OpenStreetMap's syntax; 24/7, when not given"],
};

/** `systems create`, `set` and `list`. */
export function registerSystems(program: ParentCommand, cli: OpenCli): void {
  const systems = program.command("systems").description("the bike-share systems of this deployment");
  systems
    .command("create")
    .description("add another system")
    .argument("<id>", "the system's id (GBFS system_id): visible ASCII characters")
    .option("--name <name>", "what people call it")
    .action((id, { name = id }) => create(cli(), id, name));
  const set: ParentCommand = systems
    .command("set")
    .description(
      "describe a system, as GBFS publishes it; it takes precedence over feeds. An empty value removes a field",
    );
  for (const [option, meaning] of Object.values(factOptions)) set.option(`${option} <value>`, meaning);
  set.action(() => {
    const changes = readChanges(set.opts());
    return withSystem(cli(), async (context, systemId) => {
      await describeSystem(context, systemId, changes);
      const details = await detailsOf(context.db, systemId);
      if (details === undefined) throw commandError("not_found", "system", { id: systemId });
      context.output.result(factsOf(details), textOf(details));
    });
  });
  systems
    .command("list")
    .description("list the systems, and how each is described")
    .action(() => list(cli()));
}

async function create(cli: CliContext, text: string, name: string): Promise<void> {
  const id = readValue("The id", text, parseSystemId);
  await cli.withDatabase(async (db) => {
    // The first system exists before the second: otherwise commands that name none would change their meaning.
    if ((await systemsOf(db)).length === 0 && id !== cli.config.systemId) await cli.resolveSystem(db, undefined);
    if (!(await addSystem({ ...cli, db }, id, name))) throw new Error(`There is a system "${id}" already.`);
    cli.output.result({ id }, `Created system ${id}.`);
  });
}

function readChanges(given: Readonly<Record<string, unknown>>): FactChanges {
  const changes = factNames.flatMap((name): [FactName, string | null][] => {
    const [option] = factOptions[name];
    const text = given[option.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof text !== "string") return [];
    if (text === "") return [[name, null]];
    if (factRules[name].read(text) === undefined)
      throw new UsageError(`${option} cannot be ${JSON.stringify(text)}: it must be ${factRules[name].expected}.`);
    return [[name, text]];
  });
  if (changes.length === 0) {
    const names = Object.values(factOptions).map(([option]) => option);
    throw new UsageError(`Give at least one of ${names.join(", ")}.`);
  }
  return Object.fromEntries(changes);
}

async function list({ output, withDatabase }: CliContext): Promise<void> {
  await withDatabase(async (db) => {
    const systems = await detailsOfAll(db);
    const made = new Map((await systemsOf(db)).map((system) => [system.system_id, system.created_at]));
    const overview = table(systems, {
      id: "id",
      name: "name",
      "time zone": (system) => knownFact(system, "timezone"),
      language: (system) => knownFact(system, "language"),
      email: (system) => knownFact(system, "feed_contact_email"),
      operator: "operator",
      licence: "licence",
      url: "url",
    });
    output.result(
      { systems: systems.map((system) => ({ ...factsOf(system), created_at: made.get(system.id) })) },
      [overview, ...systems.flatMap((system) => missingText(system, systems.length > 1))].join("\n"),
    );
  });
}

/** A fact, or null where a default stands in for it. */
function knownFact(system: SystemDetails, name: FactName): string | null {
  return system.missing.includes(name) ? null : system[name];
}

function factsOf({ timezone, feed_contact_email, missing, ...system }: SystemDetails): Record<string, unknown> {
  return {
    ...system,
    time_zone: timezone,
    email: feed_contact_email,
    missing: missing.map((name) => factOptions[name][0].slice(2)),
  };
}

function textOf(details: SystemDetails): string {
  const facts = factNames.map((name) => ({ option: factOptions[name][0].slice(2), value: knownFact(details, name) }));
  const shown = table(facts, { [details.id]: "option", "in GBFS": "value" });
  return [shown, ...missingText(details, false)].join("\n");
}

/** What feeds show in place of missing facts, and how to set them. */
function missingText({ id, missing }: SystemDetails, isNamed: boolean): string[] {
  if (missing.length === 0) return [];
  const defaults: Partial<Record<FactName, string>> = {
    name: "the id as its name",
    timezone: "the time zone UTC",
    language: "the language en",
    feed_contact_email: "no address, or in 3.0, which requires one, unknown@example.invalid",
  };
  const shown = missing.flatMap((name) => defaults[name] ?? []).join("; ");
  const command = missing.map((name) => `${factOptions[name][0]} …`).join(" ");
  return [
    "",
    `In place of what is missing, GBFS shows for ${id}: ${shown}. Set it: bikeshare ${isNamed ? `--system ${id} ` : ""}systems set ${command}`,
  ];
}
