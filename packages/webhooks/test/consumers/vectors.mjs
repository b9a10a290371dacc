// Verifies every vector with the installed package, on the runtime that runs this program, and prints the results.
import { createRequire } from "node:module";
import { isWebhookVerificationError, sign, verify } from "@bikeshare/webhooks";
import { signSync } from "@bikeshare/webhooks/node";

const { valid, invalid } = createRequire(import.meta.url)("@bikeshare/webhooks/vectors.json");
const result = { accepted: 0, refused: 0, signed: 0, failures: [] };

/** Returns "accepted", or the reason of the rejection. */
async function outcomeOf({ body, header, secrets, now }) {
  try {
    await verify(new TextEncoder().encode(body), header, secrets, { now: () => now * 1000 });
    return "accepted";
  } catch (error) {
    return isWebhookVerificationError(error) ? error.reason : String(error);
  }
}

for (const vector of valid) {
  const outcome = await outcomeOf(vector);
  if (outcome === "accepted") result.accepted++;
  else result.failures.push([vector.name, outcome]);
  const input = { body: vector.body, secrets: vector.secrets, timestamp: vector.now };
  if (signSync(input) === (await sign(input))) result.signed++;
}
for (const vector of invalid) {
  const outcome = await outcomeOf(vector);
  if (outcome === vector.reason) result.refused++;
  else result.failures.push([vector.name, outcome]);
}
process.stdout.write(JSON.stringify(result));
