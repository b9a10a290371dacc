import { ApiError, UnexpectedResponseError } from "./errors/errors.ts";
import type { Export } from "./json-types.generated.ts";

/** The options of `downloadExport`. */
export interface DownloadOptions {
  readonly signal?: AbortSignal | null | undefined;
  /** Default: the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/**
 * Downloads the file of an export and compares its checksum. The whole file is in memory. For a file of gigabytes, give
 * `download_url` to a program that writes to disk, and compare `sha256` afterwards.
 *
 * @param file an export as `client.exports` returns it, whose link is still valid
 * @throws ApiError for an error status. When the link is no longer valid, read the export again
 * @throws UnexpectedResponseError when the checksum differs, or for a redirect
 * @throws the error of `fetch` when there is no connection
 * @example const file = await downloadExport(await client.exports.get(id));
 */
export async function downloadExport(
  file: Pick<Export, "id" | "download_url" | "sha256">,
  { signal = null, fetch: request = fetch }: DownloadOptions = {},
): Promise<Uint8Array> {
  const response = await request(file.download_url, { signal, redirect: "manual" });
  const { status } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  // A link is a secret, so the error contains neither the link nor the response's text.
  let issue = `status ${status}`;
  if (status === 200) {
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    if (sum.reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "") === file.sha256) return bytes;
    issue = "another SHA-256";
  }
  const ErrorClass = status < 400 ? UnexpectedResponseError : ApiError;
  throw new ErrorClass(`export ${file.id}: ${issue}: read the export again`, { status, attempts: 1 });
}
