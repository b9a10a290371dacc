import { describeMachine, say } from "./processes.ts";
import { fairness } from "./webhooks/delays.ts";
import { heldTransaction } from "./webhooks/held-transaction.ts";
import { places } from "./webhooks/places.ts";
import { byEndpoints, race } from "./webhooks/race.ts";

/*
 * Signed deliveries to receivers in a process of their own, PostgreSQL beside it. `pnpm bench webhooks` runs the race
 * against job queues, and the other parts by their names.
 */
const parts: Readonly<Record<string, () => Promise<void>>> = {
  race,
  endpoints: byEndpoints,
  fair: fairness,
  held: heldTransaction,
  places,
};

const [name = "race"] = process.argv.slice(2);
const part = parts[name];
if (part === undefined) throw new Error(`${name} is none of ${Object.keys(parts).join(", ")}`);
say(describeMachine());
await part();
