/** What of a reply is needed here; Fastify's own type differs between its versions, and ts-rest hands over the older. */
interface HeaderEditor {
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
}

/** Says that an answer depends on headers of its request, beside those that were said before. */
export function vary(reply: HeaderEditor, ...names: readonly string[]): void {
  const said = reply.getHeader("vary");
  const before = typeof said === "string" ? said.split(", ") : [];
  // In lower case, as @fastify/compress looks for them: it would add a second one.
  reply.header("vary", [...before, ...names.filter((name) => !before.includes(name))].join(", "));
}
