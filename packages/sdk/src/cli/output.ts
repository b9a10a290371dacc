import type { Host } from "./host.ts";

/** Where a command's words go. With `--json`: one JSON object a line on stdout, everything else on stderr. */
export interface Output {
  /** A result: `object` as JSON, or `text` for people. */
  result(object: object, text: string): void;
  /** A remark for the person who waits; stderr. */
  note(text: string): void;
  /** A line for a terminal, drawn over the one before; nothing where stderr is none. Empty clears it. */
  progress(text: string): void;
}

export function createOutput(json: boolean, { stdout, stderr }: Pick<Host, "stdout" | "stderr">): Output {
  const isTerminal = stderr.isTTY === true;
  const progress = (text: string) => void (isTerminal && stderr.write(`\r\u001b[2K${text}`));
  return {
    result(object, text) {
      progress("");
      stdout.write(json ? `${JSON.stringify(object)}\n` : `${text}\n`);
    },
    note(text) {
      progress("");
      stderr.write(`${text}\n`);
    },
    progress,
  };
}

/**
 * A text for a terminal on one line: what steers the terminal is taken out, for names of stations and what receivers
 * answer are written by others.
 */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "");
  return (value === null || value === undefined ? "" : text).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
}
