import type { Conditions } from "../conditions/conditions.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import type { Metrics } from "../metrics/registry.ts";
import { systemsOf } from "../systems/service.ts";
import { type Dispatcher, startDispatcher } from "./dispatcher/dispatcher.ts";
import { endpointsOf, type LiveEndpoint } from "./endpoints/endpoints.ts";
import { noteServiceSealing } from "./endpoints/sealing.ts";
import type { SecretSealer } from "./endpoints/secret.ts";
import { backlogOf } from "./log/backlog.ts";
import { feedReplays } from "./log/replays.ts";
import type { AddressRules } from "./rules/receiver-url.ts";
import { createSender } from "./sender/sender.ts";
import { startMailOutbox } from "./warnings/failure-mail-outbox.ts";
import { logFailures, noteFailures } from "./warnings/failure-notices.ts";
import type { Mailer } from "./warnings/mailer.ts";

/** What sending webhooks needs of the deployment. */
export interface WebhookSettings {
  readonly rules: AddressRules;
  readonly sealer: SecretSealer;
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

/** Milliseconds without a damaged secret after which there is none any more: longer than between two readings. */
const OPENING = { level: "warn", quietMs: 40_000 } as const;

/** Starts sending webhooks from this process. */
export function startWebhookWorker(options: WebhookWorkerOptions): Dispatcher {
  const { db, clock, ids, logger, metrics, mailer, sealer } = options;
  const sending = options.conditions.of("sending webhooks");
  const onError = (error: unknown) => sending.failed(error);
  const mails = options.conditions.of("looking after mails to partners");
  const mailing = (error: unknown) => mails.failed(error);
  const opening = options.conditions.of("opening the secrets of webhooks", OPENING);
  const notices = { ids, canMail: mailer !== undefined, logger, dashboardUrl: null };
  const dispatcher = startDispatcher({
    connectionString: db.connectionString,
    sender: createSender({ rules: options.rules, clock }),
    clock,
    monotonic: () => performance.now(),
    ids,
    userAgent: `bikeshare/${options.version}`,
    loadEndpoints: endpointLoader({ sealer, clock }, (error) => opening.failed(error)),
    feedReplays: (on, systemId) => feedReplays({ db: on, clock }, systemId),
    noteFailures: (tx, systemId, endings, now) => noteFailures(notices, tx, systemId, endings, now),
    observe: {
      ...metrics.webhooks,
      settled: (endings, stale) => {
        metrics.webhooks.settled(endings, stale);
        logFailures(notices, endings, new Date(clock()));
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
    onError: mailing,
    observe: metrics.mails.mailed,
  });
  metrics.watch({
    inFlight: () => dispatcher.inFlight(),
    backlog: async () => Promise.all((await systems()).map((systemId) => backlogOf({ db, clock }, systemId))),
    onError,
  });
  return {
    ...dispatcher,
    async close() {
      await Promise.all([dispatcher.close(), outbox.close()]);
    },
  };
}

/** Loads endpoints; at a system's first time, says which secrets file this process seals with. */
function endpointLoader(
  context: { readonly sealer: SecretSealer; readonly clock: () => number },
  onDamaged: (error: Error) => void,
) {
  const noted = new Set<string>();
  return async (db: Queryable, systemId: string): Promise<LiveEndpoint[]> => {
    if (!noted.has(systemId)) await noteServiceSealing(context, db, systemId);
    noted.add(systemId);
    return endpointsOf({ db, sealer: context.sealer }, systemId, onDamaged);
  };
}
