/** Whether an argument of the command is an address. */
export function isAddress(argument: string): boolean {
  return /^https?:\/\//i.test(argument);
}

/** An address without what may be secret in it: user, password, query. What is no address stays as it is. */
export function shownAddress(address: string): string {
  const url = isAddress(address) ? URL.parse(address) : null;
  return url === null ? address : `${url.origin}${url.pathname}`;
}
