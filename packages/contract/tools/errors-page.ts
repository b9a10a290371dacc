import { errorCatalogue, errorCodes } from "../src/error-catalogue.ts";
import { errorMessages } from "../src/error-messages.ts";

/** Where the page about errors stands. */
export const errorsPageFile = new URL("../../../docs/errors.md", import.meta.url);

/** docs/errors.md, made from the error catalogue. */
export function errorsPage(): string {
  return `# Errors

<!-- Made from packages/contract/src/error-catalogue.ts and error-messages.ts by \`pnpm --filter @bikeshare/contract run docs\`. Do not edit here. -->

Every error has the same body, whatever part of the service it comes from:

\`\`\`json
{ "error": "unauthorized", "message": "No credentials were provided. Send Authorization: Bearer <API_KEY>." }
\`\`\`

\`error\` is for programs and comes from the table below. \`message\` is for people: it names what is wrong, the bound and what to do; its words may change. The [messages](#messages) are listed below. Every answer carries a \`Request-Id\`.

Decide by the status first, then by the code. Codes are only ever added: treat one you do not know as its status says.

${errorsTable()}

## Messages

Values stand in place of the names in braces. A code that is not listed here says what its row of the table says.

${messagesList()}
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

/** Every message, by its code. */
function messagesList(): string {
  const rows = Object.entries(errorMessages).flatMap(([code, messages]) =>
    Object.values<string>(messages).map((message) => `| \`${code}\` | ${message.replaceAll("<", "&lt;")} |`),
  );
  return ["| `error` | `message` |", "|---|---|", ...rows].join("\n");
}
