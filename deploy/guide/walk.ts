/*
 * Follows docs/operations.md: runs each of its commands as it is written, on empty machines, and checks after each part
 * what the page promises. Needs root, Debian's debootstrap and systemd-container, and a build of the server:
 * `npx -y pnpm@12 test:guide`.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Callers } from "./callers.ts";
import { checks, type Context, preparations } from "./checks.ts";
import { ADDRESSES, allowSsh, GATEWAY, Machine, makeBase, makeBridge, mountRoot, removeBridge } from "./machines.ts";
import { PublicAuthority } from "./outside.ts";
import { type Block, type MachineName, MACHINES, NOT_RUN, readOperationsPage } from "./page.ts";
import { joinWorld, PUBLIC_ADDRESS, startWorld } from "./world.ts";

/** One block may install hundreds of packages on a busy machine. */
const BLOCK_TIMEOUT_MS = 600_000;
const server = join(import.meta.dirname, "../../apps/server");
const started = performance.now();
const say = (text: string) =>
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}`);

if (process.getuid?.() !== 0) throw new Error("Run it as root: it starts machines.");
if (!existsSync(join(server, "dist/main.js")))
  throw new Error("Build the server first: npx -y pnpm@12 test:guide does.");

const closers: (() => void | Promise<void>)[] = [];
let failure: Error | undefined;
try {
  await follow(readOperationsPage());
} catch (error) {
  failure = error instanceof Error ? error : new Error("the walk failed", { cause: error });
}
if (failure !== undefined && process.env["GUIDE_KEEP"] !== undefined) {
  say(failure.stack ?? failure.message);
  say("The machines go on until Ctrl-C (GUIDE_KEEP).");
  await once(process, "SIGINT");
}
for (const close of closers.toReversed()) await close();
if (failure !== undefined) throw failure;
say("every command has run as written, and what the page promises was so");

async function follow(blocks: readonly Block[]): Promise<void> {
  const context = await begin();
  for (const [index, block] of blocks.entries()) {
    const { heading, line, commands } = block;
    if (block.machines.length === 0) {
      say(`line ${line}, ${heading}: not run: ${NOT_RUN[heading]}`);
      continue;
    }
    if (blocks[index - 1]?.heading !== heading) await preparations[heading]?.(context);
    for (const name of block.machines) {
      say(`line ${line}, ${heading}: on ${name}`);
      try {
        context.outputs.set(name, await context.machines[name].shell.run(commands, BLOCK_TIMEOUT_MS));
      } catch (error) {
        throw new Error(`docs/operations.md:${line}, on ${name}`, { cause: error });
      }
    }
    if (blocks[index + 1]?.heading !== heading) await check(heading, context);
  }
}

async function check(heading: string, context: Context): Promise<void> {
  for (const [promise, holds] of Object.entries(checks[heading] ?? {})) {
    await holds(context);
    say(`        ${promise}`);
  }
}

/** Makes the world and its four empty machines. */
async function begin(): Promise<Context> {
  makeBase();
  makeBridge([`${GATEWAY}/24`, `${PUBLIC_ADDRESS}/32`]);
  closers.push(removeBridge);
  const world = await startWorld(server);
  closers.push(() => world.close());
  const authority = new PublicAuthority();
  const outside = await authority.startServers(PUBLIC_ADDRESS);
  closers.push(() => outside.close());
  const roots = Object.fromEntries(MACHINES.map((name) => [name, mountRoot(name)])) as Record<MachineName, string>;
  for (const name of MACHINES) {
    joinWorld(roots[name], name);
    authority.joinStore(roots[name]);
  }
  allowSsh(roots);
  const machines = {} as Record<MachineName, Machine>;
  for (const name of MACHINES) {
    machines[name] = await Machine.boot(name, roots[name]);
    closers.push(() => machines[name].close());
  }
  say(`empty machines: ${MACHINES.map((name) => `${name} at ${ADDRESSES[name]}`).join(", ")}`);
  return {
    machines,
    world,
    outside,
    outputs: new Map(),
    callersOf: (machine) => Callers.trusting(machine),
    found: new Map(),
  };
}
