/* The command line's commands as a list, for docs/commands.md. */
import type { Argument, CommandUnknownOpts as Command, Option } from "@commander-js/extra-typings";
import { createProgram } from "../../src/cli/command-line.ts";

/** A command that does something, by its words. */
export interface Leaf {
  readonly words: readonly string[];
  readonly command: Command;
}

/** The command line, of which nothing can be run. */
export function programForPages() {
  return createProgram("1", () => {
    throw new Error("no command runs here");
  });
}

/** Lists every command that does something. */
export function leavesOf(command: Command, words: readonly string[] = []): Leaf[] {
  const below = command.commands.flatMap((each) => leavesOf(each, [...words, each.name()]));
  // Nothing public says whether a command with commands below it does something by itself, as `migrate` does.
  const doesSomething = Reflect.get(command, "_actionHandler") !== null;
  return below.length === 0 || (doesSomething && words.length > 0) ? [{ words, command }, ...below] : below;
}

/** Lists the options that `--help` of a command shows, without `--help`. */
export function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  return help.visibleOptions(command).filter(({ long }) => long !== "--help");
}

/** Makes the list: each command with its arguments, options and defaults, and what `--help` says that it does. */
export async function commandsText(): Promise<string> {
  const rows = leavesOf(await programForPages()).map(({ words, command }) => {
    const parts = [...command.registeredArguments.map(argumentText), ...optionTexts(optionsOf(command))];
    return `- \`${[...words, ...parts].join(" ")}\`: ${command.description()}`;
  });
  return rows.join("\n");
}

/** The options of a command. Those that set one fact each, as `--name <value>` does, stand as one. */
function optionTexts(options: readonly Option[]): string[] {
  const [facts = [], others = []] = [true, false].map((wanted) =>
    options.filter(({ flags }) => flags.endsWith(" <value>") === wanted),
  );
  return [...(facts.length > 2 ? ["[--<fact>=<value>…]"] : facts.map(optionText)), ...others.map(optionText)];
}

function argumentText(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** An option as `--help` shows it, with its default in place of the value's name. */
function optionText(option: Option): string {
  const shown: unknown = option.defaultValueDescription ?? option.defaultValue;
  const hasDefault = typeof shown === "string" || typeof shown === "number";
  const text = (hasDefault ? option.flags.replace(/<.*>/, String(shown)) : option.flags).replace(" ", "=");
  return option.mandatory ? text : `[${text}]`;
}
