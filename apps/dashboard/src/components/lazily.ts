/**
 * Creates a value on its first use. An `Intl` format takes some milliseconds to create, which would delay the first request
 * of a page.
 */
export function lazily<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= make());
}
