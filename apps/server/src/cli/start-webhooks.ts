import type { Delivery } from "@bikeshare/webhooks";
import type { Config } from "../config.ts";
import { loopbackAddresses } from "../outbound/addresses/address-guard.ts";
import { NetworkList } from "../outbound/addresses/network-list.ts";
import { isSampleReceiver, type SampleReceiver, startSampleReceiver } from "../runtime/demo/sample-receiver.ts";
import type { Database } from "../storage/db/database.ts";
import { loadSecrets, secretsPath } from "../storage/secrets/secrets.ts";
import { loadEndpoints } from "../webhooks/endpoints/dispatch-endpoints.ts";
import { setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import type { AddressRules } from "../webhooks/rules/receiver-url.ts";
import type { CliContext } from "./context.ts";
import type { Output } from "./output.ts";

/** The sample receiver of `start`: verifies deliveries and prints them. */
export interface SampleWebhooks {
  /** The configuration, with receivers on this machine allowed. */
  readonly config: Config;
  /** Makes the receiver the endpoint of the demo's partner, unless that has chosen another. */
  connect(db: Database, systemId: string, partnerId: string): Promise<void>;
  close(): Promise<void>;
}

/** Deliveries printed one by one; later ones are counted. Too high: fills the terminal. */
const SHOWN = 12;
/** Milliseconds between two counts. */
const COUNT_INTERVAL_MS = 30_000;

export async function startSampleWebhooks(cli: CliContext): Promise<SampleWebhooks> {
  const printer = createPrinter(cli.output);
  const receiver = await startSampleReceiver((delivery) => printer.show(delivery));
  const config: Config = { ...cli.config, webhooks: rulesForTrying(cli.config.webhooks) };
  return {
    config,
    connect: (db, systemId, partnerId) => connect({ ...cli, config }, receiver, db, { systemId, partnerId }),
    close: async () => {
      printer.close();
      await receiver.close();
    },
  };
}

/** Returns the rules of `start`, under which developers receive webhooks on this machine. */
export function rulesForTrying({ allowNetworks, allowPorts }: AddressRules): AddressRules {
  const networks = new NetworkList([...allowNetworks.networks, ...loopbackAddresses]);
  return { allowNetworks: networks, allowPorts, allowEveryLoopbackPort: true };
}

async function connect(
  { actor, clock, config, ids, output }: CliContext,
  receiver: SampleReceiver,
  db: Database,
  partner: { readonly systemId: string; readonly partnerId: string },
): Promise<void> {
  const { webhookKeys } = await loadSecrets(secretsPath(config), (bytes) => ids.randomBytes(bytes));
  const cipher = createSecretCipher(webhookKeys);
  const mine = async () => {
    const all = await loadEndpoints({ db, cipher }, partner.systemId);
    return all.find(({ partnerId }) => partnerId === partner.partnerId);
  };
  const before = await mine();
  if (before !== undefined && !isSampleReceiver(before.url)) return;
  await setEndpoint(
    { db, clock, ids, actor, cipher, rules: config.webhooks },
    { ...partner, url: receiver.url, ...(before === undefined ? { events: EVENTS } : {}) },
  );
  const secrets = (await mine())?.secrets.map(({ text }) => text) ?? [];
  receiver.expect(secrets, { onError: (error) => output.note(`webhook rejected: ${String(error)}`) });
}

const EVENTS = ["ride.started", "ride.completed", "station.offline", "station.online", "reservation.created"];

function createPrinter(output: Output): { show(delivery: Delivery): void; close(): void } {
  let shown = 0;
  let counted = 0;
  const timer = setInterval(() => {
    if (counted > 0) output.note(`webhooks: ${counted} more received and verified`);
    counted = 0;
  }, COUNT_INTERVAL_MS);
  timer.unref();
  return {
    show(delivery) {
      if (++shown > SHOWN) {
        counted++;
        return;
      }
      output.note(`webhook received, signature verified: ${delivery.event} ${delivery.delivery_id}`);
      if (shown === SHOWN) output.note("webhooks: further ones are counted");
    },
    close: () => clearInterval(timer),
  };
}
