/** Whether an argument of the command is an http or https address. */
export function isAddress(argument: string): boolean {
  return /^https?:\/\//i.test(argument);
}

export function isHttp({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

/** An address without its user, password and query, which may be secret. Any other text is returned unchanged. */
export function shownAddress(address: string): string {
  const url = isAddress(address) ? URL.parse(address) : null;
  return url === null ? address : `${url.origin}${url.pathname}`;
}
