/*
 * A shell that runs one block of commands after the other, as if an operator pasted them. It keeps two files in the
 * home directory of its machine: `.block` holds the block to run, and `.state` the shell's variables and directory
 * after the last successful block.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** The line that the shell prints after a block. */
const MARK = "end-of-block-7f3a";

/** An operator's shell on a machine. Each block sees the variables and the directory of the one before. */
export class Shell {
  readonly #open: () => ChildProcess;
  /** The home directory of root, as a path on this machine. */
  readonly #home: string;
  #child: ChildProcess | undefined;
  #output = "";
  /** Called when there is more output, or the shell has ended. */
  #onOutput: () => void = () => undefined;

  constructor(open: () => ChildProcess, home: string) {
    this.#open = open;
    this.#home = home;
  }

  /**
   * Opens the shell. A failed command ends the shell. The next block then gets another shell, with the variables and the
   * directory of the last successful block.
   */
  #start(): ChildProcess {
    const child = this.#open();
    const hear = (text: string) => {
      this.#output += text;
      this.#onOutput();
    };
    child.stdout?.setEncoding("utf8").on("data", hear);
    child.stderr?.setEncoding("utf8").on("data", hear);
    child.on("close", () => {
      if (this.#child === child) this.#child = undefined;
      this.#onOutput();
    });
    // A shell that has ended closes its input. `close` above reports its end.
    child.stdin?.on("error", () => undefined);
    // Restores the variables and the directory of the shell before. Bash complains about read-only variables in the
    // file.
    child.stdin?.write("[ ! -e ~/.state ] || . ~/.state 2> /dev/null\n");
    // `set -e`: a failed command ends the shell, so its block fails. `apt-get` must not ask questions.
    child.stdin?.write("set -eo pipefail; export DEBIAN_FRONTEND=noninteractive\n");
    return child;
  }

  /** Runs a block. @returns its output @throws with the output if a command fails */
  run(commands: string, timeoutMs: number): Promise<string> {
    this.#child ??= this.#start();
    const child = this.#child;
    writeFileSync(join(this.#home, ".block"), `${commands}\n`);
    this.#output = "";
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`not done after ${timeoutMs} ms:\n${this.#output}`)), timeoutMs);
      this.#onOutput = () => {
        const end = this.#output.indexOf(MARK);
        if (end < 0 && this.#child === child) return;
        clearTimeout(late);
        if (end >= 0) resolve(this.#output.slice(0, end).trim());
        else reject(new Error(`a command failed:\n${this.#output}`));
      };
      // The block reads from /dev/null: a command that reads its input would otherwise take the following blocks.
      child.stdin?.write(`. ~/.block </dev/null; { declare -p; echo cd "$PWD"; } > ~/.state; echo ${MARK}\n`);
    });
  }
}

/** Waits for the end of commands. @returns their output @throws with the output if they fail */
export async function outputOf(child: ChildProcess, commands: string): Promise<string> {
  child.stdin?.end();
  let [output, errors] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${commands}\n${output}${errors}`);
  return output.trim();
}

/** Repeats commands until they succeed. @returns the output of the last run @throws the last error */
export async function untilSuccess(run: () => Promise<string>, timeoutMs: number): Promise<string> {
  for (const end = performance.now() + timeoutMs; ;) {
    try {
      return await run();
    } catch (error) {
      if (performance.now() > end) throw error;
      await wait(500);
    }
  }
}
