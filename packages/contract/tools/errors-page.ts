import { errorCatalogue, errorCodes } from "../src/errors.ts";

/** Where the page about errors stands. */
export const errorsPageFile = new URL("../../../docs/errors.md", import.meta.url);

/** docs/errors.md, made from the error catalogue. */
export function errorsPage(): string {
  return `# Errors

<!-- Made from packages/contract/src/errors.ts by \`pnpm --filter @bikeshare/contract run docs\`. Do not edit here. -->

Every error has the same body, whatever part of the service it comes from:

\`\`\`json
{ "error": "unauthorized", "message": "No credentials were provided. Send Authorization: Bearer <API_KEY>." }
\`\`\`

\`error\` is for programs and comes from the table below. \`message\` is for people: it names what is wrong, the bound and what to do; its words may change. Every answer carries a \`Request-Id\`.

Decide by the status first, then by the code. Codes are only ever added: treat one you do not know as its status says.

${errorsTable()}
`;
}

/** The error catalogue as a Markdown table. */
function errorsTable(): string {
  const rows = errorCodes.map((code) => {
    const { status, meaning, action } = errorCatalogue[code];
    return `| \`${code}\` | ${status} | ${meaning} | ${action} |`;
  });
  return ["| `error` | Status | What happened | What to do |", "|---|---|---|---|", ...rows].join("\n");
}
