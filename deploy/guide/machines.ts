/*
 * Creates empty Debian machines with debootstrap and systemd-nspawn, on a network bridge of this machine, which is the one
 * that runs this program. The walk (walk.ts) runs the commands of the operator's pages on them. First come `makeBase` and
 * `makeBridge`, then for each machine `mountRoot`, `new Machine` and `boot`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type MachineName, MACHINES } from "./page.ts";
import { hasEnded, waitForChild } from "./processes.ts";
import { outputOf, Shell, untilSuccess } from "./shell.ts";

/** The addresses of the machines. Those for two-nodes.md are the addresses in the page. */
export const ADDRESSES: Readonly<Record<MachineName, string>> = {
  one: "10.77.0.16",
  a: "10.77.0.11",
  b: "10.77.0.12",
  db: "10.77.0.13",
  db2: "10.77.0.15",
  c: "10.77.0.14",
};
/** The address of this machine on the bridge. It is the gateway, name server and proxy of the machines. */
export const GATEWAY = "10.77.0.1";
const BRIDGE = "guide0";
/** The Debian release of the machines. */
export const SUITE = process.env["GUIDE_DEBIAN"] ?? "bookworm";
/** Packages that every rented machine has: systemd, time zones, and ssh for the administrator. */
const PACKAGES = "systemd,systemd-sysv,dbus,libpam-systemd,iproute2,openssh-server,procps,tzdata,ca-certificates";

const cache = process.env["GUIDE_CACHE_DIR"] ?? "/var/tmp/bikeshare-guide";
/** The directory for the files that the machines write, about 3 GB. It is in memory, to avoid waiting for a disk. */
const files = "/dev/shm/bikeshare-guide";
const run = (command: string, args: readonly string[]) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** A machine of the walk. */
export class Machine {
  readonly name: MachineName;
  readonly #root: string;
  #nspawn: ChildProcess | undefined;
  /** The pid that the machine's systemd has on this machine; 0 while the machine is off. */
  #leader = 0;
  /** The operator's shell. Variables that one block sets exist in the next one. */
  readonly shell: Shell;

