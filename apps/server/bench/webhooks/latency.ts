import { join } from "node:path";
import { statement } from "../../src/storage/db/statement.ts";
import type { SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { startServer } from "../processes.ts";
import { measureDelays } from "./delays.ts";
import type { World } from "./world.ts";

/** Milliseconds from an event's commit to the receipt of its deliveries. */
export interface Latency {
  readonly deliveries: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

const moveTo = statement(
  "bench.moveTo",
  `update webhook_endpoints endpoint set url = moved.url
   from (select id, ($2::text[])[row_number() over (order by id)] as url from webhook_endpoints where system_id = $1) as moved
   where endpoint.system_id = $1 and endpoint.id = moved.id`,
);

/** Commits events one by one, evenly, and asks the receiver when each of their deliveries came. */
export async function measureLatency(
  world: World,
  cipher: SecretCipher,
  load: { readonly perSecond: number; readonly seconds: number },
): Promise<Latency> {
  const receiver = await startServer(
    join(import.meta.dirname, "receiver.ts"),
    [String(world.endpoints), "--arrivals"],
    {},
  );
  const { urls } = JSON.parse(receiver.firstLine) as { urls: string[] };
  const [url = ""] = urls;
  await world.db.query(moveTo, [world.systemId, urls.map((each) => `${each}/hooks`)]);
  try {
    const events = Math.floor((load.perSecond * load.seconds) / world.endpoints);
    const trickle = {
      event: "ride.completed",
      events,
      seconds: load.seconds,
      deliveries: world.endpoints,
      url,
    } as const;
    return { perSecond: Math.round(load.perSecond), ...summary(await measureDelays(world, cipher, trickle)) };
  } finally {
    await receiver.stop();
  }
}

function summary(delays: readonly number[]): Omit<Latency, "perSecond"> {
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN) * 10) / 10;
  return { deliveries: sorted.length, p50: at(0.5), p99: at(0.99), worst: at(1) };
}
