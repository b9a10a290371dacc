/** What `start` says when it is ready. @param demo undefined where the data are not the demo's */
export function welcome(url: string, demo: { readonly key: string; readonly partnerId: string } | undefined): string {
  if (demo === undefined) {
    return `\nReady: ${url}\nReference: ${url}/docs\n\nThe data was not made by \`start\`: make a key with \`bikeshare partners create\` and \`bikeshare keys issue\`.\n`;
  }
  const bearer = `-H "Authorization: Bearer ${demo.key}"`;
  const curl = (path: string) => `  curl ${bearer} "${url}${path}"`;
  return [
    "",
    `Ready:      ${url}`,
    `Reference:  ${url}/docs`,
    `Key:        ${demo.key}`,
    "",
    "Paste into another terminal:",
    "",
    curl("/v1/stations?limit=3"),
    curl("/v1/rides?limit=3"),
    curl("/v1/me"),
    curl("/v1/events?limit=3"),
    `  curl ${bearer} -H "Content-Type: application/json" -H "Idempotency-Key: first-try" -d '{"station_id":"station-001"}' "${url}/v1/reservations"`,
    "",
    `  npx -y pnpm@12 bikeshare webhooks test --partner ${demo.partnerId}`,
    "",
    "Ctrl-C stops it; the data stays.",
    "",
  ].join("\n");
}
