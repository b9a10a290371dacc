import { errorCatalogue, errorCodes } from "../errors.ts";

/** The error catalogue as a Markdown table, for a page as wide as a file. */
export function errorsTable(): string {
  const rows = errorCodes.map((code) => {
    const { status, meaning, action } = errorCatalogue[code];
    return `| \`${code}\` | ${status} | ${meaning} | ${action} |`;
  });
  return ["| `error` | Status | What happened | What to do |", "|---|---|---|---|", ...rows].join("\n");
}

/** The error catalogue as a Markdown list: a reference's column, and a phone, are too narrow for a table of sentences. */
export function errorsList(): string {
  const items = errorCodes.map((code) => {
    const { status, meaning, action } = errorCatalogue[code];
    return `- **\`${code}\`** (${status}): ${meaning} ${action}`;
  });
  return items.join("\n");
}
