/* Calls that several checks make as a partner. */
import type { Callers } from "./callers.ts";
import type { Context } from "./context.ts";

/** Returns the callers of the walk, which are made at the first call. */
export async function callersOf(context: Context): Promise<Callers> {
  const known = context.found.get("callers") ?? (await context.makeCallers(context.machines.c));
  context.found.set("callers", known);
  return known as Callers;
}

/** Issues a key of the first partner. @param rate requests a minute */
export async function issueKey({ machines: { a } }: Context, rate: number): Promise<string> {
  const partners = JSON.parse(await a.run("bikeshare --json partners list")) as { partners: readonly [{ id: string }] };
  const issue = `bikeshare --json keys issue --partner ${partners.partners[0].id} --scopes rides:read,stations:read --rate-limit ${rate}`;
  return (JSON.parse(await a.run(issue)) as { key: string }).key;
}

/** Returns the key that a command of the page has issued. */
export function keyOf({ found }: Context): string {
  const key = found.get("key");
  if (typeof key !== "string") throw new Error("the page has issued no key yet");
  return key;
}

/** Starts to read from both nodes continuously. */
export async function startCalls(context: Context): Promise<void> {
  (await callersOf(context)).start(await issueKey(context, 6000));
}
