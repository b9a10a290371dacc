/** What one check has found. */
export interface Finding {
  /** What was looked at. */
  readonly check: string;
  /** `failure`: something does not work, or data are in danger. `warning`: it works, but somebody should look. */
  readonly status: "ok" | "warning" | "failure";
  readonly detail: string;
  /** What to do, where something is to be done. */
  readonly fix?: string;
}

export function ok(check: string, detail: string): Finding {
  return { check, status: "ok", detail };
}

export function warning(check: string, detail: string, fix: string): Finding {
  return { check, status: "warning", detail, fix };
}

export function failure(check: string, detail: string, fix: string): Finding {
  return { check, status: "failure", detail, fix };
}

/** Runs a check; what it throws is a failure of it. */
export async function checked(check: string, fix: string, work: () => Promise<Finding | readonly Finding[]>) {
  try {
    return [await work()].flat();
  } catch (error) {
    return [failure(check, error instanceof Error ? error.message : String(error), fix)];
  }
}
