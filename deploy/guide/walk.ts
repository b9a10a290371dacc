/*
 * Follows the operator's pages (PAGES in page.ts): runs each of their commands unchanged, on empty machines. After each
 * part, checks what the page promises. Needs root, Debian's debootstrap, systemd-container and pebble, and a build of the
 * server: `npx -y pnpm@12 test:guide`.
 *
 * Everything runs on this machine, and its parts meet on one network bridge:
 *
 *   machines     the empty Debian machines of the operator, on which the commands run (machines.ts)
 *   world        their network: a name server, a proxy to Debian and npm, a registry with the server's package (world.ts)
 *   outside      the servers of others: a mail server and a partner's webhook receiver (outside.ts)
 *   authorities  two certificate authorities that every machine trusts (authorities.ts): one signs for the servers of
 *                `outside`, the other for the machines, when certbot on them asks as it would ask Let's Encrypt
 *
 * `begin` creates these parts, `follow` does the steps of the pages (steps.ts) one after the other, and `close` removes the
 * parts. A failed step ends the walk. With the environment variable GUIDE_KEEP, the machines keep running after a failed
 * step instead, and the walk asks at the terminal at which step to go on.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { joinStore, PublicAuthority, startSigningAuthority } from "./authorities.ts";
import { Callers } from "./callers.ts";
import type { Context } from "./context.ts";
import {
  ADDRESSES,
  allowSsh,
  GATEWAY,
  Machine,
  makeBase,
  makeBridge,
  mountRoot,
  removeBridge,
  unmountRoot,
} from "./machines.ts";
import { startOutside } from "./outside.ts";
import { type MachineName, MACHINES } from "./page.ts";
import { readSteps } from "./steps.ts";
import { ACME_ADDRESS, joinWorld, PUBLIC_ADDRESS, startWorld } from "./world.ts";

const server = join(import.meta.dirname, "../../apps/server");
const started = performance.now();
const say = (text: string) =>
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}`);

if (process.getuid?.() !== 0) throw new Error("Run it as root: it starts machines.");
if (!existsSync(join(server, "dist/main.js")))
  throw new Error("Build the server first: npx -y pnpm@12 test:guide does.");
/** The programs that the walk needs, with the Debian package of each. */
const programs = { debootstrap: "debootstrap", "systemd-nspawn": "systemd-container", pebble: "pebble" };
for (const [program, debianPackage] of Object.entries(programs))
  if (!["/usr/sbin", "/usr/bin"].some((directory) => existsSync(join(directory, program))))
    throw new Error(`${program} is missing: apt-get install ${debianPackage}`);

const closers: (() => void | Promise<void>)[] = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => {
    say(`${signal}: the machines are removed.`);
    close().then(
      // 130 is how shells report a program that was interrupted.
      () => process.exit(130),
      () => process.exit(1),
    );
  });
try {
  await follow();
  say("every command has run as written, and what the pages promise was so");
} finally {
  await close();
}

/** Removes everything that was created, the latest first. A failure does not stop the removal of the rest. */
async function close(): Promise<void> {
  for (let closer = closers.pop(); closer !== undefined; closer = closers.pop())
    try {
      await closer();
    } catch (error) {
      console.error(error);
    }
}

async function follow(): Promise<void> {
  const context = await begin();
  let steps = await readSteps();
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index];
    try {
      say(`${step?.page}:${step?.line}, ${step?.title}`);
      await step?.run(context);
    } catch (error) {
      const failure = new Error(`${step?.page}:${step?.line}, ${step?.title}`, { cause: error });
      if (process.env["GUIDE_KEEP"] === undefined) throw failure;
      console.error(failure);
      const next = await askForStep(index, steps.length);
      if (next === undefined) throw failure;
      // The loop adds 1.
      index = next - 1;
      // The pages and the checks may have been corrected after the failure.
      steps = await readSteps();
    }
  }
}

/**
 * Asks at which step to continue after a failure. The machines keep running, so that they can be inspected and a changed
 * page can be tried. Asks again until the answer is empty or the number of a step. @param count how many steps there are
 * @returns undefined if nobody answers
 */
async function askForStep(failed: number, count: number): Promise<number | undefined> {
  const prompt = `Step ${failed} has failed. Enter: read the page again and repeat it; a number: go on at that step. `;
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const nobody = once(lines, "close").then(() => undefined);
  const ask = () => Promise.race([lines.question(prompt), nobody]);
  let answer = await ask();
  // The empty answer counts as 0.
  const isValid = (text: string) => /^\d*$/.test(text.trim()) && Number(text) < count;
  while (answer !== undefined && !isValid(answer)) answer = await ask();
  lines.close();
  if (answer === undefined) return undefined;
  return answer.trim() === "" ? failed : Number(answer);
}

/**
 * Creates the parts that the header describes. The closers of the bridge, the file systems and the machines are registered
 * before these are made, so that a half-made one is removed too.
 */
async function begin(): Promise<Context> {
  makeBase();
  closers.push(removeBridge);
  makeBridge([`${GATEWAY}/24`, `${PUBLIC_ADDRESS}/32`, `${ACME_ADDRESS}/32`]);
  const world = await startWorld(server);
  closers.push(() => world.close());
  const authority = new PublicAuthority();
  closers.push(() => authority.close());
  const outside = await startOutside(authority, PUBLIC_ADDRESS);
  closers.push(() => outside.close());
  const signing = await startSigningAuthority(authority, ACME_ADDRESS, GATEWAY);
  closers.push(() => signing.close());
  const roots = {} as Record<MachineName, string>;
  for (const name of MACHINES) {
    closers.push(() => unmountRoot(name));
    roots[name] = mountRoot(name);
    joinWorld(roots[name], name);
    joinStore(roots[name], [authority.certificate, signing.root]);
  }
  allowSsh(roots);
  const machines = {} as Record<MachineName, Machine>;
  for (const name of MACHINES) {
    const machine = new Machine(name, roots[name]);
    closers.push(() => machine.end());
    await machine.boot();
    machines[name] = machine;
  }
  say(`empty machines: ${MACHINES.map((name) => `${name} at ${ADDRESSES[name]}`).join(", ")}`);
  const makeCallers = (administrator: Machine) => Callers.trusting(administrator, signing.root);
  return { machines, roots, world, outside, signing, outputs: new Map(), makeCallers, found: new Map() };
}
