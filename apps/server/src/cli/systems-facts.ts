import type { Command } from "commander";
import type { Database } from "../db/database.ts";
import { commandError } from "../errors/command-errors.ts";
import { describeSystem, detailsOf, detailsOfAll, type FactChanges, type SystemDetails } from "../systems/describe.ts";
import { type FactName, factNames, factRules } from "../systems/facts.rules.ts";
import { systemsOf } from "../systems/service.ts";
import type { CliContext } from "./context.ts";
import { beginningTable } from "./list-walk.ts";
import { systemOption } from "./options.ts";
import { UsageError } from "./usage-error.ts";

/** What the command line calls each fact, and what it means. */
const options: Readonly<Record<FactName, readonly [option: string, meaning: string]>> = {
  name: ["--name", "what riders call it"],
  timezone: ["--time-zone", "its IANA time zone, such as Europe/Oslo"],
  language: ["--language", "the language of its names, a BCP 47 tag such as nb or en-GB"],
  feed_contact_email: ["--email", "where whoever reads its feeds may write to"],
  operator: ["--operator", "who runs it"],
  url: ["--url", "its address on the web"],
  licence: ["--licence", "of its feeds: an SPDX identifier such as CC-BY-4.0, or an address"],
  opening_hours: ["--opening-hours", "in OpenStreetMap's words; 24/7 where nobody says"],
};

/** `systems set`, and `systems list`. */
export function registerSystemFacts(systems: Command, context: () => CliContext): void {
  const set = systems
    .command("set")
    .description(
      "say what holds of a system, as GBFS publishes it; it goes before what a feed says. An empty value takes a word back",
    );
  for (const [option, meaning] of Object.values(options)) set.option(`${option} <value>`, meaning);
  set.action((given: Readonly<Record<string, string>>, command: Command) => setFacts(context(), given, command));
  systems
    .command("list")
    .description("list the systems, and what holds of them")
    .action(() => list(context()));
}

async function setFacts(cli: CliContext, given: Readonly<Record<string, string>>, command: Command): Promise<void> {
  const changes = readChanges(given);
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    await describeSystem({ ...cli, db }, systemId, changes);
    const details = await detailsOf(db, systemId);
    if (details === undefined) throw commandError("not_found", "system", { id: systemId });
    cli.output.result(factsOf(details), textOf(details));
  });
}

function readChanges(given: Readonly<Record<string, string>>): FactChanges {
  const changes = factNames.flatMap((name): [FactName, string | null][] => {
    const [option] = options[name];
    const text = given[option.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (text === undefined) return [];
    if (text === "") return [[name, null]];
    if (factRules[name].read(text) === undefined)
      throw new UsageError(`${option} cannot be ${JSON.stringify(text)}: it must be ${factRules[name].expected}.`);
    return [[name, text]];
  });
  if (changes.length === 0) {
    throw new UsageError(
      `Say something: ${Object.values(options)
        .map(([option]) => option)
        .join(", ")}.`,
    );
  }
  return Object.fromEntries(changes);
}

async function list({ output, withDatabase }: CliContext): Promise<void> {
  await withDatabase(async (db: Database) => {
    const systems = await detailsOfAll(db);
    const made = new Map((await systemsOf(db)).map((system) => [system.system_id, system.created_at]));
    const items = { items: systems, total: systems.length };
    const overview = beginningTable(items, {
      id: ({ id }) => id,
      name: ({ name }) => name,
      "time zone": (system) => said(system, "timezone"),
      language: (system) => said(system, "language"),
      email: (system) => said(system, "feed_contact_email"),
      operator: ({ operator }) => operator,
      licence: ({ licence }) => licence,
      url: ({ url }) => url,
    });
    output.result(
      { systems: systems.map((system) => ({ ...factsOf(system), created_at: made.get(system.id) })) },
      [overview, ...systems.flatMap((system) => missingText(system, systems.length > 1))].join("\n"),
    );
  });
}

/** A fact, or null where a default stands in for it. */
function said(system: SystemDetails, name: FactName): string | null {
  return system.missing.includes(name) ? null : system[name];
}

function factsOf({ timezone, feed_contact_email, missing, ...system }: SystemDetails): Record<string, unknown> {
  return {
    ...system,
    time_zone: timezone,
    email: feed_contact_email,
    missing: missing.map((name) => options[name][0].slice(2)),
  };
}

function textOf(details: SystemDetails): string {
  const lines = factNames.map((name) => [options[name][0].slice(2), said(details, name) ?? "-"] as const);
  const facts = beginningTable(
    { items: lines, total: lines.length },
    { [details.id]: ([name]) => name, "GBFS says": ([, value]) => value },
  );
  return [facts, ...missingText(details, false)].join("\n");
}

/** What readers are told where nobody said anything, and how to say it. */
function missingText({ id, missing }: SystemDetails, isNamed: boolean): string[] {
  if (missing.length === 0) return [];
  const defaults: Partial<Record<FactName, string>> = {
    name: "the id as its name",
    timezone: "the time zone UTC",
    language: "the language en",
    feed_contact_email: "no address, or in 3.0, which requires one, unknown@example.invalid",
  };
  const told = missing.flatMap((name) => defaults[name] ?? []).join("; ");
  const command = missing.map((name) => `${options[name][0]} …`).join(" ");
  return [
    "",
    `Of ${id} GBFS gives ${told}. Say what holds: bikeshare ${isNamed ? `--system ${id} ` : ""}systems set ${command}`,
  ];
}
