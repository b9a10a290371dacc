import { describeMachine, say } from "./processes.ts";
import { fairness } from "./webhooks/delays.ts";
import { heldTransaction } from "./webhooks/held-transaction.ts";
import { places } from "./webhooks/places.ts";
import { byEndpoints, race } from "./webhooks/race.ts";

/*
 * Measures signed deliveries to receivers in a separate process, with PostgreSQL on the same machine. `pnpm bench webhooks`
 * runs the comparison with job queues (`race`). `pnpm bench webhooks <name>` runs another part.
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
