import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { createTestIds } from "@bikeshare/test-kit";
import { Command } from "@commander-js/extra-typings";
import type { CliContext, OpenCli, ParentCommand } from "../../src/cli/context.ts";
import { createOutput } from "../../src/cli/output.ts";
import { readConfig } from "../../src/config.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";

/** A separate database and directory, in which tests run commands as the program runs them. */
export interface CliHarness extends TestDatabase {
  readonly directory: string;
  /** By how much this machine's clock is ahead of the database's, which a command follows once it has opened the database. */
  readonly machine: { aheadMs: number };
  /** What the running command has written so far. */
  readonly written: { stdout: string; stderr: string };
  /** Runs a command to its end. @returns what it wrote */
  run(...args: string[]): Promise<{ stdout: string; stderr: string }>;
  /** Stops the running command, as SIGTERM does. */
  stop(): void;
}

export interface CliHarnessOptions {
  readonly register: (program: ParentCommand, cli: OpenCli) => void | Promise<void>;
  readonly clock: () => number;
}

export async function openCliHarness({ register, clock }: CliHarnessOptions): Promise<CliHarness> {
  const database = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-cli-"));
  const written = { stdout: "", stderr: "" };
  const machine = { aheadMs: 0 };
  const ids = createTestIds();
  const stopped = Promise.withResolvers<void>();
  const into = (name: "stdout" | "stderr") =>
    new Writable({
      write(chunk, _, done) {
        written[name] += String(chunk);
        done();
      },
    });
  return {
    ...database,
    directory,
    machine,
    written,
    stop: () => stopped.resolve(),
    async run(...args) {
      Object.assign(written, { stdout: "", stderr: "" });
      const program = new Command().exitOverride().option("--json").option("--system <id>");
      let aheadMs = machine.aheadMs;
      const context = (): CliContext => ({
        system: program.opts().system,
        config: readConfig({ DATA_DIR: join(directory, "data") }, directory),
        clock: () => clock() + aheadMs,
        ids,
        actor: "cli:test",
        output: createOutput(args.includes("--json"), { stdout: into("stdout"), stderr: into("stderr") }),
        signals: { untilStopped: () => stopped.promise },
        openDatabaseAsIs: () =>
          Promise.resolve({ connectionString: database.db.connectionString, close: () => Promise.resolve() }),
        withDatabase: (work) => {
          aheadMs = 0;
          return work(database.db, []);
        },
        resolveSystem: (_, named) => Promise.resolve(named ?? database.systemId),
      });
      await register(program, context);
      await program.parseAsync(args, { from: "user" });
      return { ...written };
    },
    close: async () => {
      await database.close();
      await rm(directory, { recursive: true });
    },
  };
}
