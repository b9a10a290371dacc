import type { Conditions } from "../conditions/conditions.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import type { Metrics } from "../metrics/registry.ts";
import { systemsOf } from "../systems/service.ts";
import { type Dispatcher, startDispatcher } from "./dispatcher/dispatcher.ts";
import { type DispatchEndpoint, loadEndpoints } from "./endpoints/dispatch-endpoints.ts";
import { recordServiceKey } from "./endpoints/endpoint-secrets.ts";
import type { SecretCipher } from "./endpoints/secret.ts";
import { readBacklog } from "./log/backlog.ts";
import { queueReplays } from "./log/replays.ts";
import type { AddressRules } from "./rules/receiver-url.ts";
import { createSender } from "./sender/sender.ts";
import { startMailOutbox } from "./warnings/failure-mail-outbox.ts";
import { logFailures, recordFailureMails } from "./warnings/failure-notices.ts";
import type { Mailer } from "./warnings/mailer.ts";

/** What sending webhooks needs of the deployment. */
export interface WebhookSettings {
  readonly rules: AddressRules;
  readonly cipher: SecretCipher;
  readonly metrics: Metrics;
  /** Undefined: what would be mailed is logged. */
  readonly mailer: Mailer | undefined;
  /** The service's version, which receivers see. */
  readonly version: string;
}

export interface WebhookWorkerOptions extends WebhookSettings {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly logger: { warn(detail: object, message: string): void };
  readonly conditions: Conditions;
}

/** How long no secret must be damaged until none is any more: longer than between two readings of the settings. */
const DECRYPTION = { level: "warn", quietMs: 40_000 } as const;

/** Starts sending webhooks from this process. */
export function startWebhookWorker(options: WebhookWorkerOptions): Dispatcher {
  const { db, clock, ids, logger, metrics, mailer, cipher } = options;
  const sending = options.conditions.of("sending webhooks");
  const onError = (error: unknown) => sending.failed(error);
  const mailing = options.conditions.of("sending mails to partners");
  const decryption = options.conditions.of("decrypting the secrets of webhooks", DECRYPTION);
  const notices = { ids, canMail: mailer !== undefined, logger, dashboardUrl: null };
  const dispatcher = startDispatcher({
    connectionString: db.connectionString,
    sender: createSender({ rules: options.rules, clock }),
    clock,
    monotonic: () => performance.now(),
    ids,
    userAgent: `bikeshare/${options.version}`,
    loadEndpoints: endpointLoader({ cipher, clock }, (error) => decryption.failed(error)),
    queueReplays: (on, systemId) => queueReplays({ db: on, clock }, systemId),
    recordFailures: (tx, systemId, attempts, now) => recordFailureMails(notices, tx, systemId, attempts, now),
    observe: {
      ...metrics.webhooks,
      resultsWritten: (attempts, stale) => {
        metrics.webhooks.resultsWritten(attempts, stale);
        logFailures(notices, attempts, new Date(clock()));
      },
    },
    onError,
  });
  const systems = async () => (await systemsOf(db)).map((system) => system.system_id);
  const outbox = startMailOutbox({
    db,
    clock,
    systems,
    mailer,
    logger,
    onError: (error) => mailing.failed(error),
    observe: metrics.mails.mailed,
  });
  metrics.watch({
    inFlight: () => dispatcher.inFlight(),
    backlog: async () => Promise.all((await systems()).map((systemId) => readBacklog({ db, clock }, systemId))),
    onError,
  });
  return {
    ...dispatcher,
    async close() {
      await Promise.all([dispatcher.close(), outbox.close()]);
    },
  };
}

/** Loads a system's endpoints; the first time, records the key that this process encrypts secrets with. */
function endpointLoader(
  context: { readonly cipher: SecretCipher; readonly clock: () => number },
  onDamaged: (error: Error) => void,
) {
  const recorded = new Set<string>();
  return async (db: Queryable, systemId: string): Promise<DispatchEndpoint[]> => {
    if (!recorded.has(systemId)) await recordServiceKey(context, db, systemId);
    recorded.add(systemId);
    return loadEndpoints({ db, cipher: context.cipher }, systemId, onDamaged);
  };
}
