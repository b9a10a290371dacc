/*
 * Follows docs/containers.md: runs its commands unchanged, in a new clone of the last commit with a separate Docker engine.
 * After each part, checks what the page promises. Needs root, Docker with Compose 2, slirp4netns and debootstrap: `npx -y
 * pnpm@12 test:containers`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Block, blocksOf } from "../guide/page.ts";
import { Engine } from "./engine.ts";
import { makeImages } from "./images.ts";
import { NOT_RUN, preparations, promises, type Context } from "./promises.ts";

/** Milliseconds for a block of commands: enough for a complete build on a busy machine. */
const BLOCK_TIMEOUT_MS = 1_800_000;
const started = performance.now();
const say = (text: string) =>
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}`);

if (process.getuid?.() !== 0) throw new Error("Run it as root: it starts an engine for containers.");
const engine = await Engine.start();
try {
  await makeImages(engine);
  say("the images that the files begin with");
  const clone = join(engine.root, "clone");
  await engine.run(`git clone --quiet "$(git -C ${import.meta.dirname} rev-parse --show-toplevel)" ${clone}`);
  await engine.shell.run(`cd ${clone}`, BLOCK_TIMEOUT_MS);
  await follow(blocksOf(readFileSync(join(clone, "docs/containers.md"), "utf8")), {
    engine,
    clone,
    output: "",
    keys: { operator: "", partner: "" },
  });
} catch (error) {
  // Prints the error before closing the engine, because closing may fail too.
  console.error(error);
  process.exitCode = 1;
}
await engine.close();
if (process.exitCode === undefined) say("every command has run as written, and what the page promises was so");

/**
 * Runs the blocks of commands one after the other. Before the first block below a heading, prepares the machine as the
 * heading assumes (`preparations`); after the last one, checks the promises below the heading. Skips the blocks of `NOT_RUN`.
 */
async function follow(blocks: readonly Block[], context: Context): Promise<void> {
  for (const [index, { heading, line, commands }] of blocks.entries()) {
    const isFirst = blocks[index - 1]?.heading !== heading;
    const isLast = blocks[index + 1]?.heading !== heading;
    if (isFirst) await preparations[heading]?.(context);
    const reason = NOT_RUN[heading];
    say(`line ${line}, ${heading}${reason === undefined ? "" : `: not run: ${reason}`}`);
    if (reason === undefined) {
      context.output = await engine.shell.run(commands, BLOCK_TIMEOUT_MS).catch((error: unknown) => {
        throw new Error(`docs/containers.md:${line}`, { cause: error });
      });
    }
    if (!isLast) continue;
    for (const [promise, holds] of Object.entries(promises[heading] ?? {})) {
      await holds(context);
      say(`        ${promise}`);
    }
  }
}
