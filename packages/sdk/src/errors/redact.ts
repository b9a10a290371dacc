/** How many causes of causes are looked at. fetch hides the reason two deep. */
const DEEPEST = 5;

/**
 * The innermost reason of what was thrown, as an error that cannot hold the key: its message and code alone, without the
 * properties in which an own `fetch` may keep the request.
 *
 * @param redact takes the key out of a text
 */
export function causeOf(thrown: unknown, redact: (text: string) => string, depth = DEEPEST): Error {
  const { message, code, cause } = (thrown ?? {}) as { message?: unknown; code?: unknown; cause?: unknown };
  if (cause && depth > 0) return causeOf(cause, redact, depth - 1);
  const copy = new Error(redact(String(message || code || thrown)));
  return Object.assign(copy, typeof code === "string" && { code: redact(code) });
}
