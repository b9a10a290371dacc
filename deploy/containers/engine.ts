/*
 * Runs Docker's daemon in separate network, mount and process namespaces. Its containers, networks and ports cannot conflict
 * with this machine, its files are in one directory, and every process in the namespaces ends with the first one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, globSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasEnded, waitForChild } from "../guide/processes.ts";
import { outputOf, Shell, untilSuccess } from "../guide/shell.ts";

/** The control group of the containers. */
const GROUP = "bikeshare-containers";
/** The address of slirp4netns's name server, which forwards to the name server of this machine. */
const NAME_SERVER = "10.0.2.3";

/** A separate Docker engine, in which the commands of docs/containers.md are run. */
export class Engine {
  readonly #daemon: ChildProcess;
  readonly #network: ChildProcess;
  /** The pid of the first process in the namespaces, which end with it. */
  readonly #init: number;
  /** The directory with all files of the engine. */
  readonly root: string;
  /** The operator's shell. Variables that one block sets exist in the next one. */
  readonly shell: Shell;

  private constructor(root: string, init: number, daemon: ChildProcess, network: ChildProcess) {
    this.root = root;
    this.#init = init;
    this.#daemon = daemon;
    this.#network = network;
    this.shell = new Shell(() => this.#inside("bash", "--norc"), join(root, "home"));
  }

  static async start(): Promise<Engine> {
    const root = mkdtempSync(join(tmpdir(), "bikeshare-containers-"));
    for (const name of ["home", "data"]) mkdirSync(join(root, name));
    writeFileSync(join(root, "resolv.conf"), `nameserver ${NAME_SERVER}\n`);
    const log = openSync(join(root, "engine.log"), "a");
    const stdio = ["ignore", log, log] as const;
    const namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child"];
    const daemon = spawn("unshare", [...namespaces, "bash", "-c", startScript(root)], { stdio: [...stdio] });
    const init = await firstChildOf(daemon);
    const network = spawn("slirp4netns", ["--configure", "--mtu=1400", "--disable-host-loopback", `${init}`, "tap0"], {
      stdio: [...stdio],
    });
    closeSync(log);
    const engine = new Engine(root, init, daemon, network);
    await engine.until("docker version", 60_000);
    return engine;
  }

  #inside(...command: readonly string[]): ChildProcess {
    const env = [
      "HOME=/root",
      "LANG=C.UTF-8",
      "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
      `DOCKER_HOST=unix://${this.root}/docker.sock`,
      // Newer versions of Docker use BuildKit by default.
      "DOCKER_BUILDKIT=1",
    ];
    const namespaces = ["--target", String(this.#init), "--net", "--mount", "--pid"];
    return spawn("nsenter", [...namespaces, "env", "-i", "-C", "/root", ...env, ...command]);
  }

  /** Runs commands in another shell. @returns their output @throws with the output if they fail */
  run(commands: string): Promise<string> {
    return outputOf(this.#inside("bash", "-eo", "pipefail", "-c", commands), commands);
  }

  /** Repeats commands until they succeed. @returns the output of the last run */
  until(commands: string, timeoutMs: number): Promise<string> {
    return untilSuccess(() => this.run(commands), timeoutMs);
  }

  /** Ends every process of the engine, and removes its files. */
  async close(): Promise<void> {
    const running = [this.#daemon, this.#network].filter((child) => !hasEnded(child));
    const ended = running.map((child) => once(child, "exit"));
    if (running.includes(this.#daemon)) process.kill(this.#init, "SIGKILL");
    this.#network.kill();
    await Promise.all(ended);
    // Control groups of version 1 have the directory once for each controller, those of version 2 only once.
    const inGroups = globSync(`/sys/fs/cgroup/{*/,}${GROUP}{/*,}`, { withFileTypes: true });
    const groups = inGroups
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name));
    // Longer paths first: a group cannot be removed before the groups inside it.
    for (const group of groups.toSorted((one, other) => other.length - one.length)) rmdirSync(group);
    rmSync(this.root, { recursive: true, force: true });
  }
}

/**
 * Returns the script of the first process. Its mounts are visible only in the namespace. The process also reaps orphaned
 * processes.
 */
function startScript(root: string): string {
  const directories = `--data-root ${root}/data --exec-root /run/docker --pidfile /run/docker.pid`;
  return `set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount --bind ${root}/home /root
mount --bind ${root}/resolv.conf /etc/resolv.conf
ip link set lo up
dockerd ${directories} --host unix://${root}/docker.sock --storage-driver overlay2 --cgroup-parent /${GROUP} &
wait $!`;
}

async function firstChildOf(daemon: ChildProcess): Promise<number> {
  const child = await waitForChild(daemon);
  if (child === undefined) throw new Error("unshare has not started the engine: see its log.");
  return child;
}
