import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createFakeClock, hasFakeClocks } from "../../test/servers/fake-clock.ts";
import { type BadDay, expectBack } from "./bad-day.ts";

/*
 * A bad day (a fault under load, see bad-day.ts): one API process and one worker run an hour ahead of the database, the
 * others an hour behind. Then, while they run, the offsets are swapped, and finally removed. Needs libfaketime.
 */

const HOUR_S = 3_600;
/** Duration of each clock offset. It exceeds the interval at which processes compare their clock with the database's. */
const EACH_MS = 20_000;

export const clocks: BadDay = {
  async prepare() {
    if (!hasFakeClocks) throw new Error("libfaketime is missing: apt-get install libfaketime");
    const directory = await mkdtemp(join(tmpdir(), "bikeshare-clocks-"));
    const offsets = { api: [HOUR_S, -HOUR_S], worker: [-HOUR_S, HOUR_S] } as const;
    const fake = async (role: "api" | "worker", n: 0 | 1) => ({
      clock: await createFakeClock(join(directory, `${role}-${n}`), offsets[role][n]),
      offset: offsets[role][n],
    });
    const made = {
      api: [await fake("api", 0), await fake("api", 1)],
      worker: [await fake("worker", 0), await fake("worker", 1)],
    };
    const all = [...made.api, ...made.worker];
    return {
      world: { envOf: (role, n) => made[role][n]?.clock.env ?? {} },
      async happen(stage) {
        const { note, errors } = stage;
        await sleep(EACH_MS);
        note(`an hour ahead and behind for ${EACH_MS / 1_000} s: ${errors()}`);
        await Promise.all(all.map(({ clock, offset }) => clock.set(-offset)));
        await expectBack(stage, "they were set by two hours");
        await sleep(EACH_MS);
        note(`the other way round for ${EACH_MS / 1_000} s: ${errors()}`);
        await Promise.all(all.map(({ clock }) => clock.set(0)));
        await expectBack(stage, "they were set right");
        await sleep(EACH_MS);
      },
      close: () => rm(directory, { recursive: true }),
    };
  },
};
