import { setTimeout as sleep } from "node:timers/promises";
import type { BadDay } from "./bad-day.ts";

/*
 * The partners' receivers fail one request in three, by an answer 500 or without one. What failed is sent again at the times
 * that the retries have, so that the last deliveries may need half a minute; every event arrives once they are well.
 */

const FAILING_MS = 30_000;

export const failingReceiver: BadDay = {
  prepare: () =>
    Promise.resolve({
      async happen({ world, note, expect, errors }) {
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
