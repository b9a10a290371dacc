import { busySandbox } from "./bursts/busy-sandbox.ts";
import { heavyPartner } from "./bursts/heavy-partner.ts";
import { heavyViewer } from "./bursts/heavy-viewer.ts";
import { hostileCallers } from "./bursts/hostile.ts";
import { describeMachine, say } from "./processes.ts";

/*
 * Measures what one caller with too many requests costs others: the latency of another partner, and the memory of the
 * process. `pnpm bench bursts` runs every kind, `pnpm bench bursts partner` one.
 */
const kinds: Readonly<Record<string, () => Promise<void>>> = {
  hostile: hostileCallers,
  partner: heavyPartner,
  viewer: heavyViewer,
  sandbox: busySandbox,
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in kinds));
if (unknown !== undefined) throw new Error(`${unknown} is none of ${Object.keys(kinds).join(", ")}`);
say(describeMachine());
for (const [name, run] of Object.entries(kinds)) if (wanted.length === 0 || wanted.includes(name)) await run();
