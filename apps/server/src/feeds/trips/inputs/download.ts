import { fetch, type Response } from "undici";
import type { ConnectOptions } from "../../../addresses/connect.ts";
import { isAddress } from "../../address.ts";
import { openConnection, outgoingDialOptions } from "../../outgoing-connection.ts";
import { type OutgoingRules, outgoingRules } from "../../outgoing-rules.ts";
import { ImportFileError } from "../problems.ts";

/** Redirects followed. Trip files lie in object stores, one or two redirects behind the operator's page. */
const GREATEST_REDIRECTS = 5;

/** Bounds of a download. */
export interface DownloadLimits {
  /** Milliseconds until the whole file must have come. */
  readonly timeout: number;
  /** Milliseconds that the server may send nothing. */
  readonly silence: number;
  /** Gives the download up. */
  readonly signal: AbortSignal;
}

/**
 * The bytes that are at an address. Redirects lead to public addresses and to the named host alone: whoever publishes the
 * file would otherwise choose what this machine asks of its own network.
 * @throws FileRefused when they cannot be had
 */
export async function* download(address: string, limits: DownloadLimits): AsyncGenerator<Buffer, void, undefined> {
  const { signal } = limits;
  const silent = new AbortController();
  const timeout = AbortSignal.timeout(limits.timeout);
  const silence = setTimeout(() => silent.abort(), limits.silence);
  let answer: Answer | undefined;
  try {
    answer = await follow(address, AbortSignal.any([signal, timeout, silent.signal]));
    for await (const chunk of answer.body) {
      silence.refresh();
      yield Buffer.from(chunk);
      silence.refresh();
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw refusal(error, { isSilent: silent.signal.aborted, isLate: timeout.aborted }, limits);
  } finally {
    clearTimeout(silence);
    await answer?.close();
  }
}

/** An answer with a body, over a connection of its own. */
interface Answer {
  readonly body: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

async function follow(address: string, signal: AbortSignal): Promise<Answer> {
  let url = URL.parse(address);
  if (url === null) throw new Error("it is not a valid URL");
  const credentials = takeCredentials(url);
  const { origin } = url;
  const rules = outgoingRules(url);
  const world: World = { rules, dialOptions: outgoingDialOptions(url, rules), signal };
  for (let redirects = 0; redirects <= GREATEST_REDIRECTS; redirects++) {
    const authorization = url.origin === origin ? credentials : {};
    const found = await ask(world, url, { accept: "*/*", ...authorization });
    if (!(found instanceof URL)) return found;
    url = found;
  }
  throw new Error(`it redirects more than ${GREATEST_REDIRECTS} times`);
}

/** What all requests of a download have in common. */
interface World {
  readonly rules: OutgoingRules;
  readonly dialOptions: ConnectOptions;
  readonly signal: AbortSignal;
}

/** Makes one request. @returns the answer, or where it sends us */
async function ask(
  { rules, dialOptions, signal }: World,
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Answer | URL> {
  const forbidden = rules.refuseUrl(url);
  if (forbidden !== undefined) throw new Error(forbidden);
  const reached = (address: string | null) => rules.reached(url, address);
  const client = await openConnection(url, dialOptions, { signal, reached });
  const close = () => client.destroy();
  try {
    const response = await fetch(url, { redirect: "manual", signal, headers, dispatcher: client });
    const next = redirection(response, url);
    if (next === undefined) return { body: bodyOf(response), close };
    await close();
    return next;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Where an answer sends us; undefined where it does not. */
function redirection({ status, headers }: Response, url: URL): URL | undefined {
  const location = headers.get("location");
  if (status < 300 || status >= 400 || location === null) return undefined;
  const next = URL.parse(location, url.href);
  if (next === null) throw new Error("it redirects to an invalid URL");
  if (!isAddress(next.href)) throw new Error("it redirects to what is not http or https");
  if (url.protocol === "https:" && next.protocol === "http:") throw new Error("it redirects from https to http");
  return next;
}

function bodyOf({ ok, status, body }: Response): AsyncIterable<Uint8Array> {
  if (!ok || body === null) throw new Error(`the server answered HTTP ${status}`);
  return body;
}

/** `fetch` takes no user and password in an address; they go to the address's own origin alone. */
function takeCredentials(url: URL): { readonly authorization?: string } {
  if (url.username === "" && url.password === "") return {};
  const text = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

function refusal(
  error: unknown,
  { isSilent, isLate }: { readonly isSilent: boolean; readonly isLate: boolean },
  { silence, timeout }: DownloadLimits,
): ImportFileError {
  if (error instanceof ImportFileError) return error;
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  let why = cause instanceof Error ? cause.message : String(cause);
  if (isLate) why = `it had not come whole after ${timeout / 1000} s`;
  if (isSilent) why = `the server sent nothing for ${silence / 1000} s`;
  return new ImportFileError("unreadable", null, `it cannot be downloaded: ${why}`, { cause: error });
}
