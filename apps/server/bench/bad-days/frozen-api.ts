import { setTimeout as sleep } from "node:timers/promises";
import { issueKey, revokeKey } from "../../src/partners/keys/service.ts";
import { createPartner } from "../../src/partners/service.ts";
import { NO_LIMIT, openContext, SYSTEM_ID } from "../provision.ts";
import { type BadDay, expectBack, type Stage } from "./bad-day.ts";

/*
 * A bad day (a fault under load, see bad-day.ts): an API process is suspended again and again, at last for longer than all
 * its time limits, and then continues. It must reject a key that was revoked meanwhile, and its locks must not block the
 * other processes.
 */

/** Durations of suspensions. The last one exceeds every lease, heartbeat and statement timeout. */
const FROZEN_MS = [1_000, 3_000, 8_000, 8_000, 40_000];
/** Time within which a revoked key must fail everywhere. */
const REVOKED_WITHIN_MS = 1_000;

export const frozenApi: BadDay = {
  prepare: () =>
    Promise.resolve({
      async happen(stage) {
        for (const frozenMs of FROZEN_MS) await freeze(stage, frozenMs);
      },
    }),
};

/** Freezes an API process for a while, revokes a key meanwhile, and checks what the process does when it goes on. */
async function freeze(stage: Stage, frozenMs: number): Promise<void> {
  const { world, note, expect, errors } = stage;
  const [api] = world.apis;
  const [pid, url] = [api?.pid(), api?.url()];
  if (pid === undefined || url === undefined) throw new Error("there is no process to freeze");
  const key = await makeKey(world.databaseUrl);
  const statusOf = async () => {
    const response = await fetch(`${url}/v1/stations`, { headers: { authorization: `Bearer ${key.text}` } });
    await response.arrayBuffer();
    return response.status;
  };
  expect((await statusOf()) === 200, "the key is accepted before");
  // Discards the errors so far, so that the next report is about what follows.
  errors();
  process.kill(pid, "SIGSTOP");
  await key.revoke();
  await sleep(frozenMs);
  note(`frozen for ${frozenMs} ms: ${errors()}`);
  // This request is sent before the process continues, and waits in the socket.
  const waiting = statusOf();
  process.kill(pid, "SIGCONT");
  const from = performance.now();
  note(`the request that waited: ${await waiting}`);
  let acceptedMs = 0;
  while (performance.now() - from < 2 * REVOKED_WITHIN_MS) {
    if ((await statusOf()) === 200) acceptedMs = performance.now() - from;
    await sleep(5);
  }
  expect(
    acceptedMs < REVOKED_WITHIN_MS,
    `the revoked key was accepted until ${Math.round(acceptedMs)} ms after it went on`,
  );
  await expectBack(stage, "it went on");
}

async function makeKey(connectionString: string) {
  const context = openContext(connectionString, { maxConnections: 1 });
  const { id: partnerId } = await createPartner(context, SYSTEM_ID, `Partner ${context.clock()}`);
  const issued = await issueKey(context, {
    systemId: SYSTEM_ID,
    partnerId,
    rateLimit: NO_LIMIT,
    scopes: ["stations:read"],
  });
  return {
    text: issued.key,
    async revoke() {
      await revokeKey(context, SYSTEM_ID, issued.id);
      await context.db.close();
    },
  };
}
