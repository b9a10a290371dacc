import { errorCatalogue, errorCodes } from "../error-catalogue.ts";

/** The error catalogue as a Markdown list: a reference's column, and a phone, are too narrow for a table of sentences. */
export function errorsList(): string {
  const items = errorCodes.map((code) => {
    const { status, meaning, action } = errorCatalogue[code];
    return `- **\`${code}\`** (${status}): ${meaning} ${action}`;
  });
  return items.join("\n");
}
