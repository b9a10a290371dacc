import { parseArgs } from "node:util";
import { UsageError } from "../errors/errors.ts";
import type { Command, Flag, Given } from "./command.ts";

/** Options that every command takes. */
export const globalFlags: Readonly<Record<string, Flag>> = {
  "base-url": { value: "<URL>", says: "the service's address; else BIKESHARE_BASE_URL" },
  "api-key-file": { value: "<path>", says: "a file that holds the key; else BIKESHARE_API_KEY" },
  json: { says: "JSON on stdout, everything else on stderr" },
  help: { says: "how to call this command" },
  version: { says: "the version of this package" },
};

/** What the words of a command line mean. */
export interface Arguments {
  /** Undefined where no command is named. */
  readonly command: Command | undefined;
  readonly id: string;
  readonly given: Given;
}

/**
 * Reads a command line.
 *
 * @throws UsageError that says what is wrong; never with a value in it, for that may be a key
 */
export function readArguments(args: readonly string[], commands: readonly Command[]): Arguments {
  if (args.some((word) => /^--?(api-?)?key(=|$)/.test(word))) {
    throw new UsageError(
      "a key on the command line can be read by everybody on this machine: set BIKESHARE_API_KEY, or give --api-key-file <path>",
    );
  }
  const { values, positionals } = parse(args, commands);
  const command = [2, 1]
    .map((words) => positionals.slice(0, words).join(" "))
    .map((name) => commands.find((known) => known.name === name))
    .find((found) => found !== undefined);
  if (command === undefined) {
    if (positionals.length === 0 || positionals[0] === "help") return { command, id: "", given: values };
    throw new UsageError("there is no such command; `bikeshare-sdk help` shows those there are");
  }
  const { name, takesId, flags } = command;
  const foreign = Object.keys(values).find((flag) => !(flag in flags) && !(flag in globalFlags));
  if (foreign !== undefined) throw new UsageError(`\`${name}\` takes no --${foreign}`);
  const [id = "", ...more] = positionals.slice(name.split(" ").length);
  const isAsked = values["help"] === true;
  if (!isAsked && takesId && id === "") throw new UsageError(`\`${name}\` needs an id: \`${name} <id>\``);
  if (more.length > 0 || (!takesId && id !== "")) throw new UsageError(`\`${name}\` takes fewer words`);
  return { command, id, given: values };
}

function parse(args: readonly string[], commands: readonly Command[]) {
  const flags = Object.assign({}, globalFlags, ...commands.map((command) => command.flags)) as Record<string, Flag>;
  const options = Object.entries(flags).map(([name, { value }]) => {
    return [name, { type: value === undefined ? "boolean" : "string" }] as const;
  });
  try {
    const parsed = parseArgs({ args: [...args], options: Object.fromEntries(options), allowPositionals: true });
    // Of options that are given once, parseArgs makes a text or true.
    return { values: { ...parsed.values } as Given, positionals: parsed.positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
