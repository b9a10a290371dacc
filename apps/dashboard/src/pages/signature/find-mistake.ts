/** Finds out why a receiver rejected the signature of a delivery. Everything is computed in the browser. Nothing is sent. */
import { DEFAULT_TOLERANCE_SECONDS, isWebhookVerificationError, verify } from "@bikeshare/webhooks";
import { relativeText } from "../../components/time.tsx";

/** A request that a reader has copied from their receiver. */
export interface PastedRequest {
  readonly header: string;
  readonly body: string;
  readonly secret: string;
  /** The present time, in milliseconds since 1970. */
  readonly now: number;
}

/** What was found: whether the signature is valid, and a sentence for the reader. */
export interface Finding {
  readonly isValid: boolean;
  readonly message: string;
}

/** Returns the most likely mistake, or says that the signature is valid. */
export async function findMistake({ header, body, secret, now }: PastedRequest): Promise<Finding> {
  const value = header.trim().replace(/^service-signature:\s*/i, "");
  if (value.startsWith("v1,")) {
    return {
      isValid: false,
      message: "This is the header of Standard Webhooks. Paste the value of Service-Signature.",
    };
  }
  // Verifies at the time of signing: a pasted signature is usually old, which says nothing about its correctness.
  // Without a readable time, the signature cannot be valid, and `verify` says why.
  const signedAt = Number(/(?:^|,)t=(\d{1,11})(?:,|$)/.exec(value)?.[1] ?? Number.NaN);
  const clock = Number.isFinite(signedAt) ? signedAt * 1000 : now;
  const pasted = { header: value, clock, body, secret };
  const issue = await issueOf(pasted);
  if (issue === undefined) return { isValid: true, message: describeAge(clock - now) };
  return { isValid: false, message: (await findChange(pasted)) ?? issue };
}

/** What `verify` needs. */
interface SignedRequest {
  readonly header: string;
  readonly body: string;
  readonly secret: string;
  /** The time that `verify` takes for the present, in milliseconds since 1970. */
  readonly clock: number;
}

/** Returns why the signature is not valid; undefined: it is valid. */
async function issueOf({ header, body, secret, clock }: SignedRequest): Promise<string | undefined> {
  try {
    await verify(body, header, secret, { now: () => clock });
    return undefined;
  } catch (error) {
    if (isWebhookVerificationError(error)) return error.message;
    throw error;
  }
}

/** A change that may make the signature fit. A part that is undefined stays as it was pasted. */
interface Change {
  /** The text for the reader if the signature fits after this change. */
  readonly message: string;
  readonly body?: string | undefined;
  readonly secret?: string;
}

/** Tries typical changes of the request. If the signature fits after one of them, returns a message about that mistake. */
async function findChange(pasted: SignedRequest): Promise<string | undefined> {
  const { body, secret } = pasted;
  const changes: readonly Change[] = [
    { body: body.trim(), message: "White space was added around the body: without it the signature fits." },
    {
      body: compactJson(body),
      message:
        "The body was parsed and serialized again: as compact JSON its signature fits. Verify the raw bytes, before any parser.",
    },
    {
      body: unquotedJson(body),
      message: "The body is quoted as a JSON string, as logs write it: unquoted, its signature fits.",
    },
    {
      body: decodedBase64(body),
      message: "The body is in base64: decoded, its signature fits. Verify the decoded bytes.",
    },
    {
      secret: secret.trim(),
      message: "White space stands around the secret, such as a line break: without it the signature fits.",
    },
    {
      secret: secret.trim().replace(/^["'`]|["'`]$/g, ""),
      message: "The secret is enclosed in quotes: without them the signature fits.",
    },
    { secret: `whsec_${secret}`, message: "The secret lacks its beginning: with whsec_ the signature fits." },
  ];
  for (const { message, ...change } of changes) {
    const changed = { ...pasted, body: change.body ?? body, secret: change.secret ?? secret };
    if (changed.body === body && changed.secret === secret) continue;
    if ((await issueOf(changed)) === undefined) return message;
  }
  return undefined;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the body as JSON without white space; undefined: it is no JSON. */
function compactJson(body: string): string | undefined {
  const value = parsedJson(body);
  return value === undefined ? undefined : JSON.stringify(value);
}

/** Returns the content of a body that is a quoted JSON string; undefined: the body is not such a string. */
function unquotedJson(body: string): string | undefined {
  const value = parsedJson(body);
  return typeof value === "string" ? value : undefined;
}

/** Returns the text that the body encodes; undefined: it is no base64. */
function decodedBase64(body: string): string | undefined {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(body.trim()), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

/** @param differenceMs milliseconds from now until the time of signing; negative if the signing is in the past */
function describeAge(differenceMs: number): string {
  if (differenceMs / 1000 > DEFAULT_TOLERANCE_SECONDS) {
    return `The signature fits, but it was made ${relativeText(differenceMs)} by this browser’s clock: a clock is wrong.`;
  }
  return (
    `The signature fits. It was made ${relativeText(differenceMs)}; a receiver accepts ${DEFAULT_TOLERANCE_SECONDS} seconds. ` +
    "If yours refused it when it arrived, its clock is wrong, or the delivery waited before it was verified."
  );
}
