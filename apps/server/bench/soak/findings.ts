/** What the soak found wrong. */
export interface Findings {
  /** Notes a fault where something is not as it must be. */
  readonly expect: (isRight: boolean, fault: () => string) => void;
  readonly faults: readonly string[];
}

export function createFindings(): Findings {
  const faults: string[] = [];
  return {
    faults,
    expect: (isRight, fault) => {
      if (!isRight) faults.push(fault());
    },
  };
}
