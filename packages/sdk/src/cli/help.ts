import { globalFlags } from "./arguments.ts";
import type { Command, Flag } from "./command.ts";

/** How to call the program. */
export function overview(commands: readonly Command[]): string {
  const lines = commands.map(({ name, takesId, summary }) => [`${name}${takesId ? " <id>" : ""}`, summary] as const);
  return `The Bike-Sharing Data Service at your terminal.

Usage: bikeshare-sdk <command> [options]

${columns(lines)}

Options of every command:
${columns(linesOf(globalFlags))}

\`bikeshare-sdk <command> --help\` shows a command's own options. Exit: 0 done, 1 failed, 2 wrong usage.`;
}

/** How to call one command. */
export function helpOf({ name, takesId, summary, flags }: Command): string {
  const own = Object.keys(flags).length === 0 ? "" : `\nOptions:\n${columns(linesOf(flags))}\n`;
  return `${summary}.

Usage: bikeshare-sdk ${name}${takesId ? " <id>" : ""} [options]
${own}
Options of every command:
${columns(linesOf(globalFlags))}`;
}

function linesOf(flags: Readonly<Record<string, Flag>>): (readonly [string, string])[] {
  return Object.entries(flags).map(([name, { value, says }]) => [`--${name}${value ? ` ${value}` : ""}`, says]);
}

function columns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}
