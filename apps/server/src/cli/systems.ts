import { describe, type Described, describedSystem, missingFacts, textIn } from "../city/descriptions/service.ts";
import { addSystem, everySystemOf, systemsOf } from "../city/systems/service.ts";
import { commandError } from "../command-errors.ts";
import { newSystemId } from "../runtime/startup/values.ts";
import { type CliContext, type OpenCli, type ParentCommand, run, runOnSystem, type SystemContext } from "./context.ts";
import { describedResult } from "./descriptions.ts";
import { addFactOptions, describedJson, optionOf, readFactOptions } from "./facts.ts";
import { readValue } from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";

// The commands `systems`. Facts are what GBFS publishes of a system.

/** Registers `systems create`, `set`, `show` and `list`. */
export function registerSystems(program: ParentCommand, cli: OpenCli): void {
  const systems = program.command("systems").description("manage the bike-share systems of this deployment");
  systems
    .command("create")
    .description("create another system")
    .argument("<id>", "the system's id, a part of addresses: letters, digits, `.`, `_`, `:` and `-`")
    .option("--name <name>", "the name that riders see (default: the id)")
    .action((text, { name = text }) => {
      const id = readValue("<id>", text, newSystemId);
      return run(cli(), (opened) => create(opened, id, name));
    });
  const set: ParentCommand = systems
    .command("set")
    .description("describe a system: facts take precedence over feeds, an empty value clears one");
  addFactOptions(set, "system");
  set.action(() => {
    const changes = readFactOptions("system", set.opts());
    return runOnSystem(cli(), async (context) =>
      systemResult(context, await describe(context, context.systemId, "system", "", changes)),
    );
  });
  systems
    .command("show")
    .description("show what GBFS publishes of a system, and who gives it")
    .action(() =>
      runOnSystem(cli(), async (context) => {
        const system = await describedSystem(context.db, context.systemId);
        if (system === undefined) throw commandError("not_found", "system", { id: context.systemId });
        return systemResult(context, system);
      }),
    );
  systems
    .command("list")
    .description("list the systems with their properties")
    .action(() => run(cli(), list));
}

async function systemResult(context: SystemContext, system: Described<"system">): Promise<Result> {
  const { facts } = await describedResult(context, system);
  const object = { id: context.systemId, ...describedJson(system), missing: missingFacts(system) };
  return { object, facts, notes: missingNotes(context.systemId, system, context.systemOption !== "") };
}

function create(cli: CliContext, id: string, name: string): Promise<Result> {
  return cli.withDatabase(async (db) => {
    // Create the first system before the second: otherwise commands without --system would change their meaning.
    if ((await systemsOf(db)).length === 0 && id !== cli.config.systemId) await cli.resolveSystem(db, undefined);
    const alike = (await everySystemOf(db)).find((system) => system.system_id.toLowerCase() === id.toLowerCase());
    if (alike !== undefined && alike.system_id !== id)
      throw new Error(`System ${alike.system_id} exists already and differs in capitals alone. Choose another id.`);
    if (await addSystem({ ...cli, db }, id, name)) return { object: { id } };
    throw new Error(`System ${id} exists already. Choose another id; \`systems list\` shows those in use.`);
  });
}

interface ListedSystem {
  readonly id: string;
  readonly created_at: Date;
  /** The partner whose sandbox it is; null: it is the operator's. */
  readonly sandbox_of: string | null;
  readonly system: Described<"system">;
}

function list({ withDatabase }: CliContext): Promise<Result> {
  return withDatabase(async (db) => {
    const systems: ListedSystem[] = [];
    for (const { system_id: id, created_at, sandbox_of } of await everySystemOf(db)) {
      const system = await describedSystem(db, id);
      if (system !== undefined) systems.push({ id, created_at, sandbox_of, system });
    }
    // Shows nothing for a default.
    const given = (name: "timezone" | "language") => (listed: ListedSystem) =>
      listed.system.from[name] === "default" ? null : listed.system.published[name];
    const text =
      (name: "name" | "operator") =>
      ({ system: { published } }: ListedSystem) =>
        textIn(published[name], published.language ?? "en");
    const columns: Columns<ListedSystem> = {
      id: "id",
      kind: ({ sandbox_of }) => kindOf(sandbox_of),
      name: text("name"),
      "published id": ({ system }) => system.published.published_id,
      "time zone": given("timezone"),
      language: given("language"),
      "feed contact": ({ system }) => system.published.feed_contact_email,
      operator: text("operator"),
      licence: ({ system }) => system.published.licence,
      url: ({ system }) => system.published.url,
    };
    const objects = systems.map(({ id, created_at, sandbox_of, system }) => ({
      id,
      created_at,
      kind: kindOf(sandbox_of),
      sandbox_of,
      ...describedJson(system),
      missing: missingFacts(system),
    }));
    return {
      object: { systems: objects },
      table: table(systems, columns, "No systems."),
      notes: systems.flatMap(({ id, sandbox_of, system }) =>
        sandbox_of === null ? missingNotes(id, system, systems.length > 1) : [],
      ),
    };
  });
}

function kindOf(sandboxOf: string | null): "live" | "sandbox" {
  return sandboxOf === null ? "live" : "sandbox";
}

/** What GBFS publishes without a fact, in words. */
const defaultTexts = {
  name: "the id as its name",
  timezone: "the time zone UTC",
  language: "the language en",
  feed_contact_email: "no contact address (3.0 requires one: unknown@example.invalid)",
} as const;

/**
 * Returns the defaults that GBFS publishes for missing facts, and the command that sets them.
 * @param isNamed whether the command must name the system with `--system`
 */
function missingNotes(id: string, system: Described<"system">, isNamed: boolean): string[] {
  const missing = missingFacts(system);
  if (missing.length === 0) return [];
  const published = missing.map((name) => defaultTexts[name]).join("; ");
  const command = missing.map((name) => `${optionOf(name)} …`).join(" ");
  return [
    `GBFS publishes defaults for facts that ${id} lacks: ${published}.`,
    `Set them: bikeshare ${isNamed ? `--system ${id} ` : ""}systems set ${command}`,
  ];
}
