import { MAX_DIFFERENCE_MS } from "../conditions/service-clock.ts";
import { type CheckName, thresholds } from "./check.ts";

const percent = (share: number) => `${Math.round(share * 100)} %`;
const seconds = (ms: number) => `${ms / 1_000} s`;
const minutes = (ms: number) => `${ms / 60_000} minutes`;
const days = (ms: number) => `${ms / 86_400_000} days`;

/** When each check finds something, for the page that lists them. */
export const checkDescriptions: Readonly<Record<CheckName, string>> = {
  "background work": "a work has had no success for two intervals and 5 minutes",
  "database away": "requests wait for the database",
  "disk full": "PostgreSQL cannot store anything",
  "data directory": `less than ${thresholds.freeGib.withDatabase} GiB are free, or ${thresholds.freeGib.without} GiB without the database; failure below a tenth of it`,
  certificate: `it expires within ${days(thresholds.certificateMs)}; failure once it has`,
  "latest backup": "it is older than twice `BACKUP_EVERY`",
  redis: "rate limits cannot be counted in Redis",
  "redis memory": "Redis may forget counts when it is full",
  clock: `the machine's clock and the database's differ by more than ${seconds(MAX_DIFFERENCE_MS)}`,
  replica: "reads have left out the replica of `DATABASE_REPLICA_URL` for 5 s",
  "database size": `it exceeds ${percent(thresholds.databaseSize.warning)} of \`DATABASE_SIZE_LIMIT_GB\`; failure above ${percent(thresholds.databaseSize.failure)}`,
  "connections in use": `more than ${percent(thresholds.connections)} of those that PostgreSQL accepts`,
  "long transactions": `one has been open for more than ${minutes(thresholds.transactionMs)}`,
  replicas: `one is gone and its slot keeps WAL, or commits wait for it; one lags by more than ${seconds(thresholds.replicaLagMs)}`,
  partitions: "today's are missing, or some are kept for two days too long",
  "rate limit": "several processes count without `REDIS_URL`",
  workers: "no worker is alive while a process answers requests",
  events: `one has waited for its position for more than ${seconds(thresholds.eventWaitMs)}`,
  "late webhooks": `a delivery has been due for more than ${minutes(thresholds.dueMs)}`,
  "held webhooks": "deliveries are held at an endpoint that is not paused",
  "set aside":
    "deliveries or background work ended three processes, background work fails at each try, or PostgreSQL rejected deliveries' results",
  imports: `one that runs has made no progress for ${minutes(thresholds.importIdleMs)}`,
  "long rides": "a ride is under way for longer than `LONG_RIDE_AFTER`",
  feeds:
    "nothing was read or applied of a followed feed for 20 minutes or three polls; warning where its data are too old",
  exports: "schedules cannot request their month, because too many exports wait",
  planners: "stations are published without a pricing plan, or the system's id is still `main`",
  "webhook address": "the partner has set none",
  "webhook paused": "the endpoint is paused; failure unless somebody chose to",
  "webhook failing": "the endpoint has answered nothing with success lately",
  "webhooks given up": "deliveries were given up in the last 24 hours",
  "webhooks retried": "deliveries have failed and are tried again",
  "unreadable events": "no key may read what chosen events are about",
  "compromised keys": "a key was sent where others may have read it",
  "replaced keys": "a key that was replaced is still used",
  "expiring keys": `one expires within ${days(thresholds.keyExpiryMs.warning)}; failure within ${days(thresholds.keyExpiryMs.failure)}`,
  "rate-limited keys": `a minute of the last hour came to ${percent(thresholds.nearLimit)} of the limit; failure if requests were refused`,
  "refused keys": "a key that works no more was used in the last hour",
  "failing requests": `${percent(thresholds.failingRequests.share)} of the last hour's requests failed, and ${thresholds.failingRequests.least} of them at least`,
};
