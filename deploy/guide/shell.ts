/* A shell that runs one block after the other, as the operator would paste them. */
import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";

const MARK = "end-of-block-7f3a";

export class Shell {
  readonly #child: ChildProcess;
  /** Where the machine finds the block as `/root/.block`. */
  readonly #file: string;
  #output = "";
  #onOutput: () => void = () => undefined;
  #isClosed = false;

  constructor(child: ChildProcess, file: string) {
    this.#child = child;
    this.#file = file;
    const hear = (text: string) => {
      this.#output += text;
      this.#onOutput();
    };
    child.stdout?.setEncoding("utf8").on("data", hear);
    child.stderr?.setEncoding("utf8").on("data", hear);
    child.on("close", () => {
      this.#isClosed = true;
      this.#onOutput();
    });
    // A command that fails ends the shell, and so the walk. `apt-get` must not ask.
    child.stdin?.write("set -eo pipefail; export DEBIAN_FRONTEND=noninteractive\n");
  }

  /** Runs a block. @returns what it printed @throws with it when a command fails */
  run(commands: string, timeoutMs: number): Promise<string> {
    writeFileSync(this.#file, `${commands}\n`);
    this.#output = "";
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`not done after ${timeoutMs} ms:\n${this.#output}`)), timeoutMs);
      this.#onOutput = () => {
        const end = this.#output.indexOf(MARK);
        if (end < 0 && !this.#isClosed) return;
        clearTimeout(late);
        if (end >= 0) resolve(this.#output.slice(0, end).trim());
        else reject(new Error(`a command failed:\n${this.#output}`));
      };
      this.#child.stdin?.write(`. /root/.block </dev/null; echo ${MARK}\n`);
    });
  }
}
