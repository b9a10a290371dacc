import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { findFreePort, installPacked, makeDatabaseDirectory } from "@bikeshare/test-kit";

const server = join(import.meta.dirname, "../../apps/server");

/** Whether the server has been built. Only a built server can be packed. */
export const isBuilt = existsSync(join(server, "dist/main.js"));

/** The bytes for a demo city and its WAL, with a reserve for those of other tests. */
const NEEDED_BYTES = 1_500_000_000;

/** The published server, installed outside this repository, with a demo city. */
export interface PackedServer {
  readonly url: string;
  readonly metricsUrl: string;
  /** The key of a partner that may read everything. */
  readonly key: string;
  /** The text that the server printed when it was ready. */
  readonly welcome: string;
  close(): Promise<void>;
}

/**
 * Installs the tarball in an empty directory and starts it there, with its embedded PostgreSQL. Only the dependencies in its
 * package.json are installed with it, nothing else of this repository.
 */
export async function startPackedServer(env: Readonly<Record<string, string>>): Promise<PackedServer> {
  const project = await mkdtemp(join(tmpdir(), "bikeshare-packed-"));
  const { installed } = await installPacked(server, project);
  await linkDependencies(project, installed);
  const data = await makeDatabaseDirectory("bikeshare-packed-", NEEDED_BYTES);
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const child = spawn(process.execPath, [join(installed, "dist/main.js"), "start"], {
    cwd: project,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      DATA_DIR: join(data, "data"),
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      ...env,
    },
  });
  const close = async () => {
    await end(child);
    await rm(project, { recursive: true, force: true });
    await rm(data, { recursive: true, force: true });
  };
  try {
    const welcome = await readWelcome(child);
    const [key = ""] = /bss_live_\w+/.exec(welcome) ?? [];
    return {
      url: `http://127.0.0.1:${port}`,
      metricsUrl: `http://127.0.0.1:${metricsPort}`,
      key,
      welcome,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Links the dependencies in the package's package.json, as a package manager would install them. */
async function linkDependencies(project: string, installed: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(await realpath(join(server, "node_modules", name)), link, "dir");
  }
}

/** Returns what the program prints until it is ready. @throws with the whole output if the program ends first */
async function readWelcome(child: ChildProcess): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error("the program's output is not read");
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text));
  let printed = "";
  for await (const line of createInterface({ input: child.stdout })) {
    printed += `${line}\n`;
    if (line.startsWith("Ctrl-C")) {
      child.stdout.resume();
      return printed;
    }
  }
  throw new Error(`the server ended before it was ready: ${complaint}`);
}

/** Asks a process to stop, and waits until it has. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
