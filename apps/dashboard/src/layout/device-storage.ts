/**
 * Stores settings in the browser. Browsers may refuse to store anything in frames of other sites. Then the defaults apply.
 */

/** Returns a stored value; undefined: none is stored, or the browser refuses to store. */
export function readStored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param value undefined: removes the stored value */
export function store(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Nothing can be stored here: the setting applies only until the page is closed.
  }
}
