import { createMetrics } from "../../src/health/metrics/registry.ts";
import { loadEndpoints } from "../../src/webhooks/endpoints/dispatch-endpoints.ts";
import type { SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { createSender } from "../../src/webhooks/sender/sender.ts";
import { type Dispatcher, startDispatcher } from "../../src/webhooks/worker.ts";
import { LOOPBACK_RULES } from "../provision.ts";
import type { Contestant } from "./contestants.ts";
import { enqueue, waitingDeliveries, type World } from "./world.ts";

/**
 * The service's own dispatcher, as a contestant of race.ts, which compares ways to send deliveries.
 * @param world a deployment whose endpoints are the receivers
 */
export function ours(world: World, cipher: SecretCipher): Contestant {
  return {
    name: "ours",
    // Each event makes a delivery for every endpoint.
    prepare: (deliveries) => enqueue(world, deliveries / world.endpoints),
    async start() {
      const dispatcher = dispatcherFor(world, cipher);
      return {
        stop: async () => {
          await dispatcher.close();
          const left = await waitingDeliveries(world);
          if (left > 0) throw new Error(`${left} deliveries were left`);
        },
      };
    },
  };
}

/** Starts the service's dispatcher, without replays and without mails about failures. */
export function dispatcherFor({ db, ids }: World, cipher: SecretCipher): Dispatcher {
  const clock = () => Date.now();
  return startDispatcher({
    connectionString: db.connectionString,
    sender: createSender({ rules: LOOPBACK_RULES }),
    clock,
    monotonic: () => performance.now(),
    ids,
    userAgent: "bench",
    loadEndpoints: (on, systemId) => loadEndpoints({ db: on, cipher }, systemId),
    queueReplays: () => Promise.resolve(0),
    recordFailures: () => Promise.resolve(),
    observe: createMetrics({ version: "bench" }).webhooks,
    onError: (error) => process.stderr.write(`${String(error)}\n`),
  });
}
