import { errorCatalogue, errorCodes } from "../src/error-catalogue.ts";
import { errorMessages } from "../src/error-messages.ts";

/** The file of the page about errors. */
export const errorsPageFile = new URL("../../../docs/errors.md", import.meta.url);

/** Returns the text of docs/errors.md, made from the error catalogue. */
export function errorsPage(): string {
  return `# Errors

<!-- Made from packages/contract/src/error-catalogue.ts and error-messages.ts by \`pnpm --filter @bikeshare/contract run docs\`. Do not edit here. -->

Every error has the same body, whatever part of the service it comes from:

\`\`\`json
{ "error": "unauthorized", "message": "No credentials were provided. Send Authorization: Bearer <API_KEY>." }
\`\`\`

\`error\` is for programs and comes from the table below. \`message\` is for people: it names what is wrong, the bound and what to do; its words may change. Every answer carries a \`Request-Id\`.

Decide by the status first, then by the code. Codes are only ever added: treat one you do not know as its status says.

${errorsTable()}

## Messages

What stands behind a code that has several causes, with names in braces in place of values. Messages of all other codes name what is wrong in the request at hand.

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

/**
 * Codes whose messages tell apart causes that a program's author should know beforehand. Other messages name what is
 * wrong in the request at hand, so nobody needs a list of them.
 */
const SHOWN = ["unauthorized", "forbidden", "checkpoint_lost"] satisfies readonly (keyof typeof errorMessages)[];

/** Messages of these codes that only the dashboard shows. The page leaves them out, because no program gets them. */
const OF_THE_DASHBOARD: readonly string[] = [
  ...errorNames("unauthorized", "noSession", "unprovedInvitation", "endedSession", "wrongSignIn", "wrongPasskey"),
  ...errorNames("forbidden", "viewer", "operatorReads", "suspendedPartner", "foreignOrigin", "csrfToken"),
  ...errorNames("forbidden", "signInMethod", "embedded", "otherInvitation"),
];

function errorNames<Code extends (typeof SHOWN)[number]>(
  code: Code,
  ...names: readonly (keyof (typeof errorMessages)[Code] & string)[]
): string[] {
  return names.map((name) => `${code}.${name}`);
}

/** Returns the messages that programs can get, below the heading of their code. */
function messagesList(): string {
  const sections = SHOWN.map((code) => {
    const shown = Object.entries<string>(errorMessages[code]).filter(
      ([name]) => !OF_THE_DASHBOARD.includes(`${code}.${name}`),
    );
    const items = shown.map(([, message]) => `- ${message.replaceAll("<", "&lt;")}`);
    return [`### \`${code}\``, "", ...items].join("\n");
  });
  return sections.join("\n\n");
}
