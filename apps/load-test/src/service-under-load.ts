import { readFile } from "node:fs/promises";
import { DEFAULT_RATE_LIMIT } from "@bikeshare/contract";
import { discoverWorld, fillCity, type ReceiverProcess, scenarios, startReceiver, type World } from "@bikeshare/load";
import { type Profile, UNLIMITED_RATE } from "./profiles.ts";
import { fillReplay } from "./replay/recorded-day.ts";
import { type OwnServer, startOwnServer } from "./server/own-server.ts";
import { issueOperatorKey, issuePartnerKeys, type PartnerKey, subscribe } from "./server/provision.ts";

/** A service that is loaded, with all that the load needs of it. */
export interface ServiceUnderLoad {
  readonly url: string;
  /** Where its metrics are; undefined: they are not read. */
  readonly metricsUrl: string | undefined;
  readonly operatorKey: string | undefined;
  readonly keys: readonly string[];
  /** Keys with a partner's limit, for the scenario about it alone. */
  readonly limitedKeys: readonly string[];
  readonly world: World;
  /** Undefined: the run receives no webhooks. */
  readonly receiver: ReceiverProcess | undefined;
  close(): Promise<void>;
}

/** One that was started for the run. */
interface OwnService extends ServiceUnderLoad {
  readonly pid: number;
  /** Where its data is; gone when it is closed. */
  readonly directory: string;
}

interface OwnServiceOptions {
  readonly profile: Profile;
  readonly seed: number;
  readonly workers: number;
  /** Of the server's process; by default it comes last. */
  readonly niceness?: number;
  readonly onProgress: (text: string) => void;
}

/** Each worker uses a limited key of its own, as two could not tell how much of the limit the other has used. */
const LIMITED_KEYS_PER_WORKER = 2;

/** Starts a service, and makes the partners, keys, endpoints and the city of a profile. */
export async function openOwnService(options: OwnServiceOptions): Promise<OwnService> {
  const { profile, onProgress } = options;
  onProgress("starting a service of its own");
  const server = await startOwnServer(options.niceness);
  const closers = [() => server.stop()];
  const close = async () => {
    for (const closeOne of closers.toReversed()) await closeOne();
  };
  try {
    const receiver = profile.subscribers > 0 ? await startReceiver() : undefined;
    if (receiver !== undefined) closers.push(() => receiver.close());
    onProgress(`making partners with their keys: ${profile.partners}`);
    const provided = await provide(server, receiver, options);
    await fill(server.url, provided.operatorKey, options);
    const world = await discoverWorld(server.url, provided.limitlessKey, needsBikes(profile));
    const { url, metricsUrl, pid, directory } = server;
    return { url, metricsUrl, pid, directory, world, receiver, close, ...provided };
  } catch (error) {
    await close();
    throw error;
  }
}

async function fill(url: string, operatorKey: string, { profile, seed, onProgress }: OwnServiceOptions): Promise<void> {
  const { stations, bikes, rides } = profile.city;
  if (profile.replay !== undefined) return fillReplay(url, operatorKey, profile.replay, new Set());
  onProgress(`filling it: ${stations} stations, ${bikes} bikes, ${rides} past rides`);
  return fillCity(url, operatorKey, profile.city, seed);
}

async function provide(
  server: OwnServer,
  receiver: ReceiverProcess | undefined,
  { profile, workers }: OwnServiceOptions,
) {
  const commandLine = server.openCommandLine();
  try {
    const operatorKey = await issueOperatorKey(commandLine);
    const partners = await issuePartnerKeys(commandLine, "Partner", profile.partners, profile.keyRateLimit);
    const isStorm = profile.streams.some(({ scenario }) => scenarios[scenario]?.needsLimitedKeys === true);
    const limitedKeys = isStorm ? workers * LIMITED_KEYS_PER_WORKER : 0;
    const limited = await issuePartnerKeys(commandLine, "Storm", limitedKeys, DEFAULT_RATE_LIMIT);
    // Reads what the run needs to know without using up a partner's limit.
    const [reader] = await issuePartnerKeys(commandLine, "Reader", 1, UNLIMITED_RATE);
    if (receiver !== undefined) {
      const subscribers = partners.slice(0, profile.subscribers);
      const endpoints = subscribers.map(({ partnerId }, index) => ({ partnerId, url: receiver.urlOf(index) }));
      await receiver.useSecrets(await subscribe(commandLine, endpoints));
    }
    const keysOf = (issued: readonly PartnerKey[]) => issued.map(({ key }) => key);
    return { operatorKey, keys: keysOf(partners), limitedKeys: keysOf(limited), limitlessKey: reader?.key ?? "" };
  } finally {
    await commandLine.close();
  }
}

function needsBikes(profile: Profile): boolean {
  return profile.streams.some(({ scenario }) => scenarios[scenario]?.needsBikes === true);
}

const NOTHING_KNOWN: World = { stations: [], bikes: [], ridePages: 1 };
const OPERATOR_KEY_PREFIX = "bss_operator_";

interface GivenServiceOptions {
  readonly profile: Profile;
  readonly url: string;
  /** A file with a key a line: partners' keys, and the operator's where a scenario needs it. */
  readonly keysFile: string;
  readonly metricsUrl: string | undefined;
}

/** A service of the user's, with keys that the user has issued. */
export async function openGivenService(options: GivenServiceOptions): Promise<ServiceUnderLoad> {
  const { profile, url, keysFile, metricsUrl } = options;
  const all = (await readFile(keysFile, "utf8")).split(/\s+/).filter((line) => line !== "");
  const operatorKey = all.find((key) => key.startsWith(OPERATOR_KEY_PREFIX));
  const keys = all.filter((key) => key !== operatorKey);
  const kinds = profile.streams.map(({ scenario }) => scenarios[scenario]);
  if (keys[0] === undefined) throw new Error(`${keysFile} has no partner's key: put one on each line.`);
  if (operatorKey === undefined && kinds.some((kind) => kind?.needsOperator === true))
    throw new Error(`${keysFile} has no operator key, which these scenarios need (bikeshare keys issue --operator).`);
  if (profile.subscribers > 0) throw new Error("webhooks is for a service of its own: leave out --url.");
  const isStorm = kinds.some((kind) => kind?.needsLimitedKeys === true);
  if (isStorm && kinds.length > 1)
    throw new Error("limit-storm uses its keys up: run it by itself, with keys that nothing else uses.");
  // The storm needs to know nothing, and its keys' first request is its own.
  const world = isStorm ? NOTHING_KNOWN : await discoverWorld(url, keys[0], needsBikes(profile));
  if (profile.replay !== undefined) await fillReplay(url, operatorKey ?? "", profile.replay, new Set(world.stations));
  return {
    url,
    metricsUrl,
    operatorKey,
    keys,
    limitedKeys: isStorm ? keys : [],
    world,
    receiver: undefined,
    close: () => Promise.resolve(),
  };
}
