import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { isCut, linksOf, type Processes } from "./launcher.ts";
import { createSignals } from "./signals.ts";

/** Processes by number: their parent, and what is known of them. */
type Table = Record<number, { parent: number; launched?: boolean; leads?: boolean }>;

const processesOf = (table: Table): Processes => ({
  parentOf: (pid) => table[pid]?.parent,
  isLaunched: (pid) => table[pid]?.launched === true,
  leadsSession: (pid) => table[pid]?.leads === true,
});

/** A terminal's shell (10), npx (20), pnpm (30), sh (40), the service (50). */
const launched = (): Table => ({
  10: { parent: 1, leads: true },
  20: { parent: 10 },
  30: { parent: 20, launched: true },
  40: { parent: 30, launched: true },
  50: { parent: 40, launched: true },
});

it.each([20, 30, 40])("the end of process %i between npx and the service is noticed", (gone) => {
  const table = launched();
  const links = linksOf(processesOf(table), 50);
  expect(isCut(processesOf(table), links)).toBe(false);
  delete table[gone];
  for (const process of Object.values(table)) if (process.parent === gone) process.parent = 1;
  expect(isCut(processesOf(table), links)).toBe(true);
});

it("the end of the shell that called npx is nobody's wish: npx may be meant to live on", () => {
  const table = launched();
  const links = linksOf(processesOf(table), 50);
  delete table[10];
  Object.assign(table, { 20: { parent: 1 } });
  expect(isCut(processesOf(table), links)).toBe(false);
});

it("a service started as node itself, or in a session of its own, has nothing to lose", () => {
  expect(linksOf(processesOf({ 10: { parent: 1 }, 50: { parent: 10 } }), 50)).toEqual([]);
  expect(linksOf(processesOf({ ...launched(), 50: { parent: 40, launched: true, leads: true } }), 50)).toEqual([]);
  // Of a process manager that a package manager had started and left.
  const daemon: Table = { 30: { parent: 1, launched: true }, 50: { parent: 30, launched: true } };
  expect(isCut(processesOf(daemon), linksOf(processesOf(daemon), 50))).toBe(false);
});

it.each([["SIGTERM"], ["SIGINT"], ["SIGHUP"], ["launcher"]])(
  "%s stops gently, a SIGHUP after it changes nothing, and a second SIGTERM stops at once",
  async (first) => {
    const exits: number[] = [];
    const source = Object.assign(new EventEmitter(), { exit: (status: number) => void exits.push(status) });
    let gone = () => undefined as void;
    let isWatched = false;
    const signals = createSignals(source, (onGone) => {
      gone = onGone;
      isWatched = true;
      return () => (isWatched = false);
    });
    const stopped = signals.untilStopped();
    expect(isWatched).toBe(true);
    if (first === "launcher") gone();
    else source.emit(first);
    await stopped;
    expect(isWatched).toBe(false);
    source.emit("SIGHUP");
    expect(exits).toEqual([]);
    source.emit("SIGTERM");
    expect(exits).toEqual([1]);
  },
);
