import { errorCatalogue, errorCodes } from "../errors.ts";

/** The error catalogue as a Markdown table. */
export function errorsTable(): string {
  const rows = errorCodes.map((code) => {
    const { status, meaning, action } = errorCatalogue[code];
    return `| \`${code}\` | ${status} | ${meaning} | ${action} |`;
  });
  return ["| `error` | Status | What happened | What to do |", "|---|---|---|---|", ...rows].join("\n");
}
