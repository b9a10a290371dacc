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

The messages of each code, with names in braces in place of values. A code without an entry says what its row of the table says. Messages of the dashboard, of requests that are no HTTP, and those that say no more than their code are left out.

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

type MessageNames = { readonly [Code in keyof typeof errorMessages]?: readonly (keyof (typeof errorMessages)[Code])[] };

/** What only people at the dashboard are told, or broken HTTP clients, and what says no more than its code. */
const LEFT_OUT: MessageNames = {
  unauthorized: ["noSession", "unprovedInvitation", "endedSession", "wrongSignIn", "wrongPasskey"],
  forbidden: [
    ...(["viewer", "operatorReads", "suspendedPartner", "foreignOrigin", "csrfToken"] as const),
    ...(["signInMethod", "embedded", "otherInvitation"] as const),
  ],
  invalid_request: [
    ...(["notHttp", "unreadable", "readerGone", "tooSlow", "connect", "headersTooLarge"] as const),
    ...(["chunkExtensionsTooLarge", "missingHost", "transferEncoding", "invalidHost"] as const),
  ],
  confirmation_required: ["missing", "wrongPassword", "wrongPasskey"],
  invalid_parameter: ["tooManyToResend", "wrongCode", "challenge", "setup", "passkeyRefused", "passwordSimple"],
  not_found: [
    ...(["request", "sentAttempt", "page", "member", "openInvitation", "passkey", "identity"] as const),
    ...([
      "identityProvider",
      "session",
      "dashboardLink",
      ...(["bike", "ride", "station", "system", "partner", "noSystem", "namedBike", "namedStation"] as const),
      "invitation",
    ] as const),
  ],
  last_one: ["credential", "operatorAdmin"],
  rate_limited: ["probes", "signIn", "invitations", "liveStreams", "session", "exports"],
  unavailable: ["signIns"],
};

/** The messages that programs meet, below the code that they come with. */
function messagesList(): string {
  const hidden: Readonly<Record<string, readonly string[] | undefined>> = LEFT_OUT;
  const sections = Object.entries(errorMessages).flatMap(([code, messages]) => {
    const shown = Object.entries<string>(messages).filter(([name]) => hidden[code]?.includes(name) !== true);
    const items = shown.map(([, message]) => `- ${message.replaceAll("<", "&lt;")}`);
    return items.length === 0 ? [] : [[`### \`${code}\``, "", ...items].join("\n")];
  });
  return sections.join("\n\n");
}
