/** An object without the properties that are undefined: who passes one on as undefined means the default. */
export function given<Values extends object>(values: Values): Partial<Given<Values>> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Given<Values>>; // The same properties, fewer.
}

type Given<Values> = { [Name in keyof Values]: Exclude<Values[Name], undefined> };
