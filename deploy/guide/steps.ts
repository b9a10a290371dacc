/*
 * Turns the operator's pages into steps: the preparations of a heading, each of its blocks on each machine, and then its
 * checks. The walk (walk.ts) does these steps one after the other, on simulated machines. After a failed step it may read
 * them again, and go on with the corrected ones.
 */
import type * as Checks from "./checks.ts";
import type { Context } from "./context.ts";
import type * as DatabaseChecks from "./database-checks.ts";
import type * as OneMachineChecks from "./one-machine-checks.ts";
import { OPTIONAL, type PageBlock, readOperationsPages } from "./page.ts";

/** Milliseconds for a block, which may install hundreds of packages on a busy machine. */
const BLOCK_TIMEOUT_MS = 600_000;

/** One thing that the walk does: a preparation, a block on a machine, or a check. */
interface Step {
  readonly page: string;
  readonly line: number;
  readonly title: string;
  run(context: Context): Promise<void>;
}

/** Reads the present version of the pages and checks, which may change during a walk. */
export async function readSteps(): Promise<readonly Step[]> {
  // An address with a new query makes Node load the module again.
  const now = Date.now();
  const twoNodes = (await import(`./checks.ts?${now}`)) as typeof Checks;
  const databases = (await import(`./database-checks.ts?${now}`)) as typeof DatabaseChecks;
  const single = (await import(`./one-machine-checks.ts?${now}`)) as typeof OneMachineChecks;
  const preparations = {
    ...single.oneMachinePreparations,
    ...twoNodes.preparations,
    ...databases.databasePreparations,
  };
  const checks = { ...single.oneMachineChecks, ...twoNodes.checks, ...databases.databaseChecks };
  const steps: Step[] = [];
  const blocks = readOperationsPages();
  for (const [index, block] of blocks.entries()) {
    const { heading, page, line } = block;
    const optional = OPTIONAL[heading];
    if (optional !== undefined && process.env[optional.variable] === undefined) {
      steps.push({ page, line, title: `${heading}: NOT RUN without ${optional.variable}`, run: async () => undefined });
      continue;
    }
    const prepare = preparations[heading];
    if (prepare !== undefined && blocks[index - 1]?.heading !== heading)
      steps.push({ page, line, title: `${heading}: before it`, run: prepare });
    steps.push(...stepsOf(block));
    if (blocks[index + 1]?.heading !== heading)
      for (const [promise, run] of Object.entries(checks[heading] ?? {}))
        steps.push({ page, line, title: `       ${promise}`, run });
  }
  return steps;
}

/** Returns the steps of a block: one for each machine that it names. The block's output is stored for the checks. */
function stepsOf({ heading, page, line, commands, machines }: PageBlock): readonly Step[] {
  return machines.map((name) => ({
    page,
    line,
    title: `${heading}: on ${name}`,
    run: async (context) => {
      context.outputs.set(name, await context.machines[name].shell.run(commands, BLOCK_TIMEOUT_MS));
    },
  }));
}
