/**
 * What the webhook sender costs beside a bare undici `request()` that POSTs the same bodies to the same receiver:
 * `node --conditions=@bikeshare/source bench/sender.ts [posts] [rounds]`. The receiver is a process of its own. Prints
 * rates, which whatever else runs on the machine spoils, and processor time for each POST, which it spoils less.
 */
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { NetworkList } from "../src/outbound/addresses/network-list.ts";
import { createSender } from "../src/webhooks/sender/sender.ts";
import { startServer } from "./processes.ts";

/** As large as a ride's event. */
const ride = {
  id: "ride_0123456789",
  bike_id: "bike_0123456789",
  status: "completed",
  start_station_id: "station-1",
  end_station_id: "station-2",
  started_at: "2026-01-01T08:00:00Z",
  ended_at: "2026-01-01T08:20:00Z",
  duration_seconds: 1200,
  distance_meters: 3400,
  vehicle_type_id: "bike",
  rider_category: "member",
  end_reason: "returned",
  is_countable: true,
  updated_at: "2026-01-01T08:20:00Z",
};

const [first = "30000", second = "4"] = process.argv.slice(2);

if (first === "receiver") receive();
else await compare(Number(first), Number(second));

function receive(): void {
  const server = createServer((incoming, response) => {
    incoming.resume();
    incoming.on("end", () => response.writeHead(204).end());
  });
  process.once("SIGTERM", () => process.exit(0));
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    console.log(`http://127.0.0.1:${port}/webhooks`);
  });
}

async function compare(posts: number, repetitions: number): Promise<void> {
  const receiver = await startServer(fileURLToPath(import.meta.url), ["receiver"], {});
  const url = receiver.firstLine;
  const rules = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: [{ from: 1, to: 65_535 }] };
  const sender = createSender({ rules });
  const agent = new Agent({ connections: 50 });
  const ways = {
    bare: async (headers: Header[], body: string) => {
      const { statusCode, body: answer } = await request(url, {
        method: "POST",
        headers: headers.flat(),
        body,
        dispatcher: agent,
      });
      await answer.dump();
      if (statusCode !== 204) throw new Error(`answered ${statusCode}`);
    },
    sender: async (headers: Header[], body: string) => {
      const { outcome, failure } = await sender.send({ url, headers, body });
      if (outcome !== "succeeded") throw new Error(`${outcome} ${failure}`);
    },
  };
  try {
    for (const inFlight of [10, 50]) {
      const prices: Record<keyof typeof ways, Price[]> = { bare: [], sender: [] };
      for (let round = 0; round < repetitions; round++) {
        prices.bare.push(await priceOf(posts, inFlight, ways.bare));
        prices.sender.push(await priceOf(posts, inFlight, ways.sender));
      }
      console.log(`${inFlight} in flight: ${summary(prices.bare)} bare, ${summary(prices.sender)} through the sender`);
    }
  } finally {
    await Promise.all([sender.close(), agent.close()]);
    await receiver.stop();
  }
}

type Header = [string, string];

/** Of one POST, in microseconds. */
interface Price {
  readonly elapsed: number;
  readonly processor: number;
}

async function priceOf(
  posts: number,
  inFlight: number,
  post: (headers: Header[], body: string) => Promise<void>,
): Promise<Price> {
  let left = posts;
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const body = JSON.stringify({ event: "ride.completed", delivery_id: `dlv_${left}`, data: ride });
      const signature = createHmac("sha256", "whsec_bench").update(`1.${body}`).digest("hex");
      const headers: Header[] = [
        ["Content-Type", "application/json"],
        ["Service-Signature", `t=1,v1=${signature}`],
        ["User-Agent", "bench"],
      ];
      await post(headers, body);
    }
  };
  const began = performance.now();
  const usedBefore = process.cpuUsage();
  await Promise.all(Array.from({ length: inFlight }, lane));
  const used = process.cpuUsage(usedBefore);
  return { elapsed: ((performance.now() - began) * 1_000) / posts, processor: (used.user + used.system) / posts };
}

function summary(prices: readonly Price[]): string {
  const rate = 1_000_000 / median(prices.map(({ elapsed }) => elapsed));
  const processor = prices.map((price) => price.processor);
  const least = Math.min(...processor).toFixed(1);
  return `${Math.round(rate)}/s and ${median(processor).toFixed(1)} µs of processor (least ${least})`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
