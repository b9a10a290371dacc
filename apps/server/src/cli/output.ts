import { printable, printableJson } from "./printable.ts";

/** Where a command's words go. With `--json`: one JSON object on stdout, everything else on stderr. */
export interface Output {
  readonly json: boolean;
  /** The command's result: `object` as JSON, or `text` for people. */
  result(object: Record<string, unknown>, text: string): void;
  /** A remark for the person who waits; stderr. */
  note(text: string): void;
  /**
   * A progress line for a terminal, drawn over the one before; nothing where stderr is not a terminal.
   * `undefined` clears it.
   */
  progress(text: string | undefined): void;
}

interface Streams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

export function createOutput(json: boolean, { stdout, stderr }: Streams): Output {
  const interactive = stderr.isTTY === true;
  const clear = () => interactive && stderr.write("\r\u001b[2K");
  return {
    json,
    result(object, text) {
      clear();
      stdout.write(json ? `${printableJson(object)}\n` : `${printable(text)}\n`);
    },
    note(text) {
      clear();
      stderr.write(`${printable(text)}\n`);
    },
    progress(text) {
      clear();
      if (interactive && text !== undefined) stderr.write(text);
    },
  };
}
