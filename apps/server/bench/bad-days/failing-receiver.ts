import { setTimeout as sleep } from "node:timers/promises";
import type { BadDay } from "./bad-day.ts";

/*
 * A bad day (a fault under load, see bad-day.ts): the partners' receivers fail one request in three, with 500 or without
 * an answer. The service retries by its schedule, so the last deliveries may take half a minute. Every event arrives once
 * the receivers work again.
 */

const FAILING_MS = 30_000;

export const failingReceiver: BadDay = {
  prepare: () =>
    Promise.resolve({
      async happen({ world, note, expect, errors }) {
        // Discards the errors so far, so that the next report is about what follows.
        errors();
        world.receiver.fail(true);
        await sleep(FAILING_MS);
        world.receiver.fail(false);
        const seen = errors();
        note(`the receivers failed for ${FAILING_MS / 1_000} s: ${seen}`);
        expect(seen.includes("no error"), "no caller noticed it");
      },
    }),
};
