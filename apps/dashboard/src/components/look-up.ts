/**
 * Returns the value that a table has for a text from outside, such as an id or a word of the address; undefined if it has
 * none. `table[name]` would also find what every object inherits, such as `constructor` and `__proto__`.
 */
export function lookUp<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
