import { isAddress } from "../../address.ts";
import { FileRefused } from "../problems.ts";

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
 * The bytes that are at an address.
 * @throws FileRefused when they cannot be had
 */
export async function* download(address: string, limits: DownloadLimits): AsyncGenerator<Buffer, void, undefined> {
  const { signal } = limits;
  const silent = new AbortController();
  const timeout = AbortSignal.timeout(limits.timeout);
  const silence = setTimeout(() => silent.abort(), limits.silence);
  try {
    const body = await follow(address, AbortSignal.any([signal, timeout, silent.signal]));
    for await (const chunk of body) {
      silence.refresh();
      yield Buffer.from(chunk);
      silence.refresh();
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw refusal(error, { isSilent: silent.signal.aborted, isLate: timeout.aborted }, limits);
  } finally {
    clearTimeout(silence);
  }
}

async function follow(address: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  let url = URL.parse(address);
  const credentials = takeCredentials(url);
  const origin = url?.origin;
  for (let redirects = 0; redirects <= GREATEST_REDIRECTS; redirects++) {
    if (url === null) throw new Error("it is not a valid URL");
    const authorization = url.origin === origin ? credentials : {};
    const response = await fetch(url, { redirect: "manual", signal, headers: { accept: "*/*", ...authorization } });
    const location = response.headers.get("location");
    if (response.status >= 300 && response.status < 400 && location !== null) {
      await response.body?.cancel();
      const next: URL | null = URL.parse(location, url.href);
      if (next !== null && !isAddress(next.href)) throw new Error("it redirects to what is not http or https");
      if (url.protocol === "https:" && next?.protocol === "http:") throw new Error("it redirects from https to http");
      url = next;
      continue;
    }
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      throw new Error(`the server answered HTTP ${response.status}`);
    }
    return response.body;
  }
  throw new Error(`it redirects more than ${GREATEST_REDIRECTS} times`);
}

/** `fetch` takes no user and password in an address; they go to the address's own origin alone. */
function takeCredentials(url: URL | null): { readonly authorization?: string } {
  if (url === null || (url.username === "" && url.password === "")) return {};
  const text = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

function refusal(
  error: unknown,
  { isSilent, isLate }: { readonly isSilent: boolean; readonly isLate: boolean },
  { silence, timeout }: DownloadLimits,
): FileRefused {
  if (error instanceof FileRefused) return error;
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  let why = cause instanceof Error ? cause.message : String(cause);
  if (isLate) why = `it had not come whole after ${timeout / 1000} s`;
  if (isSilent) why = `the server sent nothing for ${silence / 1000} s`;
  return new FileRefused("unreadable", null, `it cannot be downloaded: ${why}`, { cause: error });
}
