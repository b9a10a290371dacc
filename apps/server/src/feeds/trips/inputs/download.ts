import { createOutgoingClient, type OutgoingResponse } from "../../outgoing.ts";
import { ImportFileError } from "../problems.ts";

/** Trip files lie in object stores, one or two redirects behind the operator's page. */
const MAX_REDIRECTS = 5;

/** Limits of a download. */
export interface DownloadLimits {
  /** Milliseconds for the whole download. */
  readonly timeoutMs: number;
  /** Milliseconds for which the server may send nothing. */
  readonly silenceMs: number;
  /** Ends the download. */
  readonly signal: AbortSignal;
}

/**
 * Returns the bytes at an address. A user and password in it go to its own origin alone.
 * @throws ImportFileError when they cannot be downloaded
 */
export async function* download(address: string, limits: DownloadLimits): AsyncGenerator<Buffer, void, undefined> {
  const { signal } = limits;
  const silent = new AbortController();
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  const silence = setTimeout(() => silent.abort(), limits.silenceMs);
  let answer: OutgoingResponse | undefined;
  try {
    answer = await request(address, AbortSignal.any([signal, timeout, silent.signal]));
    const { ok, status, body } = answer.response;
    if (!ok || body === null) throw new Error(`the server answered HTTP ${status}`);
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      silence.refresh();
      yield Buffer.from(chunk);
      silence.refresh();
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw asImportFileError(error, { isSilent: silent.signal.aborted, isLate: timeout.aborted }, limits);
  } finally {
    clearTimeout(silence);
    await answer?.close();
  }
}

async function request(address: string, signal: AbortSignal): Promise<OutgoingResponse> {
  const url = URL.parse(address);
  if (url === null) throw new Error("it is not a valid URL");
  const credentials = takeCredentials(url);
  return createOutgoingClient(url).get(url, {
    headers: ({ origin }) => ({ accept: "*/*", ...(origin === url.origin ? credentials : {}) }),
    maxRedirects: MAX_REDIRECTS,
    // The reader counts the bytes; compressed data that never yield any end as silence.
    maxBytes: Number.POSITIVE_INFINITY,
    signal,
  });
}

/** `fetch` accepts no user and password in a URL. */
function takeCredentials(url: URL): { readonly authorization?: string } {
  if (url.username === "" && url.password === "") return {};
  const text = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

function asImportFileError(
  error: unknown,
  { isSilent, isLate }: { readonly isSilent: boolean; readonly isLate: boolean },
  { silenceMs, timeoutMs }: DownloadLimits,
): ImportFileError {
  if (error instanceof ImportFileError) return error;
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  let why = cause instanceof Error ? cause.message : String(cause);
  if (isLate) why = `it was not complete after ${timeoutMs / 1000} s`;
  if (isSilent) why = `the server sent nothing for ${silenceMs / 1000} s`;
  return new ImportFileError("unreadable", null, `it cannot be downloaded: ${why}`, { cause: error });
}
