import { readFile } from "node:fs/promises";
import { DEFAULT_RATE_LIMIT } from "@bikeshare/contract";
import { discoverWorld, fillCity, type ReceiverProcess, scenarios, startReceiver, type World } from "@bikeshare/load";
import { type Profile, UNLIMITED_RATE } from "./profiles.ts";
import { fillReplay } from "./replay/recorded-day.ts";
import { type OwnServer, startOwnServer } from "./server/own-server.ts";
import { issueOperatorKey, issuePartnerKeys, type PartnerKey, subscribe } from "./server/provision.ts";

/** The service that a run loads, with everything that the load needs to know. */
export interface ServiceUnderLoad {
  readonly url: string;
  /** The address of the service's metrics; undefined: they are not read. */
  readonly metricsUrl: string | undefined;
  readonly operatorKey: string | undefined;
  readonly keys: readonly string[];
  /** Keys with the usual rate limit (of a given service: its `keys`), used only by the scenario `limit-storm`. */
  readonly limitedKeys: readonly string[];
  readonly world: World;
  /** Undefined: the run receives no webhooks. */
  readonly receiver: ReceiverProcess | undefined;
  close(): Promise<void>;
}

/** A service that was started for the run. */
interface OwnService extends ServiceUnderLoad {
  readonly pid: number;
  /** The data directory, which is deleted when the service is closed. */
  readonly directory: string;
}

interface OwnServiceOptions {
  readonly profile: Profile;
  readonly seed: number;
  /** The threads that send the load. */
  readonly workers: number;
  /** The niceness of the server's process; by default the highest. */
  readonly niceness?: number;
  readonly onProgress: (text: string) => void;
}

/** Each worker has its own limited keys. Workers that share a key could not know how much of the limit is used. */
const LIMITED_KEYS_PER_WORKER = 2;

/** Starts a service, and creates the partners, keys, endpoints and city of a profile. */
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

/** Creates the city of a profile, or what its recorded day needs. */
async function fill(url: string, operatorKey: string, { profile, seed, onProgress }: OwnServiceOptions): Promise<void> {
  const { stations, bikes, rides } = profile.city;
  if (profile.replay !== undefined) return fillReplay(url, operatorKey, profile.replay, new Set());
  onProgress(`filling it: ${stations} stations, ${bikes} bikes, ${rides} past rides`);
  return fillCity(url, operatorKey, profile.city, seed);
}

/** Issues all keys of a profile, and registers its webhook endpoints at the receiver. */
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
    // A separate key with which the run reads stations and bikes, so that it does not use up a partner's limit.
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
  /** A file with one key on each line: partners' keys, and the operator's key if a scenario needs it. */
  readonly keysFile: string;
  readonly metricsUrl: string | undefined;
}

/** Prepares a run against the user's service, with keys that the user has issued. */
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
  // The scenario `limit-storm` needs no knowledge of the city, and its keys must not be used before.
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
