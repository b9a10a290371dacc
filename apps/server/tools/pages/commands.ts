/* The command line's commands as a list, for docs/commands.md. */
import type { Argument, CommandUnknownOpts as Command, Option } from "@commander-js/extra-typings";
import { createProgram } from "../../src/cli/command-line.ts";

/** A command that does something, by its words. */
export interface Leaf {
  readonly words: readonly string[];
  readonly command: Command;
}

/** Creates the command line, only to list its commands: to run one throws. The version "1" is never shown. */
export function programForPages() {
  return createProgram("1", () => {
    throw new Error("no command runs here");
  });
}

/** Lists every command that does something. */
export function leavesOf(command: Command, words: readonly string[] = []): Leaf[] {
  const below = command.commands.flatMap((each) => leavesOf(each, [...words, each.name()]));
  // Commander has no public property that says whether a command with subcommands does something itself, as `migrate` does.
  const doesSomething = Reflect.get(command, "_actionHandler") !== null;
  const isRoot = words.length === 0;
  const isLeaf = below.length === 0 || (doesSomething && !isRoot);
  return isLeaf ? [{ words, command }, ...below] : below;
}

/** Lists the options that `--help` of a command shows, without `--help`. */
export function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  return help.visibleOptions(command).filter(({ long }) => long !== "--help");
}

/** Makes the list: each command with its arguments and required options, and what `--help` says that it does. */
export async function commandsText(): Promise<string> {
  const rows = leavesOf(await programForPages()).map(({ words, command }) => {
    const required = optionsOf(command).filter(({ mandatory }) => mandatory);
    const parts = [...command.registeredArguments.map(argumentText), ...required.map(optionText)];
    return `- \`${[...words, ...parts].join(" ")}\`: ${command.description()}`;
  });
  return rows.join("\n");
}

function argumentText(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionText({ flags }: Option): string {
  return flags.replace(" ", "=");
}
