import { setTimeout as sleep } from "node:timers/promises";
import { type BadDay, expectBack } from "./bad-day.ts";

/*
 * A bad day (a fault under load, see bad-day.ts): an administrator restarts PostgreSQL in each of its three ways. A smart
 * shutdown refuses new clients and waits for all others to leave, which the service never does: the administrator requests
 * a fast one when it takes too long.
 */

const REPETITIONS = 2;
/** Milliseconds for which the administrator waits for a smart shutdown. */
const SMART_MS = 15_000;
const SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

export const restarts: BadDay = {
  prepare: () =>
    Promise.resolve({
      async happen(stage) {
        const { world, note, errors } = stage;
        for (let n = 0; n < REPETITIONS; n++) {
          for (const [way, signal] of Object.entries(SIGNALS)) {
            await sleep(2_000);
            // Discards the errors so far, so that the next report is about what follows.
            errors();
            process.kill(await world.postmaster(), signal);
            await expectBack(stage, `a ${way} restart began`);
          }
        }
        await sleep(2_000);
        errors();
        const postmaster = await world.postmaster();
        process.kill(postmaster, "SIGTERM");
        await sleep(SMART_MS);
        note(`${SMART_MS / 1_000} s of a smart shutdown: ${errors()}`);
        process.kill(postmaster, "SIGINT");
        await expectBack(stage, "it was made a fast one");
      },
    }),
};