  /** @param root the directory that `mountRoot` returned */
  constructor(name: MachineName, root: string) {
    this.name = name;
    this.#root = root;
    this.shell = new Shell(() => this.#inside("bash", "--norc"), join(root, "root"));
  }

  async boot(): Promise<void> {
    this.#nspawn = spawnMachine(this.name, this.#root);
    this.#leader = await leaderOf(this.#nspawn);
    // Runs this machine's `ip` in the network of the new one, where nspawn calls the interface `host0`.
    const net = ["--target", String(this.#leader), "--net", "ip"];
    run("nsenter", [...net, "address", "add", `${ADDRESSES[this.name]}/24`, "dev", "host0"]);
    run("nsenter", [...net, "link", "set", "host0", "up"]);
    run("nsenter", [...net, "route", "add", "default", "via", GATEWAY]);
    await this.until("systemctl is-system-running", 60_000);
  }

  /** Starts a command as root in all namespaces of the machine. */
  #inside(...command: readonly string[]): ChildProcess {
    const env = [
      "HOME=/root",
      "USER=root",
      "LANG=C.UTF-8",
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ];
    return spawn("nsenter", [
      "--target",
      String(this.#leader),
      "--all",
      "env",
      "-i",
      "-C",
      "/root",
      ...env,
      ...command,
    ]);
  }

  /** Runs commands in another shell. @returns their output @throws with the output if they fail */
  run(commands: string): Promise<string> {
    return outputOf(this.#inside("bash", "-ec", commands), `on ${this.name}: ${commands}`);
  }

  /** Repeats commands until they succeed. @returns the output of the last run */
  until(commands: string, timeoutMs: number): Promise<string> {
    return untilSuccess(() => this.run(commands), timeoutMs);
  }

  /** Simulates a power failure. The files stay for another `boot`. */
  async end(): Promise<void> {
    const nspawn = this.#nspawn;
    if (nspawn === undefined || hasEnded(nspawn)) return;
    const ended = once(nspawn, "exit");
    // The end of its systemd ends all processes of the machine, and nspawn with them. Without one, the boot has failed.
    if (this.#leader === 0) nspawn.kill("SIGKILL");
    else if (existsSync(`/proc/${this.#leader}`)) process.kill(this.#leader, "SIGKILL");
    await ended;
    this.#leader = 0;
  }
}

/** Creates the file system with which each machine begins. It is created once and kept in GUIDE_CACHE_DIR. */
export function makeBase(): void {
  const base = join(cache, SUITE);
  // The file is written last, so a run that was interrupted begins again.
  if (existsSync(join(base, "root/.made"))) return;
  rmSync(base, { recursive: true, force: true });
  mkdirSync(base, { recursive: true });
  run("debootstrap", ["--variant=minbase", `--include=${PACKAGES}`, SUITE, base, "http://deb.debian.org/debian"]);
  writeFileSync(join(base, "root/.made"), "");
}

/** Makes the bridge, with addresses of this machine on it. */
export function makeBridge(addresses: readonly string[]): void {
  if (!existsSync(`/sys/class/net/${BRIDGE}`)) run("ip", ["link", "add", BRIDGE, "type", "bridge"]);
  for (const address of addresses) run("ip", ["address", "replace", address, "dev", BRIDGE]);
  run("ip", ["link", "set", BRIDGE, "up"]);
}

export function removeBridge(): void {
  run("ip", ["link", "delete", BRIDGE]);
}

/** Lets root on `c` sign in to the other machines, as after `ssh-copy-id`. */
export function allowSsh(roots: Readonly<Record<MachineName, string>>): void {
  mkdirSync(files, { recursive: true });
  const key = join(files, "ssh-key");
  rmSync(key, { force: true });
  rmSync(`${key}.pub`, { force: true });
  run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "root@c", "-f", key]);
  for (const name of MACHINES) {
    const ssh = join(roots[name], "root/.ssh");
    mkdirSync(ssh, { recursive: true, mode: 0o700 });
    if (name !== "c") cpSync(`${key}.pub`, join(ssh, "authorized_keys"));
    else {
      cpSync(key, join(ssh, "id_ed25519"));
      writeFileSync(join(ssh, "config"), "StrictHostKeyChecking accept-new\nLogLevel ERROR\n");
    }
  }
}

/** Mounts the files of an empty machine, as an overlay over the common base. @returns the root directory */
export function mountRoot(name: MachineName): string {
  const own = join(files, name);
  const [upper, work, root] = [join(own, "upper"), join(own, "work"), join(own, "root")];
  // The mount is left over if an earlier run was killed.
  if (readFileSync("/proc/mounts", "utf8").includes(` ${root} `)) unmountRoot(name);
  rmSync(own, { recursive: true, force: true });
  for (const directory of [upper, work, root]) mkdirSync(directory, { recursive: true });
  const options = `lowerdir=${join(cache, SUITE)},upperdir=${upper},workdir=${work}`;
  run("mount", ["-t", "overlay", "overlay", "-o", options, root]);
  return root;
}

export function unmountRoot(name: MachineName): void {
  const own = join(files, name);
  run("umount", ["--lazy", join(own, "root")]);
  rmSync(own, { recursive: true, force: true });
}

/**
 * Starts systemd-nspawn in a new control group. Without systemd on this machine, nspawn would use the control group in which
 * it is started, and each machine needs its own.
 */
function spawnMachine(name: MachineName, root: string): ChildProcess {
  // Caches downloads between runs: Debian's packages and npm's cache.
  const [packages, modules] = [join(cache, "apt"), join(cache, "npm")];
  for (const directory of [join(packages, "partial"), modules]) mkdirSync(directory, { recursive: true });
  const nspawn = [
    ...["systemd-nspawn", "--boot", "--quiet", `--directory=${root}`, `--machine=${name}`, `--hostname=${name}`],
    ...[`--network-bridge=${BRIDGE}`, "--resolv-conf=off", "--timezone=off", "--console=pipe"],
    ...[`--bind=${packages}:/var/cache/apt/archives`, `--bind=${modules}:/root/.npm`],
  ];
  if (existsSync("/run/systemd/system")) return spawn(nspawn[0] ?? "", nspawn.slice(1), { stdio: "ignore" });
  const inOwnGroup = `for group in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ -w $group/cgroup.procs ] && mkdir -p $group/guide-${name} && echo $$ > $group/guide-${name}/cgroup.procs
  done
  exec "$@" --register=no --keep-unit`;
  // The second "sh" is the script's name. What follows it is `$@`.
  const child = spawn("sh", ["-c", inOwnGroup, "sh", ...nspawn], { stdio: ["ignore", "pipe", "pipe"] });
  const log = join(files, `${name}.log`);
  writeFileSync(log, "");
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => appendFileSync(log, text));
  return child;
}

/** Waits until a machine's systemd runs. @returns the pid that it has on this machine */
async function leaderOf(nspawn: ChildProcess): Promise<number> {
  const isSystemd = (child: string) => readFileSync(`/proc/${child}/comm`, "utf8").trim() === "systemd";
  const leader = await waitForChild(nspawn, isSystemd);
  if (leader === undefined) throw new Error("systemd-nspawn has not started the machine: see its log.");
  return leader;
}
