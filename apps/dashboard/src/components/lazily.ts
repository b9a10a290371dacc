/**
 * Makes a value when it is first asked for. Formats of times and numbers take the browser some milliseconds each, for which
 * the first request of a page would wait.
 */
export function lazily<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= make());
}
