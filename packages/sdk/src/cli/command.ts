import { parseArgs } from "node:util";
import type { BikeShare } from "../client.ts";
import { UsageError } from "../errors/errors.ts";
import type { ClientOptions } from "../options.ts";
import type { Environment } from "./environment.ts";
import type { Output } from "./output.ts";

/** An option of a command, as `--name` or `--name <value>`. */
export interface Option {
  /** The placeholder of the option's value in the help; undefined for an option without a value. */
  readonly value?: string;
  readonly description: string;
}

/** The options that were given; `true` for those without a value. */
export type OptionValues = Readonly<Record<string, string | true | undefined>>;

/** The name and help of a command. */
interface CommandUsage {
  /** The words that select the command: `rides list`. */
  readonly name: string;
  readonly summary: string;
  /** Whether an id follows the words. */
  readonly takesId: boolean;
  /** The placeholder of the id in the help. Default: `id`. */
  readonly idName?: string;
  readonly options: Readonly<Record<string, Option>>;
  /** A further text for the command's help. */
  readonly details?: string;
}

/** A command that calls the service. */
export interface ServiceCommand extends CommandUsage {
  run(context: CommandContext): Promise<void>;
}

/** A command that needs no service, and so neither its URL nor a key. */
export interface LocalCommand extends CommandUsage {
  runLocally(context: LocalContext): Promise<void>;
}

export type Command = ServiceCommand | LocalCommand;

/** The dependencies of a command that calls the service. */
export interface CommandContext extends LocalContext {
  readonly client: BikeShare;
  /** The options that `client` was made with. */
  readonly clientOptions: ClientOptions;
}

/** The dependencies of every command. */
export interface LocalContext {
  /** Empty if the command takes no id. */
  readonly id: string;
  readonly values: OptionValues;
  readonly output: Output;
  readonly environment: Environment;
}

/** Returns the value of an option; undefined if it was not given, or is one without a value. */
export function textOf(values: OptionValues, name: string): string | undefined {
  const value = values[name];
  return value === true ? undefined : value;
}

/** Options that every command takes. */
const globalOptions: Readonly<Record<string, Option>> = {
  "base-url": { value: "<URL>", description: "the service's URL; default: BIKESHARE_BASE_URL" },
  "api-key-file": { value: "<path>", description: "a file with the API key; default: BIKESHARE_API_KEY" },
  json: { description: "JSON on stdout, everything else on stderr" },
  help: { description: "show the usage of this command" },
  version: { description: "show the version of this package" },
};

/** A parsed command line. */
export interface Invocation {
  /** Undefined if the command line names no command. */
  readonly command: Command | undefined;
  readonly id: string;
  readonly values: OptionValues;
}

/**
 * Parses a command line.
 *
 * @throws UsageError that says what is wrong. It contains no value of the command line, because a value may be a key
 */
export function parseCommandLine(args: readonly string[], commands: readonly Command[]): Invocation {
  // --key, --api-key and similar, with or without a value.
  if (args.some((arg) => /^--?(api-?)?key(=|$)/.test(arg))) {
    throw new UsageError(
      "every user of this machine can read a key on the command line: set BIKESHARE_API_KEY, or give --api-key-file <path>",
    );
  }
  const { values, positionals } = parse(args, commands);
  // A command's name has two words or one: `rides list`, `me`.
  const commandNamed = (name: string) => commands.find((known) => known.name === name);
  const [first = "", second = ""] = positionals;
  const command = commandNamed(`${first} ${second}`) ?? commandNamed(first);
  if (command === undefined) {
    if (positionals.length === 0 || positionals[0] === "help") return { command, id: "", values };
    throw new UsageError("unknown command: `bikeshare-sdk help` lists the commands");
  }
  const { name, takesId, idName = "id", options } = command;
  const unknown = Object.keys(values).find((option) => !(option in options) && !(option in globalOptions));
  if (unknown !== undefined) throw new UsageError(`\`${name}\` has no option --${unknown}`);
  const [id = "", ...rest] = positionals.slice(name.split(" ").length);
  const isHelp = values["help"] === true;
  if (!isHelp && takesId && id === "")
    throw new UsageError(`\`${name}\` needs ${article(idName)} ${idName}: \`${name} <${idName}>\``);
  if (rest.length > 0 || (!takesId && id !== "")) throw new UsageError(`too many arguments for \`${name}\``);
  return { command, id, values };
}

/** Parses the options of all commands and the other words. The caller checks which options its command has. */
function parse(args: readonly string[], commands: readonly Command[]) {
  const all = Object.assign({}, globalOptions, ...commands.map(({ options }) => options)) as Record<string, Option>;
  const options = Object.entries(all).map(([name, { value }]) => {
    return [name, { type: value === undefined ? "boolean" : "string" }] as const;
  });
  try {
    const parsed = parseArgs({ args: [...args], options: Object.fromEntries(options), allowPositionals: true });
    // Without the option `multiple`, parseArgs returns only strings and `true`.
    return { values: { ...parsed.values } as OptionValues, positionals: parsed.positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Returns the usage of the program. */
export function programHelp(commands: readonly Command[]): string {
  const rows = commands.map((command) => [wordsOf(command), command.summary] as const);
  return `The Bike-Sharing Data Service at your terminal.

Usage: bikeshare-sdk <command> [options]

${alignColumns(rows)}

Global options:
${alignColumns(optionRows(globalOptions))}

\`bikeshare-sdk <command> --help\` shows a command's own options. Exit status: 0 done, 1 failed, 2 wrong usage.`;
}

/** Returns the usage of one command. */
export function commandHelp(command: Command): string {
  const { summary, options, details } = command;
  const own = Object.keys(options).length === 0 ? "" : `\nOptions:\n${alignColumns(optionRows(options))}\n`;
  return `${summary}.

Usage: bikeshare-sdk ${wordsOf(command)} [options]
${own}${details === undefined ? "" : `\n${details}\n`}
Global options:
${alignColumns(optionRows(globalOptions))}`;
}

/** Returns a command as it is typed: `rides get <id>`. */
function wordsOf({ name, takesId, idName = "id" }: Command): string {
  return takesId ? `${name} <${idName}>` : name;
}

function article(noun: string): string {
  return /^[aeiou]/.test(noun) ? "an" : "a";
}

function optionRows(options: Readonly<Record<string, Option>>): (readonly [string, string])[] {
  return Object.entries(options).map(([name, { value, description }]) => {
    return [`--${name}${value ? ` ${value}` : ""}`, description];
  });
}

function alignColumns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}
