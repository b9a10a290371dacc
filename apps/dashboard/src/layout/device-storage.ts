/**
 * Settings that the pages store on this device. Browsers may store nothing in frames of other sites: then the defaults
 * apply.
 */

export function readStored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param value undefined: nothing is kept any more */
export function store(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // The value is kept until the page is closed.
  }
}
