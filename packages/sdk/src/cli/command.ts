import type { BikeShare } from "../client.ts";
import type { Host } from "./host.ts";
import type { Output } from "./output.ts";

/** An option of a command, as `--name` or `--name <value>`. */
export interface Flag {
  /** What stands for its value in the help; without one it takes none. */
  readonly value?: string;
  readonly says: string;
}

/** The options that were given; `true` for those that take no value. */
export type Given = Readonly<Record<string, string | true | undefined>>;

/** One command of the program. */
export interface Command {
  /** Its words: `rides list`. */
  readonly name: string;
  readonly summary: string;
  /** Whether an id follows its words. */
  readonly takesId: boolean;
  readonly flags: Readonly<Record<string, Flag>>;
  run(context: CommandContext): Promise<void>;
}

/** What a command works with. */
export interface CommandContext {
  readonly client: BikeShare;
  /** Empty where the command takes none. */
  readonly id: string;
  readonly given: Given;
  readonly output: Output;
  readonly host: Host;
}

/** The text given for an option; undefined where it was not given. */
export function textOf(given: Given, name: string): string | undefined {
  const value = given[name];
  return value === true ? undefined : value;
}
